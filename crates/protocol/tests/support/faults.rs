//! Good and spoiled evidence about one log, for one state of its contract.

#[path = "leaf_faults.rs"]
mod leaf_faults;

use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::evidence::{ContractView, Evidence, EvidenceFile, HeaderEvidence, KeyTerm};
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;

use super::signed_log::{Draft, SignedLog, domain, key, signed_checkpoint};

/// The sequencer's first key, for batches below [`ROTATED_AT`].
pub(crate) const FIRST_KEY: u8 = 0x51;
/// The sequencer's second key.
pub(crate) const SECOND_KEY: u8 = 0x52;
/// The first batch of the second key.
pub(crate) const ROTATED_AT: u64 = 7;
/// Anchored checkpoints, by their batch counts.
pub(crate) const ANCHORED: [u64; 2] = [3, 6];
/// The batch whose head does not follow from its leaves.
const BENT: u64 = 4;

/// A case: a file, and the name of the reason why it shows no fault; `None` if it shows one.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) file: EvidenceFile,
    pub(crate) refused: Option<&'static str>,
}

/// The log that the contract holds: batch 4 is false, everything else is correct.
pub(crate) fn log() -> SignedLog {
    let mut log = SignedLog::default();
    for count in [1, 2, 3, 1, 4, 2, 1, 1] {
        let next = log.next(count);
        let draft = if next.header.number == BENT {
            next.with(|header| header.head = keccak(b"another head"))
        } else {
            next
        };
        log.append(draft);
    }
    log
}

/// The contract's view of that log.
pub(crate) fn trust(log: &SignedLog) -> ContractView {
    let first = KeyTerm {
        until_batch: ROTATED_AT,
        replaced_at_s: 1_790_000_000,
        ..KeyTerm::only(key(FIRST_KEY).address())
    };
    let second = KeyTerm {
        from_batch: ROTATED_AT,
        ..KeyTerm::only(key(SECOND_KEY).address())
    };
    let anchored = ANCHORED.map(|batches| (batches, log.root(batches)));
    ContractView {
        keys: vec![first, second],
        anchored: anchored.into_iter().chain([(0, log.root(0))]).collect(),
        evidence_age_s: 1_000_000,
        now_s: 1_790_000_100,
        ..ContractView::new(domain(), key(FIRST_KEY).address())
    }
}

/// A header with the signature of the sequencer's first key.
pub(crate) fn signed(draft: &Draft) -> HeaderEvidence {
    draft.evidence(&key(FIRST_KEY))
}

struct Table<'a> {
    log: &'a SignedLog,
    cases: Vec<Case>,
}

impl Table<'_> {
    fn add(&mut self, name: &'static str, refused: Option<&'static str>, evidence: Evidence) {
        self.cases.push(Case {
            name,
            file: EvidenceFile::new(domain(), evidence),
            refused,
        });
    }

    fn proves(&mut self, name: &'static str, evidence: Evidence) {
        self.add(name, None, evidence);
    }

    fn refuses(&mut self, name: &'static str, why: &'static str, evidence: Evidence) {
        self.add(name, Some(why), evidence);
    }

    fn honest(&self, number: u64) -> HeaderEvidence {
        signed(self.log.batch(number))
    }
}

/// All cases.
pub(crate) fn cases(log: &SignedLog) -> Vec<Case> {
    let mut table = Table {
        log,
        cases: Vec::new(),
    };
    conflicting_batches(&mut table);
    conflicting_checkpoints(&mut table);
    omitted_batch(&mut table);
    false_checkpoint(&mut table);
    false_history(&mut table);
    false_checkpoint_history(&mut table);
    broken_link(&mut table);
    broken_header(&mut table);
    leaf_faults::add(&mut table);
    table.cases
}

fn other_time(log: &SignedLog, number: u64) -> Draft {
    let batch = log.batch(number).clone();
    batch.with(|header| header.sealed_at_ms += 1)
}

fn with_key(draft: &Draft, key: &SigningKey, key_index: u32) -> HeaderEvidence {
    HeaderEvidence::signed(&draft.signed(key), key_index)
}

fn conflicting_batches(table: &mut Table<'_>) {
    let log = table.log;
    let other = other_time(log, 2);
    let case = |first, second| Evidence::ConflictingBatches { first, second };
    table.proves("two signed headers", case(table.honest(2), signed(&other)));
    let anchored = log.anchored(2, 3);
    table.proves(
        "a signed and an anchored header",
        case(signed(&other), anchored),
    );
    let late = log.batch(ROTATED_AT);
    let stolen = with_key(late, &key(FIRST_KEY), 0);
    let own = with_key(&other_time(log, ROTATED_AT), &key(SECOND_KEY), 1);
    table.proves(
        "a replaced key signs on, within the time",
        case(own, stolen),
    );
    let (honest, anchored) = (table.honest(2), log.anchored(2, 6));
    table.refuses(
        "one header twice",
        "NoFault",
        case(honest.clone(), anchored),
    );
    table.refuses(
        "two numbers",
        "NoFault",
        case(honest.clone(), table.honest(3)),
    );
    let stranger = with_key(&other, &key(0x77), 0);
    table.refuses(
        "a stranger's signature",
        "NotSigned",
        case(honest.clone(), stranger),
    );
    let early = with_key(&other, &key(SECOND_KEY), 1);
    table.refuses(
        "a key before its first batch",
        "NotSigned",
        case(honest.clone(), early),
    );
    let wrong_index = with_key(&other, &key(FIRST_KEY), 1);
    table.refuses(
        "another key's index",
        "NotSigned",
        case(honest.clone(), wrong_index),
    );
    let changed = HeaderEvidence {
        header: BatchHeader {
            count: 2,
            ..other.header
        },
        ..signed(&other)
    };
    table.refuses("changed after signing", "NotSigned", case(honest, changed));
    let elsewhere = HeaderEvidence {
        header: other.header,
        ..log.anchored(2, 3)
    };
    table.refuses(
        "a header that the history lacks",
        "BatchNotInHistory",
        case(table.honest(2), elsewhere),
    );
    let unknown = HeaderEvidence::anchored(other.header, 5, log.path(2, 5));
    table.refuses(
        "a checkpoint that is not anchored",
        "UnknownCheckpoint",
        case(table.honest(2), unknown),
    );
}

fn conflicting_checkpoints(table: &mut Table<'_>) {
    let log = table.log;
    let honest = log.checkpoint(3);
    let sign = |checkpoint| signed_checkpoint(checkpoint, &key(FIRST_KEY), 0);
    let case = |second| Evidence::ConflictingCheckpoints {
        first: sign(honest),
        second: sign(second),
    };
    let mut bent = [honest; 5];
    bent[0].sequence += 1;
    bent[1].head = keccak(b"head");
    bent[2].history = keccak(b"history");
    bent[3].state = keccak(b"state");
    bent[4].issued_at_ms += 1;
    let [sequence, head, history, state, time] = bent;
    table.proves("checkpoints of other sequences", case(sequence));
    table.proves("checkpoints of other heads", case(head));
    table.proves("checkpoints of other histories", case(history));
    table.proves("checkpoints of other states", case(state));
    table.refuses("checkpoints of other times", "NoFault", case(time));
    table.refuses(
        "checkpoints of other sizes",
        "NoFault",
        case(log.checkpoint(4)),
    );
    let mut empty = honest;
    empty.batches = 0;
    table.refuses("a checkpoint of nothing", "Panic", case(empty));
    let stranger = Evidence::ConflictingCheckpoints {
        first: sign(honest),
        second: signed_checkpoint(head, &key(0x77), 0),
    };
    table.refuses("a stranger's checkpoint", "NotSigned", stranger);
}

fn omitted_batch(table: &mut Table<'_>) {
    let log = table.log;
    let held = log.batch(1).header.hash();
    let case = |left: &Draft, held: Hash, path: Vec<Hash>| Evidence::OmittedBatch {
        left: signed(left),
        anchored_batches: 3,
        held,
        path,
    };
    let other = other_time(log, 1);
    table.proves(
        "a signed header is left out",
        case(&other, held, log.path(1, 3)),
    );
    let honest = log.batch(1);
    table.refuses(
        "the header is held",
        "NoFault",
        case(honest, held, log.path(1, 3)),
    );
    let wrong = case(&other, held, log.path(2, 3));
    table.refuses("a path of another batch", "PathLeadsElsewhere", wrong);
    let mut long = log.path(1, 3);
    long.push(Hash::ZERO);
    let long = case(&other, held, long);
    table.refuses("a path with a hash too much", "PathLeadsElsewhere", long);
    let beyond = case(log.batch(5), held, log.path(1, 3));
    table.refuses(
        "a number beyond the checkpoint",
        "PathLeadsElsewhere",
        beyond,
    );
}

fn false_checkpoint(table: &mut Table<'_>) {
    let log = table.log;
    let honest = log.checkpoint(5);
    let case = |checkpoint, last: u64| Evidence::FalseCheckpoint {
        signed: signed_checkpoint(checkpoint, &key(FIRST_KEY), 0),
        last: log.batch(last).header,
        path: log.path(last, 5),
    };
    let (mut head, mut sequence, mut largest) = (honest, honest, honest);
    head.head = keccak(b"head");
    sequence.sequence -= 1;
    largest.sequence = u64::MAX;
    table.proves("a checkpoint with another head", case(head, 4));
    table.proves("a checkpoint with another sequence", case(sequence, 4));
    table.proves("a checkpoint with the largest sequence", case(largest, 4));
    table.refuses("a true checkpoint", "NoFault", case(honest, 4));
    table.refuses(
        "a batch before the last",
        "PathLeadsElsewhere",
        case(head, 3),
    );
}

fn false_history(table: &mut Table<'_>) {
    let log = table.log;
    let case = |draft: &Draft, from: u64| Evidence::FalseHistory {
        batch: signed(draft),
        anchored_batches: 6,
        beginning: log.root(from),
        proof: log.consistency(from, 6),
    };
    for (name, number) in [
        ("a header over another past", 5),
        ("a header over the past at a full tree", 4),
        ("a header over all that is anchored", 6),
        ("a first header over a past", 0),
    ] {
        let bent = log.batch(number).clone();
        let bent = bent.with(|header| header.history = keccak(b"another past"));
        table.proves(name, case(&bent, number));
    }
    let honest = case(log.batch(5), 5);
    table.refuses("a header over the true past", "NoFault", honest);
    let bent = log.batch(5).clone();
    let bent = bent.with(|header| header.history = keccak(b"another past"));
    let shorter = case(&bent, 4);
    table.refuses("a beginning of another size", "PathLeadsElsewhere", shorter);
    let spoiled = Evidence::FalseHistory {
        batch: signed(&bent),
        anchored_batches: 6,
        beginning: keccak(b"a beginning"),
        proof: log.consistency(5, 6),
    };
    table.refuses("a beginning of no log", "PathLeadsElsewhere", spoiled);
}

fn false_checkpoint_history(table: &mut Table<'_>) {
    let log = table.log;
    let case = |checkpoint| Evidence::FalseCheckpointHistory {
        signed: signed_checkpoint(checkpoint, &key(FIRST_KEY), 0),
        anchored_batches: 6,
        beginning: log.root(5),
        proof: log.consistency(5, 6),
    };
    let mut bent = log.checkpoint(5);
    bent.history = keccak(b"another past");
    table.proves("a checkpoint over another past", case(bent));
    let honest = case(log.checkpoint(5));
    table.refuses("a checkpoint over the true past", "NoFault", honest);
    let mut shorter = bent;
    shorter.batches = 4;
    table.refuses(
        "a checkpoint of another size",
        "PathLeadsElsewhere",
        case(shorter),
    );
}

fn broken_link(table: &mut Table<'_>) {
    let log = table.log;
    let before = log.batch(2).header;
    let case = |next: HeaderEvidence| Evidence::BrokenLink {
        before: log.anchored(2, 6),
        next,
    };
    let bend = |bend: fn(&mut BatchHeader)| signed(&log.batch(3).clone().with(bend));
    table.proves(
        "a gap between sequences",
        case(bend(|next| next.first_sequence += 1)),
    );
    table.proves(
        "heads that do not join",
        case(bend(|next| next.previous_head = Hash::ZERO)),
    );
    let early = log.batch(3).clone();
    let early = early.with(|next| next.sealed_at_ms = before.sealed_at_ms - 1);
    table.proves("a seal before the last one", case(signed(&early)));
    table.refuses("headers that join", "NoFault", case(table.honest(3)));
    table.refuses(
        "headers that are not neighbours",
        "NoFault",
        case(table.honest(5)),
    );
    let last = log.batch(2).clone().with(|header| {
        header.number = u64::MAX - 1;
    });
    let wrapped = Evidence::BrokenLink {
        before: with_key(&last, &key(SECOND_KEY), 1),
        next: table.honest(0),
    };
    table.refuses("numbers far apart", "NoFault", wrapped);
}

fn broken_header(table: &mut Table<'_>) {
    let log = table.log;
    let case = |batch| Evidence::BrokenHeader { batch };
    let bend = |number: u64, bend: fn(&mut BatchHeader)| {
        case(signed(&log.batch(number).clone().with(bend)))
    };
    table.proves("a batch of nothing", bend(3, |header| header.count = 0));
    table.proves("a batch of 501", bend(3, |header| header.count = 501));
    table.proves(
        "a start at sequence 2",
        bend(0, |header| header.first_sequence = 2),
    );
    table.proves(
        "a start at another head",
        bend(0, |header| header.previous_head = Hash::ZERO),
    );
    table.proves(
        "a start with a past",
        bend(0, |header| header.history = Hash::ZERO),
    );
    table.refuses(
        "a batch of 500",
        "NoFault",
        bend(3, |header| header.count = 500),
    );
    table.refuses("the log's start", "NoFault", case(log.anchored(0, 3)));
    let state = bend(0, |header| header.state = keccak(b"state"));
    table.refuses("a state, which has no rule yet", "NoFault", state);
}
