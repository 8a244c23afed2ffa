//! A reverse proxy that compresses answers, and treats their entity tags as common proxies do.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HOST};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

/// The proxy's treatment of entity tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tags {
    /// The proxy compresses and weakens tags, as nginx does when it is configured to ask for plain answers.
    Weakened,
    /// The proxy compresses and appends the coding, as Apache and Caddy do.
    Ending,
    /// The proxy lets `Accept-Encoding` through, and the server compresses.
    PassedOn,
}

pub(crate) struct Compressor(String);

impl Compressor {
    pub(crate) async fn before(upstream: String, tags: Tags) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client: Client<HttpConnector, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).build_http();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (client, upstream) = (client.clone(), upstream.clone());
                let service = service_fn(move |request| {
                    let (client, upstream) = (client.clone(), upstream.clone());
                    async move { passed(&client, &upstream, tags, request).await }
                });
                let http = hyper::server::conn::http1::Builder::new();
                let connection = http.serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move {
                    let _ended = connection.await;
                });
            }
        });
        Self(url)
    }

    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

async fn passed(
    client: &Client<HttpConnector, Full<Bytes>>,
    upstream: &str,
    tags: Tags,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (mut parts, body) = request.into_parts();
    let body = Full::new(body.collect().await?.to_bytes());
    parts.uri = format!("{upstream}{}", parts.uri.path()).parse().unwrap();
    parts.headers.remove(HOST);
    let mut compresses = false;
    if tags != Tags::PassedOn {
        compresses = parts.headers.remove(ACCEPT_ENCODING).is_some();
    }
    let answer = client
        .request(Request::from_parts(parts, body))
        .await
        .unwrap();
    let (mut parts, body) = answer.into_parts();
    let mut body = body.collect().await?.to_bytes();
    if compresses && !body.is_empty() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&body).unwrap();
        body = encoder.finish().unwrap().into();
        parts.headers.remove(CONTENT_LENGTH);
        parts
            .headers
            .insert(CONTENT_ENCODING, "gzip".parse().unwrap());
        if let Some(tag) = parts.headers.get(ETAG) {
            let tag = tag.to_str().unwrap();
            let tag = match tags {
                Tags::Weakened => format!("W/{tag}"),
                _ => format!("{}-gzip\"", tag.strip_suffix('"').unwrap()),
            };
            parts.headers.insert(ETAG, tag.parse().unwrap());
        }
    }
    Ok(Response::from_parts(parts, Full::new(body)))
}
