//! From a request to its place in the log: the actors that decide and place requests.
//!
//! - A request: `proposal`, with its `completion` and its `placement_state`; `sequenced_proposal` is its form for the
//!   committer. `published_state` is the state that decisions look up, with a `catalog` in front of it.
//! - The actors: `directory`, `organization`, `shard` and `sequencer`, under their `supervisor`. They send each other
//!   `messages`.
//! - Deciding: `shard_split` divides a request among the shards, and a shard orders its part in `rounds`. `object` and
//!   `resources` decide; `effect`, `refusal` and `decision` are the result. `rights` and `supply` keep concurrent
//!   requests from disturbing each other.
//! - Bounds: `admission_pool`, `admission` and `decision_memory`.

pub(crate) mod admission;
pub(crate) mod admission_pool;
pub(crate) mod catalog;
mod completion;
pub(crate) mod decision;
mod decision_memory;
mod directory;
pub(crate) mod effect;
pub(crate) mod messages;
mod object;
mod organization;
mod placement_state;
pub(crate) mod proposal;
pub(crate) mod published_state;
mod refusal;
pub(crate) mod resources;
mod rights;
mod rounds;
pub(crate) mod sequenced_proposal;
mod sequencer;
pub(crate) mod shard;
pub(crate) mod shard_split;
pub(crate) mod supervisor;
mod supply;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use kedge_rules::sequencer::{self as machine, LogTip};
use kedge_runtime::env::Env;
use kedge_runtime::executor::StepScheduler;
use ractor::{Actor, ActorRef, SpawnErr};
use tokio::sync::mpsc;

use self::directory::{DirectoryActor, DirectoryOptions};
use self::messages::{DirectoryMessage, SequencerMessage};
use self::organization::OrganizationOptions;
use self::published_state::{PublishProgress, StateReader};
use self::sequenced_proposal::CommitterMessage;
use self::sequencer::{SequencerActor, SequencerOptions};
use self::shard::{ShardActor, ShardOptions};
use self::supervisor::{PipelineSupervisor, SupervisorOptions};
use crate::timekeeper::Timekeeper;

/// Dependencies of the pipeline's actors.
pub(crate) struct PipelineParts {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) time: Arc<Timekeeper>,
    pub(crate) sizes: PipelineSizes,
    pub(crate) tip: LogTip,
    pub(crate) reader: StateReader,
    pub(crate) committer: mpsc::Sender<CommitterMessage>,
    pub(crate) turns: StepScheduler,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) progress: PublishProgress,
    pub(crate) supervision: SupervisorOptions,
}

/// Limits on the number of actors and on their memory.
pub(crate) struct PipelineSizes {
    /// Shards that host object actors, at least one.
    pub(crate) shards: usize,
    pub(crate) objects_live_max: usize,
    pub(crate) organizations_live_max: usize,
    /// Keys whose versions the sequencer remembers.
    pub(crate) recent_keys_max: usize,
}

/// The actors that the engine sends to.
pub(crate) struct PipelineActors {
    pub(crate) supervisor: ActorRef<()>,
    pub(crate) directory: ActorRef<DirectoryMessage>,
    pub(crate) shards: usize,
}

impl PipelineParts {
    /// Spawns the actors on the caller's runtime.
    pub(crate) async fn spawn(self) -> Result<PipelineActors, SpawnErr> {
        let Self {
            env,
            time,
            sizes,
            tip,
            reader,
            committer,
            turns,
            committed_ticket,
            progress,
            supervision,
        } = self;
        let (supervisor, _) = Actor::spawn(None, PipelineSupervisor, supervision).await?;
        let sequencer_options = SequencerOptions {
            env: Arc::clone(&env),
            machine: machine::Sequencer::new(tip, sizes.recent_keys_max),
            committer,
            progress,
            time,
            turns: turns.clone(),
        };
        let cell = supervisor.get_cell();
        let (sequencer, _) =
            Actor::spawn_linked(None, SequencerActor, sequencer_options, cell.clone()).await?;

        let mut shards = Vec::with_capacity(sizes.shards);
        for index in 0..sizes.shards {
            let shard_options = ShardOptions {
                env: Arc::clone(&env),
                index,
                turns: turns.clone(),
                reader: reader.clone(),
                committed_ticket: Arc::clone(&committed_ticket),
                live_max: (sizes.objects_live_max / sizes.shards).max(1),
            };
            let (shard, _) =
                Actor::spawn_linked(None, ShardActor, shard_options, cell.clone()).await?;
            shards.push(shard);
        }
        let directory_options = DirectoryOptions {
            shards: shards.clone(),
            sequencer: sequencer.clone(),
            catalog: reader.catalog(),
            turns: turns.clone(),
            organization: Box::new(move |id, directory| OrganizationOptions {
                env: Arc::clone(&env),
                id,
                reader: reader.clone(),
                committed_ticket: Arc::clone(&committed_ticket),
                directory,
                turns: turns.clone(),
            }),
            organizations_live_max: sizes.organizations_live_max,
        };
        let (directory, _) =
            Actor::spawn_linked(None, DirectoryActor, directory_options, cell).await?;
        let count = shards.len();
        let wire = SequencerMessage::Wire {
            directory: directory.clone(),
            shards,
        };
        // The sequencer has just been spawned; without it nothing is ever proposed.
        let _ = sequencer.send_message(wire);
        Ok(PipelineActors {
            supervisor,
            directory,
            shards: count,
        })
    }
}
