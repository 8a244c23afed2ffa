//! Evidence of faults of the tree that witnesses cosign, against `vectors/tlog.json`, and what a demand is answered with.

use std::collections::BTreeSet;

use kedge_protocol::evidence::{
    ContractView, DemandedEntry, EntryDemand, FalseRootRecords, NoFault, NoTlogFault, TlogEvidence,
    TlogFault, check_demanded_entry, judge_tlog,
};
use kedge_protocol::signature::SignatureError;
use kedge_protocol::tlog::{NoteRefusal, SignedNote, SignedTlogCheckpoint, TlogCheckpoint};
use serde_json::Value;

use crate::tlog_scene::{
    SCENE, VECTORS, bytes, domain, hash, hashes, header, list, number, sequencer_keys, text, trust,
    verifiers,
};

fn view(case: &Value) -> ContractView {
    let mut view = ContractView::of_known_keys(domain(), &sequencer_keys());
    if let Some(anchored) = case.get("anchored") {
        let history = hash(&anchored["history"]);
        view.anchored.insert(number(&anchored["batches"]), history);
    }
    view
}

fn signed(case: &Value) -> Result<SignedTlogCheckpoint, NoTlogFault> {
    let signature: Result<_, SignatureError> = text(&case["signature"]).parse();
    Ok(SignedTlogCheckpoint {
        checkpoint: TlogCheckpoint {
            batches: number(&case["batches"]),
            root: hash(&case["root"]),
            history: hash(&case["history"]),
        },
        signature: signature.map_err(NoFault::Signature)?,
    })
}

fn conflicting(case: &Value) -> Result<TlogEvidence, NoTlogFault> {
    Ok(TlogEvidence::ConflictingTlog {
        first: signed(&case["a"])?,
        second: signed(&case["b"])?,
    })
}

fn false_history(case: &Value) -> Result<TlogEvidence, NoTlogFault> {
    Ok(TlogEvidence::FalseTlogHistory {
        signed: signed(&case["t"])?,
        anchored_batches: number(&case["anchored"]["batches"]),
        beginning: hash(&case["beginning"]),
        proof: hashes(&case["proof"]),
    })
}

fn false_root(case: &Value) -> Result<TlogEvidence, NoTlogFault> {
    let entry = match case["entry"].get("zero_bytes") {
        Some(count) => vec![0; number(count) as usize],
        None => bytes(&case["entry"]),
    };
    Ok(TlogEvidence::FalseTlogRoot(FalseRootRecords {
        signed: signed(&case["t"])?,
        index: number(&case["index"]),
        entry,
        entry_path: hashes(&case["entry_path"]),
        held: hash(&case["held"]),
        held_path: hashes(&case["held_path"]),
    }))
}

fn answer(case: &Value) -> Result<(), NoTlogFault> {
    let demand = EntryDemand {
        signed: signed(&case["t"])?,
        index: number(&case["index"]),
    };
    let answer = DemandedEntry {
        header: header(&case["header"]),
        entry_path: hashes(&case["entry_path"]),
        anchored_batches: number(&case["anchored"]["batches"]),
        held_path: hashes(&case["held_path"]),
    };
    check_demanded_entry(&demand, &answer, &view(case))
}

/// What the vectors may call a reason.
fn stated(no_fault: &NoTlogFault) -> &'static [&'static str] {
    match no_fault {
        NoTlogFault::EntryTooLong(_) => &["above 65,535 bytes"],
        NoTlogFault::NotBelow { .. } => &["not below a checkpoint"],
        NoTlogFault::Record(record) => match record {
            NoFault::NoContradiction => &[
                "no conflict",
                "two sizes",
                "it is its history",
                "the entry is held's",
            ],
            NoFault::NotSigned { .. } => &["not by the sequencer key"],
            NoFault::Signature(SignatureError::HighS) => &["high s"],
            NoFault::EmptyCheckpoint => &["batches 0"],
            NoFault::NotInHistory { .. } => &["verifyBatch does not find it", "path too long"],
            NoFault::PathLeadsElsewhere => &[
                "above the anchored batches",
                "consistency",
                "consistency: too long",
                "index",
                "path too long",
                "path too short",
                "the entry does not lead to root",
                "the header does not lead to root",
                "held does not lead to history",
            ],
            _ => &[],
        },
    }
}

/// Holds all good and bad cases of one fault; returns how many there are.
fn judge(name: &str, fault: &dyn Fn(&Value) -> Result<(), NoTlogFault>) -> (usize, usize) {
    let cases = &VECTORS["faults"][name];
    let (good, bad) = (list(cases, "good"), list(cases, "must_refuse"));
    for case in good {
        assert_eq!(fault(case), Ok(()), "{name}: {}", case["why"]);
    }
    for case in bad {
        let refused = fault(case).unwrap_err();
        let expected = text(&case["refused_by"]);
        let why = &case["why"];
        assert!(
            stated(&refused).contains(&expected),
            "{name}, {why}: {refused}"
        );
    }
    (good.len(), bad.len())
}

fn convicts(
    case: &Value,
    read: fn(&Value) -> Result<TlogEvidence, NoTlogFault>,
    fault: TlogFault,
) -> Result<(), NoTlogFault> {
    let evidence = read(case)?;
    let json = serde_json::to_string(&evidence).unwrap();
    assert_eq!(
        serde_json::from_str::<TlogEvidence>(&json).unwrap(),
        evidence
    );
    assert!(json.starts_with(&format!("{{\"fault\":\"{fault}\"")));
    assert_eq!(judge_tlog(&evidence, &view(case))?, fault);
    Ok(())
}

// Holds invariant 274.
#[test]
fn verdicts_are_those_of_the_vectors() {
    let faults = VECTORS["faults"].as_object().unwrap();
    let names: BTreeSet<&str> = faults.keys().map(String::as_str).collect();
    let held = [
        "alarm_without_our_line",
        "conflicting_tlog",
        "demand_of_entry_answers",
        "false_tlog_history",
        "false_tlog_root",
    ];
    assert_eq!(names, BTreeSet::from(held));
    let conflict = judge("conflicting_tlog", &|case| {
        convicts(case, conflicting, TlogFault::ConflictingTlog)
    });
    let history = judge("false_tlog_history", &|case| {
        convicts(case, false_history, TlogFault::FalseTlogHistory)
    });
    let root = judge("false_tlog_root", &|case| {
        convicts(case, false_root, TlogFault::FalseTlogRoot)
    });
    let answers = judge("demand_of_entry_answers", &answer);
    assert_eq!(
        [conflict, history, root, answers],
        [(4, 8), (5, 12), (10, 16), (3, 8)]
    );
}

#[test]
fn a_fork_without_the_sequencers_line_is_an_alarm() {
    let alarm = &VECTORS["faults"]["alarm_without_our_line"];
    assert_eq!(alarm.as_object().unwrap().len(), 2);
    let notes = list(alarm, "notes");
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let [first, second] = [&notes[0], &notes[1]].map(|note| text(note).as_bytes());
    assert!(trust.open(first).is_ok());
    assert_eq!(trust.open(second), Err(NoteRefusal::SequencerLines(0)));
    // Both notes together are the alarm: one Ed25519 key signed two roots of one size.
    let [first, second] = [first, second].map(|note| SignedNote::parse(note).unwrap());
    assert_eq!(first.body.size, second.body.size);
    assert_ne!(first.body.root, second.body.root);
    for note in [first, second] {
        let lines = trust.known_lines(&note).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].key_id, known[0].key_id());
    }
    assert_eq!(notes.len(), 2);
}

// Holds invariant 274.
#[test]
fn a_false_history_in_a_note_convicts() {
    let cases = list(&VECTORS["must_refuse_notes"], "cases");
    let (keys, known) = (sequencer_keys(), verifiers());
    let mut convicted = Vec::new();
    for case in cases.iter().filter(|case| case["by"] == "log") {
        let opened = trust(&keys, &known)
            .open(text(&case["note"]).as_bytes())
            .unwrap();
        let mut view = view(case);
        view.anchored.insert(10, SCENE.histories[10]);
        let evidence = TlogEvidence::FalseTlogHistory {
            signed: opened.signed,
            anchored_batches: 10,
            beginning: SCENE.histories[10],
            proof: Vec::new(),
        };
        convicted.push(judge_tlog(&evidence, &view).is_ok());
    }
    assert_eq!(convicted, [true, false]);
}
