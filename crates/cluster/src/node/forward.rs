//! Forwarding of changes to the leader. The follower passes the request on unchanged, and the caller gets the leader's
//! answer. The leader checks it like a direct request. The follower adds the caller's address, which the leader
//! believes if the follower is one of its trusted proxies.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Body as HttpBody;
use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::header::{MaxSizeReached, TE, TRANSFER_ENCODING, UPGRADE};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Request, Response, Uri};
use kedge_net::outbound::{self, HttpClient};
use kedge_net::trust::{self, TrustError};

/// Marks a forwarded request, which is not forwarded again.
pub const FORWARDED_BY: HeaderName = HeaderName::from_static("x-kedge-forwarded-by");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// States how long the peer keeps a connection.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// Hop-by-hop headers.
const OF_CONNECTION: [HeaderName; 8] = [
    HOST,
    CONNECTION,
    KEEP_ALIVE,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    TE,
    UPGRADE,
    EXPECT,
];
/// Limit of a returned answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Time-out of connecting to a node.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Idle time of pooled connections: shorter than the node's.
const IDLE_MAX: Duration = Duration::from_secs(kedge_config::NODE_IDLE_S);

/// Why a change did not reach the leader, or its answer was lost.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// Nothing was sent.
    #[error("the leader cannot be reached: {0}")]
    Unreached(String),
    /// It was sent; the outcome is unknown.
    #[error("the leader's answer did not arrive: {0}")]
    Unknown(String),
}

/// Creates a client for nodes.
///
/// # Errors
/// [`TrustError`] if the system's authorities cannot be read.
pub fn node_client<B>() -> Result<HttpClient<B>, TrustError>
where
    B: HttpBody + Send,
    B::Data: Send,
{
    let connector = outbound::connector(trust::client_config()?, Some(CONNECT_TIMEOUT));
    Ok(outbound::client(connector, IDLE_MAX))
}

/// The URI at a node for a caller's request target, which stays unchanged, including `*`.
///
/// # Errors
/// An invalid URL of the node.
pub fn uri_at(node: &str, asked: &Uri) -> Result<Uri, hyper::http::Error> {
    let mut parts = node.parse::<Uri>()?.into_parts();
    let asked = asked.path_and_query().cloned();
    let asked = asked.unwrap_or(PathAndQuery::from_static("/"));
    let prefix = parts.path_and_query.as_ref();
    let prefix = prefix.map_or("", |path| path.path().trim_end_matches('/'));
    parts.path_and_query = Some(if prefix.is_empty() || asked.as_str() == "*" {
        asked
    } else {
        format!("{prefix}{asked}").parse()?
    });
    Ok(Uri::from_parts(parts)?)
}

/// Sends requests to leaders.
#[derive(Clone)]
pub struct Forwarder {
    http: HttpClient<Full<Bytes>>,
    node: HeaderValue,
    timeout: Duration,
}

impl Forwarder {
    /// Forwards as this node, with a time-out per answer.
    ///
    /// # Errors
    /// [`TrustError`] if the system's authorities cannot be read.
    pub fn new(node: &str, timeout: Duration) -> Result<Self, TrustError> {
        let http = node_client()?;
        let node = HeaderValue::from_str(node);
        Ok(Self {
            http,
            node: node.unwrap_or_else(|_| HeaderValue::from_static("node")),
            timeout,
        })
    }

    /// Sends a request to the leader at this URL, and returns its answer.
    ///
    /// # Errors
    /// [`ForwardError`].
    pub async fn forward(
        &self,
        leader: &str,
        parts: &Parts,
        body: Bytes,
        caller: IpAddr,
    ) -> Result<Response<Bytes>, ForwardError> {
        let unreached = |error: &dyn std::fmt::Display| ForwardError::Unreached(error.to_string());
        let uri = uri_at(leader, &parts.uri).map_err(|error| unreached(&error))?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        let headers = self.headers(&parts.headers, caller);
        *request.headers_mut() = headers.map_err(|error| unreached(&error))?;
        let sending = async {
            let response = self.http.request(request).await.map_err(|error| {
                if error.is_connect() {
                    unreached(&error)
                } else {
                    ForwardError::Unknown(error.to_string())
                }
            })?;
            let (parts, body) = response.into_parts();
            let read = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = read.map_err(|error| {
                let is_long = error.downcast_ref::<LengthLimitError>().is_some();
                let what = if is_long {
                    "it is too long"
                } else {
                    "it broke off"
                };
                ForwardError::Unknown(what.to_owned())
            })?;
            Ok(Response::from_parts(parts, body.to_bytes()))
        };
        let late = || ForwardError::Unknown("it took too long".to_owned());
        tokio::time::timeout(self.timeout, sending)
            .await
            .map_err(|_| late())?
    }

    fn headers(&self, brought: &HeaderMap, caller: IpAddr) -> Result<HeaderMap, MaxSizeReached> {
        let mut headers = brought.clone();
        for name in OF_CONNECTION {
            headers.remove(name);
        }
        if let Ok(caller) = HeaderValue::from_str(&caller.to_string()) {
            headers.try_append(FORWARDED_FOR, caller)?;
        }
        headers.try_insert(FORWARDED_BY, self.node.clone())?;
        Ok(headers)
    }
}

/// Removes hop-by-hop headers from a leader's answer.
pub fn answer_headers(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_asks_for_stays_as_it_is() {
        let at = |node: &str, asked: &str| {
            let uri = uri_at(node, &asked.parse().unwrap()).unwrap();
            (
                uri.authority().unwrap().to_string(),
                uri.path_and_query().unwrap().to_string(),
            )
        };
        let expect = |path: &str| ("node:8443".to_owned(), path.to_owned());
        assert_eq!(at("https://node:8443", "/a?b=%2F"), expect("/a?b=%2F"));
        assert_eq!(at("https://node:8443/", "*"), expect("*"));
        assert_eq!(at("https://node:8443/kedge/", "/a?b"), expect("/kedge/a?b"));
        assert_eq!(at("https://node:8443", "http://other/a"), expect("/a"));
        assert_eq!(at("https://node:8443", "other:80"), expect("/"));
        let long = format!("/{}", "a".repeat(65_000));
        assert_eq!(at("https://node:8443", &long), expect(&long));
        assert!(uri_at("no URL", &Uri::from_static("/")).is_err());
    }
}
