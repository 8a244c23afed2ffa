//! Source of the newest anchor, and the checkpoints that a node has read from it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use kedge_chain::contract::{AnchorContract, LatestCheckpoint};
use kedge_chain::rpc::BlockTag;

/// Time limit for an answer of the chain's node.
const PATIENCE: Duration = Duration::from_secs(10);

/// The contract's checkpoint according to each node that answers.
pub type CheckpointAnswers<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<LatestCheckpoint>, String>> + Send + 'a>>;

/// Source of the newest anchor.
pub trait AnchorSource: Send + Sync + 'static {
    /// The last checkpoint that the contract accepted. The error states why no node answers.
    fn latest(&self) -> CheckpointAnswers<'_>;
}

/// The contract, read through one or two nodes.
pub struct ContractAnchorSource {
    /// The contract through the first node.
    pub first: AnchorContract,
    /// The contract through the second node, if there is one.
    pub second: Option<AnchorContract>,
}

impl AnchorSource for ContractAnchorSource {
    fn latest(&self) -> CheckpointAnswers<'_> {
        Box::pin(async {
            let mut failed = None;
            let mut answers = Vec::new();
            for contract in [Some(&self.first), self.second.as_ref()]
                .into_iter()
                .flatten()
            {
                match tokio::time::timeout(PATIENCE, contract.latest(BlockTag::Latest)).await {
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

/// The contract's checkpoints as last read.
#[derive(Default)]
pub(crate) struct SeenAnchors {
    /// The newest answer.
    pub(super) newest: ArcSwapOption<LatestCheckpoint>,
    /// A checkpoint with the sequencer's signature that the log did not lead to.
    pub(super) proven: ArcSwapOption<LatestCheckpoint>,
}

impl SeenAnchors {
    pub(crate) fn note(&self, latest: LatestCheckpoint) {
        self.newest.store(Some(Arc::new(latest)));
    }

    /// Notes a contradiction that the sequencer's signature proves. No other answer of a node ends it.
    pub(crate) fn note_proven(&self, latest: LatestCheckpoint) {
        self.proven.store(Some(Arc::new(latest)));
    }

    /// Forgets the proof, because the operator has the chain checked again.
    pub(super) fn forget_proven(&self) {
        self.proven.store(None);
    }
}
