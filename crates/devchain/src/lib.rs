//! An Ethereum chain within one process, for development.
//!
//! revm executes. Every transaction makes a block immediately (automine), which is journaled and fsynced before the
//! answer; a restart replays the journal. An HTTP JSON-RPC port serves wallets and tools. **INSECURE by design**: its
//! funded keys are public, and only this process vouches for its blocks.
//!
//! Intended differences from a public node:
//! - a block is final immediately: `latest`, `safe` and `finalized` are the same block;
//! - there is no pool: a transaction that cannot be mined now (nonce ahead, fee below the base fee) is refused;
//! - older states are not kept: asking for one is an error;
//! - the state root is a hash over the transactions and receipts so far, not a trie's root;
//! - snapshots are lost at a restart, the blocks after them are not.

mod accounts;
mod block;
mod chain;
mod dispatch;
mod evm;
mod failure;
mod header;
mod journal;
pub mod metric_definitions;
mod params;
mod server;
mod transaction;
mod view;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use accounts::insecure_development_keys;
pub use journal::JournalError;

/// A clock in Unix seconds.
pub type ChainClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Chain id of development nodes.
pub const DEFAULT_CHAIN_ID: u64 = 31_337;

/// Settings of the embedded chain.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// EIP-155's chain id.
    pub chain_id: u64,
    /// The journal's file; its directory must exist.
    pub journal_path: PathBuf,
    /// JSON-RPC address; port 0 chooses a free one.
    pub listen: SocketAddr,
    pub clock: ChainClock,
}

impl fmt::Debug for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedOptions")
            .field("chain_id", &self.chain_id)
            .field("journal_path", &self.journal_path)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Error)]
pub enum EmbeddedChainError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Replaying the journal produces different blocks.
    #[error("the journal's block {number} cannot be rebuilt: {what}")]
    Diverged { number: u64, what: String },
    /// The address is in use, or not allowed.
    #[error("the embedded chain cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("the embedded chain's thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// The funded keys are public, so only this machine may reach the port.
    #[error("the embedded chain listens on loopback addresses only, not on {0}")]
    NotLoopback(SocketAddr),
}

/// A running chain.
#[derive(Debug)]
pub struct EmbeddedChainHandle {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    listener: tokio::task::JoinHandle<()>,
    thread: JoinHandle<()>,
}

/// Opens the journal, replays it, and serves JSON-RPC until [`EmbeddedChainHandle::shutdown`].
pub async fn start(options: EmbeddedOptions) -> Result<EmbeddedChainHandle, EmbeddedChainError> {
    if !options.listen.ip().is_loopback() {
        return Err(EmbeddedChainError::NotLoopback(options.listen));
    }
    let listen_error = |source| EmbeddedChainError::Listen {
        address: options.listen,
        source,
    };
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(listen_error)?;
    let address = server::local_address(&listener).map_err(listen_error)?;
    let chain_id = options.chain_id;
    // Replay time grows with the journal and must not block a worker thread.
    let replay = tokio::task::spawn_blocking(move || {
        chain::EmbeddedChain::open(&options.journal_path, chain_id, options.clock)
    });
    let chain = replay
        .await
        .map_err(|error| EmbeddedChainError::Thread(std::io::Error::other(error)))??;
    tracing::warn!(
        %address,
        chain_id,
        blocks = chain.head().header.number,
        "embedded development chain: INSECURE, its funded keys are publicly known"
    );
    let (queue, thread) = server::spawn_chain(chain).map_err(EmbeddedChainError::Thread)?;
    let (stop, stopped) = watch::channel(false);
    let listener = tokio::spawn(server::serve(listener, queue, stopped));
    Ok(EmbeddedChainHandle {
        address,
        stop,
        listener,
        thread,
    })
}

impl EmbeddedChainHandle {
    /// The JSON-RPC address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops listening, finishes open requests, and closes the journal.
    pub async fn shutdown(self) {
        let _none_listening = self.stop.send(true);
        if self.listener.await.is_err() {
            tracing::error!("the embedded chain's listener panicked");
        }
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the embedded chain's thread panicked");
        }
    }
}
