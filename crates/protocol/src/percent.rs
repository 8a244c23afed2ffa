//! Percent-encoding (RFC 3986, 2.1).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but the unreserved characters (RFC 3986, 2.3).
const RESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes a text for a query or one part of a path: everything but unreserved characters.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, &RESERVED).to_string()
}

/// Decodes a text; `None` if a `%` is not followed by two hexadecimal digits.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut escapes = text.split('%').skip(1);
    let is_whole = escapes.all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    is_whole.then(|| percent_decode_str(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_reads_back() {
        assert_eq!(encode("aZ9-._~"), "aZ9-._~");
        assert_eq!(encode("a b/ä&="), "a%20b%2F%C3%A4%26%3D");
        let all: String = (0..0x300).filter_map(char::from_u32).collect();
        assert_eq!(decode(&encode(&all)), Some(all.into_bytes()));
        assert_eq!(decode("%fF+%00").as_deref(), Some(&b"\xff+\0"[..]));
        for bad in ["%", "a%2", "%zz", "%+1", "%1%20"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
