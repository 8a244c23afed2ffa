//! What is received of the state, and its review: entries at signed checkpoints, opened actions, and what the server
//! does not show.

use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::evidence::{
    CheckpointEvidence, EntryEvidence, LeafEvidence, OpenedLeafEvidence, StateEvidence, judge_state,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::merkle::verify_proof;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::state::faults::{LeafWords, ShownLeaf};
use kedge_protocol::state::trie::breaks_trie;
use kedge_protocol::state::{StateProof, StateProofError, state_path};
use kedge_protocol::{Hash, Id, Prefix};

use super::state::{SeenEntry, SeenLeaf, named_wallet};
use super::{
    EntryChallenge, EntryRefusal, Finding, StateDemand, UnshownState, UnsignedItem, Watchtower,
};

/// Demands about the state, and challenges of entries, at a time: one that is not answered costs the bond.
const STATE_CASES_MAX: usize = 2;
/// Ids whose entries are asked for at the anchored checkpoint, to challenge them, in a round.
const UNEXPLAINED_MAX: usize = 8;

impl Watchtower {
    /// Accepts what a state proof shows at a signed checkpoint, from any source. True if the entry is new.
    pub fn entry(
        &mut self,
        signed: &SignedCheckpoint,
        proof: &StateProof,
    ) -> Result<bool, EntryRefusal> {
        self.checkpoint(signed)?;
        if let Some(anchored) = self.anchored_root() {
            self.state.pin(anchored.checkpoint.batches);
        }
        let evidence = EntryEvidence {
            checkpoint: self.checkpoint_evidence(signed)?,
            proof: proof.clone(),
        };
        let root = signed.checkpoint.state;
        match proof.verify(&root) {
            Ok(()) => Ok(self.state.add_entry(evidence)),
            Err(error) => {
                self.prove_broken_trie(evidence, &error);
                Err(error.into())
            }
        }
    }

    fn checkpoint_evidence(
        &self,
        signed: &SignedCheckpoint,
    ) -> Result<CheckpointEvidence, UnsignedItem> {
        let checkpoint = &signed.checkpoint;
        let last = checkpoint.batches.checked_sub(1).ok_or(UnsignedItem)?;
        let digest = checkpoint.digest(&self.separator);
        let key_index = self.key_of(last, signed.signature.recover(&digest).ok())?;
        Ok(CheckpointEvidence::of(signed, key_index))
    }

    fn prove_broken_trie(&mut self, evidence: EntryEvidence, error: &StateProofError) {
        let StateProofError::Node { index, .. } = error else {
            return;
        };
        let mut nodes = evidence.proof.nodes;
        nodes.truncate(index + 1);
        let path = state_path(&evidence.proof.key);
        let signed = evidence.checkpoint;
        if breaks_trie(&signed.checkpoint.state, &path, &nodes) {
            self.prove_state(StateEvidence::BrokenTrie {
                signed,
                path,
                nodes,
            });
        }
    }

    /// Remembers an opened action of a request whose leaf is in the batch.
    pub(super) fn open_action(
        &mut self,
        (record, action): (&RequestRecord<'_>, &ActionRecord<'_>),
        placed: LeafEvidence,
    ) {
        let words = LeafWords {
            kind: action.kind.hash(),
            target: keccak(action.target.as_bytes()),
            payload: keccak(action.payload.as_bytes()),
            signer: record.head.signer,
            authority: record.authority(action),
        };
        self.state.add_leaf(SeenLeaf {
            shown: ShownLeaf {
                leaf: placed.leaf,
                words: Some(words),
            },
            evidence: OpenedLeafEvidence {
                action: placed,
                words: Some(words),
            },
            kind: action.kind.text().to_owned(),
            target: action.target.parse().ok(),
            named: named_wallet(&action.payload),
            previous: action.previous_integrity,
            resource: Some(action.resource),
            wallet_id: Some(record.wallet_id),
            organization_id: Some(record.organization_id),
        });
    }

    /// Accepts a proof file from any source: the action, opened, and its anchor's checkpoint.
    pub fn proof_file(&mut self, file: &ProofFile) -> Result<(), UnsignedItem> {
        let shown = &file.leaf;
        let leaf = LogLeaf {
            sequence: shown.sequence,
            timestamp_ms: shown.timestamp_ms,
            content: shown.content,
            integrity: shown.integrity,
        };
        let (index, path) = (file.inclusion.leaf_index, file.inclusion.path.clone());
        let previous = shown.previous_integrity;
        self.action(&file.batch, leaf, index, path, previous)?;
        self.open_proof(file, leaf)?;
        match &file.anchor {
            Some(anchor) => self.checkpoint(&anchor.checkpoint),
            None => Ok(()),
        }
    }

    /// Remembers the opened action of a proof file, if its words and its path hold.
    fn open_proof(&mut self, file: &ProofFile, leaf: LogLeaf) -> Result<(), UnsignedItem> {
        let (action, header) = (&file.action, &file.batch.header);
        let words = LeafWords {
            kind: keccak(action.kind.as_bytes()),
            target: keccak(action.target.as_bytes()),
            payload: keccak(action.payload.as_bytes()),
            signer: action.signer,
            authority: action.authority,
        };
        let (index, path) = (file.inclusion.leaf_index, &file.inclusion.path);
        let place = [u64::from(index)];
        let count = u64::from(header.count);
        let is_placed = verify_proof(&header.root, count, &place, &[leaf.hash()], path).is_ok();
        if !is_placed || words.content() != leaf.content {
            return Ok(());
        }
        let placed = LeafEvidence {
            leaf,
            index,
            path: path.clone(),
            batch: self.see(&file.batch, true)?.evidence(),
        };
        self.state.add_leaf(SeenLeaf {
            shown: ShownLeaf {
                leaf,
                words: Some(words),
            },
            evidence: OpenedLeafEvidence {
                action: placed,
                words: Some(words),
            },
            kind: action.kind.clone(),
            target: action.target.parse().ok(),
            named: named_wallet(&action.payload),
            previous: file.leaf.previous_integrity,
            resource: None,
            wallet_id: None,
            organization_id: None,
        });
        Ok(())
    }

    /// Ids to ask the server for, at most so many: what changed since it was shown, then what was not asked for
    /// longest.
    pub fn ids_to_ask(&mut self, most: usize) -> Vec<Id> {
        self.state.ids_to_ask(most)
    }

    /// Sequences of the newest entries of these ids, whose leaves are not known.
    pub fn unknown_sequences(&self, ids: &[Id]) -> Vec<u64> {
        let sequences = ids.iter().filter_map(|id| self.state.unknown_sequence(id));
        sequences.collect()
    }

    /// Some ids of an organization whose newest entry's leaf is not known.
    pub fn unexplained_ids(&self, organization: &Id) -> Vec<Id> {
        let mut ids = self.state.unexplained(organization);
        ids.truncate(UNEXPLAINED_MAX);
        ids
    }

    /// What the server does not show, and since when.
    pub fn unshown(&self) -> UnshownState {
        UnshownState {
            refused: self.state.refusals(),
            unexplained: self.unexplained.clone(),
        }
    }

    /// Restores [`Self::unshown()`] after a restart.
    pub fn resume_unshown(&mut self, unshown: UnshownState) {
        for (id, since_s) in unshown.refused {
            self.state.refuse(&id, since_s);
        }
        self.unexplained = unshown.unexplained;
    }

    /// Records that the server does not show an id's state.
    pub fn refused(&mut self, id: &Id) {
        self.state.refuse(id, self.trust.now_s);
    }

    /// The newest anchored checkpoint with a root.
    pub fn anchored_root(&self) -> Option<SignedCheckpoint> {
        let anchored = self.trust.anchored.iter().rev();
        let signed = anchored.filter_map(|(batches, history)| {
            let known = self.checkpoints.get(batches)?;
            let mut known = known.iter().map(|(signed, _)| signed);
            known.find(|signed| signed.checkpoint.history == *history)
        });
        let mut rooted = signed.filter(|signed| signed.checkpoint.state != Hash::ZERO);
        rooted.next().copied()
    }

    /// Judges the received entries and leaves, and finds what the server does not show to an organization.
    pub fn review_state(&mut self, organization: Option<&Id>) {
        for evidence in self.state.judge() {
            self.prove_state(evidence);
        }
        let (Some(organization), Some(point)) = (organization, self.anchored_root()) else {
            return;
        };
        self.review_hidden(organization, &point);
        self.review_unexplained(organization, &point);
    }

    /// Finds ids of an organization whose state the server has not shown in time.
    fn review_hidden(&mut self, organization: &Id, point: &SignedCheckpoint) {
        let batches = point.checkpoint.batches;
        if !self.trust.coverage.holds(batches.saturating_sub(1)) {
            return;
        }
        let until_s = self.trust.now_s.saturating_sub(self.patience_s);
        let hidden = self.state.hidden(organization, (batches, until_s));
        for (key, basis) in hidden.into_iter().take(STATE_CASES_MAX) {
            let id = keccak(format!("hidden {key} {batches}").as_bytes());
            let demand = StateDemand {
                anchored_batches: batches,
                key,
                basis,
            };
            self.report(id, Finding::HiddenState(Box::new(demand)));
        }
    }

    /// Finds entries of an organization at an anchored checkpoint whose leaf the server has not shown in time.
    fn review_unexplained(&mut self, organization: &Id, point: &SignedCheckpoint) {
        // What was archived before it was read cannot be known.
        if self.beginning > 0 {
            return;
        }
        let batches = point.checkpoint.batches;
        let (now_s, patience_s) = (self.trust.now_s, self.patience_s);
        let unexplained = self.state.unexplained(organization).into_iter().map(|id| {
            let since_s = self.unexplained.get(&id).copied();
            (id, since_s.unwrap_or(now_s))
        });
        self.unexplained = unexplained.collect();
        let due = self.unexplained.iter();
        let due = due.filter(|(_, since_s)| now_s >= since_s.saturating_add(patience_s));
        let due = due.filter_map(|(id, _)| self.state.at(id, batches));
        let due: Vec<EntryEvidence> = due
            .map(|entry| entry.evidence.clone())
            .take(STATE_CASES_MAX)
            .collect();
        for entry in due {
            if let Some(challenge) = self.challenge_of(entry, batches) {
                let id = keccak(format!("unexplained {}", challenge.entry.proof.key).as_bytes());
                self.report(id, Finding::UnexplainedEntry(Box::new(challenge)));
            }
        }
    }

    fn challenge_of(&self, entry: EntryEvidence, batches: u64) -> Option<EntryChallenge> {
        let held = SeenEntry::new(entry.clone()).shown;
        let held = held.entry()?;
        let mut followed = self.followed.range(..batches).map(|(_, known)| known);
        let holder = followed.find(|known| known.header().last_sequence() >= held.sequence)?;
        let header = *holder.header();
        Some(EntryChallenge {
            anchored_batches: batches,
            path: self.tree.inclusion(header.number, batches),
            header,
            is_first: entry.proof.key.prefix == Prefix::Organization && held.version == 1,
            sequence: held.sequence,
            integrity: held.integrity,
            entry,
        })
    }

    /// Compares the lowest checkpoint that has a root with the highest one that has none.
    pub(super) fn compare_roots(&mut self, signed: &SignedCheckpoint, key_index: u32) {
        let batches = signed.checkpoint.batches;
        let (kept, is_further) = if signed.checkpoint.state == Hash::ZERO {
            let kept = &mut self.highest_unrooted;
            let is_higher = kept.is_none_or(|(kept, _)| batches > kept.checkpoint.batches);
            (kept, is_higher)
        } else {
            let kept = &mut self.lowest_rooted;
            let is_lower = kept.is_none_or(|(kept, _)| batches < kept.checkpoint.batches);
            (kept, is_lower)
        };
        if is_further {
            *kept = Some((*signed, key_index));
        }
        if let (Some((first, first_key)), Some((second, second_key))) =
            (self.lowest_rooted, self.highest_unrooted)
        {
            self.prove_state(StateEvidence::UnrootedCheckpoint {
                first: CheckpointEvidence::of(&first, first_key),
                second: CheckpointEvidence::of(&second, second_key),
            });
        }
    }

    /// Reports the evidence if it proves a fault.
    fn prove_state(&mut self, evidence: StateEvidence) {
        let Ok(fault) = judge_state(&evidence, &self.trust) else {
            return;
        };
        let name = format!("{fault} {}", evidence.subject());
        let id = keccak(name.as_bytes());
        self.report(id, Finding::StateFault(Box::new(evidence)));
    }
}
