//! The supervisor of the engine's actors. A decision that panics is contained where it happens. If an actor fails
//! nevertheless, its record of requests in flight is lost, so the engine stops and the process restarts from the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::failure::FailureSink;

pub(crate) struct PipelineSupervisor;

pub(crate) struct SupervisorOptions {
    pub(crate) failed: FailureSink,
    /// True while the engine is being stopped: an actor that then misses another one is no failure.
    pub(crate) ending: Arc<AtomicBool>,
}

impl Actor for PipelineSupervisor {
    type Msg = ();
    type State = SupervisorOptions;
    type Arguments = SupervisorOptions;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        options: SupervisorOptions,
    ) -> Result<SupervisorOptions, ActorProcessingErr> {
        Ok(options)
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        state: &mut SupervisorOptions,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(_, error) = event
            && !state.ending.load(Ordering::Relaxed)
        {
            state.failed.report(&format!("an actor failed: {error}"));
        }
        Ok(())
    }
}
