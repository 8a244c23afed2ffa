//! Conversions between the protocol's types and ethers-core's.

use ethers_core::types::{H160, H256};
use kedge_protocol::{Address, Hash};

pub(crate) fn h256(hash: Hash) -> H256 {
    H256(hash.0)
}

pub(crate) fn h160(address: Address) -> H160 {
    H160(address.0)
}

pub(crate) fn hash(hash: H256) -> Hash {
    Hash(hash.0)
}

pub(crate) fn address(address: H160) -> Address {
    Address(address.0)
}
