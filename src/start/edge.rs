//! Start of an edge: shared set-up, and routing by the table of endpoints.

use kedge_config::Config;
use kedge_http::server::open_files;
use kedge_telemetry::logging;

use super::RunError;
use crate::api::{EndpointRouter, TABLE};
use crate::edge::ForwardTarget;
use crate::metrics;

pub(super) async fn run(config: Config) -> Result<(), RunError> {
    logging::init(&config)?;
    open_files::allow(&config)?;
    let handle = metrics::install()?;
    if let Some(address) = config.metrics_listen {
        let bound = metrics::serve(address, handle, None).await?;
        tracing::info!(url = %format_args!("http://{bound}/metrics"), "metrics");
    }
    let router = EndpointRouter::default();
    let route: crate::edge::ForwardRule =
        Box::new(move |method, path| match router.find(method, path) {
            Ok(found) if TABLE[found.index].changes() => ForwardTarget::Leader,
            _ => ForwardTarget::Node,
        });
    Ok(crate::edge::run(config, route).await?)
}
