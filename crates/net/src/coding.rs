//! Content codings of answers (RFC 9110, 8.4 and 12.5.3). Answers of more than [`CODED_BYTES_MIN`] bytes are compressed
//! for callers that accept it. Some are not, whatever the caller accepts:
//!
//! - Answers that show a secret: next to text that an attacker chooses, the compressed length would reveal the secret
//!   piece by piece (BREACH). Their rows in the table of endpoints say so.
//! - File contents: ranges, resumption and digests speak of the bytes that were uploaded.
//! - Event streams: thousands of open streams would each need a compressor's memory.
//!
//! The form of an answer is part of its entity tag, as `"tag-gzip"`. Conditions accept the tag of every form.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

/// Answers of at most this many bytes are not compressed.
pub const CODED_BYTES_MIN: usize = 1024;
/// Both compressors run at their fastest: an answer is compressed once and read once.
const ZSTD_LEVEL: i32 = 1;
const GZIP_LEVEL: Compression = Compression::fast();
/// Weight of a coding that the caller refuses.
const REFUSED: u16 = 0;
/// Default weight, in thousandths.
const WEIGHT_MAX: u16 = 1000;
/// Name of the uncompressed form.
const IDENTITY: &str = "identity";
/// Wildcard for codings that the caller does not list.
const ANY: &str = "*";
/// Endings of the tags of coded forms. Compressing proxies append the same.
const TAG_ENDINGS: [&str; 4] = ["-gzip", "-zstd", "-br", "-deflate"];

/// Content coding of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentCoding {
    /// RFC 8878.
    Zstd,
    /// RFC 1952.
    Gzip,
}

impl ContentCoding {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The caller's preferred coding; `None` for plain bytes.
    pub fn preferred(accepted: &AcceptedCodings) -> Option<Self> {
        let offered = [Self::Zstd, Self::Gzip];
        let name = accepted.best(offered.iter().map(|coding| coding.name()))?;
        offered.into_iter().find(|coding| coding.name() == name)
    }

    pub fn encode(self, body: &[u8]) -> io::Result<Bytes> {
        match self {
            Self::Zstd => Ok(zstd::bulk::compress(body, ZSTD_LEVEL)?.into()),
            Self::Gzip => CodingEncoder::new(self)?.finish(body),
        }
    }

    /// The entity tag with this coding's ending.
    pub fn tag(self, tag: &str) -> String {
        let inner = tag.strip_suffix('"').unwrap_or(tag);
        format!("{inner}-{}\"", self.name())
    }
}

/// The opaque part of a strong entity tag, without the ending of a coded form; `None` for other texts.
pub fn opaque_tag(tag: &str) -> Option<&str> {
    let opaque = tag.strip_prefix('"')?.strip_suffix('"')?;
    let plain = TAG_ENDINGS.iter().find_map(|end| opaque.strip_suffix(end));
    Some(plain.unwrap_or(opaque))
}

/// Streaming compressor.
pub enum CodingEncoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl CodingEncoder {
    pub fn new(coding: ContentCoding) -> io::Result<Self> {
        Ok(match coding {
            ContentCoding::Zstd => {
                Self::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?)
            }
            ContentCoding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), GZIP_LEVEL)),
        })
    }

    /// Encodes a piece and flushes, so a reader can decode everything so far.
    pub fn piece(&mut self, bytes: &[u8]) -> io::Result<Bytes> {
        let coded = match self {
            Self::Zstd(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Self::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(std::mem::take(coded).into())
    }

    /// Encodes the last piece.
    pub fn finish(self, bytes: &[u8]) -> io::Result<Bytes> {
        let coded = match self {
            Self::Zstd(mut encoder) => {
                encoder.write_all(bytes)?;
                encoder.finish()?
            }
            Self::Gzip(mut encoder) => {
                encoder.write_all(bytes)?;
                encoder.finish()?
            }
        };
        Ok(coded.into())
    }
}

/// A caller's `Accept-Encoding`. Without the header the caller gets plain bytes.
#[derive(Debug)]
pub struct AcceptedCodings<'a> {
    /// Codings with their weights, in thousandths.
    named: Vec<(&'a str, u16)>,
}

impl<'a> AcceptedCodings<'a> {
    pub fn of(headers: &'a HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        let members = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        let named = members.map(|member| {
            let (name, parameter) = member.split_once(';').unwrap_or((member, ""));
            (name.trim(), weight(parameter).unwrap_or(REFUSED))
        });
        Self {
            named: named.filter(|(name, _)| !name.is_empty()).collect(),
        }
    }

    /// The caller's best coding of those offered, the first of equal ones; `None` for plain bytes.
    pub fn best(&self, offered: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
        let plain = self.named(IDENTITY).unwrap_or(REFUSED);
        let mut best: Option<(&'static str, u16)> = None;
        for coding in offered {
            let weight = self.weight(coding);
            let least = best.map_or(plain.max(1), |(_, known)| known + 1);
            if weight >= least {
                best = Some((coding, weight));
            }
        }
        best.map(|(coding, _)| coding)
    }

    pub fn refuses_plain(&self) -> bool {
        let stated = self.named(IDENTITY).or_else(|| self.named(ANY));
        stated == Some(REFUSED)
    }

    fn weight(&self, coding: &str) -> u16 {
        if let Some(weight) = self.named(coding) {
            return weight;
        }
        if coding != ContentCoding::Gzip.name() {
            return REFUSED;
        }
        // gzip is the fallback for `*`, and has an old name (RFC 9110, 8.4.1.3).
        let any = self.named("x-gzip").or_else(|| self.named(ANY));
        any.unwrap_or(REFUSED)
    }

    fn named(&self, wanted: &str) -> Option<u16> {
        let mut named = self.named.iter();
        let found = named.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, weight)| *weight)
    }
}

/// Parses a weight (RFC 9110, 12.4.2), in thousandths.
fn weight(parameter: &str) -> Option<u16> {
    let parameter = parameter.trim();
    if parameter.is_empty() {
        return Some(WEIGHT_MAX);
    }
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value = value.trim();
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths: u16 = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(WEIGHT_MAX),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn asking(accepted: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
        headers
    }

    // Holds invariant 228.
    #[test]
    fn callers_get_what_they_prefer() {
        for (accepted, coding) in [
            ("gzip", Some(ContentCoding::Gzip)),
            ("br, GZIP;q=0.5", Some(ContentCoding::Gzip)),
            ("*", Some(ContentCoding::Gzip)),
            ("deflate, *;q=0.1", Some(ContentCoding::Gzip)),
            ("gzip; q=1", Some(ContentCoding::Gzip)),
            ("gzip ; Q = 0.001 ", Some(ContentCoding::Gzip)),
            ("x-gzip", Some(ContentCoding::Gzip)),
            ("gzip, deflate, br, zstd", Some(ContentCoding::Zstd)),
            ("gzip, zstd;q=0.9", Some(ContentCoding::Gzip)),
            ("identity, gzip", Some(ContentCoding::Gzip)),
            ("identity;q=0.5, gzip;q=0.2", None),
            ("identity;q=0, gzip;q=0.2", Some(ContentCoding::Gzip)),
            ("*;q=0, zstd", Some(ContentCoding::Zstd)),
            ("", None),
            ("identity", None),
            ("br", None),
            ("gzip;q=0", None),
            ("gzip;q=0.000, *", None),
            ("*;q=0", None),
            ("gzip;q=x", None),
            ("gzip;q=1.001", None),
            ("gzip;q=0.0001", None),
            ("gzip;q=inf", None),
            ("gzip;q=-1", None),
            ("gzip;level=1", None),
        ] {
            let headers = asking(accepted);
            let found = ContentCoding::preferred(&AcceptedCodings::of(&headers));
            assert_eq!(found, coding, "{accepted}");
        }
        let nothing = HeaderMap::new();
        assert_eq!(
            ContentCoding::preferred(&AcceptedCodings::of(&nothing)),
            None
        );
    }

    #[test]
    fn plain_bytes_can_be_refused() {
        for (accepted, refused) in [
            ("gzip", false),
            ("identity;q=0, gzip", true),
            ("*;q=0, gzip", true),
            ("*;q=0, identity;q=0.1", false),
            ("*", false),
        ] {
            let headers = asking(accepted);
            assert_eq!(
                AcceptedCodings::of(&headers).refuses_plain(),
                refused,
                "{accepted}"
            );
        }
    }

    #[test]
    fn tags_of_all_forms_are_one() {
        assert_eq!(ContentCoding::Gzip.tag("\"7.ab\""), "\"7.ab-gzip\"");
        for tag in ["\"7.ab\"", "\"7.ab-gzip\"", "\"7.ab-zstd\"", "\"7.ab-br\""] {
            assert_eq!(opaque_tag(tag), Some("7.ab"), "{tag}");
        }
        assert_eq!(opaque_tag("\"7.ab-x\""), Some("7.ab-x"));
        for none in ["W/\"7.ab\"", "7.ab", "\"", "*", ""] {
            assert_eq!(opaque_tag(none), None, "{none}");
        }
    }

    fn decoded(coding: ContentCoding, bytes: &[u8]) -> Vec<u8> {
        let mut read = Vec::new();
        match coding {
            ContentCoding::Zstd => read = zstd::decode_all(bytes).unwrap(),
            ContentCoding::Gzip => {
                let mut decoder = flate2::read::GzDecoder::new(bytes);
                decoder.read_to_end(&mut read).unwrap();
            }
        }
        read
    }

    #[test]
    fn what_is_coded_decodes() {
        let text = "a text of which much is the same, the same, the same\n".repeat(300);
        for coding in [ContentCoding::Zstd, ContentCoding::Gzip] {
            let whole = coding.encode(text.as_bytes()).unwrap();
            assert_eq!(decoded(coding, &whole), text.as_bytes());
            assert!(whole.len() * 10 < text.len(), "{}", whole.len());
            let mut encoder = CodingEncoder::new(coding).unwrap();
            let mut sent = Vec::new();
            for line in text.lines().take(5) {
                let piece = encoder.piece(line.as_bytes()).unwrap();
                assert!(!piece.is_empty());
                sent.extend(piece);
            }
            sent.extend(encoder.finish(b"end").unwrap());
            let read = String::from_utf8(decoded(coding, &sent)).unwrap();
            assert!(
                read.starts_with("a text") && read.ends_with("end"),
                "{read}"
            );
        }
    }
}
