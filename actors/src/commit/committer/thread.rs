//! The committer's thread: it receives placed proposals, decides how long a group stays open, waits, and hands groups
//! over.

use std::time::Instant;

use kedge_runtime::executor::StepWait;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::{ClosedGroup, Committer};
use crate::commit::error::CommitterError;
use crate::commit::group::CommitGroup;
use crate::commit::writer::{WriterLink, WriterThreads};
use crate::pipeline::sequenced_proposal::CommitterMessage;

/// State of the committer's thread.
pub(crate) struct CommitterThread {
    pub(crate) committer: Committer,
    pub(crate) work: mpsc::Receiver<CommitterMessage>,
    /// The runtime for waits; `None` if the committer is a task.
    pub(crate) runtime: Option<Runtime>,
    pub(crate) writing: WriterLink,
}

impl CommitterThread {
    /// Runs until the senders are gone. Returns early only if a commit failed.
    pub(crate) async fn run(
        mut self,
        threads: WriterThreads,
        waits: StepWait,
    ) -> Result<(), CommitterError> {
        let formed = self.form_groups(&waits).await;
        // The threads after it see the closed channel, finish their groups and end.
        drop(self);
        threads.ended().await;
        formed
    }

    async fn form_groups(&mut self, waits: &StepWait) -> Result<(), CommitterError> {
        while let Some(first) = waits.receive_bounded(&mut self.work).await {
            waits.before("committer").await;
            if let Some(formed) = self.form(first).await? {
                waits.before("committer").await;
                self.writing.hand_over(formed)?;
            }
        }
        Ok(())
    }

    /// Forms a group that begins with this message; `None` if there is nothing to write.
    async fn form(
        &mut self,
        first: CommitterMessage,
    ) -> Result<Option<CommitGroup>, CommitterError> {
        if self.committer.remembers_much() {
            self.settle().await?;
            self.committer.forget();
        }
        let empty = self.writing.empty_group(self.committer.group_bytes);
        let mut forming = self.committer.begin(empty);
        self.committer.add(&mut forming, first)?;
        // A group stays open while earlier ones are in flight, and accepts new work.
        loop {
            while !forming.is_full()
                && let Ok(next) = self.work.try_recv()
            {
                self.committer.add(&mut forming, next)?;
            }
            let held_until = self.committer.held_until(&forming);
            if self.writing.is_ready() && held_until.is_none() {
                break;
            }
            let Some(next) = self.wait(!forming.is_full(), held_until).await? else {
                break;
            };
            self.committer.add(&mut forming, next)?;
        }
        match self.committer.close(forming)? {
            ClosedGroup::Nothing => Ok(None),
            ClosedGroup::Whole(formed) => Ok(Some(formed)),
            ClosedGroup::Unpruned(closed) => {
                self.settle().await?;
                self.committer.prune(closed).map(Some)
            }
        }
    }

    /// Waits until everything handed over is published.
    async fn settle(&mut self) -> Result<(), CommitterError> {
        wait_on(self.runtime.as_ref(), self.writing.settled()).await
    }

    /// Waits for more work if it is `wanted`, or until the group may be handed over (`None`).
    async fn wait(
        &mut self,
        wanted: bool,
        held_until: Option<Instant>,
    ) -> Result<Option<CommitterMessage>, CommitterError> {
        let (work, writing) = (&mut self.work, &mut self.writing);
        let waiting = async {
            let released = async {
                if let Some(until) = held_until {
                    tokio::time::sleep_until(until.into()).await;
                }
                writing.ready().await.map(|()| None)
            };
            tokio::pin!(released);
            if wanted {
                tokio::select! {
                    biased;
                    released = &mut released => return released,
                    Some(next) = work.recv() => return Ok(Some(next)),
                    else => {}
                }
            }
            released.await
        };
        wait_on(self.runtime.as_ref(), waiting).await
    }
}

/// Waits on the thread's runtime, which is blocked meanwhile, or as a task.
async fn wait_on<F: Future>(runtime: Option<&Runtime>, what: F) -> F::Output {
    match runtime {
        Some(runtime) => runtime.block_on(what),
        None => what.await,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use kedge_protocol::event::{EventType, event_id};
    use kedge_protocol::limits::EVENTS_KEPT_MAX;
    use kedge_protocol::{Hash, Id, Prefix};
    use kedge_runtime::env::simulated::SimulatedEnv;
    use kedge_storage::EventRow;
    use tokio::sync::{oneshot, watch};

    use super::*;
    use crate::commit::writer::tests::bench::{Bench, writing};

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// How many requests the group has, if it is ready.
    fn requests(formed: Poll<Result<Option<CommitGroup>, CommitterError>>) -> usize {
        match formed {
            Poll::Ready(Ok(Some(formed))) => formed.afterwards.placed.len(),
            _ => panic!("there is a group"),
        }
    }

    /// A thread with this many groups ahead, its input, its groups, and the counter of published ones.
    struct Setting {
        thread: CommitterThread,
        sender: mpsc::Sender<CommitterMessage>,
        _groups: mpsc::UnboundedReceiver<CommitGroup>,
        published: watch::Sender<u64>,
    }

    fn setting(mut bench: Bench, env: &SimulatedEnv, ahead: u16) -> Setting {
        let (mut writing, groups, published) = writing();
        for number in 0..ahead {
            let (formed, _) = bench.group(100 + number);
            writing.hand_over(formed).unwrap();
        }
        // Far enough from the last group that the next one does not wait.
        env.advance(Duration::from_millis(1));
        let (sender, work) = mpsc::channel(10);
        let thread = CommitterThread {
            committer: bench.committer,
            work,
            runtime: None,
            writing,
        };
        Setting {
            thread,
            sender,
            _groups: groups,
            published,
        }
    }

    #[test]
    fn a_group_takes_what_comes_until_it_may_be_handed_over() {
        let place = tempfile::tempdir().unwrap();
        let env = SimulatedEnv::new();
        let mut bench = Bench::new(place.path(), &env, 0);
        let (first, _first_reply) = bench.registration(1);
        let (second, _second_reply) = bench.registration(2);
        let mut setting = setting(bench, &env, 2);
        let mut forming = pin!(setting.thread.form(first));
        assert!(poll(forming.as_mut()).is_pending());
        assert!(setting.sender.try_send(second).is_ok());
        assert!(poll(forming.as_mut()).is_pending());
        setting.published.send_replace(1);
        assert_eq!(requests(poll(forming)), 2);
    }

    #[test]
    fn a_full_group_takes_nothing_more_however_long_it_waits() {
        let place = tempfile::tempdir().unwrap();
        let env = SimulatedEnv::new();
        let mut bench = Bench::new(place.path(), &env, 0);
        let (first, _first_reply) = bench.registration(1);
        let (second, _second_reply) = bench.registration(2);
        bench.committer.group_bytes_max = 1;
        let mut setting = setting(bench, &env, 2);
        assert!(setting.sender.try_send(second).is_ok());
        let mut forming = pin!(setting.thread.form(first));
        assert!(poll(forming.as_mut()).is_pending());
        setting.published.send_replace(1);
        assert_eq!(requests(poll(forming)), 1);
    }

    #[test]
    fn a_group_with_too_many_events_waits_for_those_before_it() {
        let place = tempfile::tempdir().unwrap();
        let env = SimulatedEnv::new();
        let bench = Bench::new(place.path(), &env, 0);
        let mut setting = setting(bench, &env, 1);
        let event = EventRow {
            id: event_id(&Hash::ZERO, 0),
            event_type: EventType::ActionFailed,
            timestamp_ms: 1,
            organization_id: Some(Id {
                prefix: Prefix::Organization,
                bytes: [1; 16],
            }),
            object_id: None,
            template_id: None,
            data: String::new(),
        };
        let side = CommitterMessage::Side {
            writes: Vec::new(),
            events: vec![event; EVENTS_KEPT_MAX as usize + 1],
            done: oneshot::channel().0,
        };
        let mut forming = pin!(setting.thread.form(side));
        assert!(poll(forming.as_mut()).is_pending());
        setting.published.send_replace(1);
        assert_eq!(requests(poll(forming)), 0);
    }
}
