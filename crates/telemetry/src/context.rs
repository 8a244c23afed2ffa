//! Headers of W3C Trace Context, level 2: `traceparent` names the caller's span, `tracestate` carries data of other
//! systems. A malformed `traceparent` is ignored, and the trace begins here.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use kedge_actors::timing::SpanRef;
use opentelemetry::trace::TraceState;

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Flag of a recorded trace.
pub(crate) const SAMPLED: u8 = 1;
/// Flag of a random trace id.
pub(crate) const RANDOM: u8 = 2;
const KNOWN_FLAGS: u8 = SAMPLED | RANDOM;

/// Bytes of a `traceparent` of version 00; later versions have at least as many.
const PARENT_BYTES: usize = 55;
/// Size limit of an adopted `tracestate`. The standard asks for 512.
const STATE_BYTES_MAX: usize = 1_024;
/// Limit of list members in the standard.
const STATE_MEMBERS_MAX: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ParentSpan {
    pub(crate) span: SpanRef,
    pub(crate) flags: u8,
}

impl ParentSpan {
    /// The caller records its part of the trace.
    pub(crate) fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The caller's span according to the headers; `None` if they name none, or several.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next()?;
        if values.next().is_some() {
            return None;
        }
        Self::parse(value.as_bytes())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        if text.len() < PARENT_BYTES || [2, 35, 52].iter().any(|at| text[*at] != b'-') {
            return None;
        }
        let version = number(&text[..2])?;
        let is_longer = text.len() > PARENT_BYTES;
        // Version ff is forbidden; 00 ends here, and later ones separate additions by a dash.
        if version == 0xff || (is_longer && (version == 0 || text[PARENT_BYTES] != b'-')) {
            return None;
        }
        let span = SpanRef {
            trace_id: number(&text[3..35])?,
            span_id: u64::try_from(number(&text[36..52])?).ok()?,
        };
        let flags = u8::try_from(number(&text[53..55])?).ok()? & KNOWN_FLAGS;
        (span.trace_id != 0 && span.span_id != 0).then_some(Self { span, flags })
    }
}

/// Parses lower-case hexadecimal digits.
fn number(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0u128, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u128::from(digit))
    })
}

pub(crate) fn traceparent(span: SpanRef, flags: u8) -> Option<HeaderValue> {
    let SpanRef { trace_id, span_id } = span;
    let text = format!("00-{trace_id:032x}-{span_id:016x}-{flags:02x}");
    HeaderValue::from_str(&text).ok()
}

/// The caller's `tracestate`; empty if it is malformed.
pub(crate) fn trace_state(headers: &HeaderMap) -> TraceState {
    state(headers).unwrap_or_default()
}

fn state(headers: &HeaderMap) -> Option<TraceState> {
    let mut text = String::new();
    for value in headers.get_all(TRACESTATE) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(value.to_str().ok()?);
        if text.len() > STATE_BYTES_MAX {
            return None;
        }
    }
    let members = || {
        text.split(',')
            .map(|member| member.trim_matches([' ', '\t']))
            .filter(|member| !member.is_empty())
    };
    let is_member = |member: &str| {
        member
            .split_once('=')
            .is_some_and(|(_, value)| !value.is_empty() && !value.contains('='))
    };
    if members().count() > STATE_MEMBERS_MAX || !members().all(is_member) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn headers(fields: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn parent(value: &str) -> Option<ParentSpan> {
        ParentSpan::of(&headers(&[("traceparent", value)]))
    }

    #[test]
    fn a_parent_is_read_and_written_as_the_standard_says() {
        let value = format!("00-{TRACE}-{SPAN}-01");
        let read = parent(&value).unwrap();
        assert_eq!(
            read.span.trace_id,
            0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c
        );
        assert_eq!(read.span.span_id, 0xb7ad_6b71_6920_3331);
        assert!(read.is_sampled());
        assert_eq!(traceparent(read.span, read.flags).unwrap(), value.as_str());
        let small = SpanRef {
            trace_id: 1,
            span_id: 2,
        };
        assert_eq!(
            traceparent(small, 3).unwrap(),
            "00-00000000000000000000000000000001-0000000000000002-03"
        );
    }

    // Holds invariant 197.
    /// The cases of the standard's test suite (w3c/trace-context, `test/test.py`), with other ids, and more of ours.
    #[test]
    fn the_suites_cases_of_traceparent_are_decided_as_there() {
        let valid = [
            // Undefined flags are ignored.
            (format!("00-{TRACE}-{SPAN}-ff"), 3),
            (format!("00-{TRACE}-{SPAN}-00"), 0),
            (format!("00-{TRACE}-{SPAN}-02"), 2),
            // Later versions: the same beginning, and more after a dash.
            (format!("cc-{TRACE}-{SPAN}-01"), 1),
            (
                format!("cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like"),
                1,
            ),
            (format!("01-{TRACE}-{SPAN}-09"), 1),
        ];
        for (value, flags) in &valid {
            assert_eq!(
                parent(value).map(|parent| parent.flags),
                Some(*flags),
                "{value}"
            );
        }
        let zeros = |count| "0".repeat(count);
        let invalid = [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}-01-what-the-future-will-be-like"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01.what"),
            format!("cc-{TRACE}-{SPAN}-01.what-the-future-will-be-like"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!(".0-{TRACE}-{SPAN}-01"),
            format!("0.-{TRACE}-{SPAN}-01"),
            format!("000-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", zeros(32)),
            format!("00-{TRACE}-{}-01", zeros(16)),
            format!("00-.{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}0-{SPAN}-01"),
            format!("00-{TRACE}-.{}-01", &SPAN[1..]),
            format!("00-{TRACE}-{}-01", &SPAN[1..]),
            format!("00-{TRACE}-{SPAN}0-01"),
            format!("00-{TRACE}-{SPAN}-.0"),
            format!("00-{TRACE}-{SPAN}-0."),
            format!("00-{TRACE}-{SPAN}-001"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", SPAN.to_uppercase()),
            format!("00_{TRACE}-{SPAN}-01"),
        ];
        for value in &invalid {
            assert_eq!(parent(value), None, "{value}");
        }
        let value = format!("00-{TRACE}-{SPAN}-01");
        let twice = headers(&[("traceparent", &value), ("TraceParent", &value)]);
        assert_eq!(ParentSpan::of(&twice), None);
        assert_eq!(ParentSpan::of(&HeaderMap::new()), None);
        assert!(ParentSpan::of(&headers(&[("TrAcEpArEnT", &value)])).is_some());
        assert!(ParentSpan::of(&headers(&[("trace-parent", &value)])).is_none());
    }

    // Holds invariant 197.
    #[test]
    fn a_state_is_adopted_whole_or_not_at_all() {
        let read = |values: &[&str]| {
            let fields: Vec<_> = values.iter().map(|value| ("tracestate", *value)).collect();
            trace_state(&headers(&fields)).header()
        };
        assert_eq!(read(&["foo=1"]), "foo=1");
        assert_eq!(read(&["foo=1,bar=2", "rojo=1"]), "foo=1,bar=2,rojo=1");
        assert_eq!(
            read(&["foo=1 \t , \t bar=2, \t baz=3"]),
            "foo=1,bar=2,baz=3"
        );
        assert_eq!(read(&["foo=1,", ""]), "foo=1");
        let long_key = format!("{}=1", "z".repeat(256));
        assert_eq!(read(&[&long_key]), long_key);
        let members = |count: usize| {
            let all: Vec<String> = (0..count).map(|i| format!("bar{i:02}={i:02}")).collect();
            all.join(",")
        };
        assert_eq!(read(&[&members(32)]), members(32));
        for bad in [
            "foo",
            "foo =1",
            "FOO=1",
            "foo.bar=1",
            "@foo=1,bar=2",
            "foo=1=2",
            "foo==1",
            "foo=",
            &members(33),
            &format!("{}=1", "z".repeat(257)),
            &format!("foo={}", "v".repeat(257)),
            &format!("foo={}", "v".repeat(STATE_BYTES_MAX)),
        ] {
            assert_eq!(read(&[bad]), "", "{bad}");
        }
    }
}
