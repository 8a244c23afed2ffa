//! Evidence of the state's faults through its judge: real signatures, proofs and places, and records that do not hold.

use kedge_protocol::chain::next_integrity;
use kedge_protocol::evidence::{
    ChangeEvidence, CheckpointEvidence, ContractView, EntryEvidence, EntryPairEvidence,
    FalseEntryRecords, HeaderEvidence, NoFault, NoStateFault, OpenedLeafEvidence, StateEvidence,
    StateFault, TrespassRecords, judge_state,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::state::faults::LeafWords;
use kedge_protocol::state::trie::StateRootBuilder;
use kedge_protocol::state::{StateEntry, StateProof, StateProofError, state_path};
use kedge_protocol::{Hash, Id, Prefix};

use crate::signed_log::{SignedLog, domain, key, signed_checkpoint};
use crate::state_scene::{address, entry, id};

/// The operator's key.
const OPERATOR: u8 = 1;
const OTHER: u8 = 2;

/// A log of two batches whose fourth action updates an object, and a checkpoint over both that has the entry of before.
struct JudgeScene {
    trust: ContractView,
    log: SignedLog,
    words: LeafWords,
    stale: StateEntry,
}

impl JudgeScene {
    fn new() -> Self {
        let words = LeafWords {
            kind: keccak(b"update"),
            target: keccak(b"target"),
            payload: keccak(b"{}"),
            signer: address(1),
            authority: keccak(b"authority"),
        };
        let mut stale = entry(Prefix::Object);
        (stale.version, stale.sequence) = (1, 2);
        let mut log = SignedLog::default();
        let first = log.next(2);
        log.append(first);
        let content = words.content();
        let integrity = next_integrity(&stale.integrity, &content);
        let second = log.next(3).with_leaf(1, |leaf| {
            leaf.content = content;
            leaf.integrity = integrity;
        });
        log.append(second);
        Self {
            trust: ContractView::new(domain(), key(OPERATOR).address()),
            log,
            words,
            stale,
        }
    }

    /// The checkpoint over this many batches, with this state, signed by this key.
    fn checkpoint(&self, batches: u64, state: Hash, by: u8) -> CheckpointEvidence {
        let mut checkpoint = self.log.checkpoint(batches);
        checkpoint.state = state;
        signed_checkpoint(checkpoint, &key(by), 0)
    }

    /// What a state with one entry holds of it.
    fn held(&self, batches: u64, key: Id, bytes: Vec<u8>, by: u8) -> EntryEvidence {
        let mut builder = StateRootBuilder::default();
        let (path, value) = (state_path(&key), keccak(&bytes));
        builder.add_leaf(&path, &value).unwrap();
        let (root, _) = builder.finish();
        let mut node = vec![0xf8, 0x43, 0xa1, 0x20];
        node.extend(path.0);
        node.push(0xa0);
        node.extend(value.0);
        EntryEvidence {
            checkpoint: self.checkpoint(batches, root, by),
            proof: StateProof {
                key,
                entry: bytes,
                nodes: vec![node],
            },
        }
    }

    fn entry(&self) -> EntryEvidence {
        self.held(2, id(Prefix::Object, 1), self.stale.to_bytes(), OPERATOR)
    }

    fn leaf(&self) -> OpenedLeafEvidence {
        let batch = self.log.batch(1);
        OpenedLeafEvidence {
            action: batch.leaf(1, batch.evidence(&key(OPERATOR))),
            words: Some(self.words),
        }
    }

    fn stale(&self) -> StateEvidence {
        StateEvidence::StaleState {
            entry: self.entry(),
            leaf: self.leaf(),
        }
    }

    fn judged(&self, evidence: &StateEvidence) -> Result<StateFault, NoStateFault> {
        judge_state(evidence, &self.trust)
    }

    /// Evidence of every fault from these records, whatever they show.
    fn every(entry: &EntryEvidence, leaf: &OpenedLeafEvidence) -> Vec<StateEvidence> {
        let mut all = Self::of_entries(entry);
        all.extend(Self::of_changes(entry, leaf));
        all.extend(Self::of_leaves(entry, leaf));
        all.sort_by_key(StateEvidence::fault);
        all
    }

    fn of_entries(entry: &EntryEvidence) -> Vec<StateEvidence> {
        use StateEvidence as E;
        let signed = || entry.checkpoint.clone();
        let kinds = [
            E::RewrittenState,
            E::LoneStep,
            E::TwoFacedState,
            E::ChangedConstant,
            E::TwinState,
            E::FalseAddress,
            E::Oversupply,
        ];
        let pair = || EntryPairEvidence {
            first: entry.clone(),
            second: entry.clone(),
        };
        let mut all: Vec<E> = kinds.iter().map(|kind| kind(pair())).collect();
        all.push(E::MalformedState {
            entry: entry.clone(),
        });
        all.push(E::UnrootedCheckpoint {
            first: signed(),
            second: signed(),
        });
        all.push(E::BrokenTrie {
            signed: signed(),
            path: Hash::ZERO,
            nodes: entry.proof.nodes.clone(),
        });
        all
    }

    fn of_changes(entry: &EntryEvidence, leaf: &OpenedLeafEvidence) -> Vec<StateEvidence> {
        let kinds = [
            StateEvidence::FalseOwner,
            StateEvidence::HiddenChange,
            StateEvidence::FalseKeys,
            StateEvidence::FalseVersion,
        ];
        let change = || ChangeEvidence {
            first: entry.clone(),
            second: entry.clone(),
            leaves: vec![leaf.clone()],
        };
        kinds.iter().map(|kind| kind(change())).collect()
    }

    fn of_leaves(shown: &EntryEvidence, opened: &OpenedLeafEvidence) -> Vec<StateEvidence> {
        use StateEvidence as E;
        let (kind, entry, leaf) = (
            Some("update".to_owned()),
            || shown.clone(),
            || opened.clone(),
        );
        let wallet = || Some(Box::new(shown.clone()));
        let plain = [
            |entry, leaf| E::StaleState { entry, leaf },
            |entry, leaf| E::DeadHand { entry, leaf },
            |object, leaf| E::LiveUpdate { object, leaf },
            |wallet, leaf| E::GhostMember { leaf, wallet },
        ];
        let signed = [
            |entry, leaf, wallet| E::ForeignMaker {
                entry,
                leaf,
                wallet,
            },
            |template, leaf, wallet| E::ForeignMint {
                template,
                leaf,
                wallet,
            },
        ];
        let plain = plain.iter().map(|of: &fn(_, _) -> E| of(entry(), leaf()));
        let signed = signed
            .iter()
            .map(|of: &fn(_, _, _) -> E| of(entry(), leaf(), entry()));
        let mut all: Vec<E> = plain.chain(signed).collect();
        all.push(E::ForeignHand {
            entry: entry(),
            leaf: leaf(),
            wallet: wallet(),
        });
        all.push(E::FalseEntry(FalseEntryRecords {
            entry: entry(),
            leaf: leaf(),
            kind: kind.clone(),
            to: None,
            wallet: wallet(),
        }));
        all.push(E::MissingState {
            entry: entry(),
            leaf: leaf(),
            kind: "mint".into(),
        });
        all.push(E::Trespass(TrespassRecords {
            object: entry(),
            template: entry(),
            leaves: vec![leaf()],
            leaf: leaf(),
            kind,
            wallet: wallet(),
        }));
        all
    }
}

#[test]
fn evidence_that_holds_convicts() {
    let scene = JudgeScene::new();
    let stale = scene.stale();
    assert_eq!(scene.judged(&stale), Ok(StateFault::StaleState));
    // The same entry at the checkpoint before the leaf is no fault.
    let honest = StateEvidence::StaleState {
        entry: scene.held(1, id(Prefix::Object, 1), scene.stale.to_bytes(), OPERATOR),
        leaf: scene.leaf(),
    };
    assert_eq!(scene.judged(&honest), Err(NoStateFault::NoContradiction));
    // A leaf may stand in an anchored header, too.
    let mut trust = scene.trust.clone();
    trust.anchored.insert(2, scene.log.root(2));
    let mut leaf = scene.leaf();
    leaf.action.batch = scene.log.anchored(1, 2);
    let anchored = StateEvidence::StaleState {
        entry: scene.entry(),
        leaf,
    };
    assert_eq!(anchored.anchored_batches(), [2]);
    assert_eq!(stale.anchored_batches(), [0; 0]);
    assert_eq!(judge_state(&anchored, &trust), Ok(StateFault::StaleState));
    assert!(scene.judged(&anchored).is_err());
}

#[test]
fn evidence_of_every_fault_is_read_and_judged() {
    let scene = JudgeScene::new();
    let (entry, leaf) = (scene.entry(), scene.leaf());
    let mut faults = Vec::new();
    for evidence in JudgeScene::every(&entry, &leaf) {
        let text = serde_json::to_string(&evidence).unwrap();
        assert_eq!(
            serde_json::from_str::<StateEvidence>(&text).unwrap(),
            evidence
        );
        let fault = evidence.fault();
        assert!(
            text.starts_with(&format!("{{\"fault\":\"{fault}\"")),
            "{text}"
        );
        let unknown = text.replacen('{', "{\"more\":1,", 1);
        assert!(
            serde_json::from_str::<StateEvidence>(&unknown).is_err(),
            "{fault}"
        );
        match scene.judged(&evidence) {
            Ok(found) => assert_eq!(found, fault),
            Err(NoStateFault::NoContradiction) => {}
            Err(other) => panic!("{fault}: {other}"),
        }
        faults.push(fault);
    }
    assert_eq!(faults, StateFault::ALL);
}

#[test]
fn every_record_is_tied_to_the_operator() {
    let scene = JudgeScene::new();
    let (entry, leaf) = (scene.entry(), scene.leaf());
    let bytes = scene.stale.to_bytes();
    let of_another = scene.held(2, id(Prefix::Object, 1), bytes, OTHER);
    let mut elsewhere = leaf.clone();
    elsewhere.action.index = 2;
    let mut unsigned = leaf.clone();
    let header = scene.log.batch(1).signed(&key(OTHER));
    unsigned.action.batch = HeaderEvidence::signed(&header, 0);
    let mut reworded = leaf.clone();
    reworded.words = Some(LeafWords {
        kind: keccak(b"transfer"),
        ..scene.words
    });
    for evidence in JudgeScene::every(&of_another, &leaf) {
        let refused = scene.judged(&evidence);
        let is_unsigned = matches!(
            refused,
            Err(NoStateFault::Record(NoFault::NotSigned { .. }))
        );
        assert!(is_unsigned, "{}: {refused:?}", evidence.fault());
    }
    let with_leaf = |leaf: &OpenedLeafEvidence| {
        let all = JudgeScene::every(&entry, leaf).into_iter();
        let has_leaf = |evidence: &StateEvidence| {
            serde_json::to_string(evidence)
                .unwrap()
                .contains("\"words\"")
        };
        all.filter(has_leaf)
            .map(|evidence| scene.judged(&evidence))
            .collect::<Vec<_>>()
    };
    assert_eq!(with_leaf(&leaf).len(), 14);
    for refused in with_leaf(&elsewhere) {
        assert_eq!(refused, Err(NoFault::PathLeadsElsewhere.into()));
    }
    for refused in with_leaf(&unsigned) {
        assert!(matches!(
            refused,
            Err(NoStateFault::Record(NoFault::NotSigned { .. }))
        ));
    }
    for refused in with_leaf(&reworded) {
        assert_eq!(refused, Err(NoStateFault::OtherWords));
    }
}

#[test]
fn proofs_are_checked_against_the_signed_root() {
    let scene = JudgeScene::new();
    let refused =
        |entry: EntryEvidence| match scene.judged(&StateEvidence::MalformedState { entry }) {
            Err(NoStateFault::Proof(error)) => error,
            other => panic!("{other:?}"),
        };
    let with_state = |state| EntryEvidence {
        checkpoint: scene.checkpoint(2, state, OPERATOR),
        ..scene.entry()
    };
    assert_eq!(refused(with_state(Hash::ZERO)), StateProofError::NoRoot);
    assert_eq!(
        refused(with_state(Hash([1; 32]))),
        StateProofError::OtherNode(0)
    );
    let mut other = scene.entry();
    other.proof.entry[10] ^= 1;
    assert_eq!(refused(other), StateProofError::OtherEntry);
    let batch = scene.held(2, id(Prefix::Batch, 1), vec![1], OPERATOR);
    assert_eq!(refused(batch), StateProofError::Key("bat"));
    // A proven entry that is malformed is the fault itself.
    let malformed = scene.held(2, id(Prefix::Object, 1), vec![0xc0], OPERATOR);
    let evidence = StateEvidence::MalformedState { entry: malformed };
    assert_eq!(scene.judged(&evidence), Ok(StateFault::MalformedState));
    let mut late = scene.stale.clone();
    late.sequence = 6;
    let late = scene.held(2, id(Prefix::Object, 1), late.to_bytes(), OPERATOR);
    let evidence = StateEvidence::MalformedState { entry: late };
    assert_eq!(scene.judged(&evidence), Ok(StateFault::MalformedState));
    let good = StateEvidence::MalformedState {
        entry: scene.entry(),
    };
    assert_eq!(scene.judged(&good), Err(NoStateFault::NoContradiction));
}

#[test]
fn checkpoints_alone_show_a_missing_root_and_a_broken_trie() {
    let scene = JudgeScene::new();
    let rooted = scene.checkpoint(1, Hash([1; 32]), OPERATOR);
    let unrooted = |batches, by| StateEvidence::UnrootedCheckpoint {
        first: rooted.clone(),
        second: scene.checkpoint(batches, Hash::ZERO, by),
    };
    assert_eq!(
        scene.judged(&unrooted(2, OPERATOR)),
        Ok(StateFault::UnrootedCheckpoint)
    );
    assert_eq!(
        scene.judged(&unrooted(1, OPERATOR)),
        Err(NoStateFault::NoContradiction)
    );
    assert!(matches!(
        scene.judged(&unrooted(2, OTHER)),
        Err(NoStateFault::Record(_))
    ));
    // A leaf whose path is a nibble short of 64.
    let mut node = vec![0xf8, 0x42, 0xa0, 0x30];
    node.extend([0; 31]);
    node.push(0xa0);
    node.extend([7; 32]);
    let broken = |nodes: Vec<Vec<u8>>, root: Hash| StateEvidence::BrokenTrie {
        signed: scene.checkpoint(2, root, OPERATOR),
        path: Hash::ZERO,
        nodes,
    };
    let root = keccak(&node);
    assert_eq!(
        scene.judged(&broken(vec![node.clone()], root)),
        Ok(StateFault::BrokenTrie)
    );
    for (nodes, root) in [
        (vec![node.clone()], Hash([1; 32])),
        (vec![node.clone()], Hash::ZERO),
        (Vec::new(), root),
        (vec![node.clone(), node.clone()], root),
        (
            scene.entry().proof.nodes,
            scene.entry().checkpoint.checkpoint.state,
        ),
    ] {
        assert_eq!(
            scene.judged(&broken(nodes, root)),
            Err(NoStateFault::NoContradiction)
        );
    }
}

#[test]
fn faults_have_one_text_each() {
    for fault in StateFault::ALL {
        assert_eq!(StateFault::of_text(fault.text()), Some(*fault));
        assert_eq!(kedge_protocol::evidence::Fault::of_text(fault.text()), None);
    }
    assert_eq!(StateFault::ALL.len(), 24);
    assert_eq!(StateFault::of_text("stale"), None);
}
