//! From a request to its place in the log: the actors that decide and place requests, wired together, and the threads
//! that they run on.
//!
//! - A request: `unit`, with its `ending` and its `fate`; `work` is what the committer gets of it. `world` is what
//!   decisions look up.
//! - The actors: `directory`, `organization`, `shard` and `sequencer`, under their `supervisor`.
//! - Deciding: `object` and `resources`, with `refused`. `rights` and `supply` keep concurrent requests from disturbing
//!   each other.
//! - Bounds: `room` and `admission`.
//!
//! The actors have their own threads: a message from actor to actor would otherwise wait for every connection that has
//! something to read, and a request takes five such messages. So what is in flight progresses however many callers
//! knock.

pub(crate) mod admission;
pub(crate) mod directory;
mod ending;
mod fate;
mod object;
mod organization;
pub(crate) mod refused;
pub(crate) mod resources;
mod rights;
pub(crate) mod room;
mod sequencer;
pub(crate) mod shard;
pub(crate) mod supervisor;
mod supply;
pub(crate) mod unit;
pub(crate) mod work;
pub(crate) mod world;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kedge_machine::sequencer::{self as machine, Tip};
use ractor::{Actor, ActorRef, SpawnErr};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::engine::{Options, StartError, locked};
use crate::pipeline::directory::{Directory, DirectoryMessage, DirectoryOptions};
use crate::pipeline::organization::OrganizationOptions;
use crate::pipeline::sequencer::{Sequencer, SequencerMessage, SequencerOptions};
use crate::pipeline::shard::{Shard, ShardOptions};
use crate::pipeline::supervisor::{Supervisor, SupervisorOptions};
use crate::pipeline::work::Work;
use crate::pipeline::world::{Progress, Reader};

/// The threads that the engine's actors share.
pub(crate) struct ActorThreads(Mutex<Option<Runtime>>);

impl ActorThreads {
    pub(crate) fn start(threads: usize) -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("actors")
            .enable_time()
            .build()?;
        Ok(Self(Mutex::new(Some(runtime))))
    }

    /// Runs a task on them.
    pub(crate) async fn run<T, F>(&self, task: F) -> Result<T, StartError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, SpawnErr>> + Send + 'static,
    {
        let running = locked(&self.0).as_ref().map(|runtime| runtime.spawn(task));
        match running {
            Some(running) => Ok(running.await.map_err(std::io::Error::other)??),
            None => Err(StartError::Thread(std::io::Error::other(
                "the actors' threads have ended",
            ))),
        }
    }

    /// Ends them, and waits for it: their actors must let go of the store before the process ends, because the store's
    /// library must not be used after the end of `main`.
    pub(crate) async fn stop(&self, timeout: Duration) {
        let Some(runtime) = locked(&self.0).take() else {
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
        if let Some(runtime) = locked(&self.0).take() {
            runtime.shutdown_background();
        }
    }
}

/// What the actors between the edge and the committer are made of.
pub(crate) struct Pipeline {
    pub(crate) tip: Tip,
    pub(crate) options: Options,
    pub(crate) reader: Reader,
    pub(crate) committer: mpsc::Sender<Work>,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) progress: Progress,
    pub(crate) supervision: SupervisorOptions,
}

/// The actors that the engine sends to.
pub(crate) struct Actors {
    pub(crate) supervisor: ActorRef<()>,
    pub(crate) directory: ActorRef<DirectoryMessage>,
    /// How many shards there are.
    pub(crate) shards: usize,
}

impl Pipeline {
    /// Spawns them on the caller's runtime.
    pub(crate) async fn spawn(self) -> Result<Actors, SpawnErr> {
        let Self {
            tip,
            options,
            reader,
            committer,
            committed_ticket,
            progress,
            supervision,
        } = self;
        let (supervisor, _) = Actor::spawn(None, Supervisor, supervision).await?;
        let sequencer_options = SequencerOptions {
            machine: machine::Sequencer::new(tip, options.recent_keys_max),
            committer,
            progress,
            time: Arc::clone(&options.time),
        };
        let cell = supervisor.get_cell();
        let (sequencer, _) =
            Actor::spawn_linked(None, Sequencer, sequencer_options, cell.clone()).await?;

        let mut shards = Vec::with_capacity(options.shards);
        for index in 0..options.shards.max(1) {
            let shard_options = ShardOptions {
                env: Arc::clone(&options.env),
                index,
                reader: reader.clone(),
                committed_ticket: Arc::clone(&committed_ticket),
                live_max: (options.objects_live_max / options.shards.max(1)).max(1),
            };
            let (shard, _) = Actor::spawn_linked(None, Shard, shard_options, cell.clone()).await?;
            shards.push(shard);
        }
        let env = Arc::clone(&options.env);
        let directory_options = DirectoryOptions {
            shards: shards.clone(),
            sequencer: sequencer.clone(),
            catalog: reader.catalog(),
            organization: Box::new(move |id, directory| OrganizationOptions {
                env: Arc::clone(&env),
                id,
                reader: reader.clone(),
                committed_ticket: Arc::clone(&committed_ticket),
                directory,
            }),
            organizations_live_max: options.organizations_live_max,
        };
        let (directory, _) = Actor::spawn_linked(None, Directory, directory_options, cell).await?;
        let count = shards.len();
        let wire = SequencerMessage::Wire {
            directory: directory.clone(),
            shards,
        };
        // The sequencer was spawned a moment ago; without it nothing is ever proposed.
        let _ = sequencer.send_message(wire);
        Ok(Actors {
            supervisor,
            directory,
            shards: count,
        })
    }
}
