//! RFC 6901 pointers to places in a JSON text.

/// Escapes a reference token (RFC 6901, 3).
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
