//! Rate-limit headers: the service's own three, and the two of draft-ietf-httpapi-ratelimit-headers. Every answer has
//! them, so they are encoded by hand.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use super::policy::{LimitPolicy, LimitStatus};

/// Quota of the nearest limit in a window.
pub const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// Its unused part.
pub const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// Start of its next window, Unix seconds.
pub const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// The limits that cover the request (draft-ietf-httpapi-ratelimit-headers-09).
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The unused part of each limit, nearest first, and seconds until its next window (the same draft).
pub const STANDINGS: HeaderName = HeaderName::from_static("ratelimit");

/// The fields for the OpenAPI document: name, meaning, JSON Schema type.
pub const DESCRIPTIONS: [(&str, &str, &str); 5] = [
    (
        "X-RateLimit-Limit",
        "Of the limits that apply, the one with the fewest requests left: requests per window",
        "integer",
    ),
    (
        "X-RateLimit-Remaining",
        "Requests left in that window",
        "integer",
    ),
    (
        "X-RateLimit-Reset",
        "When the next window begins, Unix seconds",
        "integer",
    ),
    (
        "RateLimit-Policy",
        "All limits that apply to the request (draft-ietf-httpapi-ratelimit-headers)",
        "string",
    ),
    (
        "RateLimit",
        "The requests left in each of them, fewest first, and the seconds until its next window",
        "string",
    ),
];

/// Bytes of one limit in a field: its name, two numbers of ten digits, the rest.
const MEMBER_BYTES: usize = 48;

/// Builder of a Structured Fields list (RFC 9651, 3.1) of limits.
struct FieldList(Vec<u8>);

impl FieldList {
    fn with_room(members: usize) -> Self {
        Self(Vec::with_capacity(members * MEMBER_BYTES))
    }

    fn member(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.extend_from_slice(b", ");
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'"');
    }

    fn parameter(&mut self, name: u8, value: u64) {
        self.0.extend_from_slice(&[b';', name, b'=']);
        let mut digits = itoa::Buffer::new();
        self.0.extend_from_slice(digits.format(value).as_bytes());
    }

    fn into_value(self) -> HeaderValue {
        HeaderValue::from_maybe_shared(Bytes::from(self.0))
            .expect("policies' names and digits are visible ASCII")
    }
}

/// The `RateLimit-Policy` field: each limit's quota and window.
pub(super) fn policy(quotas: &[(LimitPolicy, u64)]) -> HeaderValue {
    let mut list = FieldList::with_room(quotas.len());
    for &(policy, quota) in quotas {
        list.member(policy.name());
        list.parameter(b'q', quota);
        list.parameter(b'w', policy.period().seconds());
    }
    list.into_value()
}

fn standings_field(standings: &[LimitStatus], now_s: u64) -> HeaderValue {
    let mut list = FieldList::with_room(standings.len());
    for standing in standings {
        list.member(standing.policy.name());
        list.parameter(b'r', standing.remaining);
        list.parameter(b't', standing.resets_in_s(now_s));
    }
    list.into_value()
}

/// Writes the fields of an exhausted share: its size, and the seconds until there may be room.
pub(super) fn write_share(
    headers: &mut HeaderMap,
    name: &str,
    limit: u64,
    wait_s: u64,
    now_s: u64,
) {
    let (mut quota, mut standing) = (FieldList::with_room(2), FieldList::with_room(1));
    quota.member(name);
    quota.parameter(b'q', limit);
    // A quota unit of the same draft, for limits that do not count requests in a window.
    quota.0.extend_from_slice(b";qu=\"concurrent-requests\"");
    standing.member(name);
    standing.parameter(b'r', 0);
    standing.parameter(b't', wait_s);
    headers.insert(LIMIT, HeaderValue::from(limit));
    headers.insert(REMAINING, HeaderValue::from(0u64));
    headers.insert(RESET, HeaderValue::from(now_s + wait_s));
    headers.insert(POLICY, quota.into_value());
    headers.insert(STANDINGS, standing.into_value());
}

/// Writes all fields of the limits that cover a request. The first limit, which has the fewest requests left, also
/// fills the service's own three fields.
pub(super) fn write(
    headers: &mut HeaderMap,
    standings: &mut [LimitStatus],
    policy: HeaderValue,
    now_s: u64,
) {
    LimitStatus::sort_nearest_first(standings);
    let Some(nearest) = standings.first() else {
        return;
    };
    headers.insert(LIMIT, HeaderValue::from(nearest.limit));
    headers.insert(REMAINING, HeaderValue::from(nearest.remaining));
    headers.insert(RESET, HeaderValue::from(nearest.resets_at_s));
    headers.insert(POLICY, policy);
    headers.insert(STANDINGS, standings_field(standings, now_s));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_structured_and_tell_of_the_nearest_limit() {
        let minute = LimitStatus {
            policy: LimitPolicy::TierMinute,
            limit: 100,
            remaining: 99,
            resets_at_s: 1_795_255_320,
        };
        let bucket = LimitStatus {
            policy: LimitPolicy::ObjectWrites,
            limit: 50,
            remaining: 0,
            resets_at_s: 1_795_255_320,
        };
        let mut headers = HeaderMap::new();
        let quotas = [
            (LimitPolicy::TierMinute, 100),
            (LimitPolicy::ObjectWrites, 50),
        ];
        write(
            &mut headers,
            &mut [minute, bucket],
            policy(&quotas),
            1_795_255_278,
        );
        let expected = [
            (LIMIT, "50"),
            (REMAINING, "0"),
            (RESET, "1795255320"),
            (
                POLICY,
                r#""tier-minute";q=100;w=60, "object-writes";q=50;w=60"#,
            ),
            (
                STANDINGS,
                r#""object-writes";r=0;t=42, "tier-minute";r=99;t=42"#,
            ),
        ];
        for (name, value) in expected {
            assert_eq!(headers[&name], value, "{name}");
        }
    }

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 9, 10, 4_294_967_295, u64::MAX] {
            let mut list = FieldList::with_room(1);
            list.parameter(b'q', number);
            assert_eq!(list.0, format!(";q={number}").as_bytes());
        }
    }
}
