//! EIP-1559 transactions: building, signing, encoding.
//!
//! The project's key type signs (k256 0.14) instead of ethers-core's (k256 0.13). So one type holds every secret key of
//! the process, and is never printed. Only [`TransactionRequest::sign`] uses the sender's key, and it signs a 32-byte
//! digest, so a remote signer has one place to attach.

mod fees;

use ethers_core::types::transaction::eip2718::TypedTransaction;
use ethers_core::types::{Bytes, Eip1559TransactionRequest, Signature as EcdsaSignature, U256};
use ethers_core::utils::{get_contract_address, keccak256};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};

use crate::convert::h160;

pub use fees::{FeePolicy, FeePolicyError, Fees};

/// A transaction to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionRequest {
    /// EIP-155's chain id.
    pub chain_id: u64,
    /// The sender's transaction count before this one.
    pub nonce: u64,
    pub fees: Fees,
    pub gas_limit: u64,
    /// The called contract; `None` deploys `data`.
    pub to: Option<Address>,
    pub value_wei: u128,
    /// Calldata, or the deployment code with its arguments.
    pub data: Vec<u8>,
}

/// A transaction ready for `eth_sendRawTransaction`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTransaction {
    /// The EIP-2718 envelope.
    pub raw: Bytes,
    /// keccak256 of `raw`: the transaction's hash.
    pub hash: Hash,
}

impl TransactionRequest {
    /// Signs the transaction. Signatures are deterministic (RFC 6979), so a restarted sender rebuilds what it stored
    /// before.
    pub fn sign(&self, key: &SigningKey) -> SignedTransaction {
        let transaction = TypedTransaction::Eip1559(self.to_ethers());
        let signature = key.sign(&Hash(transaction.sighash().0)).0;
        let signature = EcdsaSignature {
            r: U256::from_big_endian(&signature[..32]),
            s: U256::from_big_endian(&signature[32..64]),
            // Typed transactions carry only the parity (EIP-2718), instead of 27 or 28.
            v: u64::from(signature[64]) - 27,
        };
        let raw = transaction.rlp_signed(&signature);
        let hash = Hash(keccak256(&raw));
        SignedTransaction { raw, hash }
    }

    fn to_ethers(&self) -> Eip1559TransactionRequest {
        let mut request = Eip1559TransactionRequest::new()
            .chain_id(self.chain_id)
            .nonce(self.nonce)
            .max_fee_per_gas(self.fees.max_fee_per_gas_wei)
            .max_priority_fee_per_gas(self.fees.max_priority_fee_per_gas_wei)
            .gas(self.gas_limit)
            .value(self.value_wei)
            .data(self.data.clone());
        if let Some(to) = self.to {
            request = request.to(h160(to));
        }
        request
    }
}

/// Address of a contract that `deployer` deploys with `nonce`.
pub fn deployed_address(deployer: Address, nonce: u64) -> Address {
    Address(get_contract_address(h160(deployer), nonce).0)
}

#[cfg(test)]
mod tests {
    use ethers_core::utils::rlp::Rlp;

    use super::*;

    fn request() -> TransactionRequest {
        TransactionRequest {
            chain_id: 31_337,
            nonce: 7,
            fees: Fees {
                max_fee_per_gas_wei: 30_000_000_000,
                max_priority_fee_per_gas_wei: 1_000_000_000,
            },
            gas_limit: 120_000,
            to: Some(Address([0x11; 20])),
            value_wei: 5,
            data: vec![1, 2, 3],
        }
    }

    #[test]
    fn what_is_signed_decodes_to_the_same_and_recovers_to_the_key() {
        let key = SigningKey::from_bytes(&[0xa1; 32]).unwrap();
        let signed = request().sign(&key);
        let (decoded, signature) = TypedTransaction::decode_signed(&Rlp::new(&signed.raw)).unwrap();
        assert_eq!(decoded.from().unwrap().0, key.address().0);
        assert_eq!(decoded.rlp_signed(&signature), signed.raw);
        let TypedTransaction::Eip1559(decoded) = decoded else {
            panic!("not an EIP-1559 transaction");
        };
        let expected = request().to_ethers();
        assert_eq!(decoded.nonce, expected.nonce);
        assert_eq!(decoded.data, expected.data);
        assert_eq!(decoded.value, Some(5.into()));
        assert_eq!(decoded.max_fee_per_gas, expected.max_fee_per_gas);
        assert_eq!(request().sign(&key), signed);
    }

    #[test]
    fn a_deployment_has_no_recipient() {
        let key = SigningKey::from_bytes(&[0xa1; 32]).unwrap();
        let signed = TransactionRequest {
            to: None,
            ..request()
        }
        .sign(&key);
        let (decoded, _) = TypedTransaction::decode_signed(&Rlp::new(&signed.raw)).unwrap();
        assert!(decoded.to().is_none());
    }
}
