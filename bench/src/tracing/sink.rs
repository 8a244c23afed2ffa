//! Collector of the bench: accepts traces by OTLP over HTTP and counts their spans without decoding them, which leaves
//! the machine to the server.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tokio::net::TcpListener;

use crate::error::BenchResult;

/// Protobuf field numbers from an export to its spans: resource, scope, span.
const TO_SPANS: [u32; 3] = [1, 2, 2];

pub(super) struct SpanSink {
    pub(super) url: String,
    spans: Arc<AtomicU64>,
}

impl SpanSink {
    /// Starts a sink that runs until the process ends.
    pub(super) async fn start() -> BenchResult<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let spans = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&spans);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                let service = service_fn(move |request| answer(request, Arc::clone(&counted)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { url, spans })
    }

    /// Number of spans received.
    pub(super) fn spans(&self) -> u64 {
        self.spans.load(Ordering::Acquire)
    }
}

async fn answer(
    request: Request<Incoming>,
    counted: Arc<AtomicU64>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    let protobuf = HeaderValue::from_static("application/x-protobuf");
    response.headers_mut().insert(CONTENT_TYPE, protobuf);
    let body = request.into_body().collect().await.ok();
    match body.and_then(|body| count(&body.to_bytes(), &TO_SPANS)) {
        Some(spans) => {
            counted.fetch_add(spans, Ordering::AcqRel);
        }
        None => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    Ok(response)
}

/// Number of messages at the end of the field path; `None` if the bytes are not protobuf.
fn count(mut bytes: &[u8], path: &[u32]) -> Option<u64> {
    let (next, rest) = path.split_first()?;
    let mut total = 0;
    while !bytes.is_empty() {
        let (field, wire_type) = decode_key(&mut bytes).ok()?;
        if field != *next || wire_type != WireType::LengthDelimited {
            skip_field(wire_type, field, &mut bytes, DecodeContext::default()).ok()?;
            continue;
        }
        let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
        let (inner, after) = bytes.split_at_checked(length)?;
        bytes = after;
        total += if rest.is_empty() {
            1
        } else {
            count(inner, rest)?
        };
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with content shorter than 128 bytes.
    fn field(number: u8, inner: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, inner.len() as u8], inner].concat()
    }

    #[test]
    fn spans_are_counted_in_every_scope_of_every_resource() {
        let span = field(2, b"whatever is in it");
        let name = field(1, b"a name");
        let number = [3 << 3, 7];
        let scope = field(2, &[&name[..], &span, &number, &span].concat());
        let resource = field(1, &[&name[..], &scope, &field(2, &span)].concat());
        let export = [&resource[..], &resource].concat();
        assert_eq!(count(&export, &TO_SPANS), Some(6));
        assert_eq!(count(&[], &TO_SPANS), Some(0));
        assert_eq!(count(&export[..export.len() - 1], &TO_SPANS), None);
        assert_eq!(count(b"no protobuf", &TO_SPANS), None);
    }
}
