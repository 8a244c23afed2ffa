//! Health probes: they neither connect to a log nor verify one.

use serde::Deserialize;

use crate::error::ClientResult;
use crate::transport::{HttpCall, HttpTransport};

/// Question of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerProbe {
    /// `/healthz`: the process answers.
    Alive,
    /// `/readyz`: the server accepts changes.
    Ready,
}

/// A node's part in a cluster that shares a log.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct NodePart {
    /// `leader` or `follower`.
    pub role: String,
    /// Newest term known to the node.
    pub term: u64,
    /// Name of the leading node, as far as the node knows.
    pub leader: Option<String>,
}

#[derive(Deserialize)]
struct ProbeBody {
    cluster: Option<NodePart>,
}

/// Reads the part of the node at `base_url`, with one request; `None` for a single node. Fails if there is no usable
/// answer within `timeout_ms` milliseconds.
pub async fn node_part(base_url: &str, timeout_ms: u64) -> ClientResult<Option<NodePart>> {
    let transport = HttpTransport::new(base_url, timeout_ms)?;
    let answer = transport.exchange(&HttpCall::get("/readyz"), &[]).await?;
    // A node that is not ready states its part too.
    match serde_json::from_slice::<ProbeBody>(&answer.body) {
        Ok(part) => Ok(part.cluster),
        Err(_) => Err(answer.refusal()),
    }
}

#[derive(Deserialize)]
struct UnreadyBody {
    reason: String,
}

/// Probes the server at `base_url`, with one request. Returns `None` for yes, otherwise the server's reason. Fails if
/// there is no usable answer within `timeout_ms` milliseconds.
pub async fn probe(
    base_url: &str,
    probe: ServerProbe,
    timeout_ms: u64,
) -> ClientResult<Option<String>> {
    let transport = HttpTransport::new(base_url, timeout_ms)?;
    let path = match probe {
        ServerProbe::Alive => "/healthz",
        ServerProbe::Ready => "/readyz",
    };
    let answer = transport.exchange(&HttpCall::get(path), &[]).await?;
    if answer.is_success() {
        return Ok(None);
    }
    match serde_json::from_slice::<UnreadyBody>(&answer.body) {
        Ok(unready) => Ok(Some(unready.reason)),
        Err(_) => Err(answer.refusal()),
    }
}
