//! Checks of text options whose syntax their type does not express.

/// True for `*`, or an origin as browsers write it (RFC 6454, 6.2): scheme, host in lower case, and a port other than
/// the scheme's default.
pub(crate) fn is_origin(text: &str) -> bool {
    let authority = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]_".contains(&byte);
    text == "*"
        || authority
            .is_some_and(|authority| !authority.is_empty() && authority.bytes().all(is_plain))
}

/// Unreserved characters (RFC 3986), but neither `.` nor `..`. A reader of `Location` might decode anything else to a
/// path that leads elsewhere.
pub fn is_plain_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..")
        && segment
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Whether a text can be the v2 segment of objects: plain, and not otherwise used by v2.
pub(crate) fn is_legacy_segment(segment: &str) -> bool {
    is_plain_segment(segment)
        && segment.len() <= 64
        && !["user", "activity", "templates"].contains(&segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_as_browsers_write_them() {
        for good in [
            "*",
            "https://app.example.com",
            "http://localhost:5173",
            "http://[::1]:80",
        ] {
            assert!(is_origin(good), "{good}");
        }
        for bad in [
            "",
            "null",
            "https://",
            "https://example.com/",
            "https://Example.com",
            "example.com",
            "https://*.example.com",
            "https://a b",
        ] {
            assert!(!is_origin(bad), "{bad}");
        }
    }
}
