//! Errors of requests that are not HTTP. hyper answers them with a bare status; it is replaced by an answer in the
//! usual form, with the usual headers.

use bytes::Bytes;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST, HeaderName, HeaderValue,
    IF_RANGE, ORIGIN, TRANSFER_ENCODING,
};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode, Version};
use kedge_net::HEADERS_MAX;
use kedge_protocol::Code;

use crate::error::ApiError;

/// Header fields with a single value that decide the answer or its receiver. Of two, a proxy may believe one and this
/// server the other. Fields of signatures and idempotency keys are checked where they are read.
const SINGULAR: [HeaderName; 7] = [
    AUTHORIZATION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    HOST,
    IF_RANGE,
    ORIGIN,
    HeaderName::from_static("last-event-id"),
];

/// Overhead of a field according to RFC 9113, 6.5.2.
const FIELD_BYTES: usize = 32;

/// The status, if these bytes are an answer that hyper wrote by itself.
pub fn bare_status(bytes: &[u8]) -> Option<StatusCode> {
    let rest = bytes.strip_prefix(b"HTTP/1.")?;
    let is_whole = rest.get(1) == Some(&b' ') && bytes.ends_with(b"\r\n\r\n");
    let status = StatusCode::from_bytes(rest.get(2..5)?).ok()?;
    (is_whole && status.is_client_error()).then_some(status)
}

pub fn error_of(status: StatusCode, header_bytes_max: usize) -> ApiError {
    match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => {
            too_large(header_bytes_max)
        }
        _ => ApiError::new(
            Code::ValidationError,
            "the request is not HTTP/1.1: its request line or a header field is malformed (RFC 9112)",
        ),
    }
}

fn too_large(header_bytes_max: usize) -> ApiError {
    let message = format!(
        "the request line and the headers may have {header_bytes_max} bytes together, and {HEADERS_MAX} fields"
    );
    ApiError::new(Code::HeadersTooLarge, message)
}

/// Whether this is a host, optionally with a port, or empty (RFC 9110, 7.2).
fn is_host(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    bytes.is_empty() || !bytes.contains(&b'@') && Authority::try_from(bytes).is_ok()
}

/// Checks a request that hyper accepted: the host must be present and unambiguous, single-valued header fields must
/// occur once, and HTTP/2 headers must not be too large, since hyper's own limit gives no answer.
pub fn fault(parts: &Parts, header_bytes_max: usize) -> Option<ApiError> {
    let fault = if parts.version == Version::HTTP_2 {
        is_too_large(parts, header_bytes_max).then(|| too_large(header_bytes_max))
    } else {
        fault_of_host(parts).or_else(|| fault_of_coding(&parts.headers))
    };
    fault
        .or_else(|| fault_of_authority(parts))
        .or_else(|| fault_of_fields(&parts.headers))
}

fn is_too_large(parts: &Parts, header_bytes_max: usize) -> bool {
    let fields = parts.headers.iter();
    let bytes = fields.map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES);
    let path = parts.uri.path_and_query();
    let path = path.map_or(0, |path| path.as_str().len());
    path + bytes.sum::<usize>() > header_bytes_max || parts.headers.len() > HEADERS_MAX
}

fn fault_of_host(parts: &Parts) -> Option<ApiError> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let is_missing = first.is_none() && parts.version == Version::HTTP_11;
    let is_wrong = first.is_some_and(|host| !is_host(host));
    (is_missing || is_wrong || second.is_some()).then(|| {
        let message =
            "a request has exactly one Host header, with a host and perhaps a port (RFC 9112, 3.2)";
        ApiError::new(Code::ValidationError, message)
    })
}

/// hyper reads a list of codings that ends in `chunked` as just that; a proxy may not.
fn fault_of_coding(headers: &HeaderMap) -> Option<ApiError> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first_is_chunked = (codings.next()?.as_bytes()).eq_ignore_ascii_case(b"chunked");
    (!first_is_chunked || codings.next().is_some()).then(|| {
        let message = "the only Transfer-Encoding is chunked, once (RFC 9112, 6.1)";
        let refused = ApiError::new(Code::ValidationError, message);
        refused.with_header(CONNECTION, "close".to_owned())
    })
}

/// HTTP/2 names the host in `:authority`, and HTTP/1.1 may name it in the target. A `Host` field must agree.
fn fault_of_authority(parts: &Parts) -> Option<ApiError> {
    let authority = parts.uri.authority()?;
    if authority.as_str().contains('@') {
        let message = "the target holds a host and perhaps a port, but no user (RFC 9110, 4.2.4)";
        return Some(ApiError::new(Code::ValidationError, message));
    }
    let default_port = parts.uri.scheme().and_then(|scheme| match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    });
    let port = |of: &Authority| of.port_u16().or(default_port);
    let is_other = |host: &HeaderValue| match Authority::try_from(host.as_bytes()) {
        Ok(host) => {
            !host.host().eq_ignore_ascii_case(authority.host())
                || port(&host) != port(authority)
                || host.as_str().contains('@')
        }
        Err(_) => true,
    };
    let mut hosts = parts.headers.get_all(HOST).iter();
    hosts.any(is_other).then(|| {
        let message =
            "the Host header names another host than the target or :authority; send the same (RFC 9112, 3.2.2; RFC 9113, 8.3.1)";
        ApiError::new(Code::ValidationError, message)
    })
}

fn fault_of_fields(headers: &HeaderMap) -> Option<ApiError> {
    if headers.len() == headers.keys_len() {
        return None;
    }
    let is_repeated = |name: &HeaderName| headers.get_all(name).iter().nth(1).is_some();
    let repeated = SINGULAR.into_iter().find(is_repeated)?;
    let message = format!("{repeated} occurs more than once in the headers; send it once");
    Some(ApiError::new(Code::ValidationError, message))
}

/// Encodes an answer, after which the connection closes.
pub fn write(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Bytes {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    let mut field = |name: &str, value: &[u8]| {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    };
    for (name, value) in headers {
        field(name.as_str(), value.as_bytes());
    }
    let date = httpdate::fmt_http_date(std::time::SystemTime::now());
    field(DATE.as_str(), date.as_bytes());
    field(CONNECTION.as_str(), b"close");
    field(CONTENT_LENGTH.as_str(), body.len().to_string().as_bytes());
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_bare_refusal_is_one() {
        let refusal = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n";
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        assert_eq!(bare_status(refusal), Some(status));
        for other in [
            &b"HTTP/1.1 200 OK\r\n\r\n"[..],
            b"HTTP/1.1 400 Bad Request\r\n\r\n{}",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/1.1 4",
            b"GET / HTTP/1.1\r\n\r\n",
            b"",
        ] {
            assert_eq!(bare_status(other), None, "{}", other.escape_ascii());
        }
    }
}
