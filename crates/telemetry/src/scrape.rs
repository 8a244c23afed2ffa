//! The metrics listener: Prometheus's text format, or OpenMetrics with exemplars if requests are traced and the scraper
//! asks for it. Without tracing it is always the text format, so the series of an existing installation keep their
//! names.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, VARY};
use hyper::{Request, Response, StatusCode};

use super::openmetrics::{self, is_asked_for};
use super::tracer::Tracer;

const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Time limit of one scrape.
const PATIENCE: Duration = Duration::from_secs(20);

/// State of the listener.
struct ScrapePage<R> {
    render: R,
    tracer: Option<Tracer>,
}

/// Serves `/metrics` until the process ends; returns the bound address. `render` returns all metrics in Prometheus's
/// text format.
///
/// # Errors
/// If the address cannot be bound.
pub async fn serve<R>(
    address: SocketAddr,
    render: R,
    tracer: Option<Tracer>,
) -> std::io::Result<SocketAddr>
where
    R: Fn() -> String + Send + Sync + 'static,
{
    let page = ScrapePage { render, tracer };
    let answer = move |request: Request<Incoming>| std::future::ready(page.answer(&request));
    kedge_net::local_listener::serve(address, PATIENCE, answer).await
}

impl<R: Fn() -> String> ScrapePage<R> {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let accept = request.headers().get(ACCEPT);
        let accept = accept.and_then(|value| value.to_str().ok());
        let tracer = self.tracer.as_ref();
        let tracer = tracer.filter(|_| accept.is_some_and(is_asked_for));
        let (status, media_type, text) = match tracer {
            _ if request.uri().path() != "/metrics" => {
                (StatusCode::NOT_FOUND, PLAIN, "see /metrics\n".to_owned())
            }
            None => (StatusCode::OK, PLAIN, (self.render)()),
            Some(tracer) => {
                let text = tracer.open_metrics(&(self.render)());
                (StatusCode::OK, openmetrics::MEDIA_TYPE, text)
            }
        };
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        response
    }
}
