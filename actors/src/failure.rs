//! Failure reports of the committer, the threads that follow it and the actors' supervisor. After one the process ends;
//! the part that failed makes nothing durable and answers nothing any more.

use std::fmt::Display;

use kedge_runtime::executor::{EnginePart, EngineRuntime, PartPanic, StepWait};
use tokio::sync::watch;

/// Sender of the first failure.
#[derive(Clone)]
pub(crate) struct FailureSink(watch::Sender<Option<String>>);

/// Receiver of the first failure. It keeps no part of the engine alive.
#[derive(Clone)]
pub struct EngineFailure(watch::Receiver<Option<String>>);

pub(crate) fn channel() -> (FailureSink, EngineFailure) {
    let (sender, receiver) = watch::channel(None);
    (FailureSink(sender), EngineFailure(receiver))
}

impl FailureSink {
    /// Reports why the engine cannot continue. The first reason stays: later ones only follow from it.
    pub(crate) fn report(&self, why: &impl Display) {
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            if is_first {
                *first = Some(why.to_string());
            }
            is_first
        });
    }

    /// True after a failure.
    pub(crate) fn is_set(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Starts a part, and reports immediately if it fails or panics.
    pub(crate) fn start<E, F>(
        &self,
        running: &EngineRuntime,
        part: &'static str,
        run: impl FnOnce(StepWait) -> F + Send + 'static,
    ) -> std::io::Result<EnginePart>
    where
        E: Display + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let failed = self.clone();
        running.start(part, run, move |result| failed.ended(part, result))
    }

    /// Reports a part that failed or panicked.
    fn ended<E: Display>(&self, part: &str, result: Result<Result<(), E>, PartPanic>) {
        match result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.report(&error),
            Err(_) => self.report(&format!("the {part} panicked")),
        }
    }
}

impl EngineFailure {
    /// Why the engine cannot continue; `None` while it can.
    pub fn reason(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// Resolves with the reason once the engine cannot continue, or with `None` after an orderly end.
    pub async fn wait(&mut self) -> Option<String> {
        let seen = self.0.wait_for(Option::is_some).await;
        seen.ok().and_then(|why| why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays_and_an_end_in_order_is_none() {
        let (sink, failure) = channel();
        let running = EngineRuntime::Threads { actors: 1 };
        let failing = sink.start(&running, "writer", |_| async { Err::<(), _>("the disk") });
        failing.unwrap().ended().await;
        let ended = sink.start(&running, "publisher", |_| async { Ok::<(), &str>(()) });
        ended.unwrap().ended().await;
        let panicking = sink.start(&running, "committer", |_| async {
            assert!(std::hint::black_box(false), "on purpose");
            Ok::<(), &str>(())
        });
        panicking.unwrap().ended().await;
        assert_eq!(failure.reason().as_deref(), Some("the disk"));
        assert_eq!(failure.clone().wait().await.as_deref(), Some("the disk"));

        let (sink, mut failure) = channel();
        drop(sink);
        assert_eq!(failure.wait().await, None);
    }
}
