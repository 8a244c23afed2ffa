//! Dedicated threads for the pipeline's actors. A request takes five messages from actor to actor. On shared threads
//! each of them would wait for every connection with something to read. With dedicated threads, requests in flight
//! progress under any load of connections.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use crate::executor::EngineRuntime;

/// The threads that the engine's actors share.
pub struct ActorThreads {
    runtime: Mutex<Option<Runtime>>,
    /// There are no threads: actors run on the runtime that started the engine.
    callers: bool,
}

impl ActorThreads {
    /// Starts the threads; none if the actors are tasks.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(running: &EngineRuntime) -> std::io::Result<Self> {
        let EngineRuntime::Threads { actors } = running else {
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

    /// Runs a task on the threads.
    ///
    /// # Errors
    /// The threads have ended, or the task panicked.
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

    /// Ends the threads and waits for them: their actors must release the store before the process ends, because
    /// RocksDB must not be used after the end of `main`.
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
    /// Dropping a runtime waits for its threads, which is not allowed in asynchronous code.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }
}
