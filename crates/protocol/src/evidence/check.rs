//! Checks evidence: every record is first tied to the operator, by its signature or by an anchored path, and then
//! compared. The checks run in the contract's order, so that both report the same reason.

use super::{
    AnchoredPath, CheckpointEvidence, ContractCoverage, ContractView, Evidence, Fault,
    HeaderEvidence, HeaderStatus, KeyTerm, LeafEvidence,
};
use crate::batch::BatchHeader;
use crate::chain::{self, LogLeaf};
use crate::limits::BATCH_ACTIONS_MAX;
use crate::log_tree;
use crate::merkle::{BatchTree, empty_root, verify_consistency, verify_proof};
use crate::signature::{Signature, SignatureError};
use crate::tlog::SignedTlogCheckpoint;
use crate::{Address, Hash};

/// Result of valid evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvidenceVerdict {
    /// The proven fault.
    pub fault: Fault,
    /// The batch that it is about ([`Evidence::batch`]).
    pub batch: u64,
}

/// Why the evidence shows no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFault {
    /// The evidence is about another log.
    #[error("the evidence is of another log: its domain is not the expected one")]
    OtherDomain,
    /// The signing key may not sign this record.
    #[error(
        "the record was signed by {recovered}, which is not the key that it names, or cannot sign batch {batch}"
    )]
    NotSigned {
        /// Number of the batch, or of the checkpoint's last batch.
        batch: u64,
        /// The recovered signer.
        recovered: Address,
    },
    /// The signature recovers to no key.
    #[error("the record's signature: {0}")]
    Signature(#[from] SignatureError),
    /// The contract's list has no such key.
    #[error("the contract has no sequencer key {0}")]
    UnknownKey(u32),
    /// The key was replaced too long ago.
    #[error("key {key_index} was replaced too long ago for evidence about batch {batch}")]
    TooOld {
        /// Number of the batch, or of the checkpoint's last batch.
        batch: u64,
        /// The key's place in the contract's list.
        key_index: u32,
    },
    /// Another contract of this log answers for the batch.
    #[error("the contract answers for batches {from_batch} up to {until_batch}, not for {batch}")]
    NotCovered {
        /// The batch's number.
        batch: u64,
        /// The first batch that the contract answers for.
        from_batch: u64,
        /// The first batch that the contract no longer answers for.
        until_batch: u64,
    },
    /// No key signs a checkpoint of no batches.
    #[error("no key signs a checkpoint of no batches")]
    EmptyCheckpoint,
    /// No such checkpoint is anchored.
    #[error("no checkpoint of {0} batches is known to be anchored")]
    UnknownCheckpoint(u64),
    /// The anchored history does not hold the header.
    #[error("the anchored history over {batches} batches does not hold this header at {number}")]
    NotInHistory {
        /// The checkpoint's batch count.
        batches: u64,
        /// The header's number.
        number: u64,
    },
    /// A path leads to another root.
    #[error("a path does not lead where it must")]
    PathLeadsElsewhere,
    /// The records are valid and do not contradict each other.
    #[error("the records contradict neither each other nor the protocol")]
    NoContradiction,
}

/// Checks evidence against a log that the caller trusts.
///
/// # Errors
/// Why the evidence shows no fault.
pub fn check(evidence: &Evidence, trust: &ContractView) -> Result<EvidenceVerdict, NoFault> {
    let judge = EvidenceJudge::of(trust);
    if !judge.contradicts(evidence)? {
        return Err(NoFault::NoContradiction);
    }
    Ok(EvidenceVerdict {
        fault: evidence.fault(),
        batch: evidence.batch(),
    })
}

/// Ties records to the operator.
pub(super) struct EvidenceJudge<'a> {
    trust: &'a ContractView,
    separator: Hash,
}

impl<'a> EvidenceJudge<'a> {
    pub(super) fn of(trust: &'a ContractView) -> Self {
        Self {
            trust,
            separator: trust.domain.separator(),
        }
    }

    /// Whether the records contradict each other or the protocol.
    fn contradicts(&self, evidence: &Evidence) -> Result<bool, NoFault> {
        match evidence {
            Evidence::ConflictingBatches { first, second } => {
                self.conflicting_batches(first, second)
            }
            Evidence::ConflictingCheckpoints { first, second } => {
                self.conflicting_checkpoints(first, second)
            }
            Evidence::OmittedBatch {
                left,
                anchored_batches,
                held,
                path,
            } => self.omitted_batch(left, *anchored_batches, held, path),
            Evidence::FalseCheckpoint { signed, last, path } => {
                self.false_checkpoint(signed, last, path)
            }
            Evidence::FalseHistory {
                batch,
                anchored_batches,
                beginning,
                proof,
            } => {
                self.standing(batch)?;
                let number = batch.header.number;
                self.require_beginning(number, *anchored_batches, beginning, proof)?;
                Ok(batch.header.history != *beginning)
            }
            Evidence::FalseCheckpointHistory {
                signed,
                anchored_batches,
                beginning,
                proof,
            } => {
                self.signed_checkpoint(signed)?;
                let checkpoint = &signed.checkpoint;
                self.require_beginning(checkpoint.batches, *anchored_batches, beginning, proof)?;
                Ok(checkpoint.history != *beginning)
            }
            Evidence::BrokenLink { before, next } => self.broken_link(before, next),
            Evidence::BrokenHeader { batch } => self.broken_header(batch),
            Evidence::BrokenLeaf { action } => self.broken_leaf(action),
            Evidence::FallingTime { earlier, later } => self.leaves(earlier, later, |one, two| {
                one.sequence < two.sequence && one.timestamp_ms > two.timestamp_ms
            }),
            Evidence::BrokenChain { batch, leaves } => self.broken_chain(batch, leaves),
            Evidence::ReplayedContent { first, second } => {
                self.leaves(first, second, |one, two| {
                    one.content == two.content && one.sequence != two.sequence
                })
            }
            Evidence::ForkedIntegrity {
                first,
                second,
                previous,
            } => self.leaves(first, second, |one, two| {
                *previous != Hash::ZERO
                    && one.sequence != two.sequence
                    && extends(one, previous)
                    && extends(two, previous)
            }),
        }
    }

    fn conflicting_batches(
        &self,
        first: &HeaderEvidence,
        second: &HeaderEvidence,
    ) -> Result<bool, NoFault> {
        let (one, other) = (self.standing(first)?, self.standing(second)?);
        Ok(one != other && first.header.number == second.header.number)
    }

    fn conflicting_checkpoints(
        &self,
        first: &CheckpointEvidence,
        second: &CheckpointEvidence,
    ) -> Result<bool, NoFault> {
        self.signed_checkpoint(first)?;
        self.signed_checkpoint(second)?;
        let (one, other) = (&first.checkpoint, &second.checkpoint);
        let is_other = one.sequence != other.sequence
            || one.head != other.head
            || one.history != other.history
            || one.state != other.state;
        Ok(one.batches == other.batches && is_other)
    }

    fn omitted_batch(
        &self,
        left: &HeaderEvidence,
        anchored_batches: u64,
        held: &Hash,
        path: &[Hash],
    ) -> Result<bool, NoFault> {
        let batch_hash = self.standing(left)?;
        let history = self.history(anchored_batches)?;
        let number = left.header.number;
        let leaf = log_tree::leaf(held);
        require_inclusion(&history, &leaf, number, anchored_batches, path)?;
        Ok(*held != batch_hash)
    }

    fn false_checkpoint(
        &self,
        signed: &CheckpointEvidence,
        last: &BatchHeader,
        path: &[Hash],
    ) -> Result<bool, NoFault> {
        let number = self.signed_checkpoint(signed)?;
        let checkpoint = &signed.checkpoint;
        let leaf = log_tree::leaf(&last.hash());
        require_inclusion(&checkpoint.history, &leaf, number, checkpoint.batches, path)?;
        Ok(checkpoint.head != last.head
            || u128::from(checkpoint.sequence) + 1 != sequence_after(last))
    }

    fn broken_link(&self, before: &HeaderEvidence, next: &HeaderEvidence) -> Result<bool, NoFault> {
        self.standing(before)?;
        self.standing(next)?;
        let (one, two) = (&before.header, &next.header);
        Ok(one.number.checked_add(1) == Some(two.number)
            && (u128::from(two.first_sequence) != sequence_after(one)
                || two.previous_head != one.head
                || two.sealed_at_ms < one.sealed_at_ms))
    }

    fn broken_header(&self, evidence: &HeaderEvidence) -> Result<bool, NoFault> {
        self.standing(evidence)?;
        let header = &evidence.header;
        let is_false_start = header.number == 0
            && (header.first_sequence != 1
                || header.previous_head != self.separator
                || header.history != empty_root());
        let is_miscounted = header.count == 0 || header.count as usize > BATCH_ACTIONS_MAX;
        Ok(is_false_start || is_miscounted)
    }

    fn broken_leaf(&self, action: &LeafEvidence) -> Result<bool, NoFault> {
        self.leaf(action)?;
        let header = &action.batch.header;
        let expected = u128::from(header.first_sequence) + u128::from(action.index);
        Ok(u128::from(action.leaf.sequence) != expected
            || action.leaf.timestamp_ms > header.sealed_at_ms)
    }

    fn broken_chain(&self, evidence: &HeaderEvidence, leaves: &[Hash]) -> Result<bool, NoFault> {
        self.standing(evidence)?;
        let header = &evidence.header;
        if leaves.is_empty()
            || leaves.len() != header.count as usize
            || BatchTree::new(leaves).root() != header.root
        {
            return Err(NoFault::PathLeadsElsewhere);
        }
        let head = leaves.iter().fold(header.previous_head, |head, leaf| {
            chain::next_head(&head, leaf)
        });
        Ok(head != header.head)
    }

    fn leaves(
        &self,
        first: &LeafEvidence,
        second: &LeafEvidence,
        contradict: impl Fn(&LogLeaf, &LogLeaf) -> bool,
    ) -> Result<bool, NoFault> {
        self.leaf(first)?;
        self.leaf(second)?;
        Ok(contradict(&first.leaf, &second.leaf))
    }

    /// Ties a leaf to the operator.
    pub(super) fn leaf(&self, evidence: &LeafEvidence) -> Result<(), NoFault> {
        self.standing(&evidence.batch)?;
        let header = &evidence.batch.header;
        require_inclusion(
            &header.root,
            &evidence.leaf.hash(),
            u64::from(evidence.index),
            u64::from(header.count),
            &evidence.path,
        )
    }

    /// Ties a header to the operator; returns its batch hash.
    fn standing(&self, evidence: &HeaderEvidence) -> Result<Hash, NoFault> {
        let header = &evidence.header;
        let number = header.number;
        self.require_covered(number)?;
        let batch_hash = header.hash();
        match &evidence.standing {
            HeaderStatus::Anchored(AnchoredPath { batches, path }) => {
                let history = self.history(*batches)?;
                let leaf = log_tree::leaf(&batch_hash);
                require_inclusion(&history, &leaf, number, *batches, path).map_err(|_| {
                    NoFault::NotInHistory {
                        batches: *batches,
                        number,
                    }
                })?;
            }
            HeaderStatus::Signed(signed) => {
                let digest = header.digest(&self.separator);
                self.require_signer(&digest, number, &signed.signature, signed.key_index)?;
            }
        }
        Ok(batch_hash)
    }

    /// Checks who signed a checkpoint; returns its last batch.
    pub(super) fn signed_checkpoint(&self, evidence: &CheckpointEvidence) -> Result<u64, NoFault> {
        let checkpoint = &evidence.checkpoint;
        let last = checkpoint
            .batches
            .checked_sub(1)
            .ok_or(NoFault::EmptyCheckpoint)?;
        self.require_covered(last)?;
        let digest = checkpoint.digest(&self.separator);
        self.require_signer(&digest, last, &evidence.signature, evidence.key_index)?;
        Ok(last)
    }

    /// Checks who signed both roots of the log: the key of their last batch alone, unlike a checkpoint's.
    pub(super) fn signed_tlog(&self, signed: &SignedTlogCheckpoint) -> Result<u64, NoFault> {
        let last = signed.checkpoint.batches.checked_sub(1);
        let last = last.ok_or(NoFault::EmptyCheckpoint)?;
        self.require_covered(last)?;
        let keys = &self.trust.keys;
        let of_last = |term: &KeyTerm| (term.from_batch..term.until_batch).contains(&last);
        // A log has at most 1,024 keys.
        let key_index = keys.iter().position(of_last).unwrap_or(keys.len()) as u32;
        let digest = signed.checkpoint.digest(&self.separator);
        self.require_signer(&digest, last, &signed.signature, key_index)?;
        Ok(last)
    }

    fn require_covered(&self, batch: u64) -> Result<(), NoFault> {
        let ContractCoverage {
            from_batch,
            until_batch,
            retired_at_s,
        } = self.trust.coverage;
        let counts_until_s = retired_at_s.saturating_add(self.trust.evidence_age_s);
        let is_over = batch >= until_batch && self.trust.now_s > counts_until_s;
        if batch < from_batch || is_over {
            return Err(NoFault::NotCovered {
                batch,
                from_batch,
                until_batch,
            });
        }
        Ok(())
    }

    /// A key counts for batches from its first on. For the batches it keeps, this ends `evidence_age_s` after all of
    /// them are anchored; for batches that a rotation took from it, that long after the rotation.
    fn require_signer(
        &self,
        digest: &Hash,
        batch: u64,
        signature: &Signature,
        key_index: u32,
    ) -> Result<(), NoFault> {
        let recovered = signature.recover(digest)?;
        let term = self
            .trust
            .keys
            .get(key_index as usize)
            .ok_or(NoFault::UnknownKey(key_index))?;
        if recovered != term.key || batch < term.from_batch {
            return Err(NoFault::NotSigned { batch, recovered });
        }
        if term.replaced_at_s == 0 {
            return Ok(());
        }
        let since_s = if batch < term.until_batch {
            term.closed_at_s
        } else {
            term.replaced_at_s
        };
        let counts_until_s = since_s.saturating_add(self.trust.evidence_age_s);
        if since_s != 0 && self.trust.now_s > counts_until_s {
            return Err(NoFault::TooOld { batch, key_index });
        }
        Ok(())
    }

    pub(super) fn history(&self, batches: u64) -> Result<Hash, NoFault> {
        let history = self.trust.anchored.get(&batches);
        history.copied().ok_or(NoFault::UnknownCheckpoint(batches))
    }

    pub(super) fn require_beginning(
        &self,
        size: u64,
        anchored_batches: u64,
        beginning: &Hash,
        proof: &[Hash],
    ) -> Result<(), NoFault> {
        let history = self.history(anchored_batches)?;
        // Every tree extends the empty one.
        let holds = if size == 0 {
            proof.is_empty() && *beginning == empty_root()
        } else {
            verify_consistency(size, anchored_batches, beginning, &history, proof).is_ok()
        };
        if holds {
            Ok(())
        } else {
            Err(NoFault::PathLeadsElsewhere)
        }
    }
}

pub(super) fn require_inclusion(
    root: &Hash,
    leaf: &Hash,
    index: u64,
    size: u64,
    path: &[Hash],
) -> Result<(), NoFault> {
    verify_proof(root, size, &[index], &[*leaf], path).map_err(|_| NoFault::PathLeadsElsewhere)
}

/// First sequence of the next batch.
fn sequence_after(header: &BatchHeader) -> u128 {
    u128::from(header.first_sequence) + u128::from(header.count)
}

fn extends(leaf: &LogLeaf, previous: &Hash) -> bool {
    chain::next_integrity(previous, &leaf.content) == leaf.integrity
}
