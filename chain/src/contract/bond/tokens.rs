//! The protocol's records as the contracts take them.

use ethers_core::abi::Token;
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::Leaf;

use super::Opening;
use crate::contract::{account, number, word};

/// `Batch`.
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

/// `ActionLeaf`.
pub(crate) fn action_leaf(leaf: &Leaf) -> Token {
    Token::Tuple(vec![
        number(leaf.sequence),
        number(leaf.timestamp_ms),
        word(leaf.content),
        word(leaf.integrity),
    ])
}

/// `Opening`.
pub(crate) fn opening(opening: &Opening) -> Token {
    Token::Tuple(vec![
        word(opening.kind_hash),
        word(opening.target_hash),
        word(opening.payload_hash),
        word(opening.salt),
        account(opening.signer),
        number(opening.nonce),
        number(opening.deadline_s),
        Token::Bool(opening.atomic),
        number(u64::from(opening.index)),
        words(&opening.action_hashes),
        Token::Bytes(opening.signature.0.to_vec()),
    ])
}

/// `bytes32[]`.
pub(crate) fn words(hashes: &[Hash]) -> Token {
    Token::Array(hashes.iter().copied().map(word).collect())
}
