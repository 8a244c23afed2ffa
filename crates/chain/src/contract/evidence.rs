//! Evidence as calldata of the judge, for the bond's `report` and for an `eth_call` that returns the verdict
//! beforehand.

use ethers_core::abi::Token;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{
    CheckpointEvidence, ContractCoverage, ContractView, Evidence, Fault, HeaderEvidence,
    HeaderStatus, KeyTerm, LeafEvidence,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::{Address, Hash};

use super::artifact::JUDGE;
use super::bond::BondContract;
use super::bond::tokens::{action_leaf, batch, words};
use super::{AnchorContract, ContractReadError, number, word};
use crate::rpc::{BlockTag, RpcError};

/// The judge's return value for proven evidence: keccak256 of `Kedge fault proven`.
pub fn proven_word() -> Hash {
    keccak(b"Kedge fault proven")
}

/// The name of the judge's function for a fault.
pub fn judge_function(fault: Fault) -> &'static str {
    match fault {
        Fault::ConflictingBatches => "conflictingBatches",
        Fault::ConflictingCheckpoints => "conflictingCheckpoints",
        Fault::OmittedBatch => "omittedBatch",
        Fault::FalseCheckpoint => "falseCheckpoint",
        Fault::FalseHistory => "falseHistory",
        Fault::FalseCheckpointHistory => "falseCheckpointHistory",
        Fault::BrokenLink => "brokenLink",
        Fault::BrokenHeader => "brokenHeader",
        Fault::BrokenLeaf => "brokenLeaf",
        Fault::FallingTime => "fallingTime",
        Fault::BrokenChain => "brokenChain",
        Fault::ReplayedContent => "replayedContent",
        Fault::ForkedIntegrity => "forkedIntegrity",
    }
}

/// Calldata of the judge's function for this evidence; the reporter commits to its keccak256.
pub fn evidence_calldata(evidence: &Evidence) -> Vec<u8> {
    JUDGE.encode(judge_function(evidence.fault()), &arguments(evidence))
}

fn arguments(evidence: &Evidence) -> Vec<Token> {
    match evidence {
        Evidence::ConflictingBatches { first, second } => vec![header(first), header(second)],
        Evidence::ConflictingCheckpoints { first, second } => {
            vec![checkpoint(first), checkpoint(second)]
        }
        Evidence::OmittedBatch {
            left,
            anchored_batches,
            held,
            path,
        } => vec![
            header(left),
            number(*anchored_batches),
            word(*held),
            words(path),
        ],
        Evidence::FalseCheckpoint { signed, last, path } => {
            vec![checkpoint(signed), batch(last), words(path)]
        }
        Evidence::FalseHistory {
            batch,
            anchored_batches,
            beginning,
            proof,
        } => vec![
            header(batch),
            number(*anchored_batches),
            word(*beginning),
            words(proof),
        ],
        Evidence::FalseCheckpointHistory {
            signed,
            anchored_batches,
            beginning,
            proof,
        } => vec![
            checkpoint(signed),
            number(*anchored_batches),
            word(*beginning),
            words(proof),
        ],
        Evidence::BrokenLink { before, next } => vec![header(before), header(next)],
        Evidence::BrokenHeader { batch } => vec![header(batch)],
        Evidence::BrokenLeaf { action } => vec![leaf(action)],
        Evidence::FallingTime { earlier, later } => vec![leaf(earlier), leaf(later)],
        Evidence::BrokenChain { batch, leaves } => vec![header(batch), words(leaves)],
        Evidence::ReplayedContent { first, second } => vec![leaf(first), leaf(second)],
        Evidence::ForkedIntegrity {
            first,
            second,
            previous,
        } => vec![leaf(first), leaf(second), word(*previous)],
    }
}

/// The contracts' `HeaderEvidence`.
pub(crate) fn header(evidence: &HeaderEvidence) -> Token {
    let (signature, key_index, anchored_batches, path) = match &evidence.standing {
        HeaderStatus::Signed(signed) => {
            (signed.signature.0.to_vec(), signed.key_index, 0, Vec::new())
        }
        HeaderStatus::Anchored(anchored) => {
            (Vec::new(), 0, anchored.batches, anchored.path.clone())
        }
    };
    Token::Tuple(vec![
        batch(&evidence.header),
        Token::Bytes(signature),
        number(u64::from(key_index)),
        number(anchored_batches),
        words(&path),
    ])
}

/// The contracts' `CheckpointEvidence`.
pub(crate) fn checkpoint(evidence: &CheckpointEvidence) -> Token {
    Token::Tuple(vec![
        checkpoint_token(&evidence.checkpoint),
        Token::Bytes(evidence.signature.0.to_vec()),
        number(u64::from(evidence.key_index)),
    ])
}

/// The contracts' `LeafEvidence`.
pub(crate) fn leaf(evidence: &LeafEvidence) -> Token {
    Token::Tuple(vec![
        action_leaf(&evidence.leaf),
        number(u64::from(evidence.index)),
        words(&evidence.path),
        header(&evidence.batch),
    ])
}

fn checkpoint_token(checkpoint: &Checkpoint) -> Token {
    Token::Tuple(vec![
        number(checkpoint.batches),
        number(checkpoint.sequence),
        word(checkpoint.head),
        word(checkpoint.history),
        word(checkpoint.state),
        number(checkpoint.issued_at_ms),
    ])
}

/// The contract's statements about the keys that sign the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTrust {
    /// The keys, in the contract's order, including those of planned rotations.
    pub keys: Vec<KeyTerm>,
    /// The batches that this contract covers.
    pub coverage: ContractCoverage,
    /// How long evidence counts after its key was replaced; forever without a bond.
    pub evidence_age_s: u64,
}

impl KeyTrust {
    /// The trust to check evidence against at a given time, with no anchored checkpoint yet.
    pub fn trust(&self, domain: Domain, now_s: u64) -> ContractView {
        ContractView {
            keys: self.keys.clone(),
            coverage: self.coverage,
            evidence_age_s: self.evidence_age_s,
            now_s,
            ..ContractView::new(domain, Address::ZERO)
        }
    }
}

impl AnchorContract {
    /// The keys, the covered batches, and the bond's limit on the age of evidence.
    pub async fn key_trust(&self) -> Result<KeyTrust, ContractReadError> {
        let bond = self.bond().await?;
        let evidence_age_s = if bond == Address::ZERO {
            u64::MAX
        } else {
            let bond = BondContract::new(self.rpc().clone(), bond);
            bond.terms().await?.withdrawal_delay_s
        };
        Ok(KeyTrust {
            keys: self.key_terms().await?,
            coverage: self.coverage().await?,
            evidence_age_s,
        })
    }

    /// The trust that a check of evidence needs: the contract's keys, and the anchored checkpoints that the evidence
    /// names, by their batch counts, as of block `at`.
    pub async fn trust_for(
        &self,
        anchored_batches: &[u64],
        domain: Domain,
        at: BlockTag,
        now_s: u64,
    ) -> Result<ContractView, ContractReadError> {
        let mut trust = self.key_trust().await?.trust(domain, now_s);
        for &batches in anchored_batches {
            let holder = self.holder_of(batches, at).await?;
            match holder.checkpoint(batches, at).await {
                Ok(record) => {
                    trust.anchored.insert(batches, record.history);
                }
                // A missing checkpoint is reported by the check.
                Err(ContractReadError::Rpc(RpcError::Node(error)))
                    if error.revert_data().is_some() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(trust)
    }
}
