//! ABI tokens of the protocol's records.

use ethers_core::abi::Token;
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::evidence::ActionOpening;

use super::AnchoredAction;
use crate::contract::{account, number, word};

/// The contracts' struct `Batch`.
pub(crate) fn batch(header: &BatchHeader) -> Token {
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

/// The contracts' struct `ActionLeaf`.
pub(crate) fn action_leaf(leaf: &LogLeaf) -> Token {
    Token::Tuple(vec![
        number(leaf.sequence),
        number(leaf.timestamp_ms),
        word(leaf.content),
        word(leaf.integrity),
    ])
}

/// The contracts' struct `AnchoredAction`.
pub(crate) fn anchored_action(action: &AnchoredAction<'_>) -> Token {
    Token::Tuple(vec![
        number(action.anchored_batches),
        batch(action.header),
        action_leaf(action.leaf),
        words(action.leaf_path),
        words(action.batch_path),
    ])
}

/// The contracts' struct `ActionOpening`.
pub(crate) fn opening(opening: &ActionOpening) -> Token {
    Token::Tuple(vec![
        word(opening.words.kind),
        word(opening.words.target),
        word(opening.words.payload),
        word(opening.salt),
        account(opening.head.signer),
        number(opening.head.nonce),
        number(opening.head.deadline_s),
        Token::Bool(opening.head.atomic),
        number(u64::from(opening.index)),
        words(&opening.action_hashes),
        Token::Bytes(opening.signature.0.to_vec()),
    ])
}

/// `bytes32[]`.
pub(crate) fn words(hashes: &[Hash]) -> Token {
    Token::Array(hashes.iter().copied().map(word).collect())
}
