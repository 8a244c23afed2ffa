//! Check of the servers' settings through their monitoring.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;

use crate::error::ConnectError;
use crate::options::ClusterOptions;

const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(3);

/// The used part of `/varz`.
#[derive(Deserialize)]
struct ServerVarz {
    #[serde(default)]
    version: String,
    max_payload: Option<usize>,
    jetstream: Option<JetStream>,
}

#[derive(Deserialize)]
struct JetStream {
    config: Option<JetStreamConfig>,
}

#[derive(Deserialize)]
struct JetStreamConfig {
    #[serde(default)]
    sync_always: bool,
    /// In nanoseconds.
    sync_interval: Option<u64>,
}

/// Checks that the servers sync before they acknowledge. A majority of the monitors suffices, so that a node can start
/// while a server is down.
pub(crate) async fn check(options: &ClusterOptions) -> Result<(), ConnectError> {
    if options.unsynced_allowed {
        tracing::warn!("servers that do not sync before they acknowledge are allowed");
        return Ok(());
    }
    let mut answered = 0;
    let mut why = "no monitoring URL is named".to_owned();
    for url in &options.monitors {
        match read(url).await {
            Ok(varz) => {
                examine(url, &varz, options)?;
                answered += 1;
            }
            Err(error) => why = format!("{url}: {error}"),
        }
    }
    if answered > options.monitors.len() / 2 {
        Ok(())
    } else {
        let named = !options.monitors.is_empty();
        Err(ConnectError::Monitors { why, named })
    }
}

fn examine(url: &str, varz: &ServerVarz, options: &ClusterOptions) -> Result<(), ConnectError> {
    let config = varz.jetstream.as_ref().and_then(|js| js.config.as_ref());
    let found = match config {
        Some(config) if config.sync_always => None,
        Some(config) => Some(match config.sync_interval {
            Some(nanoseconds) => format!(
                "NATS {} syncs every {:?}",
                varz.version,
                Duration::from_nanos(nanoseconds)
            ),
            None => format!("NATS {} names no sync_interval", varz.version),
        }),
        None => Some(format!("NATS {} runs without JetStream", varz.version)),
    };
    if let Some(found) = found {
        return Err(ConnectError::Unsynced {
            server: url.to_owned(),
            found,
        });
    }
    let needed = options.payload_bytes_max();
    match varz.max_payload {
        Some(found) if found < needed => Err(ConnectError::Payload {
            server: url.to_owned(),
            found,
            needed,
        }),
        _ => Ok(()),
    }
}

async fn read(url: &str) -> Result<ServerVarz, String> {
    let uri = format!("{}/varz", url.trim_end_matches('/'));
    let uri = uri.parse().map_err(|error| format!("{error}"))?;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let asked = async {
        let answer = client.get(uri).await.map_err(|error| error.to_string())?;
        if !answer.status().is_success() {
            return Err(format!("it answers {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
        let body = body.collect().await.map_err(|error| error.to_string())?;
        serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())
    };
    let answered = tokio::time::timeout(PATIENCE, asked).await;
    answered.map_err(|_| format!("no answer within {PATIENCE:?}"))?
}
