//! Conversions between the protocol's types and ethers-core's.

use ethers_core::types::{H160, H256};
use kedge_protocol::{Address, Hash};

/// The protocol's hash as ethers-core's.
pub(crate) fn h256(hash: Hash) -> H256 {
    H256(hash.0)
}

/// The protocol's address as ethers-core's.
pub(crate) fn h160(address: Address) -> H160 {
    H160(address.0)
}

/// ethers-core's hash as the protocol's.
pub(crate) fn hash(hash: H256) -> Hash {
    Hash(hash.0)
}

/// ethers-core's address as the protocol's.
pub(crate) fn address(address: H160) -> Address {
    Address(address.0)
}
