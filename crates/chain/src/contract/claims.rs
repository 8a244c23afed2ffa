//! Deployment and reading of the claims resolver and its verifiers.

use ethers_core::abi::Token;
use ethers_core::types::U256;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};

use super::artifact::{CLAIMS, VERIFIER};
use super::instance::{ContractInstance, ContractReadError};
use super::{TransactError, account, number, to_address, to_number, transact, word};
use crate::rpc::RpcClient;
use crate::transaction::{FeePolicy, deployed_address};

/// A resolver and the verifier that was added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimsDeployment {
    pub resolver: Address,
    pub verifier: Address,
    /// The verifier's version number in the resolver.
    pub version: u32,
}

/// Deploys a verifier of `circuit_key` (the key's words) and adds it to `resolver`, or to a new resolver over `anchor`.
/// `key` must be the anchor contract's owner; it pays. Waits at most `patience_ms` for each transaction.
pub async fn deploy_claims(
    rpc: &RpcClient,
    key: &SigningKey,
    anchor: Address,
    resolver: Option<Address>,
    circuit_key: &[Hash],
    fee_policy: &FeePolicy,
    patience_ms: u64,
) -> Result<ClaimsDeployment, ClaimsError> {
    let make = async |data| {
        let mined = transact(rpc, key, None, data, fee_policy, patience_ms).await?;
        Ok::<_, TransactError>(deployed_address(key.address(), mined.nonce))
    };
    let words = circuit_key
        .iter()
        .map(|word| Token::Uint(U256::from(word.0)));
    let verifier = make(VERIFIER.deployment(&[Token::Array(words.collect())])).await?;
    let resolver = match resolver {
        Some(resolver) => resolver,
        None => make(CLAIMS.deployment(&[account(anchor)])).await?,
    };
    let add = CLAIMS.encode("addVerifier", &[account(verifier)]);
    transact(rpc, key, Some(resolver), add, fee_policy, patience_ms).await?;
    let contract = ClaimsContract::new(rpc.clone(), resolver);
    Ok(ClaimsDeployment {
        resolver,
        verifier,
        version: contract.version_count().await?,
    })
}

/// Why a resolver could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    #[error(transparent)]
    Transact(#[from] TransactError),
    #[error(transparent)]
    Read(#[from] ContractReadError),
}

/// A resolver of claims at an address on a node's chain.
#[derive(Debug, Clone)]
pub struct ClaimsContract(ContractInstance);

impl ClaimsContract {
    /// The resolver at `address`; nothing is checked yet.
    pub fn new(rpc: RpcClient, address: Address) -> Self {
        Self(ContractInstance {
            rpc,
            address,
            artifact: || &CLAIMS,
            what: "a claim resolver",
        })
    }

    /// Number of registered circuits; versions count from 1.
    pub async fn version_count(&self) -> Result<u32, ContractReadError> {
        let convert = |token| u32::try_from(to_number(token)?).ok();
        self.0.read_one("versionCount", &[], convert).await
    }

    /// The verifier of a circuit version.
    pub async fn verifier_of(&self, version: u32) -> Result<Address, ContractReadError> {
        let version = [number(u64::from(version))];
        self.0.read_one("verifierOf", &version, to_address).await
    }

    /// The log's anchor contract.
    pub async fn anchor_contract(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("anchorContract", &[], to_address).await
    }

    /// Whether a claim with this context was resolved.
    pub async fn is_resolved(&self, context: &Hash) -> Result<bool, ContractReadError> {
        self.0
            .read_one("isResolved", &[word(*context)], Token::into_bool)
            .await
    }
}
