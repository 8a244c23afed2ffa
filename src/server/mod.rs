//! Serving of requests on the connections of [`kedge_http::server`].

mod active_request;
mod dispatch;
mod dispatcher;
mod faults;
mod http_metrics;
mod leader_forwarding;
mod response;
mod unread_caller;

use std::sync::Arc;
use std::time::Duration;

use kedge_config::Config;
use kedge_http::server::{BoundListener, ServerError};
use kedge_net::shedding::LoadShedder;

pub(crate) use self::response::SECURITY_HEADERS;
use crate::api::services::ApiServices;
use dispatcher::RequestDispatcher;

/// Serves until `stop` resolves; then lets requests in flight finish, for a bounded time.
pub async fn serve(
    bound: BoundListener,
    config: &Config,
    services: Arc<ApiServices>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServerError> {
    let streams = Arc::clone(&services.streams);
    let wait_target = Duration::from_millis(config.wait_target_ms);
    let shedding =
        LoadShedder::start(wait_target, config.requests_min).map_err(ServerError::Probe)?;
    let tls = bound.tls().is_some();
    let dispatch = RequestDispatcher::new(config, services, Arc::clone(&shedding), tls)?;
    // Streams would otherwise run forever.
    let stopping = || streams.stop();
    bound
        .serve(config, dispatch, shedding, stop, stopping)
        .await;
    Ok(())
}
