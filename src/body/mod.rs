//! Request bodies: read with a bound, in time, and as strict JSON whose errors say where.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderName};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, Code};
use crate::files::Upload;

pub(crate) use kedge_machine::pointer;
pub(crate) use kedge_machine::pointer::escape;
pub(crate) use kedge_protocol::json::Object;

/// The bodies' memory is counted in pieces of this size.
const PIECE_BYTES: usize = 1_024;

/// How bodies are read.
#[derive(Clone)]
pub struct Reader {
    bytes_max: usize,
    timeout: Duration,
    memory: Arc<Semaphore>,
}

/// A body as text, and the permit for its memory.
#[derive(Default, Debug)]
pub struct Text {
    /// The text.
    pub text: String,
    /// The file that came instead of a text.
    pub upload: Option<Box<Upload>>,
    _memory: Option<OwnedSemaphorePermit>,
}

impl Text {
    /// A body that was a file.
    pub(crate) fn of_upload(upload: Upload) -> Self {
        Self {
            upload: Some(Box::new(upload)),
            ..Self::default()
        }
    }
}

impl Reader {
    /// A reader of bodies of at most `bytes_max`, of `bytes_total_max` at one time together.
    pub fn new(bytes_max: usize, bytes_total_max: usize, timeout: Duration) -> Self {
        let pieces = (bytes_total_max / PIECE_BYTES).min(Semaphore::MAX_PERMITS);
        Self {
            bytes_max,
            timeout,
            memory: Arc::new(Semaphore::new(pieces)),
        }
    }

    /// Reads a body of JSON; what its headers say is checked before a byte of it is taken.
    pub async fn read(&self, headers: &HeaderMap, mut body: Incoming) -> Result<Text, ApiError> {
        check_type(headers)?;
        let announced = headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        let reading = async {
            let read = match announced {
                Some(bytes) if bytes > self.bytes_max => Err(self.too_large()),
                _ => self.collect(&mut body, announced.unwrap_or(0)).await,
            };
            if read.is_err() {
                self.discard(&mut body).await;
            }
            read
        };
        tokio::time::timeout(self.timeout, reading)
            .await
            .map_err(|_| late(self.timeout))?
    }

    /// Reads on without keeping anything, for as much as an allowed body has: many callers look at
    /// no answer before they have sent everything.
    async fn discard(&self, body: &mut Incoming) {
        let mut left = self.bytes_max;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            left = match left.checked_sub(bytes) {
                Some(left) => left,
                None => return,
            };
        }
    }

    /// Passes over the body of a request that is refused without reading it: a caller who is still sending
    /// when the connection closes never sees the answer. Who asked first whether to send is not made to.
    pub async fn pass_over(&self, headers: &HeaderMap, mut body: Incoming) {
        if headers.contains_key(EXPECT) {
            return;
        }
        // However it ends, the answer is the same.
        let _ = tokio::time::timeout(self.timeout, self.discard(&mut body)).await;
    }

    async fn collect(&self, body: &mut Incoming, announced: usize) -> Result<Text, ApiError> {
        let mut bytes = Vec::new();
        let mut memory: Option<OwnedSemaphorePermit> = None;
        let mut reserved = 0;
        self.reserve(&mut memory, &mut reserved, announced)?;
        bytes.reserve_exact(announced);
        while !body.is_end_stream() {
            let Some(frame) = body.frame().await else {
                break;
            };
            let frame = frame.map_err(|_| {
                ApiError::new(Code::ValidationError, "the body broke off before its end")
            })?;
            // Trailers say nothing here.
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > self.bytes_max {
                return Err(self.too_large());
            }
            self.reserve(&mut memory, &mut reserved, bytes.len() + data.len())?;
            bytes.extend_from_slice(&data);
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| ApiError::new(Code::MalformedJson, "the body is not UTF-8"))?;
        Ok(Text {
            text,
            upload: None,
            _memory: memory,
        })
    }

    /// Never waits: bodies that wait for each other's memory would wait for ever.
    fn reserve(
        &self,
        memory: &mut Option<OwnedSemaphorePermit>,
        reserved: &mut usize,
        bytes: usize,
    ) -> Result<(), ApiError> {
        let pieces = bytes.div_ceil(PIECE_BYTES);
        if pieces <= *reserved {
            return Ok(());
        }
        let more = u32::try_from(pieces - *reserved).map_err(|_| self.too_large())?;
        let permit = Arc::clone(&self.memory)
            .try_acquire_many_owned(more)
            .map_err(|_| ApiError::overloaded())?;
        *reserved = pieces;
        match memory {
            Some(held) => held.merge(permit),
            None => *memory = Some(permit),
        }
        Ok(())
    }

    fn too_large(&self) -> ApiError {
        let message = format!("the body is larger than {} bytes", self.bytes_max);
        // What is left of the body may stay unread, so nothing can follow it.
        ApiError::new(Code::PayloadTooLarge, message)
            .with_header(hyper::header::CONNECTION, "close".to_owned())
    }
}

/// What a caller is told whose body did not come in time.
pub(crate) fn late(timeout: Duration) -> ApiError {
    let seconds = timeout.as_secs();
    let message = format!("the body did not arrive within {seconds} s");
    ApiError::new(Code::ValidationError, message)
        .with_header(hyper::header::CONNECTION, "close".to_owned())
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap_or("unreadable"))
}

/// Refuses bodies that are encoded.
pub(crate) fn check_coding(headers: &HeaderMap) -> Result<(), ApiError> {
    match header(headers, &CONTENT_ENCODING) {
        Some(coding) if !coding.eq_ignore_ascii_case("identity") => Err(ApiError::new(
            Code::UnsupportedMediaType,
            format!("Content-Encoding {coding:?} is not taken; send the body as it is"),
        )),
        _ => Ok(()),
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    check_coding(headers)?;
    let content_type = header(headers, &CONTENT_TYPE).unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    let is_utf8 = parts.all(|parameter| {
        parameter.split_once('=').is_none_or(|(name, value)| {
            !name.eq_ignore_ascii_case("charset") || is_utf8_name(value)
        })
    });
    if is_json && is_utf8 {
        return Ok(());
    }
    Err(ApiError::new(
        Code::UnsupportedMediaType,
        format!("the body must be application/json in UTF-8, not {content_type:?}"),
    ))
}

fn is_utf8_name(value: &str) -> bool {
    let value = value.trim_matches('"');
    value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
}

/// Checks that a whole body is acceptable JSON: no key twice, not too deep.
pub fn check(text: &str) -> Result<(), ApiError> {
    kedge_machine::json::check(text)
        .map_err(|error| ApiError::new(Code::MalformedJson, format!("the body: {error}")))
}

/// Reads a body that [`check`] accepted into a type.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    check(text)?;
    let read: Result<Object<T>, _> = serde_json::from_str(text);
    read.map(|object| object.0)
        .map_err(|error| of_serde(text, &error))
}

/// Turns serde's words into an error with a pointer. serde names members in backticks and says how
/// far it had read.
pub fn of_serde(text: &str, error: &serde_json::Error) -> ApiError {
    // What is no JSON at all has no member that could be wrong.
    if let Err(malformed) = check(text) {
        return malformed;
    }
    let said = error.to_string();
    if !error.is_data() {
        return ApiError::new(Code::MalformedJson, format!("the body: {said}"));
    }
    let said = said
        .rsplit_once(" at line ")
        .map_or(said.as_str(), |(said, _)| said);
    let place = pointer::place_at(text, pointer::offset_of(text, error.line(), error.column()));
    let member = said.split('`').nth(1).unwrap_or_default();
    let of_member = || format!("{}/{}", place.container, escape(member));
    if said.starts_with("unknown field") {
        ApiError::field(&of_member(), "unknown", "is not known here; remove it")
    } else if said.starts_with("duplicate field") {
        ApiError::new(
            Code::MalformedJson,
            format!("the body: key {member:?} stands twice"),
        )
    } else if said.starts_with("missing field") {
        ApiError::field(&of_member(), "required", "is required")
    } else {
        ApiError::field(&place.value, "type", format!("is wrong: {said}"))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use serde::Deserialize;

    use super::*;
    use crate::error::Detail;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(rename = "items")]
        _items: Vec<Inner>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(rename = "name")]
        _name: String,
    }

    #[test]
    fn errors_say_where() {
        let cases = [
            (
                r#"{"items": [{"name": "a"}, {"name": 5}]}"#,
                "/items/1/name",
                "type",
            ),
            (
                r#"{"items": [{"name": "a"}, {"nam": 5}]}"#,
                "/items/1/nam",
                "unknown",
            ),
            (
                r#"{"items": [{"name": "a"}, {}]}"#,
                "/items/1/name",
                "required",
            ),
            (r#"{"items": [{"name": ["a"]}]}"#, "/items/0/name", "type"),
            (r#"{"items": [], "x": 1}"#, "/x", "unknown"),
            (r#"{"items": 7}"#, "/items", "type"),
            ("{}", "/items", "required"),
            (r#"["a"]"#, "", "type"),
            (" 5", "", "type"),
        ];
        for (text, pointer, code) in cases {
            let error = parse::<Outer>(text).unwrap_err();
            let Detail::Fields(fields) = &error.detail else {
                panic!("{text}: {error:?}")
            };
            assert_eq!(
                (fields[0].pointer.as_str(), fields[0].code),
                (pointer, code),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_json_is_malformed() {
        let deep = format!(r#"{{"items": {}1{}}}"#, "[".repeat(80), "]".repeat(80));
        for text in [
            "",
            "{",
            "{]",
            r#"{"items": [], "items": []}"#,
            "{} {}",
            deep.as_str(),
        ] {
            assert_eq!(
                parse::<Outer>(text).unwrap_err().code,
                Code::MalformedJson,
                "{text}"
            );
        }
    }

    #[test]
    fn only_plain_json_is_taken() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(value));
            headers
        };
        for good in ["application/json", "Application/JSON; charset=\"UTF-8\""] {
            assert!(check_type(&of(good)).is_ok(), "{good}");
        }
        for bad in [
            "text/json",
            "application/json; charset=latin1",
            "",
            "application/x-www-form-urlencoded",
        ] {
            let error = check_type(&of(bad)).unwrap_err();
            assert_eq!(error.code, Code::UnsupportedMediaType, "{bad}");
        }
        let mut zipped = of("application/json");
        zipped.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(
            check_type(&zipped).unwrap_err().code,
            Code::UnsupportedMediaType
        );
    }
}
