//! CORS (the Fetch standard): which origins' pages may call, and which parts of an answer they may read. Preflights are
//! answered before anything is counted. This is no authentication: browsers send no credentials by themselves, and
//! other callers are not affected.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, StatusCode};

use crate::body::ACCEPT_PATCH;
use crate::error::ApiError;
use crate::reply::HttpReply;

const SENT: &str = "Accept, Authorization, Content-Digest, Content-Type, Idempotency-Key, If-Match, \
                    If-None-Match, If-Range, Last-Event-ID, Prefer, Range, X-Api-Key, X-Request-Id, \
                    X-Signature, X-Signature-Address, X-Signature-Deadline, X-Signature-Nonce, \
                    X-Signature-Salt, Traceparent, Tracestate";
/// Headers of an answer that a page may read besides the safelisted ones.
const READ: &str = "Accept-Patch, Accept-Ranges, Allow, Content-Digest, Content-Disposition, Content-Range, \
                    Deprecation, ETag, Idempotent-Replayed, Link, Location, RateLimit, \
                    RateLimit-Policy, Repr-Digest, Retry-After, Sunset, WWW-Authenticate, \
                    X-Nonce-Highest, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, \
                    X-Request-Id, X-Sequence";
/// `Access-Control-Max-Age`: the most that browsers accept.
const REMEMBERED_S: &str = "7200";
const ANY: &str = "*";

pub struct CorsPolicy {
    origins: Vec<String>,
}

/// CORS headers of one request's answers.
pub enum CorsAnswer {
    /// No headers: no origin is ever allowed.
    Unsaid,
    /// No other origin may read; the answer to another origin may differ.
    Nobody,
    Origin(HeaderValue),
    All,
}

impl CorsPolicy {
    pub fn new(origins: Vec<String>) -> Self {
        Self { origins }
    }

    pub fn readers(&self, headers: &HeaderMap) -> CorsAnswer {
        self.readers_of(headers.get(ORIGIN))
    }

    /// Like [`Self::readers`], for an unparsed request, whose origin is not always known. If only one origin is
    /// allowed, it is assumed.
    pub fn readers_of_unparsed(&self, origin: Option<&HeaderValue>) -> CorsAnswer {
        let readers = self.readers_of(origin);
        match (&readers, origin, self.origins.as_slice()) {
            (CorsAnswer::Nobody, None, [only]) => {
                HeaderValue::from_str(only).map_or(readers, CorsAnswer::Origin)
            }
            _ => readers,
        }
    }

    fn readers_of(&self, origin: Option<&HeaderValue>) -> CorsAnswer {
        if self.origins.is_empty() {
            return CorsAnswer::Unsaid;
        }
        if self.origins.iter().any(|origin| origin == ANY) {
            return CorsAnswer::All;
        }
        match origin {
            Some(origin) if self.origins.iter().any(|known| origin == known.as_str()) => {
                CorsAnswer::Origin(origin.clone())
            }
            _ => CorsAnswer::Nobody,
        }
    }
}

impl CorsAnswer {
    /// Answers a preflight; `None` for other requests. `refusal` is the answer that the request would get otherwise; it
    /// names the path's methods.
    pub fn preflight(
        &self,
        method: &Method,
        headers: &HeaderMap,
        refusal: &ApiError,
        sequence: u64,
    ) -> Option<HttpReply> {
        let may = matches!(self, Self::Origin(_) | Self::All);
        let asks =
            headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if *method != Method::OPTIONS || !may || !asks {
            return None;
        }
        let (_, methods) = refusal.headers.iter().find(|(name, _)| *name == ALLOW)?;
        let nothing = HeaderValue::from_static("text/plain");
        let mut reply = HttpReply::bytes(StatusCode::NO_CONTENT, sequence, nothing, Vec::new())
            .with(ACCESS_CONTROL_ALLOW_METHODS, methods)
            .with(ACCESS_CONTROL_ALLOW_HEADERS, SENT)
            .with(ACCESS_CONTROL_MAX_AGE, REMEMBERED_S);
        reply.headers.remove(CONTENT_TYPE);
        let mut stated = refusal.headers.iter();
        Some(match stated.find(|(name, _)| *name == ACCEPT_PATCH) {
            Some((name, types)) => reply.with(name.clone(), types),
            None => reply,
        })
    }

    pub fn write(&self, headers: &mut HeaderMap) {
        let origin = match self {
            Self::Unsaid => return,
            Self::Nobody => None,
            Self::Origin(origin) => Some(origin.clone()),
            Self::All => Some(HeaderValue::from_static(ANY)),
        };
        // With one value for all origins, caches cannot mix up answers.
        if !matches!(self, Self::All) {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(READ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(origins: &[&str], origin: Option<&'static str>) -> (Option<String>, bool) {
        let cors = CorsPolicy::new(origins.iter().map(ToString::to_string).collect());
        let origin = origin.map(HeaderValue::from_static);
        let mut headers = HeaderMap::new();
        cors.readers_of_unparsed(origin.as_ref())
            .write(&mut headers);
        let allowed = headers.get(ACCESS_CONTROL_ALLOW_ORIGIN);
        let allowed = allowed.map(|value| value.to_str().unwrap().to_owned());
        (allowed, headers.contains_key(VARY))
    }

    // Holds invariant 226.
    #[test]
    fn a_page_reads_the_refusal_of_what_could_not_be_parsed() {
        const A: &str = "https://a.example";
        const B: &str = "https://b.example";
        let allowed = |origin: &str| (Some(origin.to_owned()), true);
        assert_eq!(written(&[], Some(A)), (None, false));
        assert_eq!(written(&[ANY], None), (Some(ANY.to_owned()), false));
        assert_eq!(written(&[A], None), allowed(A));
        assert_eq!(written(&[A], Some(B)), (None, true));
        assert_eq!(written(&[A, B], None), (None, true));
        assert_eq!(written(&[A, B], Some(B)), allowed(B));
    }
}
