//! Binding of the anchor contract: its ABI, encoding and decoding.
//!
//! ABI and deployment code are the checked-in artifact of `contracts/`, compiled in. The bond is in [`bond`], the
//! claims resolver in [`claims`].

mod anchored_events;
mod artifact;
pub mod bond;
pub mod claims;
mod deploy;
mod evidence;
mod instance;
mod operator_transaction;
mod reader;
mod revert;
mod state_evidence;

use ethers_core::abi::Token;
use ethers_core::types::{Log, U256};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::{Address, Hash};

use crate::convert::{h160, h256};
use artifact::ANCHOR;

pub use anchored_events::decode_anchor_call;
pub use deploy::{
    DeployOptions, Deployment, DeploymentOutcome, deploy, ensure_deployed, is_deployed,
};
pub use evidence::{KeyTrust, evidence_calldata, judge_function, proven_word};
pub use instance::ContractReadError;
pub use operator_transaction::{MinedTransaction, TransactError, transact, transact_paying};
pub use reader::{AnchorContract, AnchorContractState, AnchoredRecord, LatestCheckpoint};
pub use revert::decode_revert;
pub use state_evidence::state_evidence_calldata;

fn encode(name: &str, arguments: &[Token]) -> Vec<u8> {
    ANCHOR.encode(name, arguments)
}

fn number(value: u64) -> Token {
    Token::Uint(U256::from(value))
}

fn word(hash: Hash) -> Token {
    Token::FixedBytes(hash.0.to_vec())
}

fn account(address: Address) -> Token {
    Token::Address(h160(address))
}

/// Deployment data: code and constructor arguments. `domain_contract` is the log's first anchor contract; `None` makes
/// the new contract the first one.
pub fn deployment_data(
    owner: Address,
    sequencer_key: Address,
    domain_contract: Option<Address>,
) -> Vec<u8> {
    let arguments = [
        account(owner),
        account(sequencer_key),
        account(domain_contract.unwrap_or(Address::ZERO)),
    ];
    ANCHOR.deployment(&arguments)
}

/// Calldata of `anchor`: the checkpoint, the sequencer's signature, and the RFC 9162 proof that it extends the
/// contract's last checkpoint (empty for the first).
pub fn anchor_calldata(signed: &SignedCheckpoint, proof: &[Hash]) -> Vec<u8> {
    let checkpoint = &signed.checkpoint;
    let tuple = Token::Tuple(vec![
        number(checkpoint.batches),
        number(checkpoint.sequence),
        word(checkpoint.head),
        word(checkpoint.history),
        word(checkpoint.state),
        number(checkpoint.issued_at_ms),
    ]);
    let signature = Token::Bytes(signed.signature.0.to_vec());
    let proof = Token::Array(proof.iter().copied().map(word).collect());
    encode("anchor", &[tuple, signature, proof])
}

/// Calldata of `rotate`: `key` signs from batch `from_batch` on.
pub fn rotate_calldata(key: Address, from_batch: u64) -> Vec<u8> {
    encode("rotate", &[account(key), number(from_batch)])
}

/// Calldata of `closeKey`, which states that all batches of the key at `index` are anchored by the checkpoint over
/// `batches`.
pub fn close_key_calldata(index: u32, batches: u64) -> Vec<u8> {
    encode("closeKey", &[number(u64::from(index)), number(batches)])
}

/// Calldata of `transferOwnership`, the first of two steps.
pub fn transfer_ownership_calldata(new_owner: Address) -> Vec<u8> {
    encode("transferOwnership", &[account(new_owner)])
}

/// Calldata of `acceptOwnership`, the second step, to be sent by the new owner.
pub fn accept_ownership_calldata() -> Vec<u8> {
    encode("acceptOwnership", &[])
}

/// Calldata of `nameBond`, which lets `bond` freeze this contract; callable once.
pub fn name_bond_calldata(bond: Address) -> Vec<u8> {
    encode("nameBond", &[account(bond)])
}

/// Calldata of `retire`: hands the log over to `successor`.
pub fn retire_calldata(successor: Address) -> Vec<u8> {
    encode("retire", &[account(successor)])
}

pub fn pause_calldata() -> Vec<u8> {
    encode("pause", &[])
}

pub fn unpause_calldata() -> Vec<u8> {
    encode("unpause", &[])
}

/// The contract's `Anchored` event and its position in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchoredEvent {
    pub checkpoint: Checkpoint,
    pub tx_hash: Hash,
    pub block_number: u64,
    pub block_hash: Hash,
}

/// The first topic of an `Anchored` event.
pub fn anchored_topic() -> Hash {
    Hash(ANCHOR.event("Anchored").signature().0)
}

/// Decodes an `Anchored` event; `None` if the log is of another event, or not in a block yet.
pub fn decode_anchored(log: &Log) -> Option<AnchoredEvent> {
    let values = ANCHOR.read_event("Anchored", log)?;
    Some(AnchoredEvent {
        checkpoint: Checkpoint {
            batches: values.get("batches", to_number)?,
            sequence: values.get("sequence", to_number)?,
            head: values.get("head", to_hash)?,
            history: values.get("history", to_hash)?,
            state: values.get("state", to_hash)?,
            issued_at_ms: values.get("issuedAt", to_number)?,
        },
        tx_hash: Hash(log.transaction_hash?.0),
        block_number: log.block_number?.as_u64(),
        block_hash: Hash(log.block_hash?.0),
    })
}

/// The topics of the `Anchored` event with exactly these batches.
fn anchored_topics(batches: u64) -> Vec<Option<ethers_core::types::H256>> {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&batches.to_be_bytes());
    vec![Some(h256(anchored_topic())), Some(h256(Hash(word)))]
}

fn to_wei(token: Token) -> Option<u128> {
    u128::try_from(token.into_uint()?).ok()
}

fn to_number(token: Token) -> Option<u64> {
    u64::try_from(token.into_uint()?).ok()
}

fn to_hash(token: Token) -> Option<Hash> {
    let bytes = token.into_fixed_bytes()?;
    <[u8; 32]>::try_from(bytes).ok().map(Hash)
}

fn to_address(token: Token) -> Option<Address> {
    token.into_address().map(crate::convert::address)
}

#[cfg(test)]
mod tests {
    use kedge_protocol::signature::SigningKey;

    use super::*;

    #[test]
    fn every_call_encodes_with_the_artifacts_abi() {
        let key = SigningKey::from_bytes(&[7; 32]).unwrap();
        let signed = Checkpoint {
            batches: 1,
            sequence: 2,
            head: Hash([3; 32]),
            history: Hash([4; 32]),
            state: Hash::ZERO,
            issued_at_ms: 5,
        }
        .sign(&Hash([9; 32]), &key);
        let calls = [
            ("anchor", anchor_calldata(&signed, &[Hash([6; 32])])),
            ("rotate", rotate_calldata(Address([1; 20]), 9)),
            ("closeKey", close_key_calldata(0, 9)),
            (
                "transferOwnership",
                transfer_ownership_calldata(Address([1; 20])),
            ),
            ("acceptOwnership", accept_ownership_calldata()),
            ("nameBond", name_bond_calldata(Address([1; 20]))),
            ("retire", retire_calldata(Address([1; 20]))),
            ("pause", pause_calldata()),
            ("unpause", unpause_calldata()),
        ];
        for (name, data) in calls {
            assert_eq!(data[..4], ANCHOR.function(name).short_signature(), "{name}");
        }
        let data = deployment_data(Address([1; 20]), Address([2; 20]), None);
        let longer = deployment_data(Address([1; 20]), Address([2; 20]), Some(Address([3; 20])));
        assert_eq!(data.len(), longer.len());
        let arguments = data.len() - 96;
        assert_eq!(data[..arguments], longer[..arguments]);
        assert_eq!(longer[longer.len() - 20..], [3; 20]);
    }

    #[test]
    fn another_event_is_not_taken_for_an_anchor() {
        assert_eq!(decode_anchored(&Log::default()), None);
    }
}
