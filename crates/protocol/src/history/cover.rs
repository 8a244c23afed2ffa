//! The place of a batch in the log of a checkpoint.
//!
//! A batch whose proof file is anchored has a path to the anchored history; a consistency proof leads from there to the
//! checkpoint. Any other batch needs two: its header states the history of the batches before it, and a consistency
//! proof from there to one batch more ends with the batch itself (RFC 9162, 2.1.4).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Hash;
use crate::batch::BatchHeader;
use crate::checkpoint::Checkpoint;
use crate::log_tree;
use crate::merkle::{ProofError, verify_consistency};
use crate::proof::AnchorProof;

/// A proof that the log of `to` batches begins with the log of `from` batches: an answer of `GET /consistency`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsistencyProof {
    /// The smaller size, in batches; at least 1.
    pub from: u64,
    /// The larger size, in batches.
    pub to: u64,
    /// The root of the smaller log.
    pub first_root: Hash,
    /// The root of the larger log.
    pub second_root: Hash,
    /// The proof's hashes.
    pub proof: Vec<Hash>,
}

/// Why a batch is not shown to be in a checkpoint's log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoverError {
    /// The checkpoint ends before the batch.
    #[error("batch {batch} is after the checkpoint of {batches} batches")]
    After {
        /// Number of the batch.
        batch: u64,
        /// Batches of the checkpoint.
        batches: u64,
    },
    /// A consistency proof is missing.
    #[error(
        "the consistency proof from {from} to {to} batches is missing: add the answer of GET /consistency?from={from}&to={to}"
    )]
    Missing {
        /// The smaller size.
        from: u64,
        /// The larger size.
        to: u64,
    },
    /// A consistency proof leads to other roots.
    #[error("the consistency proof from {from} to {to} batches: {source}")]
    Consistency {
        /// The smaller size.
        from: u64,
        /// The larger size.
        to: u64,
        /// What is wrong with it.
        source: ProofError,
    },
    /// The log of the checkpoint holds another batch, or another history.
    #[error(
        "the checkpoint's log does not hold batch {batch} with this header: keep both, they are evidence"
    )]
    OtherBatch {
        /// Number of the batch.
        batch: u64,
    },
}

/// The sizes of the consistency proofs that lead from a batch to a checkpoint of `batches` batches; `anchored` is the
/// number of batches of the anchor that the batch's proof file leads to, if it has one.
pub fn consistency_sizes(batch: u64, anchored: Option<u64>, batches: u64) -> Vec<(u64, u64)> {
    let pairs = if let Some(anchored) = anchored {
        vec![(anchored.min(batches), anchored.max(batches))]
    } else {
        let with_batch = batch.saturating_add(1);
        vec![(batch, with_batch), (with_batch, batches)]
    };
    let is_needed = |(from, to): &(u64, u64)| *from > 0 && from < to;
    pairs.into_iter().filter(is_needed).collect()
}

/// A checkpoint, and the consistency proofs that lead to it.
#[derive(Debug)]
pub struct CheckpointCover<'a> {
    checkpoint: &'a Checkpoint,
    proofs: HashMap<(u64, u64), &'a ConsistencyProof>,
}

impl<'a> CheckpointCover<'a> {
    /// The checkpoint's signer is checked elsewhere. Proofs that no batch needs are not looked at.
    pub fn new(
        checkpoint: &'a Checkpoint,
        proofs: impl IntoIterator<Item = &'a ConsistencyProof>,
    ) -> Self {
        let sized = |proof: &'a ConsistencyProof| ((proof.from, proof.to), proof);
        Self {
            checkpoint,
            proofs: proofs.into_iter().map(sized).collect(),
        }
    }

    /// Checks that the checkpoint's log holds this header. `anchor` was checked to cover it.
    ///
    /// # Errors
    /// The checkpoint ends before the batch, a consistency proof is missing or wrong, or the log holds another batch.
    pub fn check(
        &self,
        header: &BatchHeader,
        anchor: Option<&AnchorProof>,
    ) -> Result<(), CoverError> {
        let (batch, batches) = (header.number, self.checkpoint.batches);
        if batch >= batches {
            return Err(CoverError::After { batch, batches });
        }
        let holds = if let Some(anchor) = anchor {
            let anchored = &anchor.checkpoint.checkpoint;
            let (one, other) = (
                (anchored.batches, anchored.history),
                (batches, self.checkpoint.history),
            );
            let (first, second) = if one.0 <= other.0 {
                (one, other)
            } else {
                (other, one)
            };
            self.leads(first, second)?
        } else {
            let with_batch = (batch + 1, self.with_batch(header)?);
            self.leads(with_batch, (batches, self.checkpoint.history))?
        };
        if holds {
            Ok(())
        } else {
            Err(CoverError::OtherBatch { batch })
        }
    }

    /// The root of the log that ends with this batch.
    fn with_batch(&self, header: &BatchHeader) -> Result<Hash, CoverError> {
        let batch = header.number;
        let leaf = log_tree::leaf(&header.hash());
        if batch == 0 {
            return Ok(leaf);
        }
        let proof = self.proof(batch, batch + 1)?;
        // The last leaf comes after the smallest complete subtree before it, which is not sent if it is the whole log.
        let place = usize::from(!batch.is_power_of_two());
        if proof.first_root != header.history || proof.proof.get(place) != Some(&leaf) {
            return Err(CoverError::OtherBatch { batch });
        }
        Ok(proof.second_root)
    }

    /// Whether a log with the second size and root begins with the first one.
    fn leads(&self, first: (u64, Hash), second: (u64, Hash)) -> Result<bool, CoverError> {
        if first.0 == second.0 {
            return Ok(first.1 == second.1);
        }
        let proof = self.proof(first.0, second.0)?;
        Ok((proof.first_root, proof.second_root) == (first.1, second.1))
    }

    /// The proof between these sizes, which leads from the one root that it states to the other.
    fn proof(&self, from: u64, to: u64) -> Result<&'a ConsistencyProof, CoverError> {
        let found = self.proofs.get(&(from, to));
        let proof = *found.ok_or(CoverError::Missing { from, to })?;
        let checked = verify_consistency(
            from,
            to,
            &proof.first_root,
            &proof.second_root,
            &proof.proof,
        );
        checked.map_err(|source| CoverError::Consistency { from, to, source })?;
        Ok(proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::keccak;
    use crate::log_tree::{NewNode, TreeFrontier, TreeNodes, consistency_path, root};

    #[derive(Default)]
    struct KeptNodes(HashMap<(u32, u64), Hash>);

    impl TreeNodes for KeptNodes {
        type Error = std::convert::Infallible;

        fn node(&self, level: u32, index: u64) -> Result<Hash, Self::Error> {
            Ok(self.0[&(level, index)])
        }
    }

    /// A log of batches, whose headers state the history before them.
    fn log(count: u64) -> (Vec<BatchHeader>, KeptNodes) {
        let (mut nodes, mut frontier) = (KeptNodes::default(), TreeFrontier::default());
        let headers = (0..count).map(|number| {
            let header = BatchHeader {
                number,
                first_sequence: number + 1,
                count: 1,
                previous_head: Hash::ZERO,
                head: keccak(&number.to_be_bytes()),
                root: Hash::ZERO,
                history: frontier.root(),
                state: Hash::ZERO,
                sealed_at_ms: 0,
            };
            for NewNode { level, index, hash } in frontier.append(log_tree::leaf(&header.hash())) {
                nodes.0.insert((level, index), hash);
            }
            header
        });
        (headers.collect(), nodes)
    }

    fn consistency(nodes: &KeptNodes, (from, to): (u64, u64)) -> ConsistencyProof {
        let Ok(proof) = consistency_path(nodes, from, to);
        let (Ok(first_root), Ok(second_root)) = (root(nodes, from), root(nodes, to));
        ConsistencyProof {
            from,
            to,
            first_root,
            second_root,
            proof,
        }
    }

    fn checkpoint(nodes: &KeptNodes, batches: u64) -> Checkpoint {
        let Ok(history) = root(nodes, batches);
        Checkpoint {
            batches,
            sequence: batches,
            head: Hash::ZERO,
            history,
            state: Hash::ZERO,
            issued_at_ms: 0,
        }
    }

    #[test]
    fn every_batch_leads_to_every_later_checkpoint() {
        let (headers, nodes) = log(40);
        for batches in 1..=40 {
            let checkpoint = checkpoint(&nodes, batches);
            for header in &headers {
                let sizes = consistency_sizes(header.number, None, batches);
                let proofs: Vec<ConsistencyProof> = if header.number < batches {
                    sizes
                        .iter()
                        .map(|sizes| consistency(&nodes, *sizes))
                        .collect()
                } else {
                    Vec::new()
                };
                let checked = CheckpointCover::new(&checkpoint, &proofs).check(header, None);
                if header.number >= batches {
                    let batch = header.number;
                    assert_eq!(checked, Err(CoverError::After { batch, batches }));
                    continue;
                }
                assert_eq!(checked, Ok(()), "{} in {batches}", header.number);
                for missing in 0..proofs.len() {
                    let rest = proofs.iter().enumerate();
                    let rest = rest
                        .filter(|(at, _)| *at != missing)
                        .map(|(_, proof)| proof);
                    let (from, to) = (proofs[missing].from, proofs[missing].to);
                    let checked = CheckpointCover::new(&checkpoint, rest).check(header, None);
                    assert_eq!(checked, Err(CoverError::Missing { from, to }));
                }
                // Another batch with this number and this history.
                let other = BatchHeader {
                    sealed_at_ms: 1,
                    ..*header
                };
                let checked = CheckpointCover::new(&checkpoint, &proofs).check(&other, None);
                let batch = header.number;
                assert_eq!(checked, Err(CoverError::OtherBatch { batch }));
            }
        }
    }

    #[test]
    fn a_checkpoint_of_another_log_holds_no_batch() {
        let (headers, nodes) = log(9);
        for header in &headers {
            let mut other = checkpoint(&nodes, 9);
            other.history = keccak(b"another log");
            let sizes = consistency_sizes(header.number, None, 9);
            let mut proofs: Vec<ConsistencyProof> = sizes
                .iter()
                .map(|sizes| consistency(&nodes, *sizes))
                .collect();
            let checked = CheckpointCover::new(&other, &proofs).check(header, None);
            let batch = header.number;
            assert_eq!(checked, Err(CoverError::OtherBatch { batch }));
            // A proof that states the root which is wanted does not lead there.
            if let Some(last) = proofs.last_mut().filter(|last| last.to == 9) {
                last.second_root = other.history;
                let checked = CheckpointCover::new(&other, &proofs).check(header, None);
                assert!(
                    matches!(checked, Err(CoverError::Consistency { .. })),
                    "{checked:?}"
                );
            }
        }
    }
}
