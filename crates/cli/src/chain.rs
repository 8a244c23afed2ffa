//! Options common to all commands that send a transaction: a node, and the key that signs and pays.

use clap::Args;
use kedge_chain::rpc::{RpcClient, RpcEndpoint, RpcOptions};
use kedge_protocol::signature::SigningKey;

use super::key::KeySourceArgs;
use super::output::CommandFailure;

/// How long to wait for a transaction, in milliseconds.
pub(crate) const PATIENCE_MS: u64 = 10 * 60 * 1000;

#[derive(Args)]
pub(crate) struct ChainArgs {
    /// JSON-RPC URL of an Ethereum node.
    #[arg(long, value_name = "URL")]
    rpc: RpcEndpoint,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    key: KeySourceArgs,
}

impl ChainArgs {
    pub(crate) fn key(&self) -> Result<SigningKey, CommandFailure> {
        self.key.read()
    }

    pub(crate) fn client(&self) -> RpcClient {
        RpcClient::new(self.rpc.clone(), RpcOptions::default())
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}
