//! Exports: one with every number at its limit, its checked values, and refused exports.

use kedge_protocol::export::{
    ExportChecker, ExportError, ExportLine, ExportLineKind, ExportSummary, RequestLine,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree::TreeFrontier;
use kedge_protocol::receipt::{ReceiptError, check_header};
use kedge_protocol::{Hash, KeyActivation, SequencerKeys};

use crate::export::{Export, keys};
use crate::requests::{SEALED_AT_MS, domain, key};

type Edit = fn(&mut Export);

fn checked(export: &Export, keys: &SequencerKeys) -> Result<ExportSummary, ExportError> {
    let mut checker = ExportChecker::new(domain(), keys);
    for line in &export.lines {
        checker.line(&serde_json::to_string(line).unwrap())?;
    }
    checker.finish()
}

#[test]
fn an_export_shows_what_it_holds() {
    let export = Export::new();
    let shown = checked(&export, &keys()).unwrap();
    let ExportSummary {
        from,
        batches,
        actions,
        requests,
        opened,
        additions_without_consent,
        checkpoint,
    } = shown;
    assert_eq!((from, batches, actions), (0, 3, 7));
    assert_eq!((requests, opened, additions_without_consent), (3, 4, 0));
    assert_eq!(ExportLine::Checkpoint(checkpoint), export.lines[7]);
}

#[test]
fn a_checker_says_how_far_it_is() {
    let export = Export::new();
    let mut checker = ExportChecker::new(domain(), keys());
    let mut frontier = TreeFrontier::default();
    let mut reached = (0, domain().separator(), frontier.root());
    for line in &export.lines {
        let text = serde_json::to_string(line).unwrap();
        match (checker.line(&text).unwrap(), line) {
            (ExportLineKind::Log(read), ExportLine::Log(written)) => assert_eq!(read, *written),
            (ExportLineKind::Batch, ExportLine::Batch(written)) => {
                let header = &written.batch.header;
                frontier.append(kedge_protocol::log_tree::leaf(&header.hash()));
                reached = (header.last_sequence(), header.head, frontier.root());
            }
            (ExportLineKind::Request(read), ExportLine::Request(written)) => {
                assert_eq!(RequestLine::from(read), **written);
            }
            (ExportLineKind::Checkpoint, ExportLine::Checkpoint(_)) => (),
            (read, written) => panic!("{read:?} of {written:?}"),
        }
        assert_eq!(checker.batches(), frontier.size());
        assert_eq!(checker.reached(), reached);
    }
}

#[test]
fn an_export_may_begin_later() {
    let export = Export::new().beginning_at_1();
    let shown = checked(&export, &keys()).unwrap();
    assert_eq!((shown.from, shown.batches, shown.actions), (1, 2, 2));
    let edits: [(&str, Edit); 3] = [
        ("its peaks do not match", |export| {
            export.log().peaks.clear();
        }),
        ("does not begin at the log's head", |export| {
            export.log().head = Hash::ZERO;
        }),
        ("does not follow the previous one", |export| {
            export.log().sequence += 1;
        }),
    ];
    for (why, edit) in edits {
        let mut export = export.clone();
        edit(&mut export);
        let error = checked(&export, &keys()).unwrap_err();
        assert!(error.what.contains(why), "{why}: {error}");
    }
}

/// The line and the sequence that the error names, a part of its reason, and the edit that spoils the export.
type Spoiled = (u64, u64, &'static str, Edit);

fn refused(cases: &[Spoiled]) {
    for (place, (line, sequence, why, edit)) in cases.iter().enumerate() {
        let mut export = Export::new();
        edit(&mut export);
        let error = checked(&export, &keys()).unwrap_err();
        assert!(error.what.contains(why), "{place}, {why}: {error}");
        let found = (error.line, error.sequence);
        assert_eq!(found, (*line, *sequence), "{place}, {why}: {error}");
    }
}

#[test]
fn lines_have_an_order() {
    refused(&[
        (1, 0, "must be the first line", |e| drop(e.lines.remove(0))),
        (2, 0, "must be the first line", |e| {
            e.lines.insert(1, e.lines[0].clone());
        }),
        (9, 7, "nothing may follow", |e| {
            e.lines.push(e.lines[7].clone());
        }),
        (7, 7, "ends before its checkpoint", |e| {
            e.lines.truncate(7);
        }),
        (0, 0, "ends before its checkpoint", |e| e.lines.clear()),
    ]);
    let mut checker = ExportChecker::new(domain(), keys());
    let error = checker.line("[]").unwrap_err();
    assert!(error.what.contains("not a line of an export"), "{error}");
    assert_eq!(error.line, 1);
}

#[test]
fn the_first_line_describes_the_trusted_log() {
    refused(&[
        (1, 0, "version is unknown", |e| e.log().version += 1),
        (1, 0, "another log", |e| e.log().domain.chain_id += 1),
        (1, 0, "another sequencer", |e| {
            e.log().sequencer = key(9).address();
        }),
        (1, 0, "peaks do not match", |e| {
            e.log().peaks.push(Hash::ZERO);
        }),
        (1, 0, "begins at sequence 0", |e| e.log().sequence = 1),
        (1, 0, "begins at sequence 0", |e| {
            e.log().head = Hash::ZERO;
        }),
        (1, 0, "names operators", |e| {
            e.log().organization_id = None;
        }),
    ]);
}

#[test]
fn the_named_keys_continue_the_trusted_ones_or_the_other_way_round() {
    let entry = |number, from_batch| KeyActivation {
        key: key(number).address(),
        from_batch,
    };
    let more = SequencerKeys::new([keys().entries(), &[entry(9, 50)]].concat()).unwrap();
    let other = SequencerKeys::new(vec![entry(1, 0), entry(9, 2)]).unwrap();
    let named = |names: Option<SequencerKeys>, trusted: &SequencerKeys| {
        let mut export = Export::new();
        export.log().sequencer_keys = names;
        checked(&export, trusted).map_err(|error| error.what)
    };
    for (names, trusted) in [
        (None, keys()),
        (Some(keys()), more.clone()),
        (Some(more), keys()),
    ] {
        assert!(named(names, &trusted).is_ok());
    }
    let refused = named(Some(other), &keys()).unwrap_err();
    assert!(refused.contains("other keys"), "{refused}");
}

#[test]
fn batches_continue_the_log() {
    refused(&[
        (2, 1, "a batch holds 1 to", |e| e.header(0, |h| h.count = 0)),
        (2, 1, "signed by", |e| {
            e.batch(0).batch.header.state = keccak(b"changed after signing");
        }),
        (5, 6, "does not follow", |e| e.header(1, |h| h.number = 0)),
        (5, 6, "does not follow", |e| {
            e.header(1, |h| h.first_sequence += 1);
        }),
        (5, 6, "does not begin at the log's head", |e| {
            e.header(1, |h| h.previous_head = Hash::ZERO);
        }),
        (5, 6, "history is not that", |e| {
            e.header(1, |h| h.history = Hash::ZERO);
        }),
        (5, 6, "state is not zero", |e| {
            e.header(1, |h| h.state = keccak(b"state"));
        }),
        (5, 6, "sealed before", |e| {
            e.header(1, |h| h.sealed_at_ms -= 1);
        }),
        (5, 6, "as many leaves", |e| e.header(1, |h| h.count += 1)),
        (5, 6, "lead to its root", |e| {
            e.header(1, |h| h.root = Hash::ZERO);
        }),
        (5, 6, "lead to its head", |e| {
            e.header(1, |h| h.head = Hash::ZERO);
        }),
        // A key signs from its first batch on.
        (7, 7, "signed by", |e| e.header_by(2, 1, |_| ())),
    ]);
}

#[test]
fn a_batch_holds_1_to_500_actions() {
    let counted = |count| {
        let mut export = Export::new();
        export.header(0, |header| header.count = count);
        check_header(&export.batch(0).batch, &domain(), &keys())
    };
    for count in [1, 2, 499, 500] {
        assert_eq!(counted(count), Ok(()), "{count}");
    }
    for count in [0, 501, 502, u32::MAX] {
        assert_eq!(counted(count), Err(ReceiptError::Count(count)), "{count}");
    }
}

const PLACE: &str = "place in its batch is not valid";
const TIME: &str = "time does not fit";

#[test]
fn requests_have_a_place_in_their_batch() {
    refused(&[
        (3, 2, "another organization", |e| {
            e.request(0).organization_id.bytes[0] ^= 1;
        }),
        (3, 2, "another organization", |e| {
            e.log().organization_id = None;
            e.log().operators.clear();
        }),
        (3, 2, PLACE, |e| e.request(0).batch_number += 1),
        (3, 2, PLACE, |e| e.request(0).first_leaf_index += 1),
        (3, 0, PLACE, |e| e.request(0).first_sequence = 0),
        (3, u64::MAX, PLACE, |e| {
            e.request(0).first_sequence = u64::MAX;
        }),
        (3, 2, PLACE, |e| e.request(0).actions.clear()),
        // One action more than the batch has leaves.
        (6, 6, PLACE, |e| {
            let request = e.request(2);
            request.actions.push(request.actions[0].clone());
        }),
        // The same request again, and one that begins at its last action.
        (4, 2, PLACE, |e| e.lines.insert(3, e.lines[2].clone())),
        (4, 3, PLACE, |e| {
            let next = e.request(1);
            (next.first_sequence, next.first_leaf_index) = (3, 2);
        }),
        // Before the batch that it is in.
        (2, 2, PLACE, |e| e.lines.swap(1, 2)),
    ]);
}

#[test]
fn requests_have_a_time() {
    refused(&[
        (4, 5, TIME, |e| e.request(1).timestamp_ms -= 1),
        (3, 2, TIME, |e| {
            let request = e.request(0);
            request.timestamp_ms += 1;
            request.deadline += 1;
        }),
        (3, 2, TIME, |e| e.request(0).deadline -= 1),
    ]);
}

#[test]
fn requests_are_signed_and_match_their_leaves() {
    refused(&[
        (3, 2, "kind is unknown", |e| {
            e.request(0).actions[0].kind = "no such kind".to_owned();
        }),
        (3, 2, "signed by", |e| e.request(0).nonce += 1),
        (3, 2, "gaps or repeat", |e| e.request(0).failed.clear()),
        (3, 2, "does not match its leaf", |e| {
            e.request(0).actions[0].previous_integrity = keccak(b"another");
        }),
        (3, 3, "does not match its leaf", |e| {
            e.request(0).actions[1].previous_integrity = keccak(b"another");
        }),
    ]);
}

#[test]
fn the_checkpoint_is_that_of_the_batches() {
    const OTHER: &str = "checkpoint does not match";
    refused(&[
        (8, 7, "not signed with the key", |e| {
            e.checkpoint_by(1, |_| ());
        }),
        (8, 7, OTHER, |e| e.checkpoint(|c| c.batches += 1)),
        (8, 7, OTHER, |e| e.checkpoint(|c| c.sequence += 1)),
        (8, 7, OTHER, |e| e.checkpoint(|c| c.head = Hash::ZERO)),
        (8, 7, OTHER, |e| e.checkpoint(|c| c.history = Hash::ZERO)),
        (8, 7, OTHER, |e| e.checkpoint(|c| c.issued_at_ms -= 1)),
    ]);
    let mut later = Export::new();
    later.checkpoint(|checkpoint| checkpoint.issued_at_ms = SEALED_AT_MS + 1);
    assert!(checked(&later, &keys()).is_ok());
    // The batches do not show the state; a fold of them does.
    let mut rooted = Export::new();
    rooted.checkpoint(|checkpoint| checkpoint.state = keccak(b"state"));
    let shown = checked(&rooted, &keys()).unwrap();
    assert_eq!(shown.checkpoint.checkpoint.state, keccak(b"state"));
}
