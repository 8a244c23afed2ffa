//! Evidence as calldata of the judge: what the bond's `report` takes, and what an `eth_call` of the
//! judge tells about beforehand.

use ethers_core::abi::Token;
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::Leaf;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::evidence::{
    CheckpointEvidence, Evidence, Fault, HeaderEvidence, LeafEvidence, Standing,
};
use kedge_protocol::hash::keccak;

use super::artifact::JUDGE;
use super::{number, word};

/// What the judge returns where evidence shows its fault: keccak256 of `Kedge fault proven`.
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

/// Calldata of the judge's function for this evidence; its keccak256 is the subject of the
/// reporter's commitment.
pub fn evidence_calldata(evidence: &Evidence) -> Vec<u8> {
    JUDGE
        .function(judge_function(evidence.fault()))
        .encode_input(&arguments(evidence))
        .expect("the arguments have the artifact's types; a test encodes each call")
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
            vec![checkpoint(signed), batch_token(last), words(path)]
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
        Standing::Signed(signed) => (signed.signature.0.to_vec(), signed.key_index, 0, Vec::new()),
        Standing::Anchored(anchored) => (Vec::new(), 0, anchored.batches, anchored.path.clone()),
    };
    Token::Tuple(vec![
        batch_token(&evidence.header),
        Token::Bytes(signature),
        number(u64::from(key_index)),
        number(anchored_batches),
        words(&path),
    ])
}

fn checkpoint(evidence: &CheckpointEvidence) -> Token {
    Token::Tuple(vec![
        checkpoint_token(&evidence.checkpoint),
        Token::Bytes(evidence.signature.0.to_vec()),
        number(u64::from(evidence.key_index)),
    ])
}

fn leaf(evidence: &LeafEvidence) -> Token {
    Token::Tuple(vec![
        leaf_token(&evidence.leaf),
        number(u64::from(evidence.index)),
        words(&evidence.path),
        header(&evidence.batch),
    ])
}

fn words(hashes: &[Hash]) -> Token {
    Token::Array(hashes.iter().copied().map(word).collect())
}

fn batch_token(header: &BatchHeader) -> Token {
    Token::Tuple(vec![
        number(header.number),
        number(header.first_sequence),
        number(u64::from(header.count)),
        word(header.previous_head),
        word(header.head),
        word(header.root),
        word(header.history),
        word(header.state),
        number(header.sealed_at_ms),
    ])
}

fn leaf_token(leaf: &Leaf) -> Token {
    Token::Tuple(vec![
        number(leaf.sequence),
        number(leaf.timestamp_ms),
        word(leaf.content),
        word(leaf.integrity),
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
