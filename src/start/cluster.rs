//! A cluster's node: its connection to the shared stream, and the duties of a leader.

use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::node::{
    Duties, Replica, ReplicaFuture, ReplicaOptions, ReplicaParts, cluster_options, lease,
};
use kedge_cluster::{Cluster, ConnectError, LeadSwitch, ReplicatedLog};
use kedge_config::Config;
use kedge_http::clock::now_s;
use kedge_http::files::SharedContents;
use kedge_http::limits::RateLimits;
use kedge_http::limits::leases::{LimitLender, PATIENCE};
use kedge_http::server::{BoundListener, StartRequirement};
use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, signature::SigningKey};
use kedge_storage::{LogReplicator, SideWrite, Store, StoreMode};
use parking_lot::Mutex;

use super::AnchoringTask;
use super::shared_contents::StreamContents;
use super::shared_keys;
use super::webhooks;
use crate::api::services::ApiServices;

/// Time for requests in flight when leadership is handed over.
const DRAIN: Duration = Duration::from_secs(2);

/// Subject of requests to the leader for limit leases.
const LIMITS: &str = "limits";

/// The connection to the stream, before the store is open.
pub(super) struct StreamConnection {
    cluster: Cluster,
    /// The leading handle of the store's log, once the store is open.
    log: Arc<Mutex<Option<LeadSwitch>>>,
}

impl StreamConnection {
    /// Connects, as soon as the servers answer; `None` on a single node.
    pub(super) async fn connect(
        config: &Config,
        domain: &Domain,
        bound: &BoundListener,
    ) -> Result<Option<Self>, ConnectError> {
        let Some(options) = cluster_options(config) else {
            return Ok(None);
        };
        let needed = StartRequirement {
            what: "the NATS servers",
            passes: ConnectError::passes,
        };
        let connect = || Cluster::connect(options.clone(), domain.separator());
        // Boxed because it is large, and awaited only once.
        let cluster = Box::pin(bound.wait_for(config, needed, connect)).await?;
        Ok(Some(Self {
            cluster,
            log: Arc::default(),
        }))
    }

    /// Replicates the store's log into the stream.
    pub(super) fn replicate(&self) -> LogReplicator {
        let (cluster, leading) = (self.cluster.clone(), Arc::clone(&self.log));
        let runtime = tokio::runtime::Handle::current();
        LogReplicator(Arc::new(move |file| {
            let (log, leads) = ReplicatedLog::new(file, cluster.clone(), runtime.clone());
            *leading.lock() = Some(leads);
            Box::new(log)
        }))
    }

    /// Joins the cluster. `None` if the store accepts no writes: then this node only reads.
    pub(super) fn start(
        self,
        config: &Config,
        url: &str,
        first_key: Address,
        store: Arc<Store>,
        duties: LeaderDuties,
    ) -> Option<Replica> {
        let log = self.log.lock().take()?;
        let shared: Arc<dyn SharedContents> = Arc::new(StreamContents(self.cluster.clone()));
        duties.services.files.shared.set(shared).ok();
        let limits = Arc::clone(&duties.services.limits.rates);
        let options = ReplicaOptions {
            node: config.cluster_node.clone().unwrap_or_default(),
            url: config.cluster_url.clone().unwrap_or_else(|| url.to_owned()),
            lease: lease(config),
            drain: DRAIN,
            first_key,
        };
        let (engine, contract) = (duties.services.engine.clone(), duties.anchoring.witness());
        tokio::spawn(async move { engine.watch_anchored(contract).await });
        let parts = ReplicaParts {
            engine: duties.services.engine.clone(),
            store,
            cluster: self.cluster,
            log,
            keys: shared_keys::own(
                &duties.services,
                config,
                duties.operator,
                duties.anchoring.payer(),
            ),
            duties: Arc::new(duties),
        };
        let replica = Replica::start(options, parts);
        share_limits(&replica, &limits);
        Some(replica)
    }
}

/// Connects the limits to the leader: leases are taken while following, and given while leading.
fn share_limits(replica: &Replica, limits: &Arc<RateLimits>) {
    let (asking, counting, lending) = (replica.clone(), replica.clone(), Arc::clone(limits));
    limits.lease_from(LimitLender {
        ask: Box::new(move |question| {
            let replica = asking.clone();
            Box::pin(async move { replica.ask(LIMITS, question, PATIENCE).await.ok() })
        }),
        nodes: Box::new(move || counting.nodes()),
    });
    replica.listen(LIMITS, move |question| {
        if let Some(answer) = lending.lease(&question.payload, now_s()) {
            tokio::spawn(question.answer(answer));
        }
    });
}

/// Tasks of the server while it leads.
pub(super) struct LeaderDuties {
    pub(super) config: Config,
    pub(super) services: Arc<ApiServices>,
    pub(super) anchoring: AnchoringTask,
    pub(super) operator: Option<Address>,
}

impl Duties for LeaderDuties {
    fn begin(&self) -> ReplicaFuture<Result<(), String>> {
        let (services, config) = (Arc::clone(&self.services), self.config.clone());
        let (anchoring, operator) = (self.anchoring.clone(), self.operator);
        Box::pin(async move {
            let anchored = anchoring.begin().await;
            let served = webhooks::start(&config, &services).await;
            if let Some(operator) = operator {
                // The write waits for other nodes, and the lease is not renewed meanwhile.
                tokio::spawn(async move { name_operator(&services, operator).await });
            }
            anchored.map_err(|error| format!("anchoring: {error}"))?;
            served.map_err(|error| format!("webhooks: {error}"))
        })
    }

    fn ended(&self) {
        kedge_actors::metric_definitions::no_longer_leads();
        kedge_chain::metric_definitions::start_gauges();
    }
}

/// Stores the operator's address, if it is not known yet.
async fn name_operator(services: &ApiServices, operator: Address) {
    let known = services.engine.published().snapshot.operators();
    let mut known = match known {
        Ok(known) => known,
        Err(error) => {
            tracing::error!(%error, "the operators' addresses could not be read");
            return;
        }
    };
    if known.contains(&operator) || services.engine.mode() != StoreMode::ReadWrite {
        return;
    }
    known.push(operator);
    if let Err(error) = services
        .engine
        .side_write(SideWrite::Operators(known))
        .await
    {
        tracing::warn!(%error, "the operator's address could not be stored");
    }
}

pub(super) fn address_of(key: Option<&SigningKey>) -> Option<Address> {
    key.map(SigningKey::address)
}
