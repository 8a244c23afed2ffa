//! Options common to all commands that send a transaction: a node, and the key that signs and pays.

use clap::Args;
use kedge_chain::contract::{MinedTransaction, TransactError, transact};
use kedge_chain::rpc::{RpcClient, RpcEndpoint, RpcOptions};
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;

use super::key::KeySourceArgs;
use super::output::CliResult;

/// How long to wait for a transaction, in milliseconds.
pub(crate) const PATIENCE_MS: u64 = 10 * 60 * 1000;

#[derive(Args)]
pub(crate) struct ChainArgs {
    /// JSON-RPC URL of an Ethereum node.
    #[arg(long, value_name = "URL")]
    rpc: RpcEndpoint,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    key: KeySourceArgs,
}

impl ChainArgs {
    pub(crate) fn key(&self) -> CliResult<SigningKey> {
        self.key.read()
    }

    pub(crate) fn client(&self) -> RpcClient {
        RpcClient::new(self.rpc.clone(), RpcOptions::default())
    }

    /// Sends a transaction to a contract, and waits until it is mined.
    pub(crate) async fn send(
        &self,
        key: &SigningKey,
        to: Address,
        data: Vec<u8>,
    ) -> Result<MinedTransaction, TransactError> {
        let (rpc, fees) = (self.client(), FeePolicy::default());
        transact(&rpc, key, Some(to), data, &fees, PATIENCE_MS).await
    }
}
