//! The HTTP/1.1 client of all programs: pooled connections, by TLS if the URL says `https`. Redirects are not followed.

use std::error::Error;
use std::time::Duration;

use hyper::body::Body;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

/// Connects by TCP, or by TLS over it.
pub type HttpsConnector = hyper_rustls::HttpsConnector<HttpConnector>;

/// A client over such connections.
pub type HttpClient<B> = Client<HttpsConnector, B>;

/// Connects within `connect_timeout`, with small packets sent immediately.
pub fn connector(tls: ClientConfig, connect_timeout: Option<Duration>) -> HttpsConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(connect_timeout);
    HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http)
}

/// An error's text with its causes, which hyper's text omits. None of them contains the URL, so no secret can leak.
pub fn chain_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// A client over a connector. Closes connections that were unused for `idle_max`.
pub fn client<C, B>(connector: C, idle_max: Duration) -> Client<C, B>
where
    C: Connect + Clone,
    B: Body + Send,
    B::Data: Send,
{
    let mut builder: Builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(idle_max)
        .build(connector)
}
