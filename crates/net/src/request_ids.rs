//! Request ids: the caller's own, or a new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use kedge_config::secrets::{self, SecretError};

/// Header with the id, on requests and answers.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const REQUEST_ID_BYTES_MAX: usize = 128;

/// Makes ids for requests without one: unique across restarts, cheap.
pub struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Chooses a random prefix that separates this process's ids from others'.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn new() -> Result<Self, SecretError> {
        Ok(Self {
            process: const_hex::encode(secrets::random::<6>()?),
            next: AtomicU64::new(1),
        })
    }

    pub fn of(&self, headers: &HeaderMap) -> Arc<str> {
        let brought = headers.get(REQUEST_ID).and_then(sane);
        brought.unwrap_or_else(|| self.next())
    }

    pub fn next(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.process).into()
    }
}

/// The caller's request id, if it is safe to write anywhere.
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
