//! The supervisor of the engine's own actors. A decision that panics is contained where it happens;
//! an actor that fails all the same takes with it what it knew of requests under way, so the engine
//! stops and the process is started again from what is on disk.

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::watch;

pub(crate) struct Supervisor;

/// Where a failure is told.
pub(crate) struct SupervisorOptions {
    pub(crate) failed: watch::Sender<Option<String>>,
}

impl Actor for Supervisor {
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
        if let SupervisionEvent::ActorFailed(_, error) = event {
            tracing::error!(%error, "an actor of the engine failed");
            state
                .failed
                .send_replace(Some(format!("an actor failed: {error}")));
        }
        Ok(())
    }
}
