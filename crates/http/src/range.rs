//! Byte ranges (RFC 9110, 14). A request for several ranges gets the whole content, as the RFC allows.

use http_range_header::parse_range_header;
use hyper::HeaderMap;
use hyper::header::{IF_RANGE, RANGE};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentRange {
    Whole,
    /// Inclusive range.
    Range {
        first: u64,
        last: u64,
    },
    /// No existing byte.
    Unsatisfiable,
}

/// The part of a content of `size_bytes` and this strong tag that the headers request. A malformed `Range`, or one
/// whose `If-Range` names another content, is ignored.
pub fn asked(headers: &HeaderMap, size_bytes: u64, tag: &str) -> ContentRange {
    let mut ranges = headers.get_all(RANGE).iter();
    let (Some(range), None) = (ranges.next(), ranges.next()) else {
        return ContentRange::Whole;
    };
    // A date never matches: contents have only a tag.
    if headers.get(IF_RANGE).is_some_and(|known| known != tag) {
        return ContentRange::Whole;
    }
    let Ok(asked) = parse_range_header(range.to_str().unwrap_or_default()) else {
        return ContentRange::Whole;
    };
    if asked.len() > 1 {
        return ContentRange::Whole;
    }
    // An empty content has no ranges.
    match asked.validate(size_bytes).unwrap_or_default().first() {
        Some(range) => ContentRange::Range {
            first: *range.start(),
            last: *range.end(),
        },
        None => ContentRange::Unsatisfiable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(range: &str, size_bytes: u64) -> ContentRange {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, range.parse().unwrap());
        asked(&headers, size_bytes, "\"t\"")
    }

    #[test]
    fn one_range_is_understood() {
        let range = |first, last| ContentRange::Range { first, last };
        assert_eq!(of("bytes=0-0", 10), range(0, 0));
        assert_eq!(of("bytes=2-", 10), range(2, 9));
        assert_eq!(of("Bytes=2-99", 10), range(2, 9));
        assert_eq!(of("bytes=-3", 10), range(7, 9));
        assert_eq!(of("bytes=-99", 10), range(0, 9));
        assert_eq!(of("bytes=9-99999999999999999999999", 10), range(9, 9));
        for beyond in [
            "bytes=10-",
            "bytes=10-20",
            "bytes=-0",
            "bytes=99999999999999999999999-",
        ] {
            assert_eq!(of(beyond, 10), ContentRange::Unsatisfiable, "{beyond}");
        }
        assert_eq!(of("bytes=0-", 0), ContentRange::Unsatisfiable);
        assert_eq!(of("bytes=-1", 0), ContentRange::Unsatisfiable);
        for other in [
            "bytes=",
            "bytes=-",
            "bytes=5-4",
            "bytes=a-b",
            "bytes=1-2,4-5",
            "lines=1-2",
            "bytes=+1-2",
            "1-2",
        ] {
            assert_eq!(of(other, 10), ContentRange::Whole, "{other}");
        }
    }

    #[test]
    fn if_range_wants_the_very_content() {
        let mut headers = HeaderMap::new();
        assert_eq!(asked(&headers, 10, "\"t\""), ContentRange::Whole);
        headers.insert(RANGE, "bytes=1-1".parse().unwrap());
        let range = ContentRange::Range { first: 1, last: 1 };
        for (known, part) in [
            ("\"t\"", range),
            ("W/\"t\"", ContentRange::Whole),
            ("\"u\"", ContentRange::Whole),
            ("Sat, 01 Jan 2000 00:00:00 GMT", ContentRange::Whole),
        ] {
            headers.insert(IF_RANGE, known.parse().unwrap());
            assert_eq!(asked(&headers, 10, "\"t\""), part, "{known}");
        }
        headers.remove(IF_RANGE);
        headers.append(RANGE, "bytes=2-2".parse().unwrap());
        assert_eq!(asked(&headers, 10, "\"t\""), ContentRange::Whole);
    }
}
