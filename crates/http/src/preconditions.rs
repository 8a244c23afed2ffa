//! Conditional requests (RFC 9110, 13). The entity tag of a mutable resource names its version and the beginning of its
//! integrity hash. So the owning actor evaluates `If-Match` on its current state rather than on a snapshot that may
//! lag. Where a read shows more than the resource's state (a template's object count, spent nonces), a hash of the
//! answer is appended; `If-Match` ignores it, and the ending of a compressed form too.

use hyper::HeaderMap;
use hyper::header::IF_MATCH;
use kedge_actors::api::ExpectedVersion;
use kedge_net::coding;
use kedge_protocol::Code;
use kedge_protocol::hash::sha256;
use kedge_protocol::resource::ResourceTrace;

use crate::error::{ApiError, ApiResult};

pub fn entity_tag(trace: &ResourceTrace) -> String {
    let state = ExpectedVersion::of(trace);
    format!(
        "\"{}.{}\"",
        state.version,
        const_hex::encode(state.integrity)
    )
}

/// The entity tag of an answer that shows more than a resource's state.
pub fn answer_tag(trace: &ResourceTrace, answer: &[u8]) -> String {
    let state = ExpectedVersion::of(trace);
    let (version, integrity) = (state.version, const_hex::encode(state.integrity));
    format!("\"{version}.{integrity}.{}\"", tag_of(answer))
}

/// A tag for an answer's bytes: SHA-256, for which most processors have instructions.
pub fn tag_of(answer: &[u8]) -> String {
    const_hex::encode(sha256(answer).first_16())
}

fn state_of(tag: &str) -> Option<ExpectedVersion> {
    let (version, integrity) = coding::opaque_tag(tag)?.split_once('.')?;
    let integrity = integrity
        .split_once('.')
        .map_or(integrity, |(state, _)| state);
    let mut bytes = [0; 8];
    const_hex::decode_to_slice(integrity, &mut bytes).ok()?;
    Some(ExpectedVersion {
        version: version.parse().ok()?,
        integrity: bytes,
    })
}

/// The states named by `If-Match`; `None` if there is no condition or any state is accepted. Foreign tags match
/// nothing, and neither do weak ones (RFC 9110, 13.1.1): if all are weak, the error says so.
pub fn expected(headers: &HeaderMap) -> ApiResult<Option<Vec<ExpectedVersion>>> {
    let mut states = Vec::new();
    let mut are_all_weak = true;
    let mut conditions = headers.get_all(IF_MATCH).iter().peekable();
    if conditions.peek().is_none() {
        return Ok(None);
    }
    for condition in conditions {
        let condition = condition.to_str().map_err(|_| {
            ApiError::new(
                Code::PreconditionFailed,
                "If-Match must hold entity tags, as the ETag header gives them",
            )
        })?;
        for tag in condition.split(',').map(str::trim) {
            if tag == "*" {
                return Ok(None);
            }
            are_all_weak &= tag.starts_with("W/");
            states.extend(state_of(tag));
        }
    }
    if are_all_weak {
        return Err(ApiError::new(Code::PreconditionFailed, WEAK));
    }
    Ok(Some(states))
}

/// Error text for a request whose tags are all weak.
const WEAK: &str = "If-Match names weak tags alone (W/\"…\"), and a weak tag never matches. The tags of this service are \
     strong: a proxy that compresses has weakened this one. Read through it with \"Accept-Encoding: identity\", or let it \
     pass Accept-Encoding on, so that the service compresses";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<usize> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IF_MATCH, value.parse().unwrap());
        }
        expected(&headers).unwrap().map(|states| states.len())
    }

    #[test]
    fn tags_come_back_as_states() {
        let mut trace = ResourceTrace::NEW;
        trace.version = 12;
        trace.integrity.0[0] = 0xab;
        let tag = entity_tag(&trace);
        assert_eq!(tag, "\"12.ab00000000000000\"");
        assert_eq!(state_of(&tag), Some(ExpectedVersion::of(&trace)));
        let (one, other) = (answer_tag(&trace, b"{}"), answer_tag(&trace, b"[]"));
        assert_ne!(one, other);
        assert_eq!(state_of(&one), state_of(&other));
        assert_eq!(state_of(&one), Some(ExpectedVersion::of(&trace)));
    }

    #[test]
    fn conditions() {
        let tag = "\"1.0000000000000000\"";
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["*"]), None);
        assert_eq!(of(&[tag]), Some(1));
        assert_eq!(of(&[&format!("{tag}, {tag}"), tag]), Some(3));
        assert_eq!(of(&["\"1.0000000000000000-gzip\""]), Some(1));
        assert_eq!(of(&["W/\"1.0000000000000000\"", tag]), Some(1));
        for never in ["\"x\"", "1", "\"1.00\"", "\"1.0000000000000000-x\"", ""] {
            assert_eq!(of(&[never]), Some(0), "{never}");
        }
        let mut weak = HeaderMap::new();
        weak.insert(IF_MATCH, "W/\"1.0000000000000000\"".parse().unwrap());
        let error = expected(&weak).unwrap_err();
        assert_eq!(error.code, Code::PreconditionFailed);
        assert!(error.message.contains("weak"), "{}", error.message);
    }
}
