//! A contract at an address on a node's chain, as it is read.

use ethers_core::abi::Token;
use ethers_core::types::Bytes;
use kedge_protocol::Address;
use thiserror::Error;

use super::artifact::Artifact;
use crate::convert::h160;
use crate::rpc::{At, CallRequest, RpcClient, RpcError};

/// Why a contract could not be read.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ReadError {
    /// The node, or the contract itself, did not answer with a result.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The answer is not this contract's: most likely the address is another contract's.
    #[error("{address} did not answer `{function}` as {expected} does")]
    OtherContract {
        /// The address.
        address: Address,
        /// The called function.
        function: &'static str,
        /// What the contract was expected to be.
        expected: &'static str,
    },
}

/// A contract with this artifact; whether it is one is not checked until something is read.
#[derive(Debug, Clone)]
pub(super) struct Deployed {
    pub(super) rpc: RpcClient,
    pub(super) address: Address,
    pub(super) artifact: fn() -> &'static Artifact,
    /// What it is, with its article.
    pub(super) what: &'static str,
}

impl Deployed {
    /// What a function returns as of block `at`: its only value, or the members of the struct that it returns, or its
    /// values.
    pub(super) async fn read<const N: usize, T>(
        &self,
        function: &'static str,
        arguments: &[Token],
        at: At,
        convert: impl FnOnce([Token; N]) -> Option<T>,
    ) -> Result<T, ReadError> {
        let artifact = (self.artifact)();
        let call = CallRequest {
            to: Some(h160(self.address)),
            data: Some(Bytes::from(artifact.encode(function, arguments))),
            ..CallRequest::default()
        };
        let output = self.rpc.call(&call, at).await?;
        let values = artifact.function(function).decode_output(&output).ok();
        let values = values.map(|mut values| match (values.pop(), values.is_empty()) {
            (Some(Token::Tuple(members)), true) => members,
            (last, _) => {
                values.extend(last);
                values
            }
        });
        let values = values.and_then(|values| <[Token; N]>::try_from(values).ok());
        values
            .and_then(convert)
            .ok_or_else(|| self.other_contract(function))
    }

    /// The only value that a function returns as of the newest block.
    pub(super) async fn read_one<T>(
        &self,
        function: &'static str,
        arguments: &[Token],
        convert: impl FnOnce(Token) -> Option<T>,
    ) -> Result<T, ReadError> {
        self.read(function, arguments, At::Latest, |[value]| convert(value))
            .await
    }

    pub(super) fn other_contract(&self, function: &'static str) -> ReadError {
        ReadError::OtherContract {
            address: self.address,
            function,
            expected: self.what,
        }
    }
}
