//! Serving: how requests are answered, on the connections of [`kedge_http::server`].

mod arrived;
mod dispatch;
mod faults;
mod finish;
mod following;
mod measured;
mod submitting;

use std::sync::Arc;
use std::time::Duration;

use kedge_config::Config;
use kedge_edge::{Desk, Serving};
use kedge_http::server::shedding::Shedding;
use kedge_http::server::{Bound, ServerError};

use crate::app::App;
use dispatch::Dispatch;

/// Serves until `stop` resolves; then lets requests in flight finish, for a bounded time.
pub async fn serve(
    bound: Bound,
    config: &Config,
    app: Arc<App>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServerError> {
    let streams = Arc::clone(&app.streams);
    let wait_target = Duration::from_millis(config.wait_target_ms);
    let shedding = Shedding::start(wait_target, config.requests_min).map_err(ServerError::Probe)?;
    let tls = bound.tls().is_some();
    let dispatch = Arc::new(Dispatch::new(config, app, Arc::clone(&shedding), tls)?);
    take_from_edges(config, &dispatch);
    // Streams would otherwise run for ever.
    let stopping = || streams.stop();
    bound
        .serve(config, dispatch, shedding, stop, stopping)
        .await;
    Ok(())
}

/// Takes requests that edges have checked whenever this node leads, if it trusts any edge.
fn take_from_edges(config: &Config, dispatch: &Arc<Dispatch>) {
    let app = &dispatch.app;
    let replica = app
        .replica
        .get()
        .filter(|_| !config.cluster_edges.is_empty());
    let Some(replica) = replica else {
        return;
    };
    let serving = Serving {
        node: config.cluster_node.clone().unwrap_or_default(),
        edges: config.cluster_edges.clone(),
        recheck: config.cluster_edge_recheck,
        requests_max: config.requests_max,
    };
    let answering = Arc::clone(dispatch);
    let desk: Desk = Arc::new(move |request, caller, voucher| {
        let dispatch = Arc::clone(&answering);
        Box::pin(async move { dispatch.submitted(request, caller, voucher).await })
    });
    // The server is started once.
    let _ = app.tripwire.set(kedge_edge::serve(replica, serving, desk));
}
