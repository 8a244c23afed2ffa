//! The embedded chain: an Ethereum chain of one process, for development.
//!
//! revm executes; every transaction makes a block at once (automine) and is journaled and fsynced before it is
//! answered; a restart replays the journal. An HTTP JSON-RPC port serves wallets and tools. **INSECURE by design**: its
//! funded keys are public, and nobody but this process vouches for its blocks.
//!
//! What differs from a public node, on purpose:
//! - a block is final when it exists, so `latest`, `safe` and `finalized` are the same block;
//! - there is no pool: a transaction that cannot be mined at once (nonce ahead, fee below the base fee) is refused;
//! - states of older blocks are not kept: asking for one is an error;
//! - the state root is a hash over the transactions and receipts so far, not a trie's root;
//! - snapshots are lost at a restart, the blocks they would take back are not.

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

/// A function that returns the time in unix seconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The chain id that development nodes use.
pub const DEFAULT_CHAIN_ID: u64 = 31_337;

/// How the chain is set up.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// EIP-155's chain id.
    pub chain_id: u64,
    /// The journal's file; its directory must exist.
    pub journal_path: PathBuf,
    /// Where JSON-RPC listens; port 0 chooses a free one.
    pub listen: SocketAddr,
    /// The source of block times.
    pub clock: Clock,
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

/// Why the chain does not start.
#[derive(Debug, Error)]
pub enum Error {
    /// The journal is not usable.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Replaying the journal produces different blocks.
    #[error("the journal's block {number} cannot be rebuilt: {what}")]
    Diverged {
        /// The block's height.
        number: u64,
        /// What is different.
        what: String,
    },
    /// The address is not free, or not allowed.
    #[error("the embedded chain cannot listen on {address}: {source}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The thread could not be started.
    #[error("the embedded chain's thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// Its keys are public: only this machine may reach it.
    #[error("the embedded chain listens on loopback addresses only, not on {0}")]
    NotLoopback(SocketAddr),
}

/// A running chain.
#[derive(Debug)]
pub struct Handle {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    listener: tokio::task::JoinHandle<()>,
    thread: JoinHandle<()>,
}

/// Opens the journal, replays it, and serves JSON-RPC until [`Handle::shutdown`].
pub async fn start(options: EmbeddedOptions) -> Result<Handle, Error> {
    if !options.listen.ip().is_loopback() {
        return Err(Error::NotLoopback(options.listen));
    }
    let listen_error = |source| Error::Listen {
        address: options.listen,
        source,
    };
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(listen_error)?;
    let address = server::local_address(&listener).map_err(listen_error)?;
    let chain_id = options.chain_id;
    // Replay time grows with the journal, so it must not block a thread that others need.
    let replay = tokio::task::spawn_blocking(move || {
        chain::Chain::open(&options.journal_path, chain_id, options.clock)
    });
    let chain = replay
        .await
        .map_err(|error| Error::Thread(std::io::Error::other(error)))??;
    tracing::warn!(
        %address,
        chain_id,
        blocks = chain.head().header.number,
        "embedded development chain: INSECURE, its funded keys are publicly known"
    );
    let (queue, thread) = server::spawn_chain(chain).map_err(Error::Thread)?;
    let (stop, stopped) = watch::channel(false);
    let listener = tokio::spawn(server::serve(listener, queue, stopped));
    Ok(Handle {
        address,
        stop,
        listener,
        thread,
    })
}

impl Handle {
    /// Where JSON-RPC listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops listening, lets open requests finish, and waits until the journal is closed.
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
