//! Block headers, their RLP and hash (yellow paper §4.4; EIP-1559, 4788, 4844, 4895, 7685), and the roots of blocks
//! with at most one transaction.

use ethers_core::utils::rlp::RlpStream;
use revm::primitives::alloy_primitives::Bloom;
use revm::primitives::{Address, B256, b256, keccak256};

pub(super) const BLOCK_GAS_LIMIT: u64 = 30_000_000;
pub(super) const GENESIS_BASE_FEE_WEI: u64 = 1_000_000_000;

/// keccak256 of the RLP of an empty list: no uncles.
pub(super) const EMPTY_UNCLES: B256 =
    b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");
pub(super) const EMPTY_ROOT: B256 =
    b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
/// SHA-256 of the empty string: no requests (EIP-7685).
pub(super) const EMPTY_REQUESTS: B256 =
    b256!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");

/// The variable fields of a header; the others are constants on this chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EmbeddedHeader {
    pub(super) parent_hash: B256,
    pub(super) beneficiary: Address,
    pub(super) state_root: B256,
    pub(super) transactions_root: B256,
    pub(super) receipts_root: B256,
    pub(super) logs_bloom: Bloom,
    pub(super) number: u64,
    pub(super) gas_limit: u64,
    pub(super) gas_used: u64,
    pub(super) timestamp_s: u64,
    pub(super) mix_hash: B256,
    pub(super) base_fee_wei: u64,
}

impl EmbeddedHeader {
    /// Block 0 of a chain created at `timestamp_s`.
    pub(super) fn genesis(timestamp_s: u64) -> Self {
        Self {
            parent_hash: B256::ZERO,
            beneficiary: Address::ZERO,
            state_root: EMPTY_ROOT,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            logs_bloom: Bloom::ZERO,
            number: 0,
            gas_limit: BLOCK_GAS_LIMIT,
            gas_used: 0,
            timestamp_s,
            mix_hash: B256::ZERO,
            base_fee_wei: GENESIS_BASE_FEE_WEI,
        }
    }

    /// The header's RLP: the 21 fields of a Prague block.
    pub(super) fn rlp(&self) -> Vec<u8> {
        let mut stream = RlpStream::new_list(21);
        stream.append(&self.parent_hash.as_slice());
        stream.append(&EMPTY_UNCLES.as_slice());
        stream.append(&self.beneficiary.as_slice());
        stream.append(&self.state_root.as_slice());
        stream.append(&self.transactions_root.as_slice());
        stream.append(&self.receipts_root.as_slice());
        stream.append(&self.logs_bloom.as_slice());
        stream.append(&0u8); // difficulty
        stream.append(&self.number);
        stream.append(&self.gas_limit);
        stream.append(&self.gas_used);
        stream.append(&self.timestamp_s);
        stream.append_empty_data(); // extra data
        stream.append(&self.mix_hash.as_slice());
        stream.append(&[0u8; 8].as_slice()); // nonce
        stream.append(&self.base_fee_wei);
        stream.append(&EMPTY_ROOT.as_slice()); // withdrawals
        stream.append(&0u64); // blob gas used
        stream.append(&0u64); // excess blob gas
        stream.append(&[0u8; 32].as_slice()); // parent beacon block root
        stream.append(&EMPTY_REQUESTS.as_slice());
        stream.out().to_vec()
    }

    pub(super) fn hash(&self) -> B256 {
        keccak256(self.rlp())
    }

    /// The base fee of the block after this one (EIP-1559).
    pub(super) fn next_base_fee_wei(&self) -> u64 {
        let target = self.gas_limit / 2;
        let base_fee = u128::from(self.base_fee_wei);
        let step = |gas: u64| base_fee * u128::from(gas) / u128::from(target) / 8;
        let next = if self.gas_used > target {
            base_fee + step(self.gas_used - target).max(1)
        } else {
            base_fee - step(target - self.gas_used)
        };
        u64::try_from(next).unwrap_or(u64::MAX)
    }
}

/// Root of a trie whose only key is index 0, as in a block with one transaction: a single leaf under the whole key
/// (yellow paper, appendix D).
pub(super) fn single_entry_root(value: &[u8]) -> B256 {
    // RLP(0) = 0x80, two nibbles; the hex prefix of an even leaf is 0x20.
    const LEAF_KEY: [u8; 2] = [0x20, 0x80];
    let mut leaf = RlpStream::new_list(2);
    leaf.append(&LEAF_KEY.as_slice());
    leaf.append(&value);
    keccak256(leaf.out())
}

/// Substitute for the state root: a hash over the transactions, which determine this chain's state. A real trie would
/// walk the whole state for every block, and no client asks for state proofs here.
pub(super) fn next_state_root(
    parent: &EmbeddedHeader,
    transactions_root: B256,
    receipts_root: B256,
) -> B256 {
    let mut bytes = Vec::with_capacity(96);
    bytes.extend_from_slice(parent.state_root.as_slice());
    bytes.extend_from_slice(transactions_root.as_slice());
    bytes.extend_from_slice(receipts_root.as_slice());
    keccak256(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_hashes_as_another_node_hashes_it() {
        // Block 0 of Anvil 1.7.1 at this time.
        assert_eq!(
            EmbeddedHeader::genesis(0x6b01_09af).hash(),
            b256!("baf24d6616d6019c787577d531783d12ec8502ceb3947db49f78bf40e9e25f4b")
        );
    }

    #[test]
    fn the_base_fee_moves_by_an_eighth_at_most() {
        let with = |gas_used| EmbeddedHeader {
            gas_used,
            ..EmbeddedHeader::genesis(0)
        };
        assert_eq!(with(0).next_base_fee_wei(), 875_000_000);
        assert_eq!(with(BLOCK_GAS_LIMIT / 2).next_base_fee_wei(), 1_000_000_000);
        assert_eq!(with(BLOCK_GAS_LIMIT).next_base_fee_wei(), 1_125_000_000);
    }
}
