//! Evidence of faults: its check and its files.

use std::collections::{BTreeMap, BTreeSet};

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{
    ContractCoverage, ContractView, Evidence, EvidenceFile, EvidenceFileError, Fault,
    HeaderEvidence, KeyTerm, NoFault,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::limits::{EVIDENCE_BYTES_MAX, EVIDENCE_PATH_MAX, SEQUENCER_KEYS_MAX};
use kedge_protocol::{Hash, Id, KeyActivation, Prefix, SequencerKeys};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::faults::{self, ROTATED_AT, SECOND_KEY, cases, log, trust};
use crate::signed_log::{domain, key};

/// The contracts' name for a refusal.
fn name(refusal: &NoFault) -> &'static str {
    match refusal {
        NoFault::OtherDomain | NoFault::NotSigned { .. } | NoFault::Signature(_) => "NotSigned",
        NoFault::UnknownKey(_) | NoFault::EmptyCheckpoint => "Panic",
        NoFault::TooOld { .. } => "EvidenceTooOld",
        NoFault::NotCovered { .. } => "NotCovered",
        NoFault::UnknownCheckpoint(_) => "UnknownCheckpoint",
        NoFault::NotInHistory { .. } => "BatchNotInHistory",
        NoFault::PathLeadsElsewhere => "PathLeadsElsewhere",
        NoFault::NoContradiction => "NoFault",
    }
}

// Holds invariant 70.
#[test]
fn every_case_has_its_verdict() {
    let log = log();
    let trust = trust(&log);
    for case in cases(&log) {
        let verdict = case.file.check(&trust);
        let refused = verdict.as_ref().err().map(name);
        assert_eq!(refused, case.refused, "{}: {verdict:?}", case.name);
        if let Ok(verdict) = verdict {
            assert_eq!(verdict.fault, case.file.evidence.fault(), "{}", case.name);
            assert_eq!(verdict.batch, case.file.evidence.batch(), "{}", case.name);
        }
    }
}

#[test]
fn every_fault_is_among_the_cases_proven_and_refused() {
    let of = |proven: bool| -> BTreeSet<Fault> {
        let cases = cases(&log()).into_iter();
        let cases = cases.filter(|case| case.refused.is_none() == proven);
        cases.map(|case| case.file.evidence.fault()).collect()
    };
    assert_eq!(of(true), BTreeSet::from(Fault::ALL));
    assert_eq!(of(false), BTreeSet::from(Fault::ALL));
}

#[test]
fn files_read_back_and_name_the_checkpoints_they_need() {
    let log = log();
    let whole = trust(&log);
    for case in cases(&log) {
        let text = serde_json::to_string(&case.file).unwrap();
        let read = EvidenceFile::parse(&text).unwrap();
        assert_eq!(read, case.file, "{}", case.name);
        let fault = case.file.evidence.fault();
        assert_eq!(json_of(&case.file)["evidence"]["fault"], fault.text());
        assert_eq!(Fault::of_text(fault.text()), Some(fault));
        assert_eq!(fault.to_string(), fault.text());

        // The checkpoints that the evidence names suffice for the verdict.
        let mut few = whole.clone();
        let needed = case.file.evidence.anchored_batches();
        few.anchored.retain(|batches, _| needed.contains(batches));
        assert_eq!(
            case.file.check(&few),
            case.file.check(&whole),
            "{}",
            case.name
        );
    }
}

#[test]
fn evidence_is_about_what_it_names_first() {
    for case in cases(&log()) {
        let value = json_of(&case.file)["evidence"].take();
        let members = [
            "first", "left", "signed", "batch", "before", "action", "earlier",
        ];
        let first = members.iter().find_map(|name| value.get(name)).unwrap();
        let evidence = &case.file.evidence;
        let (batch, subject) = if let Some(checkpoint) = first.get("checkpoint") {
            let checkpoint: Checkpoint = serde_json::from_value(checkpoint.clone()).unwrap();
            (checkpoint.batches.max(1) - 1, checkpoint.anchor_id())
        } else {
            let holder = first.get("batch").unwrap_or(first);
            let header: BatchHeader = serde_json::from_value(holder["header"].clone()).unwrap();
            (header.number, Id::of_hash(Prefix::Batch, &header.hash()))
        };
        assert_eq!(evidence.batch(), batch, "{}", case.name);
        assert_eq!(evidence.subject(), subject, "{}", case.name);
    }
}

#[test]
fn files_have_one_normal_form() {
    let file = equivocation();
    let spread = serde_json::to_string_pretty(&file).unwrap();
    let read = EvidenceFile::parse(&spread).unwrap();
    let normal = read.normal_form().unwrap();
    assert_eq!(normal, serde_json::to_string(&file).unwrap());
    let start = r#"{"format":"kedge.evidence","version":1,"domain":{"chain_id":31337,"#;
    assert!(normal.starts_with(start), "{normal}");
    let digest: [u8; 32] = Sha256::digest(&normal).into();
    assert_eq!(EvidenceFile::digest_of(&normal), Hash(digest));
}

/// Equal numbers contradict nothing, where the protocol allows them.
#[test]
fn equal_numbers_are_no_fault() {
    let log = log();
    let trust = trust(&log);
    let first_key = key(faults::FIRST_KEY);
    let no_fault = |evidence| {
        let verdict = EvidenceFile::new(domain(), evidence).check(&trust);
        assert_eq!(verdict, Err(NoFault::NoContradiction));
    };
    let sealed_at_ms = log.batch(2).header.sealed_at_ms;
    let next = log.batch(3).clone();
    let next = next.with(|header| header.sealed_at_ms = sealed_at_ms);
    no_fault(Evidence::BrokenLink {
        before: log.batch(2).evidence(&first_key),
        next: next.evidence(&first_key),
    });
    let last_moment = log.batch(2).clone();
    let last_moment = last_moment.with_leaf(1, |leaf| leaf.timestamp_ms = sealed_at_ms);
    no_fault(Evidence::BrokenLeaf {
        action: last_moment.leaf(1, last_moment.evidence(&first_key)),
    });
    // One sequence at two times is a conflict of batches, but no falling time.
    let later = log.batch(2).clone();
    let later = later.with_leaf(1, |leaf| leaf.timestamp_ms += 1);
    no_fault(Evidence::FallingTime {
        earlier: later.leaf(1, later.evidence(&first_key)),
        later: log.batch(2).leaf(1, log.batch(2).evidence(&first_key)),
    });
}

#[test]
fn the_empty_log_begins_every_log_without_a_proof() {
    let log = log();
    let trust = trust(&log);
    let bent = log.batch(0).clone();
    let bent = bent.with(|header| header.history = keccak(b"a past"));
    let verdict = |beginning: Hash, proof: &[Hash]| {
        let evidence = Evidence::FalseHistory {
            batch: bent.evidence(&key(faults::FIRST_KEY)),
            anchored_batches: 6,
            beginning,
            proof: proof.to_vec(),
        };
        EvidenceFile::new(domain(), evidence)
            .check(&trust)
            .map(|_| ())
    };
    let empty = keccak(b"");
    assert_eq!(verdict(empty, &[]), Ok(()));
    let elsewhere = Err(NoFault::PathLeadsElsewhere);
    assert_eq!(verdict(empty, &[Hash::ZERO]), elsewhere);
    assert_eq!(verdict(Hash::ZERO, &[]), elsewhere);
}

#[test]
fn known_keys_sign_until_the_next_one() {
    let entry = |number, from_batch| KeyActivation {
        key: key(number).address(),
        from_batch,
    };
    let keys = SequencerKeys::new(vec![entry(1, 0), entry(2, 7), entry(3, 9)]).unwrap();
    let trust = ContractView::of_known_keys(domain(), &keys);
    let term = |number, from_batch, until_batch| KeyTerm {
        from_batch,
        until_batch,
        ..KeyTerm::only(key(number).address())
    };
    let terms = [term(1, 0, 7), term(2, 7, 9), term(3, 9, u64::MAX)];
    assert_eq!(trust.keys, terms);
    assert_eq!(trust.anchored, BTreeMap::from([(0, keccak(b""))]));

    // A single key may have any index in the contract's list.
    let only = ContractView::of_known_keys(domain(), &SequencerKeys::from(key(1).address()));
    assert_eq!(only.keys, vec![term(1, 0, u64::MAX); SEQUENCER_KEYS_MAX]);
    assert_eq!(only.domain, domain());
}

#[test]
fn a_contract_anchors_its_own_batches() {
    let coverage = ContractCoverage {
        from_batch: 2,
        until_batch: 4,
        retired_at_s: 50,
    };
    let held: Vec<u64> = (0..6).filter(|batch| coverage.holds(*batch)).collect();
    assert_eq!(held, [2, 3]);
    assert!(ContractCoverage::ALL.holds(0));
}

fn json_of(file: &EvidenceFile) -> Value {
    serde_json::to_value(file).unwrap()
}

fn equivocation() -> EvidenceFile {
    let mut found = cases(&log()).into_iter();
    found.next().unwrap().file
}

fn edited(edit: impl FnOnce(&mut Value)) -> Result<EvidenceFile, EvidenceFileError> {
    let mut value = json_of(&equivocation());
    edit(&mut value);
    EvidenceFile::parse(&value.to_string())
}

#[test]
fn files_are_read_strictly() {
    assert!(edited(|_| ()).is_ok());
    let wrong: [fn(&mut Value); 9] = [
        |file| file["extra"] = json!(1),
        |file| file["evidence"]["extra"] = json!(1),
        |file| file["evidence"]["first"]["extra"] = json!(1),
        |file| file["evidence"]["first"]["header"]["extra"] = json!(1),
        |file| file["evidence"]["fault"] = json!("unheard_of"),
        |file| {
            file["evidence"]["first"]["standing"]["anchored"] = json!({"batches": 3, "path": []});
        },
        |file| file["evidence"]["first"]["standing"]["signed"] = json!([Hash::ZERO, 0]),
        |file| {
            let members = file["domain"].as_object().unwrap().values().cloned();
            file["domain"] = members.collect();
        },
        |file| {
            *file = json!([
                file["format"],
                file["version"],
                file["domain"],
                file["evidence"]
            ]);
        },
    ];
    for (place, edit) in wrong.into_iter().enumerate() {
        let read = edited(edit);
        assert!(
            matches!(read, Err(EvidenceFileError::Json(_))),
            "{place}: {read:?}"
        );
    }
    let text = serde_json::to_string(&equivocation()).unwrap();
    let twice = text.replacen("\"version\":1", "\"version\":1,\"version\":1", 1);
    assert!(matches!(
        EvidenceFile::parse(&twice),
        Err(EvidenceFileError::Json(_))
    ));
    let other = edited(|file| file["format"] = json!("kedge.claim"));
    assert!(matches!(other, Err(EvidenceFileError::Format(_))));
    let newer = edited(|file| file["version"] = json!(2));
    assert!(matches!(newer, Err(EvidenceFileError::Version(2))));
}

#[test]
fn files_are_bounded() {
    let path = |hashes: usize| {
        edited(|file| {
            let path = vec![Hash::ZERO; hashes];
            file["evidence"]["first"]["standing"] =
                json!({"anchored": {"batches": 3, "path": path}});
        })
    };
    assert!(path(EVIDENCE_PATH_MAX).is_ok());
    assert!(matches!(
        path(EVIDENCE_PATH_MAX + 1),
        Err(EvidenceFileError::Json(_))
    ));
    let leaves = |count: usize| {
        edited(|file| {
            let batch = file["evidence"]["first"].take();
            let leaves = vec![Hash::ZERO; count];
            file["evidence"] = json!({"fault": "broken_chain", "batch": batch, "leaves": leaves});
        })
    };
    assert!(leaves(500).is_ok());
    assert!(matches!(leaves(501), Err(EvidenceFileError::Json(_))));
    let text = serde_json::to_string(&equivocation()).unwrap();
    let room = " ".repeat(EVIDENCE_BYTES_MAX - text.len());
    assert!(EvidenceFile::parse(&format!("{text}{room}")).is_ok());
    let long = EvidenceFile::parse(&format!("{text}{room} "));
    assert!(matches!(long, Err(EvidenceFileError::TooLong { .. })));
}

#[test]
fn another_logs_evidence_proves_nothing() {
    let other = Domain {
        chain_id: 1,
        ..domain()
    };
    let Evidence::ConflictingBatches { .. } = equivocation().evidence else {
        unreachable!("the first case");
    };
    let trust = trust(&log());
    let foreign = EvidenceFile::new(other, equivocation().evidence);
    assert_eq!(foreign.check(&trust), Err(NoFault::OtherDomain));
    let elsewhere = ContractView {
        domain: other,
        ..trust
    };
    assert!(matches!(
        foreign.check(&elsewhere),
        Err(NoFault::NotSigned { .. })
    ));
}

/// The verdict on two headers of batch `number`, signed by the first or the second key.
fn verdict_at(trust: &ContractView, number: u64, signer: u8) -> Result<(), NoFault> {
    let log = log();
    let index = u32::from(signer == SECOND_KEY);
    let header = |ms: u64| {
        let draft = log.batch(number).clone();
        let draft = draft.with(|header| header.sealed_at_ms += ms);
        HeaderEvidence::signed(&draft.signed(&key(signer)), index)
    };
    let evidence = Evidence::ConflictingBatches {
        first: header(0),
        second: header(1),
    };
    EvidenceFile::new(domain(), evidence)
        .check(trust)
        .map(|_| ())
}

#[test]
fn a_replaced_key_counts_for_a_time() {
    let mut trust = trust(&log());
    let (own, taken) = (ROTATED_AT - 1, ROTATED_AT);
    let replaced_at_s = trust.keys[0].replaced_at_s;
    let too_old = |batch| {
        Err(NoFault::TooOld {
            batch,
            key_index: 0,
        })
    };

    trust.now_s = replaced_at_s + trust.evidence_age_s;
    assert_eq!(verdict_at(&trust, taken, faults::FIRST_KEY), Ok(()));
    trust.now_s += 1;
    assert_eq!(verdict_at(&trust, taken, faults::FIRST_KEY), too_old(taken));
    assert_eq!(
        verdict_at(&trust, own, faults::FIRST_KEY),
        Ok(()),
        "not noted as anchored"
    );
    trust.keys[0].closed_at_s = replaced_at_s + 1;
    assert_eq!(verdict_at(&trust, own, faults::FIRST_KEY), Ok(()));
    trust.now_s += 1;
    assert_eq!(verdict_at(&trust, own, faults::FIRST_KEY), too_old(own));
    assert_eq!(
        verdict_at(&trust, taken, SECOND_KEY),
        Ok(()),
        "the key of today"
    );
}

// Holds invariant 111.
#[test]
fn a_contract_answers_for_its_own_batches() {
    let mut trust = trust(&log());
    trust.evidence_age_s = 100;
    trust.coverage = ContractCoverage {
        from_batch: 2,
        until_batch: 4,
        retired_at_s: 50,
    };
    trust.now_s = 151;
    let outside = |batch| {
        Err(NoFault::NotCovered {
            batch,
            from_batch: 2,
            until_batch: 4,
        })
    };
    assert_eq!(verdict_at(&trust, 1, faults::FIRST_KEY), outside(1));
    assert_eq!(verdict_at(&trust, 2, faults::FIRST_KEY), Ok(()));
    assert_eq!(verdict_at(&trust, 3, faults::FIRST_KEY), Ok(()));
    assert_eq!(verdict_at(&trust, 4, faults::FIRST_KEY), outside(4));
    // Retirement invalidates no signature: until the evidence age has passed, evidence about later batches counts.
    trust.now_s = 150;
    assert_eq!(verdict_at(&trust, 1, faults::FIRST_KEY), outside(1));
    assert_eq!(verdict_at(&trust, 4, faults::FIRST_KEY), Ok(()));
    trust.keys.truncate(1);
    trust.coverage = ContractCoverage::ALL;
    let unknown = verdict_at(&trust, ROTATED_AT, SECOND_KEY);
    assert_eq!(unknown, Err(NoFault::UnknownKey(1)));
}
