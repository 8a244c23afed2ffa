//! HTTP exchanges: pooled connections, a time limit, a size limit.

mod connection;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use kedge_net::outbound::{self, HttpsConnector};
use serde::de::DeserializeOwned;

use self::connection::{OUTCOME_LIMIT, WatchedConnector, outcome};
use crate::error::{ClientError, ClientResult, ServerRefusal, retry_after};
use crate::random;
use crate::retry::RetryPolicy;

/// Largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// How long an unused connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Longest excerpt of an answer without an envelope, in bytes.
const SHOWN_BYTES_MAX: usize = 200;
const AGENT: &str = concat!("kedge-client/", env!("CARGO_PKG_VERSION"));

/// A request without the parts that change at each attempt.
pub(crate) struct HttpCall<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    /// JSON; empty for no body.
    pub(crate) body: Bytes,
}

impl<'a> HttpCall<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: Bytes::new(),
        }
    }

    pub(crate) fn post(path: &'a str, body: impl Into<Bytes>) -> Self {
        Self {
            method: Method::POST,
            path,
            body: body.into(),
        }
    }
}

pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpAnswer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The error of an unsuccessful answer.
    pub(crate) fn refusal(&self) -> ClientError {
        match serde_json::from_slice::<ServerRefusal>(&self.body) {
            Ok(envelope) => ClientError::Refused(envelope),
            Err(_) => ClientError::Unexpected {
                status: self.status,
                text: String::from_utf8_lossy(&self.body[..self.body.len().min(SHOWN_BYTES_MAX)])
                    .into_owned(),
            },
        }
    }

    /// Parses a successful answer.
    pub(crate) fn read<T: DeserializeOwned>(&self, what: &'static str) -> ClientResult<T> {
        if !self.is_success() {
            return Err(self.refusal());
        }
        serde_json::from_slice(&self.body).map_err(|error| ClientError::Answer { what, error })
    }

    /// Parses a header with a decimal number.
    pub(crate) fn number(&self, header: &str) -> Option<u64> {
        self.headers.get(header)?.to_str().ok()?.parse().ok()
    }
}

/// HTTP client of one server.
#[derive(Debug)]
pub(crate) struct HttpTransport {
    http: Client<WatchedConnector<HttpsConnector>, Full<Bytes>>,
    /// Scheme, host, port and path prefix, without a trailing slash.
    base_url: String,
    timeout_ms: u64,
}

impl HttpTransport {
    pub(crate) fn new(base_url: &str, timeout_ms: u64) -> ClientResult<Self> {
        let base_url = base_url.trim_end_matches('/');
        let uri: Uri = base_url.parse().map_err(|error| {
            ClientError::Usage(format!("{base_url:?} is not a base URL: {error}"))
        })?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return Err(ClientError::Usage(format!(
                "{base_url:?} is not a base URL: it must look like https://host:port"
            )));
        }
        let tls = kedge_net::trust::client_config()
            .map_err(|error| ClientError::Usage(format!("whom to trust: {error}")))?;
        let connector = WatchedConnector(outbound::connector(tls, None));
        let http = outbound::client(connector, IDLE_MAX);
        Ok(Self {
            http,
            base_url: base_url.to_owned(),
            timeout_ms,
        })
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Sends once and reads the complete answer, whatever its status.
    pub(crate) async fn exchange(
        &self,
        call: &HttpCall<'_>,
        headers: &[(&'static str, String)],
    ) -> ClientResult<HttpAnswer> {
        let attempt = async { Self::read(self.begin(call, headers).await?).await };
        self.within(attempt).await
    }

    /// Time limit of an exchange.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Sends once and returns the body of a successful answer as a stream without a size limit.
    pub(crate) async fn open(
        &self,
        call: &HttpCall<'_>,
        headers: &[(&'static str, String)],
    ) -> ClientResult<Incoming> {
        let response = self.within(self.begin(call, headers)).await?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        Err(self.within(Self::read(response)).await?.refusal())
    }

    async fn within<T>(&self, work: impl Future<Output = ClientResult<T>>) -> ClientResult<T> {
        let timeout_ms = self.timeout_ms;
        let done = tokio::time::timeout(self.timeout(), work).await;
        done.map_err(|_| ClientError::Timeout { timeout_ms })?
    }

    async fn begin(
        &self,
        call: &HttpCall<'_>,
        headers: &[(&'static str, String)],
    ) -> ClientResult<Response<Incoming>> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(format!("{}{}", self.base_url, call.path))
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, AGENT);
        let is_typed = headers.iter().any(|(name, _)| *name == "content-type");
        if !call.body.is_empty() && !is_typed {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut request = request
            .body(Full::new(call.body.clone()))
            .map_err(|error| {
                ClientError::Usage(format!("the request could not be built: {error}"))
            })?;
        let base_url = &self.base_url;
        let captured = capture_connection(&mut request);
        let answered = outcome(self.http.request(request), captured, OUTCOME_LIMIT).await;
        let answered = answered.ok_or_else(|| {
            ClientError::Transport(format!(
                "{base_url} ended the connection, and no answer followed"
            ))
        })?;
        answered.map_err(|error| {
            ClientError::Transport(format!(
                "{base_url} could not be reached: {}",
                outbound::chain_text(&error)
            ))
        })
    }

    async fn read(response: Response<Incoming>) -> ClientResult<HttpAnswer> {
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX)
            .collect()
            .await
            .map_err(|error| {
                ClientError::Transport(if error.is::<LengthLimitError>() {
                    format!("the answer is longer than {ANSWER_BYTES_MAX} bytes")
                } else {
                    format!("the answer broke off: {error}")
                })
            })?;
        Ok(HttpAnswer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.to_bytes(),
        })
    }
}

/// Counts the attempts of a request, and waits between them.
pub(crate) struct Backoff<'a> {
    policy: &'a RetryPolicy,
    sent: u32,
}

impl<'a> Backoff<'a> {
    pub(crate) fn new(policy: &'a RetryPolicy) -> Self {
        Self { policy, sent: 0 }
    }

    /// Whether to retry after this answer; waits first if so.
    pub(crate) async fn again(&mut self, answer: &HttpAnswer) -> ClientResult<bool> {
        let attempt = self.sent;
        self.sent += 1;
        if !self.policy.retries(answer.status) || self.sent >= self.policy.attempts_max {
            return Ok(false);
        }
        let asked = retry_after(&answer.headers);
        tokio::time::sleep(self.policy.wait(attempt, asked, random::fraction()?)).await;
        Ok(true)
    }
}

impl Backoff<'_> {
    /// Whether to retry a signed request with an unknown outcome; waits first if so.
    pub(crate) async fn ask_again(&mut self, answer: Option<&HttpAnswer>) -> ClientResult<bool> {
        let attempt = self.sent;
        self.sent += 1;
        if !self.policy.on_unknown || self.sent >= self.policy.attempts_max {
            return Ok(false);
        }
        let asked = answer.and_then(|answer| retry_after(&answer.headers));
        let wait = self
            .policy
            .wait_unknown(attempt, asked, random::fraction()?);
        tokio::time::sleep(wait).await;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        for good in [
            "http://127.0.0.1:8080",
            "https://example.com/",
            "http://h/v3",
        ] {
            assert!(HttpTransport::new(good, 1).is_ok(), "{good}");
        }
        assert_eq!(
            HttpTransport::new("http://h/", 1).unwrap().base_url(),
            "http://h"
        );
        for bad in ["", "127.0.0.1:8080", "ftp://h", "http://h?x=1", "http://"] {
            assert!(
                matches!(HttpTransport::new(bad, 1), Err(ClientError::Usage(_))),
                "{bad}"
            );
        }
    }
}
