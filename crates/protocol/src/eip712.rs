//! EIP-712 typed data: the domain, and the digest that a wallet signs.

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::hash::{Hash, keccak, keccak_parts};

/// The domain's `name`.
pub const DOMAIN_NAME: &str = "Digital Object Service";
/// The domain's `version`.
pub const DOMAIN_VERSION: &str = "3";

/// The EIP-712 type of the domain.
pub const DOMAIN_TYPE: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

/// What a log is bound to for its whole life: a chain and the log's first anchor contract there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// The log's first anchor contract.
    pub verifying_contract: Address,
}

impl Domain {
    /// The domain separator: hashStruct of the domain. It is also the log's head before any action.
    pub fn separator(&self) -> Hash {
        keccak_parts(&[
            &keccak(DOMAIN_TYPE.as_bytes()).0,
            &keccak(DOMAIN_NAME.as_bytes()).0,
            &keccak(DOMAIN_VERSION.as_bytes()).0,
            &word(self.chain_id),
            &self.verifying_contract.to_word(),
        ])
    }
}

/// A number as a 32-byte word.
pub fn word(number: u64) -> [u8; 32] {
    let mut out = [0; 32];
    out[24..].copy_from_slice(&number.to_be_bytes());
    out
}

/// The digest to sign: keccak(0x1901 ‖ domain separator ‖ hashStruct(message)).
pub fn digest(domain_separator: &Hash, struct_hash: &Hash) -> Hash {
    let mut preimage = [0; 66];
    preimage[..2].copy_from_slice(&[0x19, 0x01]);
    preimage[2..34].copy_from_slice(&domain_separator.0);
    preimage[34..].copy_from_slice(&struct_hash.0);
    keccak(&preimage)
}
