//! A trace collector: a real HTTP server that decodes requests by OTLP's own definition, and answers as a test directs.
//! Other paths take webhook messages.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;

use crate::support::eventually;

/// How long a test waits for spans.
const PATIENCE: Duration = Duration::from_secs(30);

/// The collector's reaction to spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reaction {
    /// Accepts them.
    Accept,
    /// Answers with this status.
    Status(u16),
    /// Accepts all but this many.
    Reject(i64),
    /// Never answers.
    Silence,
}

#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    resources: Vec<Vec<KeyValue>>,
    headers: Vec<HeaderMap>,
    posts: usize,
    webhooks: Vec<HeaderMap>,
}

struct State {
    reaction: Mutex<Reaction>,
    received: Mutex<Received>,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    state: Arc<State>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Collector {
    pub(crate) async fn start(reaction: Reaction) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            reaction: Mutex::new(reaction),
            received: Mutex::default(),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self {
            url,
            state,
            serving,
        }
    }

    pub(crate) fn react(&self, reaction: Reaction) {
        *self.state.reaction.lock().unwrap() = reaction;
    }

    /// The number of requests with spans.
    pub(crate) fn posts(&self) -> usize {
        self.state.received.lock().unwrap().posts
    }

    /// The headers of the received requests.
    pub(crate) fn headers(&self) -> Vec<HeaderMap> {
        self.state.received.lock().unwrap().headers.clone()
    }

    /// A resource attribute of the process, by name.
    pub(crate) fn resource(&self, name: &str) -> Option<String> {
        let received = self.state.received.lock().unwrap();
        text(received.resources.first()?, name)
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.state.received.lock().unwrap().spans.clone()
    }

    pub(crate) async fn span(&self, what: &str, is: impl Fn(&Span) -> bool) -> Span {
        eventually(what, PATIENCE, || {
            let found = self.spans().into_iter().find(&is);
            async move { found }
        })
        .await
    }

    /// Waits for the headers of a webhook message that satisfies `is`.
    pub(crate) async fn webhook(&self, what: &str, is: impl Fn(&HeaderMap) -> bool) -> HeaderMap {
        eventually(what, PATIENCE, || {
            let received = self.state.received.lock().unwrap();
            let found = received
                .webhooks
                .iter()
                .find(|headers| is(headers))
                .cloned();
            async move { found }
        })
        .await
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let state = Arc::clone(&state);
        let answer = service_fn(move |request| answer(request, Arc::clone(&state)));
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            // The server may break off a connection.
            let _ended = connection
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn answer(
    request: Request<hyper::body::Incoming>,
    state: Arc<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    if parts.uri.path() != "/v1/traces" {
        state.received.lock().unwrap().webhooks.push(parts.headers);
        return Ok(Response::new(Full::default()));
    }
    let sent = ExportTraceServiceRequest::decode(body).unwrap();
    let reaction = *state.reaction.lock().unwrap();
    {
        let mut received = state.received.lock().unwrap();
        received.posts += 1;
        received.headers.push(parts.headers);
    }
    let mut answer = ExportTraceServiceResponse::default();
    match reaction {
        Reaction::Accept => {}
        Reaction::Silence => std::future::pending().await,
        Reaction::Status(status) => {
            let mut refused = Response::new(Full::default());
            *refused.status_mut() = status.try_into().unwrap();
            return Ok(refused);
        }
        Reaction::Reject(rejected_spans) => {
            answer.partial_success = Some(ExportTracePartialSuccess {
                rejected_spans,
                error_message: "too many".to_owned(),
            });
        }
    }
    let mut received = state.received.lock().unwrap();
    for of_resource in sent.resource_spans {
        received
            .resources
            .extend(of_resource.resource.map(|resource| resource.attributes));
        let spans = of_resource.scope_spans.into_iter();
        received
            .spans
            .extend(spans.flat_map(|of_scope| of_scope.spans));
    }
    Ok(Response::new(Full::new(answer.encode_to_vec().into())))
}

/// An attribute as a text.
pub(crate) fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text.clone()),
        any_value::Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{name}: {other:?}"),
    }
}

/// An id in hexadecimal digits.
pub(crate) fn hex(id: &[u8]) -> String {
    const_hex::encode(id)
}
