//! Decoding of raw transactions, and their conversion for the EVM.

use ethers_core::types::U256 as EthersU256;
use ethers_core::types::transaction::eip2718::TypedTransaction;
use ethers_core::types::transaction::eip2930::AccessList as EthersAccessList;
use ethers_core::types::{Address as EthersAddress, Signature as EcdsaSignature};
use ethers_core::utils::rlp::Rlp;
use revm::context::TxEnv;
use revm::context_interface::transaction::{AccessList, AccessListItem};
use revm::primitives::{Address, B256, Bytes, TxKind, U256, keccak256};

use super::failure::JsonRpcFailure;

/// Half of secp256k1's group order; a larger s is a second form of a valid signature (EIP-2).
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

/// A decoded transaction with its sender.
#[derive(Debug, Clone)]
pub(super) struct DecodedTransaction {
    pub(super) raw: Bytes,
    pub(super) hash: B256,
    pub(super) signature: EcdsaSignature,
    pub(super) env: TxEnv,
}

impl DecodedTransaction {
    /// Decodes an EIP-2718 envelope of type 0, 1 or 2, and recovers its sender.
    pub(super) fn decode(raw: Bytes) -> Result<Self, JsonRpcFailure> {
        let undecodable = || JsonRpcFailure::invalid_params("Failed to decode transaction");
        let (typed, signature) =
            TypedTransaction::decode_signed(&Rlp::new(&raw)).map_err(|_| undecodable())?;
        let parity_fits = match &typed {
            TypedTransaction::Legacy(_) => matches!(signature.v, 27 | 28 | 35..),
            _ => signature.v <= 1,
        };
        if !parity_fits {
            return Err(undecodable());
        }
        // Only the canonical encoding is accepted, so a hash identifies a transaction.
        if typed.rlp_signed(&signature).as_ref() != raw.as_ref() {
            return Err(undecodable());
        }
        if word(signature.s) > HALF_ORDER {
            return Err(JsonRpcFailure::transaction_rejected(
                "signature has a high s",
            ));
        }
        let hash = keccak256(&raw);
        let env = environment(&typed).ok_or_else(undecodable)?;
        Ok(Self {
            raw,
            hash,
            signature,
            env,
        })
    }

    /// Price of a unit of gas in a block with this base fee.
    pub(super) fn effective_gas_price_wei(&self, base_fee_wei: u64) -> u128 {
        match self.env.gas_priority_fee {
            Some(tip) => self
                .env
                .gas_price
                .min(u128::from(base_fee_wei).saturating_add(tip)),
            None => self.env.gas_price,
        }
    }
}

fn environment(typed: &TypedTransaction) -> Option<TxEnv> {
    let (tx_type, gas_price, tip) = match typed {
        TypedTransaction::Legacy(inner) => (0, inner.gas_price?, None),
        TypedTransaction::Eip2930(inner) => (1, inner.tx.gas_price?, None),
        TypedTransaction::Eip1559(inner) => (
            2,
            inner.max_fee_per_gas?,
            Some(inner.max_priority_fee_per_gas?),
        ),
    };
    let tip = match tip {
        Some(tip) => Some(u128::try_from(tip).ok()?),
        None => None,
    };
    Some(TxEnv {
        tx_type,
        caller: address(*typed.from()?),
        gas_limit: u64::try_from(*typed.gas()?).ok()?,
        gas_price: u128::try_from(gas_price).ok()?,
        kind: match typed.to_addr() {
            Some(to) => TxKind::Call(address(*to)),
            None => TxKind::Create,
        },
        value: word(typed.value().copied().unwrap_or_default()),
        data: Bytes::copy_from_slice(typed.data().map_or(&[], |data| data.as_ref())),
        nonce: u64::try_from(*typed.nonce()?).ok()?,
        chain_id: typed.chain_id().map(|id| id.as_u64()),
        access_list: typed.access_list().map(access_list).unwrap_or_default(),
        gas_priority_fee: tip,
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: Vec::new(),
    })
}

fn access_list(list: &EthersAccessList) -> AccessList {
    let items = list.0.iter().map(|item| AccessListItem {
        address: address(item.address),
        storage_keys: item
            .storage_keys
            .iter()
            .map(|key| B256::from(key.0))
            .collect(),
    });
    AccessList(items.collect())
}

/// Converts ethers-core's address to the EVM's.
pub(super) fn address(address: EthersAddress) -> Address {
    Address::from(address.0)
}

/// Converts ethers-core's number to the EVM's.
pub(super) fn word(number: EthersU256) -> U256 {
    U256::from_limbs(number.0)
}
