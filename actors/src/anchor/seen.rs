//! What the contract holds, and what a node has seen of that.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use kedge_chain::contract::{AnchorContract, LatestCheckpoint};
use kedge_chain::rpc::At;

/// How long the chain's node may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the contract holds, by each of the chain's nodes that answers.
pub type Answers<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<LatestCheckpoint>, String>> + Send + 'a>>;

/// Where the newest anchor is read.
pub trait Anchored: Send + Sync + 'static {
    /// The last checkpoint that the contract accepted. An error states why no node answers.
    fn latest(&self) -> Answers<'_>;
}

/// The contract, as one of the chain's nodes shows it, or two.
pub struct AnchoredOnChain {
    /// The contract by the first node.
    pub first: AnchorContract,
    /// The contract by the second node, if there is one.
    pub second: Option<AnchorContract>,
}

impl Anchored for AnchoredOnChain {
    fn latest(&self) -> Answers<'_> {
        Box::pin(async {
            let mut failed = None;
            let mut answers = Vec::new();
            for contract in [Some(&self.first), self.second.as_ref()]
                .into_iter()
                .flatten()
            {
                match tokio::time::timeout(PATIENCE, contract.latest(At::Latest)).await {
                    Ok(Ok(latest)) => answers.push(latest),
                    Ok(Err(error)) => failed = Some(error.to_string()),
                    Err(_) => failed = Some(format!("no answer within {PATIENCE:?}")),
                }
            }
            match failed {
                Some(why) if answers.is_empty() => Err(why),
                _ => Ok(answers),
            }
        })
    }
}

/// What was seen of the contract.
#[derive(Default)]
pub(crate) struct SeenAnchors {
    /// The newest answer.
    pub(super) newest: ArcSwapOption<LatestCheckpoint>,
    /// A checkpoint with the sequencer's signature that the log did not lead to.
    pub(super) proven: ArcSwapOption<LatestCheckpoint>,
}

impl SeenAnchors {
    /// Notes what the contract holds.
    pub(crate) fn note(&self, latest: LatestCheckpoint) {
        self.newest.store(Some(Arc::new(latest)));
    }

    /// Notes a contradiction that the sequencer's signature proves: other answers of a node do not end it.
    pub(crate) fn note_proven(&self, latest: LatestCheckpoint) {
        self.proven.store(Some(Arc::new(latest)));
    }

    /// The operator has the chain looked at again.
    pub(super) fn forget_proven(&self) {
        self.proven.store(None);
    }
}
