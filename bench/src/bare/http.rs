//! HTTP interface of the bare pipeline.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::pipeline::{BarePipeline, BareShape};
use crate::error::BenchResult;

/// Serves connections, each in its own task.
pub(super) async fn serve(listener: TcpListener, pipeline: Arc<BarePipeline>) -> BenchResult<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let pipeline = Arc::clone(&pipeline);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let pipeline = Arc::clone(&pipeline);
                async move { Ok::<_, Infallible>(answer(&pipeline, request).await) }
            });
            // A disconnect concerns only that caller.
            let _gone = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(pipeline: &BarePipeline, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let shape = match request.uri().path() {
        "/ebus/actions" => BareShape::Single,
        "/ebus/actions/batch" => BareShape::Batch,
        _ => {
            return reply(
                StatusCode::NOT_FOUND,
                "only the action bus exists here".into(),
            );
        }
    };
    let (head, body) = request.into_parts();
    let taken = match body.collect().await {
        Ok(body) => pipeline.take(shape, &head.headers, body.to_bytes()).await,
        Err(error) => Err(error.into()),
    };
    match taken {
        Ok(text) => reply(StatusCode::OK, text),
        Err(error) => reply(StatusCode::BAD_REQUEST, error.to_string()),
    }
}

fn reply(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
