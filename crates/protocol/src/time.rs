//! Times: Unix milliseconds internally, RFC 3339 UTC with milliseconds in texts.

use std::time::{Duration, UNIX_EPOCH};

/// The last millisecond that RFC 3339 can express (year 9999).
const MS_MAX: u64 = 253_402_300_799_999;

/// RFC 3339 UTC with milliseconds: `2026-01-02T03:04:05.678Z`.
pub fn rfc3339(ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(ms.min(MS_MAX));
    humantime::format_rfc3339_millis(time).to_string()
}

/// Reads an RFC 3339 time in UTC; `None` if it is invalid or before the epoch.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    u64::try_from(since_epoch(text)?.as_millis()).ok()
}

/// Parses a search bound, in nanoseconds: finer than stored times. A time before the epoch becomes the epoch, since no
/// stored time lies between the two. `None` if the text is not an RFC 3339 time in UTC.
pub fn parse_bound_ns(text: &str) -> Option<u128> {
    since_epoch(text)
        .or_else(|| since_epoch(&two_thousand_years_on(text)?).and(Some(Duration::ZERO)))
        .map(|since| since.as_nanos())
}

/// The same day and time 2,000 years later. The calendar is the same, since leap years repeat every 400 years: if only
/// this text is a time since the epoch, the original is a time before it.
fn two_thousand_years_on(text: &str) -> Option<String> {
    let (year, rest) = text.split_at_checked(4)?;
    let year = year
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| year.parse::<u32>().ok())??;
    Some(format!("{}{rest}", year + 2000))
}

fn since_epoch(text: &str) -> Option<Duration> {
    let time = humantime::parse_rfc3339(text).ok()?;
    time.duration_since(UNIX_EPOCH).ok()
}

/// Serde: Unix milliseconds as RFC 3339 text.
pub mod as_rfc3339 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the time as text.
    pub fn serialize<S: Serializer>(ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::rfc3339(*ms))
    }

    /// Reads the time from text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse_rfc3339(&text).ok_or_else(|| D::Error::custom("must be an RFC 3339 UTC time"))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[test]
    fn text_and_milliseconds_are_one() {
        assert_eq!(rfc3339(1_790_000_000_123), "2026-09-21T14:13:20.123Z");
        assert_eq!(
            parse_rfc3339("2026-09-21T14:13:20.123Z"),
            Some(1_790_000_000_123)
        );
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(
            parse_bound_ns("2026-09-21T14:13:20.123456789Z"),
            Some(1_790_000_000_123_456_789)
        );
        assert_eq!(parse_rfc3339("yesterday"), None);
        assert_eq!(parse_rfc3339("1969-12-31T23:59:59Z"), None);
    }

    #[test]
    fn members_of_files_are_texts() {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct File {
            #[serde(with = "as_rfc3339")]
            at: u64,
        }
        let file = File {
            at: 1_790_000_000_123,
        };
        let text = r#"{"at":"2026-09-21T14:13:20.123Z"}"#;
        assert_eq!(serde_json::to_string(&file).unwrap(), text);
        assert_eq!(serde_json::from_str::<File>(text).unwrap(), file);
        for wrong in [r#"{"at":"yesterday"}"#, r#"{"at":1790000000123}"#] {
            assert!(serde_json::from_str::<File>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bound_before_the_epoch_is_the_epoch() {
        for time in [
            "1969-12-31T23:59:59.9Z",
            "0055-09-02T15:43:11Z",
            "0004-02-29T00:00:00Z",
        ] {
            assert_eq!(parse_bound_ns(time), Some(0), "{time}");
        }
        for time in [
            "0055-13-02T15:43:11Z",
            "0003-02-29T00:00:00Z",
            "+055-09-02T15:43:11Z",
            "1970-02-29T00:00:00Z",
            "7999-12-32T00:00:00Z",
            "8000-13-01T00:00:00Z",
            "9999-12-31T24:00:00Z",
            "ab",
            "1969é",
        ] {
            assert_eq!(parse_bound_ns(time), None, "{time}");
        }
    }
}
