//! The bare pipeline, a baseline for the server: the minimum that makes a signed action durable and chains it. It takes
//! the same requests of the action bus. It lacks actors, objects and their state, nonces, limits, credentials, batches
//! and receipts.

mod frames;
mod http;
mod log;
mod pipeline;
mod rows;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use tokio::net::TcpListener;

use self::log::BareFormat;
use crate::error::BenchResult;

/// Where the bare pipeline listens, and the domain of the signatures that it checks.
#[derive(clap::Args)]
pub(crate) struct BareOptions {
    /// Where it listens; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Its directory, created if missing; a temporary one by default.
    #[arg(long)]
    data: Option<PathBuf>,
    /// What keeps the actions.
    #[arg(long, value_enum, default_value_t = BareFormat::Rows)]
    files: BareFormat,
    /// The chain id of the domain (EIP-712); a development server's by default.
    #[arg(long, default_value_t = 31_337)]
    chain_id: u64,
    /// The verifying contract of the domain, as in a server's /.well-known/eip712-domain.json.
    #[arg(long)]
    verifying_contract: Address,
}

/// Serves until it is ended.
pub(crate) async fn run(options: &BareOptions) -> BenchResult<()> {
    let scratch = tempfile::tempdir()?;
    let data = options.data.as_deref().unwrap_or(scratch.path());
    let domain = Domain {
        chain_id: options.chain_id,
        verifying_contract: options.verifying_contract,
    };
    let listener = TcpListener::bind(options.listen).await?;
    let (log, thread) = log::BareLog::open(options.files, data, domain.separator())?;
    let pipeline = Arc::new(pipeline::BarePipeline::new(domain.separator(), log));
    writeln!(
        std::io::stdout(),
        "listening on http://{}",
        listener.local_addr()?
    )?;
    let ended = tokio::select! {
        served = http::serve(listener, Arc::clone(&pipeline)) => served,
        stopped = terminated() => stopped,
    };
    pipeline.end().await;
    tokio::task::spawn_blocking(move || thread.join())
        .await?
        .map_err(|_| "the log's thread panicked")?;
    ended
}

async fn terminated() -> BenchResult<()> {
    let mut signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    signal.recv().await;
    Ok(())
}
