//! What nodes ask the leader, over the servers that they share: quicker than HTTP, and nobody without the cluster's
//! credentials can ask.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::{AskError, Cluster, Question};
use bytes::Bytes;
use tokio::sync::watch;

use crate::node::Replica;
use crate::node::standing::{Role, Standing};

/// The pause before a subject that could not be listened to is tried again.
const PAUSE: Duration = Duration::from_millis(100);

impl Replica {
    /// Asks the leader about `what`, and waits for its answer for as long as `patience`.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask(
        &self,
        what: &str,
        question: Bytes,
        patience: Duration,
    ) -> Result<Bytes, AskError> {
        let term = self.standing.borrow().term;
        self.cluster.ask(what, term, question, patience).await
    }

    /// How many nodes there are, as far as this one has heard since it started.
    pub fn nodes(&self) -> usize {
        self.cluster.synced().borrow().len() + 1
    }

    /// Hands the questions about `what` to `take` whenever this node leads, as long as it takes part. `take` must be quick.
    pub fn listen(&self, what: &'static str, take: impl Fn(Question) + Send + Sync + 'static) {
        let (cluster, mut standing) = (self.cluster.clone(), self.standing.clone());
        tokio::spawn(async move {
            while let Some(term) = leading(&mut standing).await {
                listen_in(&cluster, what, term, &mut standing, &take).await;
            }
        });
    }
}

/// Waits until this node leads; the term. `None` once it takes no part any more.
async fn leading(standing: &mut watch::Receiver<Standing>) -> Option<u64> {
    let leads = standing.wait_for(|standing| standing.role == Role::Leader);
    leads.await.ok().map(|standing| standing.term)
}

async fn listen_in(
    cluster: &Cluster,
    what: &str,
    term: u64,
    standing: &mut watch::Receiver<Standing>,
    take: &(impl Fn(Question) + Sync),
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
async fn over(standing: &mut watch::Receiver<Standing>, term: u64) {
    let is_over = |standing: &Standing| standing.role != Role::Leader || standing.term != term;
    // A node that has ended leads no longer either.
    let _ = standing.wait_for(is_over).await;
}

/// Does some work; false if it panicked. The task that listens continues in either case.
fn survived(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_panics_does_not_end_the_listening() {
        assert!(!survived(|| panic!("on purpose")));
        assert!(survived(|| ()));
    }
}
