//! The list of distrusted edges that all nodes share: a node that catches an edge puts it there, and every node reads it
//! again and again. So an edge that was caught stays distrusted when another node leads, and after restarts.

use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::{Cluster, StreamError};
use kedge_replica::Replica;

use crate::tripwire::Tripwire;

/// How often the list is read.
const EVERY: Duration = Duration::from_secs(1);
/// How often a change of the list is tried while other nodes change it.
const TRIES: usize = 5;

/// Why an edge is not trusted again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// No node distrusts it.
    #[error(
        "the edge {0} is not distrusted; `kedge cluster status` lists the edges that are, under distrusted_edges"
    )]
    NotDistrusted(String),
    /// Other nodes change the list all the time.
    #[error("other nodes changed the list of distrusted edges at the same time; try again")]
    Busy,
    /// The list cannot be read or written.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl Tripwire {
    /// Trusts an edge again, on all nodes.
    ///
    /// # Errors
    /// [`TrustError`]; nothing has changed then.
    pub async fn trust_again(&self, cluster: &Cluster, edge: &str) -> Result<(), TrustError> {
        let _one_at_a_time = self.exchanging.lock().await;
        for _ in 0..TRIES {
            let (mut shared, revision) = cluster.distrusted_edges().await?;
            if shared.remove(edge).is_none() {
                if !self.distrusted().contains_key(edge) {
                    return Err(TrustError::NotDistrusted(edge.to_owned()));
                }
                // It was caught here, and nobody else knows yet.
                self.forget(edge);
                return Ok(());
            }
            if cluster.put_distrusted_edges(revision, &shared).await? {
                self.forget(edge);
                return Ok(());
            }
        }
        Err(TrustError::Busy)
    }

    /// Reads the list, and adds what was caught here.
    async fn exchange(&self, cluster: &Cluster, term: u64) -> Result<(), StreamError> {
        let _one_at_a_time = self.exchanging.lock().await;
        let (mut shared, revision) = cluster.distrusted_edges().await?;
        let missing = self.adopt(&shared, term);
        if !missing.is_empty() {
            shared.extend(missing);
            // If it was changed meanwhile, the next exchange tries again.
            cluster.put_distrusted_edges(revision, &shared).await?;
        }
        Ok(())
    }
}

/// Keeps the list of this node and that of the others the same, as long as the process runs.
pub(crate) async fn share(replica: Replica, tripwire: Arc<Tripwire>) {
    let cluster = replica.cluster().clone();
    loop {
        let term = replica.term();
        if let Err(error) = tripwire.exchange(&cluster, term).await {
            tracing::debug!(%error, "the list of distrusted edges was not exchanged");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = tripwire.catch() => {}
            () = replica.term_after(term) => {}
        }
    }
}
