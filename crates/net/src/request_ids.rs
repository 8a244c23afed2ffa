//! Ids of requests: a caller's own, or one that is made here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use kedge_config::secrets::{self, SecretError};

/// The header with the id, of requests and of answers.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is adopted from a caller.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Ids for requests without one: unique across restarts, cheap to make.
pub struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that no other process makes.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn new() -> Result<Self, SecretError> {
        Ok(Self {
            process: const_hex::encode(secrets::random::<6>()?),
            next: AtomicU64::new(1),
        })
    }

    /// The id of a request with these headers.
    pub fn of(&self, headers: &HeaderMap) -> Arc<str> {
        let brought = headers.get(REQUEST_ID).and_then(sane);
        brought.unwrap_or_else(|| self.next())
    }

    /// The next id.
    pub fn next(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.process).into()
    }
}

/// A client's request id, if it can safely be written anywhere.
fn sane(value: &HeaderValue) -> Option<Arc<str>> {
    let text = value.to_str().ok()?;
    let is_sane = !text.is_empty()
        && text.len() <= REQUEST_ID_BYTES_MAX
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    is_sane.then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_adopted_if_sane() {
        let sane = |text: &str| sane(&HeaderValue::from_str(text).unwrap());
        assert_eq!(sane("a-1.b_C").as_deref(), Some("a-1.b_C"));
        for bad in ["", "a b", "a\"b", "a/b", &"x".repeat(129)] {
            assert_eq!(sane(bad), None, "{bad}");
        }
    }
}
