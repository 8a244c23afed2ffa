//! Requests between nodes and the leader over the cluster's servers: faster than HTTP, and only possible with the
//! cluster's credentials.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::{Cluster, LeaderRequest, LeaderRequestError};
use bytes::Bytes;
use tokio::sync::watch;

use crate::node::Replica;
use crate::node::node_status::{NodeStatus, ReplicaRole};

/// The pause before a failed subscription is retried.
const PAUSE: Duration = Duration::from_millis(100);

impl Replica {
    /// Sends a request about `what` to the leader, and waits up to `patience` for the answer.
    ///
    /// # Errors
    /// [`LeaderRequestError`].
    pub async fn ask(
        &self,
        what: &str,
        question: Bytes,
        patience: Duration,
    ) -> Result<Bytes, LeaderRequestError> {
        let term = self.standing.borrow().term;
        self.cluster.ask(what, term, question, patience).await
    }

    /// The number of nodes heard since the start.
    pub fn nodes(&self) -> usize {
        self.cluster.synced().borrow().len() + 1
    }

    /// Passes requests about `what` to `take` while this node leads, as long as it takes part. `take` must be quick.
    pub fn listen(&self, what: &'static str, take: impl Fn(LeaderRequest) + Send + Sync + 'static) {
        let (cluster, mut standing) = (self.cluster.clone(), self.standing.clone());
        tokio::spawn(async move {
            while let Some(term) = leading(&mut standing).await {
                listen_in(&cluster, what, term, &mut standing, &take).await;
            }
        });
    }
}

/// Waits until this node leads; returns the term. `None` after the node has ended.
async fn leading(standing: &mut watch::Receiver<NodeStatus>) -> Option<u64> {
    let leads = standing.wait_for(|standing| standing.role == ReplicaRole::Leader);
    leads.await.ok().map(|standing| standing.term)
}

async fn listen_in(
    cluster: &Cluster,
    what: &str,
    term: u64,
    standing: &mut watch::Receiver<NodeStatus>,
    take: &(impl Fn(LeaderRequest) + Sync),
) {
    let mut questions = match cluster.questions(what, term).await {
        Ok(questions) => questions,
        Err(error) => {
            tracing::debug!(what, term, %error, "questions are not heard");
            tokio::time::sleep(PAUSE).await;
            return;
        }
    };
    loop {
        tokio::select! {
            biased;
            () = over(standing, term) => return,
            question = questions.next() => match question {
                Some(question) => {
                    if !survived(|| take(question)) {
                        tracing::error!(what, term, "a question of another node ended in a panic");
                    }
                }
                None => return tokio::time::sleep(PAUSE).await,
            },
        }
    }
}

/// Waits until this node no longer leads in this term.
async fn over(standing: &mut watch::Receiver<NodeStatus>, term: u64) {
    let is_over =
        |standing: &NodeStatus| standing.role != ReplicaRole::Leader || standing.term != term;
    // An error means that the node has ended, and no longer leads either.
    let _ = standing.wait_for(is_over).await;
}

/// Runs some work; false if it panicked. The listening task continues in either case.
fn survived(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 245.
    #[test]
    fn a_question_that_panics_does_not_end_the_listening() {
        assert!(!survived(|| panic!("on purpose")));
        assert!(survived(|| ()));
    }
}
