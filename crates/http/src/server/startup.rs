//! Start of a server that waits for an external dependency: meanwhile it answers with the reason.

use std::fmt::Display;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode, Version};
use kedge_config::Config;
use serde_json::json;
use tokio::sync::watch;

use super::connection::ConnectionHandler;
use super::response_body::SentBody;
use super::{ACCEPT_PAUSE, BoundListener, RequestHandler, malformed_request, open_files};
use crate::cors::CorsPolicy;
use crate::envelope::ErrorForm;
use crate::error::ApiError;
use crate::metric_definitions::START_WAITS;
use crate::redaction::without_paths;
use crate::stream::ReplyBody;
use kedge_net::connection::{ConnectionState, OpenRequest};
use kedge_net::room::ConnectionRoom;

const RETRY_S: u64 = 5;
/// Placeholder for request ids, which only a serving server assigns.
const NO_ID: &str = "starting";

/// The pause before the next attempt, which doubles with each.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Interval of the log line about the wait.
const NOTED_EVERY: Duration = Duration::from_mins(1);

struct StartupHandler {
    why: watch::Receiver<String>,
    header_bytes_max: usize,
    cors: CorsPolicy,
}

impl StartupHandler {
    fn body(&self, path: &str) -> (StatusCode, &'static str, Vec<u8>) {
        let json = "application/json";
        match path {
            "/healthz" => {
                let body = json!({ "status": "ok" });
                (StatusCode::OK, json, body.to_string().into_bytes())
            }
            "/readyz" => {
                let why = without_paths(&self.why.borrow());
                let body = json!({ "status": "not_ready", "mode": "read_only", "reason": why });
                let status = StatusCode::SERVICE_UNAVAILABLE;
                (status, json, body.to_string().into_bytes())
            }
            _ => {
                let message = "the server has not started yet; try again";
                let error = ApiError::unavailable(message, RETRY_S);
                let form = ErrorForm::Envelope;
                (error.status(), form.media_type(), form.write(&error, NO_ID))
            }
        }
    }
}

impl RequestHandler for StartupHandler {
    async fn answer(&self, request: Request<Incoming>, using: OpenRequest) -> Response<SentBody> {
        let (status, media_type, body) = self.body(request.uri().path());
        let readers = self.cors.readers(request.headers());
        let is_http2 = request.version() == Version::HTTP_2;
        let body = SentBody::new(ReplyBody::from(body), is_http2, None, using);
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        readers.write(headers);
        if !is_http2 {
            // The next request is for the started server.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn refuse_unparsed(&self, status: StatusCode, line: &Arc<ConnectionState>) -> Bytes {
        let fault = malformed_request::error_of(status, self.header_bytes_max);
        let form = ErrorForm::Envelope;
        let mut headers = hyper::HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(form.media_type()));
        self.cors
            .readers_of_unparsed(line.origin())
            .write(&mut headers);
        let body = form.write(&fault, NO_ID);
        malformed_request::write(fault.status(), &headers, &body)
    }
}

/// An external dependency of the start.
pub struct StartRequirement<'a, E> {
    /// Its name, for the log and for callers.
    pub what: &'a str,
    /// Whether an error may pass without a change of the configuration.
    pub passes: fn(&E) -> bool,
}

impl<E: Display> StartRequirement<'_, E> {
    fn describe(&self, error: &E) -> String {
        format!("the start waits for {}: {error}", self.what)
    }

    fn note(&self, error: &E, since: Instant) -> String {
        let waited_s = since.elapsed().as_secs();
        tracing::warn!(%error, waited_s, "the start waits for {}", self.what);
        self.describe(error)
    }
}

impl BoundListener {
    /// Retries until it succeeds, with growing pauses. Meanwhile requests are answered 503 with the reason, which the
    /// log and a metric state too.
    ///
    /// # Errors
    /// The first error that does not pass by itself.
    pub async fn wait_for<T, E: Display, F: Future<Output = Result<T, E>>>(
        &self,
        config: &Config,
        needed: StartRequirement<'_, E>,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, E> {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if !(needed.passes)(&error) => return Err(error),
            Err(error) => error,
        };
        let since = Instant::now();
        let (reason, why) = watch::channel(needed.note(&error, since));
        metrics::gauge!(START_WAITS).set(1.0);
        let trying = async {
            let mut pause = PAUSE_MIN;
            let mut noted = Instant::now();
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
                match attempt().await {
                    Ok(done) => return Ok(done),
                    Err(error) if !(needed.passes)(&error) => return Err(error),
                    Err(error) if noted.elapsed() >= NOTED_EVERY => {
                        noted = Instant::now();
                        reason.send_replace(needed.note(&error, since));
                    }
                    Err(error) => {
                        reason.send_replace(needed.describe(&error));
                    }
                }
            }
        };
        let done = self.answer_while(config, why, trying).await;
        metrics::gauge!(START_WAITS).set(0.0);
        if done.is_ok() {
            let waited_s = since.elapsed().as_secs();
            tracing::info!(
                waited_s,
                "{} can be reached: the start continues",
                needed.what
            );
        }
        done
    }

    /// Answers requests with 503 and this reason during `work`, a part of the start of unknown duration.
    pub async fn answer_while<T>(
        &self,
        config: &Config,
        why: watch::Receiver<String>,
        work: impl Future<Output = T>,
    ) -> T {
        let waiting = StartupHandler {
            why,
            header_bytes_max: config.header_bytes_max,
            cors: CorsPolicy::new(config.cors_origins.clone()),
        };
        let connections = Arc::new(ConnectionHandler::new(config, waiting));
        let room = ConnectionRoom::new(config, open_files::connections_below());
        let (ends, end) = watch::channel(());
        tokio::pin!(work);
        loop {
            let accepted = async {
                let free = room.free().await;
                (free, self.listener.accept().await)
            };
            let (free, accepted) = tokio::select! {
                done = &mut work => {
                    // Connections end, and their callers reconnect to the started server.
                    let _ = ends.send(());
                    return done;
                }
                accepted = accepted => accepted,
            };
            let Ok((stream, peer)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let file = stream.as_raw_fd() as u64;
            let place = free.and_then(|free| room.place(free, peer.ip(), file).ok());
            let Some(place) = place else {
                continue;
            };
            let (connections, tls, end) = (Arc::clone(&connections), self.tls.clone(), end.clone());
            tokio::spawn(async move {
                connections
                    .accept(stream, (peer.ip(), place), tls, end)
                    .await;
            });
        }
    }
}
