//! Answers whose body never changes while the server runs, such as the OpenAPI document: compressed once, here or at
//! build time, and sent in that form to callers that accept it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, HeaderValue, VARY};
use hyper::{HeaderMap, StatusCode};

use crate::preconditions::tag_of;
use crate::reply::HttpReply;
use kedge_net::coding::{AcceptedCodings, ContentCoding};

/// Coding used for compression at run time.
const GZIP: &str = ContentCoding::Gzip.name();

/// One encoding of a body.
struct EncodedForm {
    bytes: Bytes,
    /// Each encoding has its own strong tag (RFC 9110, 8.8.3.3).
    tag: String,
}

impl EncodedForm {
    fn new(bytes: Bytes) -> Self {
        let tag = format!("\"{}\"", tag_of(&bytes));
        Self { bytes, tag }
    }
}

/// An immutable body.
pub struct FixedBody {
    media_type: HeaderValue,
    plain: EncodedForm,
    /// Compressed forms by coding, best first.
    coded: Vec<(&'static str, EncodedForm)>,
}

impl FixedBody {
    /// Compresses the body once; answers share the result.
    pub fn new(media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(&body).and_then(|()| encoder.finish());
        let zipped = written.ok().map(|bytes| (GZIP, Bytes::from(bytes)));
        Self::with_forms(media_type, body, zipped)
    }

    /// Takes precompressed forms; `coded` lists them by coding, best first.
    pub fn with_forms(
        media_type: &'static str,
        plain: Bytes,
        coded: impl IntoIterator<Item = (&'static str, Bytes)>,
    ) -> Self {
        let form = |(coding, bytes)| (coding, EncodedForm::new(bytes));
        Self {
            media_type: HeaderValue::from_static(media_type),
            plain: EncodedForm::new(plain),
            coded: coded.into_iter().map(form).collect(),
        }
    }

    /// The answer to a request with these headers, or 304.
    pub fn reply(&self, headers: &HeaderMap, sequence: u64, cache: &'static str) -> HttpReply {
        let offered = self.coded.iter().map(|(coding, _)| *coding);
        let best = AcceptedCodings::of(headers).best(offered);
        let coded = best.and_then(|best| self.coded.iter().find(|(coding, _)| *coding == best));
        let form = coded.map_or(&self.plain, |(_, form)| form);
        let media_type = self.media_type.clone();
        let reply = HttpReply::bytes(StatusCode::OK, sequence, media_type, form.bytes.clone());
        let mut reply = reply.uncoded().tagged(headers, &form.tag, cache);
        reply
            .headers
            .append(VARY, HeaderValue::from_static("Accept-Encoding"));
        match coded {
            // A 304 has no body.
            Some((coding, _)) if reply.status == StatusCode::OK => {
                reply.with(CONTENT_ENCODING, coding)
            }
            _ => reply,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use hyper::header::{ACCEPT_ENCODING, ETAG, IF_NONE_MATCH};

    use super::*;
    use crate::stream::ReplyBody;

    fn asking(accepted: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
        headers
    }

    #[test]
    fn the_best_form_that_is_accepted_is_sent() {
        let coded = [("br", Bytes::from("b")), (GZIP, Bytes::from("g"))];
        let fixed = FixedBody::with_forms("text/plain", Bytes::from("plain"), coded);
        let coding = |accepted: &str| {
            let reply = fixed.reply(&asking(accepted), 1, "no-cache");
            let coding = reply.headers.get(CONTENT_ENCODING);
            coding.map(|coding| coding.to_str().unwrap().to_owned())
        };
        assert_eq!(coding("gzip, br").as_deref(), Some("br"));
        assert_eq!(coding("gzip, br;q=0").as_deref(), Some(GZIP));
        assert_eq!(coding("identity"), None);
    }

    #[test]
    fn both_forms_are_one_body_under_two_tags() {
        let text = "a text of which much is the same, the same, the same".repeat(100);
        let fixed = FixedBody::new("text/plain", text.clone());
        let bytes_of = |reply: HttpReply| match reply.body {
            ReplyBody::Whole(bytes) => bytes,
            ReplyBody::Stream(_) => panic!("it is whole"),
        };
        let plain = fixed.reply(&HeaderMap::new(), 1, "no-cache");
        let zipped = fixed.reply(&asking("gzip"), 1, "no-cache");
        let tag = zipped.headers[ETAG].clone();
        assert_ne!(plain.headers[ETAG], tag);
        assert!(!plain.headers.contains_key(CONTENT_ENCODING));
        assert_eq!(plain.headers[VARY], "Accept-Encoding");
        assert_eq!(zipped.headers[CONTENT_ENCODING], GZIP);
        assert_eq!(bytes_of(plain), text);
        let zipped = bytes_of(zipped);
        let mut read = String::new();
        GzDecoder::new(&zipped[..])
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, text);
        assert!(zipped.len() * 10 < text.len());
        let mut known = asking("gzip");
        known.insert(IF_NONE_MATCH, tag);
        let known = fixed.reply(&known, 1, "no-cache");
        assert_eq!(known.status, StatusCode::NOT_MODIFIED);
        assert!(!known.headers.contains_key(CONTENT_ENCODING));
        assert!(known.headers.contains_key(VARY));
    }
}
