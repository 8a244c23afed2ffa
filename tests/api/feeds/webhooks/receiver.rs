//! A receiver of webhooks: a real HTTP server that answers as a test directs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper::{HeaderMap, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// How long a test waits for messages before it fails.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
pub(super) struct Message {
    headers: HeaderMap,
    /// The number of its connection, from 0.
    pub(super) connection: usize,
    pub(super) bytes: Bytes,
    pub(super) body: Value,
}

impl Message {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }

    pub(super) fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub(super) fn event_type(&self) -> &str {
        self.body["type"].as_str().unwrap()
    }

    pub(super) fn object_id(&self) -> &str {
        self.body["object_id"].as_str().unwrap_or_default()
    }

    /// The signature that a receiver computes to compare.
    pub(super) fn signature(&self, secret: &str) -> String {
        use base64::Engine as _;
        let secret = secret.strip_prefix("whsec_").unwrap();
        let secret = base64::engine::general_purpose::STANDARD
            .decode(secret)
            .unwrap();
        let time_s = self.header("webhook-timestamp").parse().unwrap();
        kedge_webhooks::secret::sign(&secret, self.id(), time_s, &self.bytes).unwrap()
    }

    pub(super) fn signatures(&self) -> Vec<&str> {
        self.header("webhook-signature").split(' ').collect()
    }
}

/// A receiver's reaction to a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reaction {
    Status(u16),
    /// Answers with this status and a header.
    With(u16, &'static str, &'static str),
    Silence,
    /// Closes the connection instead of an answer.
    HangUp,
}

pub(super) struct Receiver {
    pub(super) url: String,
    messages: watch::Receiver<Vec<Message>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Receiver {
    /// Reacts to each message, given the messages before it.
    pub(super) async fn start<F>(react: F) -> Self
    where
        F: Fn(&Message, &[Message]) -> Reaction + Send + Sync + 'static,
    {
        Self::listen(None, react).await
    }

    /// The same over TLS.
    pub(super) async fn start_tls<F>(tls: TlsAcceptor, react: F) -> Self
    where
        F: Fn(&Message, &[Message]) -> Reaction + Send + Sync + 'static,
    {
        Self::listen(Some(tls), react).await
    }

    async fn listen<F>(tls: Option<TlsAcceptor>, react: F) -> Self
    where
        F: Fn(&Message, &[Message]) -> Reaction + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/hook", listener.local_addr().unwrap());
        let (sender, messages) = watch::channel(Vec::new());
        let (sender, react) = (Arc::new(sender), Arc::new(react));
        let connections = AtomicUsize::new(0);
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = connections.fetch_add(1, Ordering::Relaxed);
                let (sender, react) = (Arc::clone(&sender), Arc::clone(&react));
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, number, sender, react).await,
                        // Some tests include a sender that disconnects.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, number, sender, react).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            url,
            messages,
            serving,
        }
    }

    /// A receiver that accepts everything.
    pub(super) async fn good() -> Self {
        Self::start(|_, _| Reaction::Status(204)).await
    }

    /// The messages received, once `enough` is true of them.
    pub(super) async fn wait(&self, enough: impl Fn(&[Message]) -> bool) -> Vec<Message> {
        let mut messages = self.messages.clone();
        let arrived = messages.wait_for(|messages| enough(messages));
        let arrived = tokio::time::timeout(PATIENCE, arrived).await;
        let Ok(messages) = arrived else {
            panic!("only these arrived: {:#?}", self.so_far());
        };
        messages.unwrap().clone()
    }

    pub(super) fn so_far(&self) -> Vec<Message> {
        self.messages.borrow().clone()
    }
}

async fn serve<S, F>(
    stream: S,
    connection: usize,
    sender: Arc<watch::Sender<Vec<Message>>>,
    react: Arc<F>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Fn(&Message, &[Message]) -> Reaction,
{
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let (sender, react) = (Arc::clone(&sender), Arc::clone(&react));
        async move {
            let (parts, body) = request.into_parts();
            let Ok(body) = body.collect().await else {
                return std::future::pending().await;
            };
            let bytes = body.to_bytes();
            let message = Message {
                headers: parts.headers,
                connection,
                body: serde_json::from_slice(&bytes).unwrap(),
                bytes,
            };
            let mut reaction = Reaction::Silence;
            sender.send_modify(|messages| {
                reaction = react(&message, messages);
                messages.push(message);
            });
            let answer = |status| {
                let mut response = Response::new(Full::new(Bytes::new()));
                *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap();
                response
            };
            Ok(match reaction {
                Reaction::Status(status) => answer(status),
                Reaction::With(status, name, value) => {
                    let mut response = answer(status);
                    response.headers_mut().insert(name, value.parse().unwrap());
                    response
                }
                Reaction::Silence => std::future::pending().await,
                Reaction::HangUp => return Err(io::Error::other("hung up")),
            })
        }
    });
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // Some tests include a sender that disconnects.
    let _ended = connection.await;
}
