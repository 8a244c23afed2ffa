//! Notes, proofs, keys and policies as an attacker writes them: with the right signatures wherever the attacker could
//! have them, and one thing wrong.

use std::collections::BTreeSet;

use ed25519_dalek::Signer as _;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::limits::{NOTE_BYTES_MAX, NOTE_LINES_MAX};
use kedge_protocol::merkle::ProofError;
use kedge_protocol::tlog::{
    CheckpointSubmission, CheckpointSubmissionError, LogSigner, NoteAlgorithm, NoteBody, NoteError,
    NoteLine, NoteRefusal, NoteSigner, NoteVerifier, OpenedNote, PolicyError, SequencerVerifier,
    SignedNote, TilePath, TileRow, TlogCheckpoint, TlogOrigin, TlogOriginError, TlogPolicy,
    TlogProof, TlogProofError, VerifierError,
};
use kedge_protocol::{Hash, SequencerKeys};

use crate::tlog_scene::{
    SCENE, VECTORS, domain, origin, sequencer, sequencer_keys, text, trust, verifiers, word,
};

fn log_origin() -> TlogOrigin {
    TlogOrigin::parse(origin(), &domain()).unwrap()
}

/// A note of the log with these roots, signed by all three keys of the log.
fn note_of(batches: u64, root: Hash, history: Hash) -> SignedNote {
    let seed = |name: &str| word(&VECTORS["tlog_keys"][name]["seed"]);
    let signer = LogSigner::from_seeds(log_origin(), &seed("ed25519"), &seed("mldsa"));
    let key = sequencer(batches);
    let checkpoint = TlogCheckpoint {
        batches,
        root,
        history,
    };
    let signed = checkpoint.sign(&domain().separator(), &key);
    signer.unwrap().note(&signed, key.address()).unwrap()
}

fn note() -> SignedNote {
    note_of(10, SCENE.root(10), SCENE.histories[10])
}

fn open(note: &[u8]) -> Result<OpenedNote, NoteRefusal> {
    let (keys, known) = (sequencer_keys(), verifiers());
    trust(&keys, &known).open(note)
}

fn witness(name: &str) -> NoteSigner {
    let key = &VECTORS["witness_keys"][name];
    let verifier: NoteVerifier = text(&key["vkey"]).parse().unwrap();
    NoteSigner::from_seed(verifier.name(), verifier.algorithm(), &word(&key["seed"])).unwrap()
}

/// The text with its first `from` replaced.
fn changed(whole: &str, from: &str, to: &str) -> String {
    assert!(whole.contains(from), "{from:?}");
    whole.replacen(from, to, 1)
}

// Holds invariant 273.
#[test]
fn a_note_has_one_spelling() {
    let whole = note().to_string();
    assert!(open(whole.as_bytes()).is_ok());
    let characters = NoteError::Characters;
    let cases = [
        (format!("\u{feff}{whole}"), None),
        (format!("\n{whole}"), Some(NoteError::Lines)),
        (changed(&whole, "\n10\n", "\n10 \n"), Some(NoteError::Size)),
        (changed(&whole, "\n10\n", "\n-10\n"), Some(NoteError::Size)),
        (changed(&whole, "\n10\n", "\n\n"), Some(NoteError::Size)),
        (changed(&whole, "\n10\n", "\n١٠\n"), Some(NoteError::Size)),
        (
            changed(&whole, "\n10\n", "\n18446744073709551616\n"),
            Some(NoteError::Size),
        ),
        (changed(&whole, "=\n\n", "= \n\n"), Some(NoteError::Root)),
        (changed(&whole, "=\n\n", "==\n\n"), Some(NoteError::Root)),
        // Bits that base64 does not need: Slw= and Slx= are the same bytes to a lenient reader.
        (
            changed(&whole, "Slw=\n\n", "Slx=\n\n"),
            Some(NoteError::Root),
        ),
        (changed(&whole, "=\n\n", "=\n\n\n"), Some(NoteError::Lines)),
        (changed(&whole, "10\n", "10\r\n"), Some(characters.clone())),
        (changed(&whole, "10\n", "1\t0\n"), Some(characters)),
        (format!("{whole}\n"), Some(NoteError::Shape)),
        (format!("{whole} \n"), Some(NoteError::Signature(3))),
        (format!("{whole}x"), Some(NoteError::Shape)),
        (changed(&whole, "— ", "—  "), Some(NoteError::Signature(0))),
        (changed(&whole, "— ", " — "), Some(NoteError::Signature(0))),
        (changed(&whole, "— ", "— +"), Some(NoteError::Signature(0))),
        (
            changed(&whole, "— ", "—\u{a0}"),
            Some(NoteError::Signature(0)),
        ),
        (
            changed(&whole, "— ", "— a\u{2003}"),
            Some(NoteError::Signature(0)),
        ),
        // A key id without a signature.
        (
            format!("{whole}— witness.example tvf0tg==\n"),
            Some(NoteError::Signature(3)),
        ),
    ];
    for (note, error) in cases {
        let refused = open(note.as_bytes()).unwrap_err();
        if let Some(error) = error {
            assert_eq!(refused, NoteRefusal::Form(error), "{note:?}");
        }
    }
}

#[test]
fn a_note_is_bounded() {
    let whole = note().to_string();
    let line = format!("— witness.example/x {}\n", "AAAAAAA=");
    let lines = |count: usize| format!("{whole}{}", line.repeat(count - 3));
    assert!(open(lines(NOTE_LINES_MAX).as_bytes()).is_ok());
    let refused = open(lines(NOTE_LINES_MAX + 1).as_bytes());
    assert_eq!(refused, Err(NoteRefusal::Form(NoteError::TooMany)));
    let long = "A".repeat(NOTE_BYTES_MAX);
    let refused = open(format!("{whole}— a {long}\n").as_bytes());
    assert!(matches!(
        refused,
        Err(NoteRefusal::Form(NoteError::TooLong(_)))
    ));
}

// Holds invariant 273.
#[test]
fn every_bit_of_a_note_counts() {
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let cosigned = {
        let mut note = note();
        note.lines
            .push(witness("w1_0x04").sign(&note.body, 77).unwrap());
        note
    };
    let whole = cosigned.to_string();
    let opened = trust.open(whole.as_bytes()).unwrap();
    assert_eq!(opened.cosignatures.len(), 3);
    for at in 0..whole.len() {
        if !whole.is_char_boundary(at) {
            continue;
        }
        // Of ML-DSA's long line, some places suffice.
        let is_ml_dsa = whole[..at].matches('—').count() == 2;
        if is_ml_dsa && !at.is_multiple_of(97) {
            continue;
        }
        let mut changed = whole.clone().into_bytes();
        changed[at] ^= 1;
        // What still opens says less: a line became one of an unknown key.
        if let Ok(changed) = trust.open(&changed) {
            assert_eq!(changed.signed, opened.signed, "byte {at}");
            assert!(changed.cosignatures.len() < 3, "byte {at}");
        }
    }
}

#[test]
fn the_sequencers_line_stands_for_its_own_note_alone() {
    let (mut seven, ten) = (note_of(7, SCENE.root(7), SCENE.histories[7]), note());
    // Both are the sequencer's words, each under the other's key id.
    let ours = seven.lines.pop().unwrap();
    seven.lines.push(ten.lines[2].clone());
    assert_eq!(
        open(seven.to_string().as_bytes()),
        Err(NoteRefusal::SequencerLines(0))
    );
    seven.lines[2].key_id = ours.key_id;
    assert!(matches!(
        open(seven.to_string().as_bytes()),
        Err(NoteRefusal::OtherSequencer { .. })
    ));
    // In the last place of a list, the key of a later batch is not asked.
    let mut early = ten.clone();
    early.lines[2].key_id = SequencerVerifier {
        origin: log_origin(),
        key: sequencer(1).address(),
    }
    .key_id();
    assert_eq!(
        open(early.to_string().as_bytes()),
        Err(NoteRefusal::SequencerLines(0))
    );
    // The origin is no part of what the sequencer signs. Under another host the same words hold, and say the same.
    let moved = ten
        .to_string()
        .replace("log.example/", "elsewhere.example/");
    let refused = open(moved.as_bytes());
    assert_eq!(refused, Err(NoteRefusal::SequencerLines(0)));
}

// Holds invariant 273.
#[test]
fn known_lines_count_for_one_witness_each() {
    let mut note = note();
    let (one, other) = (witness("w1_0x04"), witness("w1_0x06"));
    note.lines.push(one.sign(&note.body, 5).unwrap());
    note.lines.push(one.sign(&note.body, 6).unwrap());
    note.lines.push(other.sign(&note.body, 7).unwrap());
    let opened = open(note.to_string().as_bytes()).unwrap();
    assert_eq!(opened.cosignatures.len(), 5);
    assert_eq!(opened.witnesses(), BTreeSet::from(["witness.example/w1"]));
    // A cosignature without a time does not say that the tree was the newest.
    note.lines.truncate(3);
    note.lines.push(other.sign(&note.body, 0).unwrap());
    let opened = open(note.to_string().as_bytes()).unwrap();
    assert!(opened.witnesses().is_empty());
    // The second line of a key is checked as the first is.
    let mut broken = one.sign(&note.body, 5).unwrap();
    broken.signature[20] ^= 1;
    note.lines.push(one.sign(&note.body, 5).unwrap());
    note.lines.push(broken);
    let refused = open(note.to_string().as_bytes());
    assert_eq!(
        refused,
        Err(NoteRefusal::KnownKey(one.verifier().to_string()))
    );
}

#[test]
fn times_above_2_63_do_not_exist() {
    let mut note = note();
    let one = witness("w1_0x04");
    let seed = word(&VECTORS["witness_keys"]["w1_0x04"]["seed"]);
    let key = ed25519_dalek::SigningKey::from_bytes(&seed);
    let mut cosign = |timestamp_s: u64| {
        let name = one.verifier().name();
        let message = NoteAlgorithm::TimedEd25519.message(name, timestamp_s, &note.body);
        let signature = key.sign(&message.unwrap()).to_bytes();
        note.lines.truncate(3);
        note.lines.push(NoteLine {
            name: name.to_owned(),
            key_id: one.verifier().key_id(),
            signature: [&timestamp_s.to_be_bytes()[..], &signature].concat(),
        });
        open(note.to_string().as_bytes())
    };
    let last = i64::MAX as u64;
    let opened = cosign(last).unwrap();
    assert_eq!(opened.cosignatures[2].timestamp_s, last);
    assert!(matches!(cosign(last + 1), Err(NoteRefusal::KnownKey(_))));
    assert_eq!(one.sign(&self::note().body, last + 1), None);
}

// Holds invariant 273.
#[test]
fn a_log_is_none_of_its_witnesses() {
    let seed = word(&VECTORS["tlog_keys"]["mldsa"]["seed"]);
    let of_log = NoteSigner::from_seed(origin(), NoteAlgorithm::MlDsa44, &seed).unwrap();
    let mut note = note();
    note.lines[1] = of_log.sign(&note.body, 9).unwrap();
    let refused = open(note.to_string().as_bytes());
    assert_eq!(
        refused,
        Err(NoteRefusal::KnownKey(of_log.verifier().to_string()))
    );
    // A cosigner's key under the log's name counts neither.
    let cosigner = NoteSigner::from_seed(origin(), NoteAlgorithm::TimedEd25519, &seed).unwrap();
    let keys = sequencer_keys();
    let known = [cosigner.verifier().clone()];
    note.lines[1] = cosigner.sign(&note.body, 9).unwrap();
    let refused = trust(&keys, &known).open(note.to_string().as_bytes());
    assert!(matches!(refused, Err(NoteRefusal::KnownKey(_))));
}

#[test]
fn signatures_have_one_length() {
    let note = note();
    let lines = note.lines.iter().cloned();
    let cosigned = [witness("w1_0x04"), witness("w1_0x06")];
    let cosigned = cosigned.map(|witness| witness.sign(&note.body, 5).unwrap());
    for line in lines.chain(cosigned) {
        let refuse = |signature: Vec<u8>| {
            let mut note = note.clone();
            note.lines.retain(|other| other.key_id != line.key_id);
            note.lines.push(NoteLine {
                signature,
                ..line.clone()
            });
            assert!(open(note.to_string().as_bytes()).is_err());
        };
        let whole = &line.signature;
        refuse(whole[..whole.len() - 1].to_vec());
        refuse([&whole[..], &[0]].concat());
        refuse(whole[..8].to_vec());
    }
}

#[test]
fn ed25519_signatures_are_not_malleable() {
    // s + L is the same number modulo the group's order.
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut note = note();
    let mut carry = 0;
    for (byte, order) in note.lines[0].signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    let refused = open(note.to_string().as_bytes());
    assert!(matches!(refused, Err(NoteRefusal::KnownKey(_))));
}

#[test]
fn verifier_keys_have_one_spelling() {
    let vkey = text(&VECTORS["tlog_keys"]["ed25519"]["vkey"]);
    assert_eq!(vkey.parse::<NoteVerifier>().unwrap().to_string(), vkey);
    let ours = text(&VECTORS["sequencer_keys"][0]["vkey"]);
    let another = NoteSigner::from_seed(origin(), NoteAlgorithm::Ed25519, &[9; 32]).unwrap();
    let id = const_hex::encode(another.verifier().key_id());
    let another = another.verifier().to_string().replace(&id, "b6f7f4b6");
    let cases = [
        ("", VerifierError::Form),
        ("log.example+b6f7f4b6", VerifierError::Form),
        (&vkey.replace("b6f7f4b6", "B6F7F4B6"), VerifierError::Form),
        (&vkey.replace("b6f7f4b6", "0b6f7f4b"), VerifierError::Id),
        (&vkey.replace("b6f7f4b6", "b6f7f4b"), VerifierError::Form),
        (
            &vkey.replace("b6f7f4b6", "b6f7f4b6\u{30}"),
            VerifierError::Form,
        ),
        (
            &vkey.replace("log.example", "log.example2"),
            VerifierError::Id,
        ),
        (
            &vkey.replace("log.example", "log example"),
            VerifierError::Form,
        ),
        (&vkey.replace("AWFFF", "AmFFF"), VerifierError::Type),
        (&vkey.replace("AWFFF", "BmFFF"), VerifierError::Key),
        (&another, VerifierError::Id),
        (&format!("{vkey}AA=="), VerifierError::Key),
        (&format!("{vkey}=="), VerifierError::Form),
        (&format!(" {vkey}"), VerifierError::Form),
        (&format!("{vkey}\n"), VerifierError::Form),
        (&vkey[..vkey.len() - 4], VerifierError::Key),
        (ours, VerifierError::Type),
    ];
    for (key, error) in cases {
        let refused = key.parse::<NoteVerifier>().unwrap_err();
        assert_eq!(refused, error, "{key:?}");
    }
    let named = |name| NoteSigner::from_seed(name, NoteAlgorithm::Ed25519, &[1; 32]);
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\n"] {
        assert_eq!(named(name).unwrap_err(), VerifierError::Form, "{name:?}");
    }
}

#[test]
fn origins_name_this_log_and_a_host() {
    let suffix = text(&VECTORS["origins"]["suffix"]);
    let parse = |host: &str| TlogOrigin::parse(&format!("{host}{suffix}"), &domain());
    let longest = "a".repeat(255 - suffix.len());
    for host in ["a", "[::1]", "127.0.0.1", "a_b.example.", &longest] {
        assert!(parse(host).is_ok(), "{host}");
    }
    let hosts = [
        "",
        "A.example",
        "a b",
        "a/b",
        "a+b",
        "a@b",
        "a?b",
        "a#b",
        "a%62",
        "a\\b",
        "bücher",
        "a\u{7f}",
    ];
    for host in hosts {
        assert_eq!(parse(host), Err(TlogOriginError::Host(host.to_owned())));
    }
    let long = format!("{longest}a");
    assert_eq!(parse(&long), Err(TlogOriginError::TooLong(256)));
    let other = TlogOrigin::parse(
        "a/31337/0x5fbdb2315678afecb367f032d93f642f64180aa",
        &domain(),
    );
    assert!(matches!(other, Err(TlogOriginError::OtherLog(_))));
}

#[test]
fn proof_files_have_one_spelling() {
    let file = text(&VECTORS["tlog_proof"]["file"]);
    let parse = |text: String| TlogProof::parse(text.as_bytes()).unwrap_err();
    let extra_again = file.lines().nth(1).unwrap();
    let cases = [
        (changed(file, "@v1\n", "@v1\r\n"), TlogProofError::Form),
        (changed(file, "c2sp", " c2sp"), TlogProofError::Form),
        (changed(file, "extra ", "extra  "), TlogProofError::Extra),
        (changed(file, "extra ", "Extra "), TlogProofError::Extra),
        (
            changed(file, extra_again, &format!("{extra_again}\n{extra_again}")),
            TlogProofError::Index,
        ),
        (changed(file, "index 3", "index +3"), TlogProofError::Index),
        (changed(file, "index 3", "index 3 "), TlogProofError::Index),
        (
            changed(file, "index 3", "index 18446744073709551619"),
            TlogProofError::Index,
        ),
        (changed(file, "mQ=\n", "mQ\n"), TlogProofError::Path),
        (changed(file, "mQ=\n", "mQ= \n"), TlogProofError::Path),
        (
            changed(
                file,
                "=\n\n",
                &format!(
                    "=\n{}\n",
                    "8d93U6DFr9lP3XKFVXsVvvmsyJ3dGDHGoIDxAYwCQmQ=\n".repeat(64)
                ),
            ),
            TlogProofError::Path,
        ),
    ];
    for (text, error) in cases {
        assert_eq!(parse(text.clone()), error, "{text}");
    }
}

#[test]
fn a_proof_has_one_place() {
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let file = text(&VECTORS["tlog_proof"]["file"]);
    let good = TlogProof::parse(file.as_bytes()).unwrap();
    // The number's word has a bit above 64: no header is encoded like this, and no tree of a log holds it.
    let mut encoding = good.header.encoding();
    for at in [0, 32, 55, 64, 96, 123, 288, 311] {
        encoding[at] ^= 1;
        assert_eq!(BatchHeader::of_encoding(&encoding), None, "byte {at}");
        encoding[at] ^= 1;
    }
    assert_eq!(BatchHeader::of_encoding(&encoding), Some(good.header));

    // Another header of the log, at its own place and at the proven one.
    let check = |proof: &TlogProof| proof.check(&trust).unwrap_err();
    let mut other = good.clone();
    other.header = SCENE.headers[4];
    assert_eq!(
        check(&other),
        TlogProofError::Inclusion(ProofError::OtherRoot)
    );
    other.header.number = 3;
    assert_eq!(
        check(&other),
        TlogProofError::Inclusion(ProofError::OtherRoot)
    );
    other.header = SCENE.headers[10];
    assert_eq!(
        check(&other),
        TlogProofError::Inclusion(ProofError::Indices)
    );
    let mut short = good.clone();
    short.path.pop();
    assert_eq!(
        check(&short),
        TlogProofError::Inclusion(ProofError::TooShort)
    );
    let mut long = good.clone();
    long.path.push(Hash::ZERO);
    assert_eq!(check(&long), TlogProofError::Inclusion(ProofError::TooLong));
    let mut unsigned = good;
    unsigned.note.lines.remove(1);
    assert_eq!(
        check(&unsigned),
        TlogProofError::Refused(NoteRefusal::SequencerLines(0))
    );
}

#[test]
fn submissions_have_one_spelling() {
    let body = text(&VECTORS["add_checkpoint"]["body"]);
    let parse = |text: &str| CheckpointSubmission::parse(text.as_bytes()).unwrap_err();
    let line = body.lines().nth(1).unwrap();
    let many = format!("{line}\n").repeat(59);
    for (text, error) in [
        (
            changed(body, "old 7", "old 07"),
            CheckpointSubmissionError::Form,
        ),
        (
            changed(body, "old 7", "old"),
            CheckpointSubmissionError::Form,
        ),
        (
            changed(body, "old 7", "Old 7"),
            CheckpointSubmissionError::Form,
        ),
        (
            changed(body, "old 7\n", "old 7\r\n"),
            CheckpointSubmissionError::Form,
        ),
        (
            changed(body, line, &line[1..]),
            CheckpointSubmissionError::Proof,
        ),
        (
            changed(body, "old 7\n", "old 7\n\n"),
            CheckpointSubmissionError::Note(NoteError::Lines),
        ),
        (
            changed(body, "old 7\n", &format!("old 7\n{many}")),
            CheckpointSubmissionError::Proof,
        ),
    ] {
        assert_eq!(parse(&text), error);
    }
    let most = changed(body, "old 7\n", &format!("old 7\n{}", &many[45..]));
    assert!(CheckpointSubmission::parse(most.as_bytes()).is_ok());
    let first = CheckpointSubmission::new(0, Vec::new(), note());
    assert!(first.to_string().starts_with("old 0\n\nlog.example/"));
    assert_eq!(
        CheckpointSubmission::parse(first.to_string().as_bytes()),
        Ok(first)
    );
}

const POLICY_KEYS: [&str; 3] = ["w1_0x04", "w1_0x06", "w2_0x04"];

/// A policy in which `$log`, `$1`, `$2` and `$3` are keys.
fn policy(text_of: &str) -> Result<TlogPolicy, PolicyError> {
    let log = text(&VECTORS["tlog_keys"]["ed25519"]["vkey"]);
    let mut policy = text_of.replace("$log", log);
    for (at, name) in POLICY_KEYS.iter().enumerate() {
        let key = text(&VECTORS["witness_keys"][name]["vkey"]);
        policy = policy.replace(&format!("${}", at + 1), key);
    }
    TlogPolicy::parse(&policy)
}

#[test]
fn policies_count_members() {
    let third = NoteSigner::from_seed("third", NoteAlgorithm::TimedEd25519, &[3; 32]).unwrap();
    let third = third.verifier();
    let lines =
        format!("# three\n\twitness a $1 https://a.example \nwitness b $3\nwitness c {third}\n");
    let quorum = |groups: &str, names: &[&str]| {
        let policy = policy(&format!("{lines}{groups}")).unwrap();
        policy.has_quorum(&names.iter().copied().collect())
    };
    let (a, b, c) = ("witness.example/w1", "witness2.example", "third");
    for (groups, names, is_met) in [
        ("quorum none", &[][..], true),
        ("quorum a", &[][..], false),
        ("quorum a", &[a], true),
        ("quorum a", &[b, c], false),
        ("group g any a b c\nquorum g", &[c], true),
        ("group g 2 a b c\nquorum g", &[c], false),
        ("group g 2 a b c\nquorum g", &[a, c], true),
        ("group g all a b c\nquorum g", &[a, c], false),
        ("group g all a b c\nquorum g", &[a, b, c], true),
        ("group g any a b\ngroup h all g c\nquorum h", &[a, b], false),
        ("group g any a b\ngroup h all g c\nquorum h", &[b, c], true),
        // Names of the policy are not names of keys.
        ("quorum a", &["a"], false),
    ] {
        assert_eq!(quorum(groups, names), is_met, "{groups}: {names:?}");
    }
}

#[test]
fn policies_are_read_strictly() {
    use PolicyError as E;
    for (text, error) in [
        ("", E::Quorum),
        ("quorum none\nquorum none", E::Quorum),
        ("quorum a", E::Member(1)),
        ("quorum a\nwitness a $1", E::Member(1)),
        ("witness none $1\nquorum none", E::Name(1)),
        ("witness a $1\nwitness a $3\nquorum a", E::Name(2)),
        // One witness under two names would be a quorum of two.
        ("witness a $1\nwitness b $1\nquorum a", E::Again(2)),
        ("witness a $1\nwitness b $2\nquorum a", E::Again(2)),
        ("log $log\nlog $log\nquorum none", E::Again(2)),
        ("log $1\nquorum none", E::Type(1)),
        ("witness a $log\nquorum a", E::Type(1)),
        ("witness a $1\ngroup g any a a\nquorum g", E::Member(2)),
        (
            "witness a $1\ngroup g any a\ngroup h any a\nquorum h",
            E::Member(3),
        ),
        ("witness a $1\ngroup g any g\nquorum g", E::Member(2)),
        ("witness a $1\ngroup g any none\nquorum g", E::Member(2)),
        ("witness a $1\ngroup g 0 a\nquorum g", E::Threshold(2)),
        ("witness a $1\ngroup g 2 a\nquorum g", E::Threshold(2)),
        ("witness a $1\ngroup g 01 a\nquorum g", E::Threshold(2)),
        ("witness a $1\ngroup g +1 a\nquorum g", E::Threshold(2)),
        ("witness a $1\ngroup g any\nquorum g", E::Line(2)),
        ("witness a $1 https://a.example more\nquorum a", E::Line(1)),
        ("witness a\nquorum a", E::Line(1)),
        ("quorum none none", E::Line(1)),
        ("Quorum none", E::Line(1)),
        ("quorum none\r\n", E::Characters),
        ("quorum none\u{7f}", E::Characters),
    ] {
        assert_eq!(policy(text).unwrap_err(), error, "{text}");
    }
    let no_key = policy("witness a b\nquorum a").unwrap_err();
    let error = VerifierError::Form;
    assert_eq!(no_key, E::Key { line: 1, error });
}

#[test]
fn a_policy_wants_a_line_of_its_log() {
    let read = policy("log $log\nquorum none").unwrap();
    let mut of_log = note();
    assert!(read.is_met(&open(of_log.to_string().as_bytes()).unwrap()));
    of_log.lines.remove(0);
    assert!(!read.is_met(&open(of_log.to_string().as_bytes()).unwrap()));
    let any_log = policy("quorum none").unwrap();
    assert!(any_log.is_met(&open(of_log.to_string().as_bytes()).unwrap()));
}

#[test]
fn the_last_numbers_have_paths() {
    for row in [TileRow::Entries, TileRow::Level(0), TileRow::Level(63)] {
        let path = TilePath {
            row,
            index: u64::MAX,
            width: 256,
        };
        assert_eq!(path.to_string().parse(), Ok(path));
        assert!(!path.is_within(u64::MAX));
    }
    let last = TilePath::at(TileRow::Level(0), u64::MAX >> 8, u64::MAX).unwrap();
    assert_eq!(last.width, 255);
    assert!(last.is_within(u64::MAX) && !last.is_within(u64::MAX - 1));
    assert_eq!(TilePath::at(TileRow::Level(8), 0, u64::MAX), None);
    let long = format!("tile/0/x{}/000", "018/x".repeat(9));
    assert!(long.parse::<TilePath>().is_err());
    assert!(
        "tile/0/x018/x446/x744/x073/x709/x551/616"
            .parse::<TilePath>()
            .is_err()
    );
    assert!("tile/0/000.p/257".parse::<TilePath>().is_err());
    assert!("tile/0/000.p/1.p/1".parse::<TilePath>().is_err());
    assert!("tile/0/0x0/000".parse::<TilePath>().is_err());
}

/// A body is what all its keys sign: no two bodies have one text.
#[test]
fn a_body_is_its_text() {
    let body = NoteBody {
        origin: origin().to_owned(),
        size: u64::MAX,
        root: Hash::ZERO,
    };
    let whole = format!("{body}\n— a AAAAAAA=\n");
    assert_eq!(SignedNote::parse(whole.as_bytes()).unwrap().body, body);
    let keys = SequencerKeys::from(sequencer(1).address());
    let refused = trust(&keys, &[]).open(whole.as_bytes());
    assert_eq!(refused, Err(NoteRefusal::SequencerLines(0)));
}
