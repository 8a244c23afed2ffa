//! Forwarding of a request to a node and of the answer back. Both bodies are streamed.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::{CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::header::{TE, TRANSFER_ENCODING, UPGRADE};
use hyper::http::request::Parts;
use hyper::{Request, Response, Version};
use kedge_cluster::node::{FORWARDED_BY, uri_at};
use kedge_http::stream::{BodyCutOff, ReplyBody};
use kedge_net::outbound::HttpClient;
use rustix::io::Errno;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// Headers of a connection rather than of a request (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    KEEP_ALIVE,
    TRANSFER_ENCODING,
    TE,
    UPGRADE,
    EXPECT,
];
/// Errors of this process's own limits when it opens a connection: files, ports, memory.
const OWN_LACKS: [Errno; 5] = [
    Errno::MFILE,
    Errno::NFILE,
    Errno::ADDRNOTAVAIL,
    Errno::NOBUFS,
    Errno::NOMEM,
];

pub(crate) type ForwardedBody = UnsyncBoxBody<Bytes, hyper::Error>;
pub(crate) type ForwardingClient = HttpClient<ForwardedBody>;

/// Reasons why a request got no answer. Only [`Self::Refused`] says anything about the node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForwardingError {
    #[error("the node accepts no connection: {0}")]
    Refused(String),
    /// Nothing was sent, for another reason.
    #[error("nothing was sent: {0}")]
    Unsent(String),
    /// It was sent; the result is unknown.
    #[error("the node's answer did not arrive: {0}")]
    Unknown(String),
    /// The caller broke its body off, so the node has done nothing.
    #[error("the caller's body broke off")]
    BodyBroken,
    #[error("the caller's body took too long")]
    BodyLate,
}

/// A caller's body that is sent to a node.
pub(crate) struct OutgoingBody {
    pub(crate) body: ForwardedBody,
    /// Whether the caller broke it off.
    is_broken: Arc<AtomicBool>,
}

impl OutgoingBody {
    /// A complete body.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        let body = Full::new(bytes).map_err(|never| match never {});
        Self {
            body: body.boxed_unsync(),
            is_broken: Arc::default(),
        }
    }

    /// A body that still arrives.
    pub(crate) fn arriving(body: Incoming) -> Self {
        let is_broken = Arc::new(AtomicBool::new(false));
        let noting = Arc::clone(&is_broken);
        let body = body.map_err(move |error| {
            noting.store(true, Ordering::Relaxed);
            error
        });
        Self {
            body: body.boxed_unsync(),
            is_broken,
        }
    }
}

/// Whether a connection failed for lack of this process's own files, ports or memory. Callers can cause that, and it
/// says nothing about the node.
pub(crate) fn is_own(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(found) = cause {
        let of_system = found.downcast_ref::<std::io::Error>();
        let code = of_system.and_then(std::io::Error::raw_os_error);
        if code.is_some_and(|code| OWN_LACKS.iter().any(|lack| lack.raw_os_error() == code)) {
            return true;
        }
        cause = match of_system.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => found.source(),
        };
    }
    false
}

/// Forwards requests to nodes.
#[derive(Clone)]
pub(crate) struct RequestForwarder {
    pub(crate) http: ForwardingClient,
    edge: HeaderValue,
}

impl RequestForwarder {
    /// `edge` is the name under which it sends.
    pub(crate) fn new(http: ForwardingClient, edge: &str) -> Self {
        let edge = HeaderValue::from_str(edge);
        Self {
            http,
            edge: edge.unwrap_or(HeaderValue::from_static("edge")),
        }
    }

    /// Sends a request to the node at this URL; returns with the headers of the answer.
    pub(crate) async fn pass(
        &self,
        node: &str,
        parts: &Parts,
        body: OutgoingBody,
        caller: IpAddr,
    ) -> Result<Response<Incoming>, ForwardingError> {
        let uri =
            uri_at(node, &parts.uri).map_err(|error| ForwardingError::Unsent(error.to_string()))?;
        let mut request = Request::new(body.body);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = self.headers(&parts.headers, caller)?;
        self.http.request(request).await.map_err(|error| {
            let why = error.to_string();
            if body.is_broken.load(Ordering::Relaxed) {
                ForwardingError::BodyBroken
            } else if is_own(&error) {
                ForwardingError::Unsent(why)
            } else if error.is_connect() {
                ForwardingError::Refused(why)
            } else {
                ForwardingError::Unknown(why)
            }
        })
    }

    /// The request's headers, with the caller's address and the edge's name added.
    fn headers(&self, brought: &HeaderMap, caller: IpAddr) -> Result<HeaderMap, ForwardingError> {
        let too_many = |_| ForwardingError::Unsent("it has too many header fields".to_owned());
        let mut headers = without_connection(brought.clone());
        headers.remove(HOST);
        if let Ok(caller) = HeaderValue::from_str(&caller.to_string()) {
            headers
                .try_append(FORWARDED_FOR, caller)
                .map_err(too_many)?;
        }
        headers
            .try_insert(FORWARDED_BY, self.edge.clone())
            .map_err(too_many)?;
        Ok(headers)
    }
}

/// Removes the headers of the connection.
pub(crate) fn without_connection(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

/// Turns a node's answer into the edge's.
pub(crate) fn answer_of(response: Response<Incoming>) -> Response<ReplyBody> {
    let (parts, body) = response.into_parts();
    let broken = |error: hyper::Error| BodyCutOff(format!("the node's answer broke off: {error}"));
    let body = if body.is_end_stream() {
        ReplyBody::default()
    } else {
        ReplyBody::Stream(body.map_err(broken).boxed_unsync())
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
        let passing = RequestForwarder::new(kedge_cluster::node::node_client().unwrap(), "edge1");
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
        let headers = passing
            .headers(&brought, "192.0.2.1".parse().unwrap())
            .unwrap();
        let forwarded: Vec<_> = headers.get_all(FORWARDED_FOR).iter().collect();
        assert_eq!(forwarded, ["192.0.2.9", "192.0.2.1"]);
        assert_eq!(headers[FORWARDED_BY], "edge1");
        assert_eq!(headers["content-length"], "7");
        assert_eq!(headers["x-signature"], "0x12");
        assert_eq!(headers.len(), 5, "{headers:?}");
    }

    // Holds invariant 243.
    #[test]
    fn what_this_process_lacks_says_nothing_of_a_node() {
        let of = |errno: Errno| std::io::Error::from_raw_os_error(errno.raw_os_error());
        assert!(is_own(&of(Errno::MFILE)));
        assert!(is_own(&std::io::Error::other(of(Errno::ADDRNOTAVAIL))));
        assert!(!is_own(&of(Errno::CONNREFUSED)));
        assert!(!is_own(&std::io::Error::other("timed out")));
    }

    // Holds invariant 245.
    #[test]
    fn too_many_header_fields_are_an_error_and_no_panic() {
        let passing = RequestForwarder::new(kedge_cluster::node::node_client().unwrap(), "edge1");
        let mut brought = HeaderMap::new();
        let mut number = 0;
        loop {
            let name = HeaderName::try_from(format!("x-{number}")).unwrap();
            if brought.try_append(name, HeaderValue::from(number)).is_err() {
                break;
            }
            number += 1;
        }
        let passed = passing.headers(&brought, "192.0.2.1".parse().unwrap());
        assert!(matches!(passed, Err(ForwardingError::Unsent(_))));
    }
}
