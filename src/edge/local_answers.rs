//! The edge's own answers: health, readiness, and that no node was reached.

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use kedge_http::cors::CorsAnswer;
use kedge_http::envelope::ErrorForm;
use kedge_http::error::ApiError;
use kedge_http::stream::ReplyBody;
use serde_json::json;

use crate::edge::nodes::NodeDirectory;
use crate::server::SECURITY_HEADERS;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

fn answer(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The answer of a running process.
pub(crate) fn healthy() -> Response<ReplyBody> {
    let body = json!({ "status": "ok" }).to_string();
    answer(StatusCode::OK, "application/json", body.into_bytes())
}

/// Whether a request would find a node, and which nodes there are.
pub(crate) fn readiness(edge: &str, nodes: &NodeDirectory) -> Response<ReplyBody> {
    let ready = nodes.ready();
    let leader = nodes.leader();
    let (status, word) = if ready.is_empty() {
        (StatusCode::SERVICE_UNAVAILABLE, "no node is ready")
    } else {
        (StatusCode::OK, "ready")
    };
    let names: Vec<&str> = ready.iter().map(|node| node.name.as_str()).collect();
    let body = json!({
        "status": word,
        "edge": edge,
        "nodes": names,
        "leader": leader.as_ref().map(|leader| &leader.name),
        "term": leader.as_ref().map(|leader| leader.term),
    });
    answer(status, "application/json", body.to_string().into_bytes())
}

/// An error in the form that nodes use.
pub(crate) fn refusal(error: &ApiError, form: ErrorForm, request_id: &str) -> Response<ReplyBody> {
    let body = form.write(error, request_id);
    let mut response = answer(error.status(), form.media_type(), body);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, id);
    }
    for (name, value) in &error.headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name.clone(), value);
        }
    }
    response
}

/// The answer to bytes that are not HTTP.
pub(crate) fn unparsed(
    status: StatusCode,
    header_bytes_max: usize,
    request_id: &str,
    readers: &CorsAnswer,
) -> Bytes {
    let fault = kedge_http::server::malformed_request::error_of(status, header_bytes_max);
    let (mut parts, body) = refusal(&fault, ErrorForm::Envelope, request_id).into_parts();
    readers.write(&mut parts.headers);
    kedge_http::server::malformed_request::write(parts.status, &parts.headers, &body.into_whole())
}
