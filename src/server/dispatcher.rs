//! What dispatching a request needs: the services, the table's router, and what answers requests outside the table.

use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::node::Forwarder;
use kedge_config::{ClusterWrites, Config};
use kedge_http::cors::CorsPolicy;
use kedge_http::server::ServerError;
use kedge_http::v2::LegacyLayer;
use kedge_net::refusals::RefusalSchedule;
use kedge_net::request_ids::RequestIds;
use kedge_net::shedding::LoadShedder;

use super::http_metrics::HttpMetrics;
use crate::api::EndpointRouter;
use crate::api::services::ApiServices;
use crate::console::ConsoleFiles;

/// Time that a follower waits for the leader's answer beyond the leader's own limit.
const FORWARD_MARGIN: Duration = Duration::from_secs(2);

pub(super) struct RequestDispatcher {
    pub(super) services: Arc<ApiServices>,
    pub(super) cors: CorsPolicy,
    pub(super) legacy: LegacyLayer,
    pub(super) router: EndpointRouter,
    pub(super) console: ConsoleFiles,
    pub(super) metrics: HttpMetrics,
    pub(super) ids: RequestIds,
    pub(super) refusals: RefusalSchedule,
    pub(super) shedding: Arc<LoadShedder>,
    pub(super) header_bytes_max: usize,
    pub(super) tls: bool,
    /// Handling of changes while this node follows.
    pub(super) writes: ClusterWrites,
    pub(super) forwarder: Forwarder,
}

impl RequestDispatcher {
    /// `tls` if callers connect by TLS.
    pub(super) fn new(
        config: &Config,
        services: Arc<ApiServices>,
        shedding: Arc<LoadShedder>,
        tls: bool,
    ) -> Result<Self, ServerError> {
        Ok(Self {
            services,
            router: EndpointRouter::default(),
            cors: CorsPolicy::new(config.cors_origins.clone()),
            legacy: LegacyLayer::new(config),
            console: ConsoleFiles::new(config.console),
            metrics: HttpMetrics::new(),
            ids: RequestIds::new()?,
            refusals: RefusalSchedule::default(),
            shedding,
            header_bytes_max: config.header_bytes_max,
            tls,
            writes: config.cluster_writes,
            forwarder: Forwarder::new(
                config.cluster_node.as_deref().unwrap_or_default(),
                Duration::from_secs(config.request_timeout_s) + FORWARD_MARGIN,
            )
            .map_err(|error| ServerError::Forwarding(error.to_string()))?,
        })
    }
}
