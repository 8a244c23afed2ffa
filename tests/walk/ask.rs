//! One request: its parts, its signature, and its credentials.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::HeaderName;
use hyper::http::response::Parts;
use hyper::{HeaderMap, Request};
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use serde_json::Value;

use crate::harness::{Caller, Server, Signed, Terms, signature};
use crate::row::{Row, Signs};

/// A request's parts, from which the walk builds valid and invalid requests.
#[derive(Clone)]
pub(crate) struct Ask {
    /// The path, including its query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    /// Kind, target and payload of each action; the payload of a body is filled in when it is sent.
    pub(crate) actions: Vec<(String, String, String)>,
    pub(crate) atomic: bool,
    /// The signer, if not the caller.
    pub(crate) signer: Option<Arc<Caller>>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Ask {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            body: Vec::new(),
            actions: Vec::new(),
            atomic: false,
            signer: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn json(path: impl Into<String>, body: &Value) -> Self {
        Self::get(path).with_body(body.to_string())
    }

    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Signs one action of this kind; the body is its payload.
    pub(crate) fn signing(self, kind: &str, target: &str) -> Self {
        self.signing_payload(kind, target, "")
    }

    pub(crate) fn signing_payload(mut self, kind: &str, target: &str, payload: &str) -> Self {
        let action = (kind.to_owned(), target.to_owned(), payload.to_owned());
        self.actions.push(action);
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    /// The same with an additional query parameter.
    pub(crate) fn query(mut self, parameter: &str) -> Self {
        self.path
            .push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(parameter);
        self
    }

    /// The actions in their signed form.
    fn signed(&self, signs: Signs) -> Vec<(String, String, String)> {
        let mut actions = self.actions.clone();
        for (_, _, payload) in &mut actions {
            match signs {
                Signs::Body => *payload = String::from_utf8(self.body.clone()).unwrap(),
                Signs::Digest => *payload = digest_text(&sha256(&self.body)),
                Signs::Nothing | Signs::Actions => {}
            }
        }
        actions
    }

    /// The signature's headers for these terms.
    pub(crate) fn sign(
        &self,
        row: &Row,
        caller: &Caller,
        terms: &Terms,
    ) -> Vec<(&'static str, String)> {
        if row.signs == Signs::Nothing {
            return Vec::new();
        }
        let signer = self.signer.as_deref().unwrap_or(caller);
        let actions = self.signed(row.signs);
        let actions: Vec<Signed<'_>> = actions
            .iter()
            .map(|(kind, target, payload)| (kind.as_str(), target.as_str(), payload.as_str()))
            .collect();
        let terms = Terms {
            atomic: self.atomic,
            ..*terms
        };
        signature(&signer.key, &terms, &actions)
    }

    /// New terms for the signer.
    pub(crate) fn terms(&self, server: &Server, caller: &Caller) -> Terms {
        self.signer.as_deref().unwrap_or(caller).terms(server)
    }
}

#[derive(Clone)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) request_id: String,
    /// A description of the request, for messages.
    pub(crate) asked: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", self.reported()))
    }

    pub(crate) fn reported(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text: String = text.chars().take(2_000).collect();
        format!("{}: {} {text}", self.asked, self.status)
    }
}

static NUMBER: AtomicU64 = AtomicU64::new(1);

/// Sends a request and reads only the beginning of the answer, which may be endless.
async fn begin(server: &Server, request: Request<Full<Bytes>>) -> (Parts, Bytes) {
    let response = server.http.request(request).await.unwrap();
    let (parts, mut body) = response.into_parts();
    let first = body.frame().await.transpose().unwrap();
    let first = first.and_then(|frame| frame.into_data().ok());
    (parts, first.unwrap_or_default())
}

/// Sends a request with exactly these headers in addition to its own.
pub(crate) async fn send(
    server: &Server,
    method: &str,
    ask: &Ask,
    headers: &[(&'static str, String)],
) -> Got {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let request_id = format!("walk-{number}");
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{}", server.url, ask.path))
        .header("x-request-id", &request_id);
    let own = |name: &str| ask.headers.iter().any(|(known, _)| *known == name);
    if !ask.body.is_empty() && !own("content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in ask.headers.iter().chain(headers) {
        request = request.header(HeaderName::from_static(name), value);
    }
    let body = Full::new(Bytes::from(ask.body.clone()));
    let (parts, bytes) = if ask.path.starts_with("/ebus/events/stream") {
        begin(server, request.body(body).unwrap()).await
    } else {
        server.fetch(request.body(body).unwrap()).await
    };
    if method != "HEAD" {
        crate::coverage::saw(server, method, &ask.path, parts.status.as_u16(), &bytes).await;
    }
    Got {
        status: parts.status.as_u16(),
        headers: parts.headers,
        bytes,
        request_id,
        asked: format!("{method} {}", ask.path),
    }
}
