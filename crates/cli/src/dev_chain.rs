//! `kedge dev-chain`: a separate development chain, for several development nodes that anchor one log.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kedge_chain::contract::{DeployOptions, ensure_deployed};
use kedge_chain::rpc::{RpcClient, RpcOptions};
use kedge_chain::transaction::FeePolicy;
use kedge_config::state_file;
use kedge_devchain::{self as embedded, EmbeddedOptions};
use kedge_protocol::Address;
use kedge_runtime::env::{Env as _, RealEnv};
use tokio::signal::unix::{SignalKind, signal};

use super::output::{CliResult, CommandFailure, print};

/// How long to wait for the contract, in milliseconds.
const DEPLOY_PATIENCE_MS: u64 = 30_000;

#[derive(clap::Args)]
pub(crate) struct DevChainArgs {
    /// The directory of the chain's journal; made if it is missing.
    #[arg(long, value_name = "DIR", default_value = "data/chain")]
    data: PathBuf,
    /// Address and port of its JSON-RPC; loopback only, because its keys are public.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8545")]
    listen: SocketAddr,
    /// The sequencer's key that the anchor contract trusts from batch 0 on.
    #[arg(long, value_name = "ADDRESS")]
    sequencer: Address,
}

pub(crate) async fn run(args: DevChainArgs) -> CliResult<()> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        CommandFailure::refused(format!("{what}: {error}"))
    };
    let folder = args.data.display().to_string();
    std::fs::create_dir_all(&args.data).map_err(|error| failed(&folder, &error))?;
    let handle = embedded::start(EmbeddedOptions {
        chain_id: embedded::DEFAULT_CHAIN_ID,
        journal_path: args.data.join("chain.journal"),
        listen: args.listen,
        clock: Arc::new(|| RealEnv.unix_ms() / 1_000),
    });
    let handle = handle.await.map_err(|error| failed("the chain", &error))?;
    let url = handle.url();
    let endpoint = url.parse().map_err(|error| failed(&url, &error))?;
    let rpc = RpcClient::new(endpoint, RpcOptions::default());
    let payer = embedded::insecure_development_keys().swap_remove(0);
    let remembered = args.data.join("contract");
    let stored = std::fs::read_to_string(&remembered).ok();
    let stored = stored.and_then(|text| text.trim().parse().ok());
    let options = DeployOptions {
        owner: payer.address(),
        sequencer_key: args.sequencer,
        domain_contract: None,
        fee_policy: FeePolicy::default(),
        patience_ms: DEPLOY_PATIENCE_MS,
    };
    let deployed = ensure_deployed(&rpc, &payer, stored, &options).await;
    let contract = deployed
        .map_err(|error| failed("the anchor contract", &error))?
        .address();
    let written = state_file::put(&remembered, format!("{contract}\n").as_bytes());
    written.map_err(|error| failed(&remembered.display().to_string(), &error))?;
    print(&format!(
        "JSON-RPC     {url}\nchain id     {}\ncontract     {contract}\n",
        embedded::DEFAULT_CHAIN_ID
    ))?;
    let stopped = |error: std::io::Error| failed("signals", &error);
    let mut terminate = signal(SignalKind::terminate()).map_err(stopped)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(stopped)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    handle.shutdown().await;
    Ok(())
}
