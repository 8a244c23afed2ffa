//! Reading of a contract at an address, through a node.

use ethers_core::abi::Token;
use ethers_core::types::Bytes;
use kedge_protocol::Address;
use thiserror::Error;

use super::artifact::Artifact;
use crate::convert::h160;
use crate::rpc::{BlockTag, CallRequest, RpcClient, RpcError};

/// Why a contract could not be read.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ContractReadError {
    /// The request failed, or the contract reverted.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The address most likely belongs to another contract.
    #[error("{address} did not answer `{function}` as {expected} does")]
    OtherContract {
        address: Address,
        function: &'static str,
        expected: &'static str,
    },
}

/// A contract with this artifact; checked only by reading from it.
#[derive(Debug, Clone)]
pub(super) struct ContractInstance {
    pub(super) rpc: RpcClient,
    pub(super) address: Address,
    pub(super) artifact: fn() -> &'static Artifact,
    /// The contract's description for error texts, with its article.
    pub(super) what: &'static str,
}

impl ContractInstance {
    /// The result of a function as of block `at`: its only value, its values, or the members of the struct that it
    /// returns.
    pub(super) async fn read<const N: usize, T>(
        &self,
        function: &'static str,
        arguments: &[Token],
        at: BlockTag,
        convert: impl FnOnce([Token; N]) -> Option<T>,
    ) -> Result<T, ContractReadError> {
        let output = self.call(function, arguments, at).await?;
        self.decode(function, &output, convert)
    }

    /// The bytes that a function returns as of block `at`.
    pub(super) async fn call(
        &self,
        function: &'static str,
        arguments: &[Token],
        at: BlockTag,
    ) -> Result<Vec<u8>, ContractReadError> {
        let artifact = (self.artifact)();
        let call = CallRequest {
            to: Some(h160(self.address)),
            data: Some(Bytes::from(artifact.encode(function, arguments))),
            ..CallRequest::default()
        };
        Ok(self.rpc.call(&call, at).await?.to_vec())
    }

    /// The result in the bytes that a function returned.
    pub(super) fn decode<const N: usize, T>(
        &self,
        function: &'static str,
        output: &[u8],
        convert: impl FnOnce([Token; N]) -> Option<T>,
    ) -> Result<T, ContractReadError> {
        let artifact = (self.artifact)();
        let values = artifact.function(function).decode_output(output).ok();
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

    /// The only value of a function as of the newest block.
    pub(super) async fn read_one<T>(
        &self,
        function: &'static str,
        arguments: &[Token],
        convert: impl FnOnce(Token) -> Option<T>,
    ) -> Result<T, ContractReadError> {
        self.read(function, arguments, BlockTag::Latest, |[value]| {
            convert(value)
        })
        .await
    }

    pub(super) fn other_contract(&self, function: &'static str) -> ContractReadError {
        ContractReadError::OtherContract {
            address: self.address,
            function,
            expected: self.what,
        }
    }
}
