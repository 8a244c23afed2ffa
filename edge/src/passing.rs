//! A request on its way to a node, and the answer on its way back. Neither body is gathered: the caller sends to the node
//! and reads from it, at their own pace.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::{CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::header::{TE, TRANSFER_ENCODING, UPGRADE};
use hyper::http::request::Parts;
use hyper::{Request, Response, Uri, Version};
use kedge_http::stream::{Body, BrokenOff};
use kedge_replica::{FORWARDED_BY, NodeClient};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// Headers that concern one connection and not the request.
const OF_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    KEEP_ALIVE,
    TRANSFER_ENCODING,
    TE,
    UPGRADE,
    EXPECT,
];

/// A body on its way to a node.
pub(crate) type Sent = UnsyncBoxBody<Bytes, hyper::Error>;
/// Connections to nodes.
pub(crate) type Http = NodeClient<Sent>;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    /// Nothing was sent.
    #[error("the node cannot be reached: {0}")]
    Unreached(String),
    /// It was sent; what became of it is unknown.
    #[error("the node's answer did not arrive: {0}")]
    Unknown(String),
}

/// A body without an error of its own, as one that is sent.
pub(crate) fn boxed(
    body: impl HttpBody<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
) -> Sent {
    body.map_err(|never| match never {}).boxed_unsync()
}

/// Sends requests on.
#[derive(Clone)]
pub(crate) struct Passing {
    pub(crate) http: Http,
    edge: HeaderValue,
}

impl Passing {
    /// Sends as the edge of this name.
    pub(crate) fn new(http: Http, edge: &str) -> Self {
        let edge = HeaderValue::from_str(edge);
        Self {
            http,
            edge: edge.unwrap_or(HeaderValue::from_static("edge")),
        }
    }

    /// Sends a request to the node at this URL; returns once the headers of its answer are here.
    pub(crate) async fn pass(
        &self,
        node: &str,
        parts: &Parts,
        body: Sent,
        caller: IpAddr,
    ) -> Result<Response<Incoming>, PassError> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = format!("{node}{path}").parse::<Uri>();
        let uri = uri.map_err(|error| PassError::Unreached(error.to_string()))?;
        let mut request = Request::new(body);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = self.headers(&parts.headers, caller);
        self.http.request(request).await.map_err(|error| {
            let why = error.to_string();
            if error.is_connect() {
                PassError::Unreached(why)
            } else {
                PassError::Unknown(why)
            }
        })
    }

    /// A request's headers, with its caller's address and who sends it on.
    fn headers(&self, brought: &HeaderMap, caller: IpAddr) -> HeaderMap {
        let mut headers = without_connection(brought.clone());
        headers.remove(HOST);
        if let Ok(caller) = HeaderValue::from_str(&caller.to_string()) {
            headers.append(FORWARDED_FOR, caller);
        }
        headers.insert(FORWARDED_BY, self.edge.clone());
        headers
    }
}

/// Without what concerns one connection alone.
pub(crate) fn without_connection(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

/// A node's answer as the edge's own.
pub(crate) fn answer_of(response: Response<Incoming>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let broken = |error: hyper::Error| BrokenOff(format!("the node's answer broke off: {error}"));
    let body = if body.is_end_stream() {
        Body::default()
    } else {
        Body::Stream(body.map_err(broken).boxed_unsync())
    };
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    *response.headers_mut() = without_connection(parts.headers);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_learns_the_caller_and_nothing_of_the_callers_connection() {
        let passing = Passing::new(kedge_replica::node_client().unwrap(), "edge1");
        let mut brought = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("host", "api.example.com"),
            ("content-length", "7"),
            ("x-forwarded-for", "192.0.2.9"),
            ("x-kedge-forwarded-by", "somebody"),
            ("x-signature", "0x12"),
        ] {
            let name = HeaderName::from_static(name);
            brought.insert(name, HeaderValue::from_static(value));
        }
        let headers = passing.headers(&brought, "192.0.2.1".parse().unwrap());
        let forwarded: Vec<_> = headers.get_all(FORWARDED_FOR).iter().collect();
        assert_eq!(forwarded, ["192.0.2.9", "192.0.2.1"]);
        assert_eq!(headers[FORWARDED_BY], "edge1");
        assert_eq!(headers["content-length"], "7");
        assert_eq!(headers["x-signature"], "0x12");
        assert_eq!(headers.len(), 5, "{headers:?}");
    }
}
