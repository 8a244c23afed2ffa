//! Reading of request bodies: bounded, timed, and as strict JSON with located errors. Memory is taken as a body
//! arrives; beyond 16 KiB it counts on the caller's share. Whatever becomes of the request, the rest of its body is
//! drained up to a bound, so that the answer reaches a caller that is still sending.

mod incoming;
mod public_pool;

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use kedge_config::Config;
use kedge_protocol::Code;
use kedge_rules::json;
use mime::Mime;
use serde::Deserialize;

use crate::error::{ApiError, ApiResult};
use crate::files::FileUpload;
use crate::limits::budget::BODY_BYTES;
use crate::limits::{BudgetReservation, ShareHolder, SharedBudget};
use public_pool::{PublicBodyPool, PublicBodyShare};

pub use incoming::{BodyInterruption, IncomingBody};
pub use kedge_protocol::json::JsonObject;
pub use kedge_rules::pointer::escape;

/// Size limit without credentials, in bytes. The longest registration, written entirely in escapes, has about 12,000.
pub const PUBLIC_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a body outside every budget: the permits for requests bound them.
const SMALL_BYTES: usize = 16 * 1024;
/// Divisor: the part of the budget for bodies without credentials, and the part of that for one address.
const PUBLIC_PART: usize = 16;
const ADDRESS_PART: usize = 8;
/// Time for which the rest of a body is drained after its answer.
pub const LINGER: Duration = Duration::from_secs(10);
/// Bytes drained at most.
pub const LINGER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Initial capacity for a body, unless the body is shorter or has no credentials.
const ROOM_BYTES_MIN: usize = 4 * 1024;
const PUBLIC_ROOM_BYTES_MIN: usize = 512;
/// `Accept-Patch` (RFC 5789, 3.1): media types accepted by PATCH.
pub const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");
/// JSON Merge Patch (RFC 7396), the format of every PATCH.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
pub const PATCH_TYPES: &str = "application/merge-patch+json, application/json";
/// JSON Patch (RFC 6902), which is refused: a list of operations rather than a partial document.
const JSON_PATCH: &str = "application/json-patch+json";
/// Bytes of a multipart body in addition to its file.
pub const FRAME_BYTES_MAX: u64 = 64 * 1024;

#[derive(Clone)]
pub struct BodyReader {
    bytes_max: usize,
    timeout: Duration,
    bytes_per_s_min: u64,
    /// Bytes of an unwanted body that are drained.
    passed_bytes_max: u64,
    /// Memory for bodies with credentials, and for the others.
    memory: Arc<SharedBudget>,
    public_memory: Arc<PublicBodyPool>,
}

/// A body's text with its share of the memory.
#[derive(Default, Debug)]
pub struct BodyText {
    pub text: String,
    /// The uploaded file, in place of a text.
    pub upload: Option<Box<FileUpload>>,
    _memory: Option<BudgetReservation>,
}

impl BodyText {
    pub fn of_upload(upload: FileUpload) -> Self {
        Self {
            upload: Some(Box::new(upload)),
            ..Self::default()
        }
    }
}

impl BodyReader {
    pub fn new(config: &Config) -> Self {
        let all = config.body_bytes_total_max;
        let public = (all / PUBLIC_PART).max(ADDRESS_PART * PUBLIC_BYTES_MAX);
        let file = config.file_bytes_max.saturating_add(FRAME_BYTES_MAX);
        Self {
            bytes_max: config.body_bytes_max,
            timeout: Duration::from_secs(config.body_timeout_s),
            bytes_per_s_min: config.body_bytes_per_s_min,
            passed_bytes_max: file.max(config.body_bytes_max as u64),
            memory: SharedBudget::new(BODY_BYTES, all, config.body_bytes_per_caller),
            public_memory: PublicBodyPool::new(public, public / ADDRESS_PART),
        }
    }

    pub fn arriving(&self, headers: &HeaderMap, body: Incoming) -> IncomingBody {
        IncomingBody::new(headers, body, self.bytes_per_s_min)
    }

    /// Reads a JSON body, after checking its headers. Without credentials (`is_public`) it must be short.
    pub async fn read(
        &self,
        headers: &HeaderMap,
        body: &mut IncomingBody,
        holder: ShareHolder,
        is_public: bool,
    ) -> ApiResult<BodyText> {
        check_type(headers)?;
        let most = if is_public {
            self.bytes_max.min(PUBLIC_BYTES_MAX)
        } else {
            self.bytes_max
        };
        if body.announced().is_some_and(|bytes| bytes > most as u64) {
            return Err(too_large(most));
        }
        let public = is_public.then(|| self.public_memory.part(holder));
        let gives_way = public
            .as_ref()
            .map(PublicBodyShare::gives_way)
            .unwrap_or_default();
        let mut gathered = BodyBuffer {
            reader: self,
            holder,
            most,
            announced: body.announced().map(|bytes| bytes as usize),
            bytes: Vec::new(),
            memory: None,
            public,
        };
        let reading = async {
            tokio::select! {
                biased;
                () = gives_way.notified() => Err(ApiError::overloaded()),
                read = gathered.read(body) => read,
            }
        };
        let Ok(read) = tokio::time::timeout(self.timeout, reading).await else {
            body.give_up();
            return Err(late(self.timeout));
        };
        read?;
        gathered.finish()
    }

    /// Drains the rest of a body whose request has its answer: many callers read no answer before they have sent
    /// everything. False if the rest is too long or too slow, or the caller waits for `100 Continue`.
    pub async fn pass_over(&self, body: &mut IncomingBody) -> bool {
        if body.is_over() {
            return true;
        }
        if !body.can_pass(self.passed_bytes_max) {
            return false;
        }
        let passing = body.discard(self.passed_bytes_max);
        let passed = tokio::time::timeout(self.timeout, passing).await;
        if passed.is_err() {
            body.give_up();
        }
        passed == Ok(true)
    }

    /// Drains the rest over HTTP/2, where an answer leaves before its request has ended, up to limits of time and size.
    /// A stream that is no longer read is reset, and some clients (curl 7.88) then drop the answer.
    pub fn linger(mut body: IncomingBody) {
        if body.may_come() {
            tokio::spawn(async move {
                // The answer has been sent in any case.
                let _ended = tokio::time::timeout(LINGER, body.discard(LINGER_BYTES_MAX)).await;
            });
        }
    }
}

struct BodyBuffer<'a> {
    reader: &'a BodyReader,
    holder: ShareHolder,
    most: usize,
    announced: Option<usize>,
    bytes: Vec<u8>,
    memory: Option<BudgetReservation>,
    public: Option<PublicBodyShare>,
}

impl BodyBuffer<'_> {
    async fn read(&mut self, body: &mut IncomingBody) -> ApiResult<()> {
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(of_broken)?;
            let bytes = self.bytes.len() + piece.len();
            if bytes > self.most {
                return Err(too_large(self.most));
            }
            if bytes > self.bytes.capacity() {
                self.make_room(bytes)?;
            }
            self.bytes.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// Grows the buffer for the bytes that have arrived, at least doubling it. The capacity counts, because it is what
    /// takes memory. Never waits: bodies waiting for each other's memory would deadlock.
    fn make_room(&mut self, bytes: usize) -> ApiResult<()> {
        let end = self.announced.unwrap_or(self.most);
        let least = match self.public {
            Some(_) => PUBLIC_ROOM_BYTES_MIN,
            None => ROOM_BYTES_MIN,
        };
        let room = (2 * self.bytes.capacity()).max(least);
        let room = room.min(end).max(bytes);
        match (&mut self.public, &mut self.memory) {
            (Some(part), _) => part.grow_to(room)?,
            (None, Some(held)) => held.grow_to(room)?,
            (None, None) if room <= SMALL_BYTES => {}
            (None, None) => self.memory = Some(self.reader.memory.hold(self.holder, room)?),
        }
        self.bytes.reserve_exact(room - self.bytes.len());
        Ok(())
    }

    fn finish(self) -> ApiResult<BodyText> {
        let text = String::from_utf8(self.bytes)
            .map_err(|_| ApiError::new(Code::MalformedJson, "the body is not UTF-8"))?;
        Ok(BodyText {
            text,
            upload: None,
            _memory: self.memory,
        })
    }
}

fn too_large(bytes_max: usize) -> ApiError {
    let message = format!("the body is larger than {bytes_max} bytes");
    ApiError::new(Code::PayloadTooLarge, message)
}

pub fn of_broken(broken: BodyInterruption) -> ApiError {
    ApiError::new(Code::ValidationError, broken.to_string())
}

/// Error for an unwanted body that cannot be drained.
pub fn unwanted() -> ApiError {
    let message = "this request takes no body: the one that was announced is too large, too slow, or waits for 100 Continue";
    ApiError::new(Code::ValidationError, message)
}

pub fn late(timeout: Duration) -> ApiError {
    let seconds = timeout.as_secs();
    let message = format!("the body did not arrive within {seconds} s");
    ApiError::new(Code::ValidationError, message)
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap_or("unreadable"))
}

/// Refuses compressed bodies.
pub fn check_coding(headers: &HeaderMap) -> ApiResult<()> {
    match header(headers, &CONTENT_ENCODING) {
        Some(coding) if !coding.eq_ignore_ascii_case("identity") => Err(ApiError::new(
            Code::UnsupportedMediaType,
            format!("Content-Encoding {coding:?} is not supported; send the body uncompressed"),
        )),
        _ => Ok(()),
    }
}

fn check_type(headers: &HeaderMap) -> ApiResult<()> {
    check_coding(headers)?;
    let content_type = header(headers, &CONTENT_TYPE).unwrap_or_default();
    if content_type
        .parse()
        .is_ok_and(|given: Mime| is_json(&given) && is_utf8(&given))
    {
        return Ok(());
    }
    Err(ApiError::new(
        Code::UnsupportedMediaType,
        format!(
            "the body must be JSON in UTF-8 (application/json, or a type with +json such as {MERGE_PATCH}), not {content_type:?}"
        ),
    ))
}

/// Whether a media type is JSON (RFC 6839, 3.1).
fn is_json(given: &Mime) -> bool {
    let is_plain = given.essence_str() == mime::APPLICATION_JSON.essence_str();
    let has_suffix = given.type_() == mime::APPLICATION && given.suffix() == Some(mime::JSON);
    is_plain || has_suffix && given.essence_str() != JSON_PATCH
}

fn is_utf8(given: &Mime) -> bool {
    given
        .get_param(mime::CHARSET)
        .is_none_or(|charset| charset == mime::UTF_8 || charset == "utf8")
}

/// Checks that a body is acceptable JSON: no duplicate keys, not too deep.
pub fn check(text: &str) -> ApiResult<()> {
    Ok(json::check(text).map_err(json::JsonReadError::from)?)
}

pub fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> ApiResult<T> {
    Ok(json::read(text)?)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use crate::error::ErrorDetail;

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
            (r#"{"items": [], "a/b": 1}"#, "/a~1b", "unknown"),
            (r#"{"items": 7}"#, "/items", "type"),
            ("{}", "/items", "required"),
            (r#"["a"]"#, "", "type"),
            (" 5", "", "type"),
        ];
        for (text, pointer, code) in cases {
            let error = parse::<Outer>(text).unwrap_err();
            let ErrorDetail::Fields(fields) = &error.detail else {
                panic!("{text}: {error:?}")
            };
            assert_eq!(
                (fields[0].pointer.as_str(), &*fields[0].code),
                (pointer, code),
                "{text}"
            );
        }
    }

    #[test]
    fn lists_of_a_fixed_length_are_no_longer_and_no_shorter() {
        type Pairs = std::collections::BTreeMap<String, [bool; 2]>;

        for (text, pointer) in [
            (r#"{"a": [true]}"#, "/a/0"),
            (r#"{"a": [5, true]}"#, "/a/0"),
            (r#"{"a": [true, 5]}"#, "/a/1"),
        ] {
            let error = parse::<Pairs>(text).unwrap_err();
            assert!(error.message.starts_with(pointer), "{error:?}");
        }
        let error = parse::<Pairs>(r#"{"a": [true, true, true]}"#).unwrap_err();
        assert_eq!(error.code, Code::MalformedJson);
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
    fn json_is_taken_under_its_names() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(value));
            headers
        };
        for good in [
            "application/json",
            "Application/JSON; charset=\"UTF-8\"",
            "application/json;charset=utf8; v=\"1; charset=latin1\"",
            "application/merge-patch+json",
            "application/merge-patch+JSON; charset=utf-8",
            "application/vnd.api+json",
        ] {
            assert!(check_type(&of(good)).is_ok(), "{good}");
        }
        for bad in [
            "text/json",
            "text/x+json",
            "application/jsonp",
            "application/x-json",
            "application/json, application/json",
            "application/json-patch+json",
            "application/merge-patch+json; charset=utf-16",
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
