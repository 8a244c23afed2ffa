//! A history of the model with everything that its evidence takes: a trie at each checkpoint, batches, and the
//! signatures of the keys that the log names.

use std::collections::BTreeMap;

use alloy_trie::proof::ProofRetainer;
use alloy_trie::{HashBuilder, Nibbles};
use kedge_protocol::evidence::{
    ChangeEvidence, CheckpointEvidence, ContractView, EntryEvidence, EntryPairEvidence,
    FalseEntryRecords, HeaderEvidence, OpenedLeafEvidence, StateEvidence, StateFault,
    TrespassRecords,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::state::faults::HeldEntry;
use kedge_protocol::state::{StateProof, state_path};
use kedge_protocol::{Hash, SequencerKeys};

use crate::signed_log::{SignedLog, domain, signed_checkpoint};
use crate::state_draw::{DrawnRecords, EntryPick, LeafPick};
use crate::state_model::{ModelLog, ModelPoint, SEQUENCER_KEYS};

/// The root at a checkpoint, and the proof of each id that the checkpoint's list shows.
pub(crate) struct PointProofs {
    pub(crate) root: Hash,
    pub(crate) proofs: Vec<StateProof>,
}

impl PointProofs {
    pub(crate) fn of(point: &ModelPoint) -> Self {
        let bytes_of = |held: &HeldEntry| match held {
            HeldEntry::Entry(entry) => entry.to_bytes(),
            _ => Vec::new(),
        };
        let paths: Vec<Hash> = point
            .shown
            .iter()
            .map(|shown| state_path(&shown.id))
            .collect();
        let entries: Vec<Vec<u8>> = point
            .shown
            .iter()
            .map(|shown| bytes_of(&shown.held))
            .collect();
        let present = paths.iter().zip(&entries);
        let leaves: BTreeMap<Hash, Hash> = present
            .filter(|(_, entry)| !entry.is_empty())
            .map(|(path, entry)| (*path, keccak(entry)))
            .collect();
        let targets = paths.iter().map(|path| Nibbles::unpack(path.0));
        let mut builder =
            HashBuilder::default().with_proof_retainer(targets.collect::<ProofRetainer>());
        for (path, value) in &leaves {
            builder.add_leaf(Nibbles::unpack(path.0), &value.0);
        }
        let root = Hash(builder.root().0);
        let retained = builder.take_proof_nodes();
        let proofs = point.shown.iter().zip(&paths).zip(entries);
        let proofs = proofs.map(|((shown, path), entry)| {
            let nodes = retained.matching_nodes_sorted(&Nibbles::unpack(path.0));
            let nodes = nodes.into_iter().map(|(_, node)| node.to_vec()).collect();
            StateProof {
                key: shown.id,
                entry,
                // The empty trie has no nodes.
                nodes: if leaves.is_empty() { Vec::new() } else { nodes },
            }
        });
        Self {
            root,
            proofs: proofs.collect(),
        }
    }
}

/// The history as its operator signed it.
pub(crate) struct SignedHistory<'a> {
    model: &'a ModelLog,
    log: SignedLog,
    points: Vec<PointProofs>,
    headers: Vec<HeaderEvidence>,
    /// One for each point; `None` for the one over no batches, which no key signs.
    checkpoints: Vec<Option<CheckpointEvidence>>,
    pub(crate) trust: ContractView,
}

impl<'a> SignedHistory<'a> {
    pub(crate) fn of(model: &'a ModelLog) -> Self {
        let keys = SequencerKeys::new(model.keys.clone()).unwrap();
        let mut log = SignedLog::default();
        let batches = model.actions.chunk_by(|one, next| one.batch == next.batch);
        for actions in batches {
            let mut draft = log.next(actions.len() as u32);
            draft.leaves = actions.iter().map(|action| action.leaf.leaf).collect();
            log.append(draft.reseal());
        }
        // The last key whose first batch is not above this one.
        let key_of = |batch: u64| {
            let mut named = model.keys.iter();
            named
                .rposition(|entry| entry.from_batch <= batch)
                .unwrap_or(0)
        };
        let mut trust = ContractView::of_known_keys(domain(), &keys);
        let signed_header = |number: usize| {
            let batch = number as u64;
            let index = key_of(batch);
            HeaderEvidence::signed(
                &log.batch(batch).signed(&SEQUENCER_KEYS[index].0),
                index as u32,
            )
        };
        let headers = (0..log.batches.len()).map(signed_header).collect();
        let points: Vec<PointProofs> = model.points.iter().map(PointProofs::of).collect();
        let checkpoint = |(point, proofs): (&ModelPoint, &PointProofs)| {
            let last = point.point.batches.checked_sub(1)?;
            let mut checkpoint = log.checkpoint(point.point.batches);
            assert_eq!(checkpoint.sequence, point.point.sequence);
            if point.point.is_rooted {
                checkpoint.state = proofs.root;
            }
            let index = key_of(last);
            Some(signed_checkpoint(
                checkpoint,
                &SEQUENCER_KEYS[index].0,
                index as u32,
            ))
        };
        let checkpoints = model.points.iter().zip(&points).map(checkpoint).collect();
        let anchored = log.batches.len() as u64;
        trust.anchored.insert(anchored, log.root(anchored));
        Self {
            model,
            log,
            points,
            headers,
            checkpoints,
            trust,
        }
    }

    /// The evidence, if every checkpoint that it names is signed, and has a root where a proof takes one. Its records
    /// hold then.
    pub(crate) fn evidence(&self, drawn: &DrawnRecords) -> Option<StateEvidence> {
        let takes_proofs = drawn.fault != StateFault::UnrootedCheckpoint;
        let shows = |pick: EntryPick| {
            let point = &self.model.points[pick.point].point;
            point.batches > 0 && (point.is_rooted || !takes_proofs)
        };
        let picks = [Some(drawn.first), Some(drawn.second), drawn.wallet];
        if !picks.into_iter().flatten().all(shows) {
            return None;
        }
        self.of_entries(drawn).or_else(|| self.of_leaves(drawn))
    }

    fn of_entries(&self, drawn: &DrawnRecords) -> Option<StateEvidence> {
        use StateEvidence as E;
        use StateFault as F;
        let pair = || EntryPairEvidence {
            first: self.entry(drawn.first),
            second: self.entry(drawn.second),
        };
        let change = || ChangeEvidence {
            first: self.entry(drawn.first),
            second: self.entry(drawn.second),
            leaves: drawn.leaves.iter().map(|pick| self.leaf(*pick)).collect(),
        };
        Some(match drawn.fault {
            F::UnrootedCheckpoint => E::UnrootedCheckpoint {
                first: self.entry(drawn.first).checkpoint,
                second: self.entry(drawn.second).checkpoint,
            },
            F::MalformedState => E::MalformedState {
                entry: self.entry(drawn.first),
            },
            F::BrokenTrie => {
                let (path, nodes) = self.nodes(drawn);
                let signed = self.entry(drawn.first).checkpoint;
                E::BrokenTrie {
                    signed,
                    path,
                    nodes,
                }
            }
            F::RewrittenState => E::RewrittenState(pair()),
            F::LoneStep => E::LoneStep(pair()),
            F::TwoFacedState => E::TwoFacedState(pair()),
            F::ChangedConstant => E::ChangedConstant(pair()),
            F::TwinState => E::TwinState(pair()),
            F::FalseAddress => E::FalseAddress(pair()),
            F::Oversupply => E::Oversupply(pair()),
            F::FalseOwner => E::FalseOwner(change()),
            F::HiddenChange => E::HiddenChange(change()),
            F::FalseKeys => E::FalseKeys(change()),
            F::FalseVersion => E::FalseVersion(change()),
            _ => return None,
        })
    }

    fn of_leaves(&self, drawn: &DrawnRecords) -> Option<StateEvidence> {
        use StateEvidence as E;
        use StateFault as F;
        let entry = self.entry(drawn.first);
        let leaf = self.leaf(drawn.leaf);
        let kind = drawn.kind.map(str::to_owned);
        let optional = || drawn.wallet.map(|pick| Box::new(self.entry(pick)));
        let wallet = || self.entry(drawn.wallet.unwrap_or(drawn.second));
        Some(match drawn.fault {
            F::StaleState => E::StaleState { entry, leaf },
            F::DeadHand => E::DeadHand { entry, leaf },
            F::LiveUpdate => E::LiveUpdate {
                object: entry,
                leaf,
            },
            F::GhostMember => E::GhostMember {
                leaf,
                wallet: entry,
            },
            F::MissingState => E::MissingState {
                entry,
                leaf,
                kind: kind.unwrap_or_default(),
            },
            F::FalseEntry => E::FalseEntry(FalseEntryRecords {
                entry,
                leaf,
                kind,
                to: drawn.to,
                wallet: optional(),
            }),
            F::ForeignHand => E::ForeignHand {
                entry,
                leaf,
                wallet: optional(),
            },
            F::ForeignMaker => E::ForeignMaker {
                entry,
                leaf,
                wallet: wallet(),
            },
            F::ForeignMint => E::ForeignMint {
                template: entry,
                leaf,
                wallet: wallet(),
            },
            F::Trespass => E::Trespass(TrespassRecords {
                object: entry,
                template: self.entry(drawn.second),
                leaves: drawn.leaves.iter().map(|pick| self.leaf(*pick)).collect(),
                leaf,
                kind,
                wallet: optional(),
            }),
            _ => return None,
        })
    }

    fn entry(&self, pick: EntryPick) -> EntryEvidence {
        EntryEvidence {
            checkpoint: self.checkpoints[pick.point].clone().unwrap(),
            proof: self.points[pick.point].proofs[pick.place].clone(),
        }
    }

    /// The leaf in its header, which the sequencer signed, or which the last anchored history holds.
    fn leaf(&self, pick: LeafPick) -> OpenedLeafEvidence {
        let action = &self.model.actions[pick.action];
        let batch = self.log.batch(action.batch);
        let index = action.leaf.leaf.sequence - batch.header.first_sequence;
        let header = if pick.action.is_multiple_of(2) {
            self.headers[action.batch as usize].clone()
        } else {
            let anchored = self.log.batches.len() as u64;
            self.log.anchored(action.batch, anchored)
        };
        OpenedLeafEvidence {
            action: batch.leaf(index as u32, header),
            words: action.leaf.words.filter(|_| pick.is_open),
        }
    }

    /// The nodes of one proof along the path of another, as far as they go.
    pub(crate) fn nodes(&self, drawn: &DrawnRecords) -> (Hash, Vec<Vec<u8>>) {
        let along = &self.points[drawn.first.point].proofs[drawn.second.place];
        let proof = &self.points[drawn.second.point].proofs[drawn.first.place];
        let count = drawn.leaf.action % (proof.nodes.len() + 1);
        (state_path(&along.key), proof.nodes[..count].to_vec())
    }
}
