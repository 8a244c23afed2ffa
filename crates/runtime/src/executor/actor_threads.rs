//! The threads that the actors of the pipeline run on, and nothing else does: a message from actor to actor would
//! otherwise wait for every connection that has something to read, and a request takes five such messages. So what is
//! in flight progresses however many callers knock.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use crate::executor::Running;

/// The threads that the engine's actors share.
pub struct ActorThreads {
    runtime: Mutex<Option<Runtime>>,
    /// They have none of their own: actors run where the engine was started.
    callers: bool,
}

impl ActorThreads {
    /// Starts them; none where the actors are tasks.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(running: &Running) -> std::io::Result<Self> {
        let Running::Threads { actors } = running else {
            return Ok(Self {
                runtime: Mutex::new(None),
                callers: true,
            });
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads((*actors).max(1))
            .thread_name("actors")
            .enable_time()
            .build()?;
        Ok(Self {
            runtime: Mutex::new(Some(runtime)),
            callers: false,
        })
    }

    /// Runs a task on them.
    ///
    /// # Errors
    /// They have ended, or the task panicked.
    pub async fn run<F>(&self, task: F) -> std::io::Result<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        if self.callers {
            return Ok(task.await);
        }
        let running = {
            let runtime = self.runtime.lock();
            runtime.as_ref().map(|runtime| runtime.spawn(task))
        };
        match running {
            Some(running) => running.await.map_err(std::io::Error::other),
            None => Err(std::io::Error::other("the actors' threads have ended")),
        }
    }

    /// Ends them, and waits for it: their actors must let go of the store before the process ends, because the store's
    /// library must not be used after the end of `main`.
    pub async fn stop(&self, timeout: Duration) {
        let Some(runtime) = self.runtime.lock().take() else {
            return;
        };
        let ending = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(timeout));
        if ending.await.is_err() {
            tracing::warn!("the actors' threads did not end cleanly");
        }
    }
}

impl Drop for ActorThreads {
    /// Dropping a runtime waits for its threads, which no asynchronous caller may do.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }
}
