//! The directory: knows every shard and organization actor, spawns the latter on demand and lets idle ones end. It
//! gives each proposal its ticket in the same step in which it sends the proposal's parts to be decided, so every actor
//! sees the proposals in the order of their tickets.
//!
//! Some proposals are decided alone: one that went stale too often, one that changes a template (which concerns every
//! organization that mints from it), and one that names a sequencer key. No other proposal is in flight before such a
//! proposal, and for the latter two no proposal is dispatched until it is committed. Proposals held meanwhile go next,
//! before another proposal is decided alone.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use kedge_protocol::Id;
use kedge_runtime::executor::StepScheduler;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::catalog::TemplateCatalog;
use super::messages::{DirectoryMessage, OrganizationMessage, SequencerMessage, ShardMessage};
use super::organization::{OrganizationActor, OrganizationOptions};
use super::proposal::{Proposal, ProposalPart};
use crate::api::{Principal, SubmissionError};
use crate::metric_definitions as metric;

/// Dependencies of the directory.
pub(crate) struct DirectoryOptions {
    pub(crate) shards: Vec<ActorRef<ShardMessage>>,
    pub(crate) sequencer: ActorRef<SequencerMessage>,
    /// Builds the options of an organization's actor.
    pub(crate) organization:
        Box<dyn Fn(Option<Id>, ActorRef<DirectoryMessage>) -> OrganizationOptions + Send + Sync>,
    pub(crate) organizations_live_max: usize,
    pub(crate) catalog: Arc<TemplateCatalog>,
    pub(crate) turns: StepScheduler,
}

pub(crate) struct DirectoryActor;

enum DirectoryEntry {
    Live {
        actor: ActorRef<OrganizationMessage>,
        used_at: u64,
    },
    /// Asked to end. Messages to it wait for its answer.
    Retiring {
        actor: ActorRef<OrganizationMessage>,
        waiting: Vec<OrganizationMessage>,
    },
}

/// Queue of waiting proposals. As it grows, proposals that have ended are dropped, so that it holds few more than there
/// are callers.
#[derive(Default)]
struct ProposalQueue {
    units: VecDeque<Arc<Proposal>>,
    sweep_at: usize,
}

/// Queue length from which it is swept.
const SWEEP_MIN: usize = 64;

impl ProposalQueue {
    fn push(&mut self, unit: Arc<Proposal>) {
        if self.units.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.units.retain(|unit| !unit.is_ended());
            self.sweep_at = 2 * self.units.len();
        }
        self.units.push_back(unit);
    }

    fn pop(&mut self) -> Option<Arc<Proposal>> {
        self.units.pop_front()
    }
}

/// Next step once the sequencer reports that everything before it is committed.
enum FlushWaiter {
    /// A request.
    Unit(Arc<Proposal>),
    /// The end of an exclusive request: other actors' look-ups have changed.
    Fence,
}

pub(crate) struct DirectoryState {
    options: DirectoryOptions,
    organizations: HashMap<Option<Id>, DirectoryEntry>,
    next_ticket: u64,
    /// The step that waits for earlier commits. Until then no proposal is dispatched, because it would make this one
    /// stale again.
    turn: Option<FlushWaiter>,
    /// Requests to be decided alone. Held proposals go between two of them, so that no proposal waits for more than
    /// one.
    alone: ProposalQueue,
    /// Proposals that wait for the exclusive one to end.
    held: ProposalQueue,
    /// Message counter, for the age of entries.
    clock: u64,
}

impl Actor for DirectoryActor {
    type Msg = DirectoryMessage;
    type State = DirectoryState;
    type Arguments = DirectoryOptions;

    async fn pre_start(
        &self,
        _: ActorRef<DirectoryMessage>,
        options: DirectoryOptions,
    ) -> Result<DirectoryState, ActorProcessingErr> {
        Ok(DirectoryState {
            options,
            organizations: HashMap::new(),
            next_ticket: 1,
            turn: None,
            alone: ProposalQueue::default(),
            held: ProposalQueue::default(),
            clock: 0,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<DirectoryMessage>,
        message: DirectoryMessage,
        state: &mut DirectoryState,
    ) -> Result<(), ActorProcessingErr> {
        state.options.turns.before("directory").await;
        match message {
            DirectoryMessage::Request(unit) => {
                let organization = unit.submission.asker.organization_id();
                let message = OrganizationMessage::Admit(unit);
                state.send(&myself, organization, message).await?;
            }
            DirectoryMessage::Reserve { organization, unit } => {
                let message = OrganizationMessage::Reserve(unit);
                state.send(&myself, Some(organization), message).await?;
            }
            DirectoryMessage::Dispatch(unit) if state.turn.is_none() => {
                state.dispatch(&myself, unit).await?;
            }
            DirectoryMessage::Dispatch(unit) => state.held.push(unit),
            DirectoryMessage::DispatchAlone(unit) => {
                state.alone.push(unit);
                state.take_turn()?;
            }
            DirectoryMessage::Flushed => state.flushed(&myself).await?,
            DirectoryMessage::Retired { id, idle } => state.retired(&myself, id, idle).await?,
        }
        Ok(())
    }

    /// An organization's actor that ended was retired. If one failed, the engine ends too, because its record of
    /// requests in flight is lost.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<DirectoryMessage>,
        event: SupervisionEvent,
        _: &mut DirectoryState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(_, error) => Err(error),
            _ => Ok(()),
        }
    }
}

impl DirectoryState {
    async fn send(
        &mut self,
        myself: &ActorRef<DirectoryMessage>,
        id: Option<Id>,
        message: OrganizationMessage,
    ) -> Result<(), ActorProcessingErr> {
        self.clock += 1;
        match self.organizations.get_mut(&id) {
            Some(DirectoryEntry::Live { actor, used_at }) => {
                *used_at = self.clock;
                actor.send_message(message)?;
            }
            Some(DirectoryEntry::Retiring { waiting, .. }) => waiting.push(message),
            None => {
                let options = (self.options.organization)(id, myself.clone());
                let (actor, _) =
                    Actor::spawn_linked(None, OrganizationActor, options, myself.get_cell())
                        .await?;
                actor.send_message(message)?;
                let used_at = self.clock;
                self.organizations
                    .insert(id, DirectoryEntry::Live { actor, used_at });
                metrics::gauge!(metric::ORGANIZATION_ACTORS_LIVE)
                    .set(self.organizations.len() as f64);
                self.retire_one();
            }
        }
        Ok(())
    }

    /// Asks the organization's actor that was idle for longest to end.
    fn retire_one(&mut self) {
        if self.organizations.len() <= self.options.organizations_live_max {
            return;
        }
        let oldest = self
            .organizations
            .iter_mut()
            .filter_map(|(_, entry)| match entry {
                DirectoryEntry::Live { used_at, .. } => Some((*used_at, entry)),
                DirectoryEntry::Retiring { .. } => None,
            });
        let Some((_, entry)) = oldest.min_by_key(|(used_at, _)| *used_at) else {
            return;
        };
        if let DirectoryEntry::Live { actor, .. } = entry {
            let actor = actor.clone();
            let _ = actor.send_message(OrganizationMessage::Retire);
            let waiting = Vec::new();
            *entry = DirectoryEntry::Retiring { actor, waiting };
        }
    }

    async fn retired(
        &mut self,
        myself: &ActorRef<DirectoryMessage>,
        id: Option<Id>,
        idle: bool,
    ) -> Result<(), ActorProcessingErr> {
        let Some(DirectoryEntry::Retiring { actor, waiting }) = self.organizations.remove(&id)
        else {
            return Ok(());
        };
        if !idle {
            // Each entry gets a different time: equal ones would be retired in the order of the map, which a simulator
            // does not choose.
            self.clock += 1;
            let used_at = self.clock;
            self.organizations
                .insert(id, DirectoryEntry::Live { actor, used_at });
        }
        for message in waiting {
            Box::pin(self.send(myself, id, message)).await?;
        }
        Ok(())
    }

    /// Asks the sequencer to report when every dispatched proposal is committed or refused.
    fn flush(&self) -> Result<(), ActorProcessingErr> {
        let ticket = self.next_ticket - 1;
        self.options
            .sequencer
            .send_message(SequencerMessage::Flush { ticket })?;
        Ok(())
    }

    /// Begins with the next request to be decided alone, if none is in progress.
    fn take_turn(&mut self) -> Result<(), ActorProcessingErr> {
        if self.turn.is_none()
            && let Some(unit) = self.alone.pop()
        {
            self.turn = Some(FlushWaiter::Unit(unit));
            self.flush()?;
        }
        Ok(())
    }

    /// Dispatches the exclusive request, then the proposals held meanwhile: nothing is in flight.
    async fn flushed(
        &mut self,
        myself: &ActorRef<DirectoryMessage>,
    ) -> Result<(), ActorProcessingErr> {
        match self.turn.take() {
            Some(FlushWaiter::Unit(unit)) => {
                let fenced = unit.is_exclusive() && !unit.is_ended();
                self.dispatch(myself, unit).await?;
                if fenced {
                    self.turn = Some(FlushWaiter::Fence);
                    return self.flush();
                }
            }
            Some(FlushWaiter::Fence) => self.options.catalog.forget_templates(),
            None => {}
        }
        while let Some(unit) = self.held.pop() {
            self.dispatch(myself, unit).await?;
        }
        self.take_turn()
    }

    async fn dispatch(
        &mut self,
        myself: &ActorRef<DirectoryMessage>,
        unit: Arc<Proposal>,
    ) -> Result<(), ActorProcessingErr> {
        if unit.is_ended() {
            return Ok(());
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        unit.open();
        let part = |unit: &Arc<Proposal>| {
            let sequencer = self.options.sequencer.clone();
            ProposalPart::new(ticket, Arc::clone(unit), sequencer)
        };
        if unit.is_on_objects() {
            for (shard, indices) in &unit.parts.of_shards {
                let part = part(&unit);
                let indices = indices.clone();
                let message = ShardMessage::Decide { part, indices };
                self.options.shards[*shard].send_message(message)?;
            }
            return Ok(());
        }
        let part = part(&unit);
        match unit.caller {
            None if unit.submission.asker != Principal::Registration => {
                part.fail(SubmissionError::Unavailable);
            }
            caller => {
                let organization = caller.map(|caller| caller.organization_id);
                self.send(myself, organization, OrganizationMessage::Decide(part))
                    .await?;
            }
        }
        Ok(())
    }
}
