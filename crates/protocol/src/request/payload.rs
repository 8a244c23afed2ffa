//! Payload texts that stand for omitted content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::hash::Hash;

/// The digest of a file's bytes or of a body with a secret, in RFC 9530's form:
/// `sha-256=:<base64>:`.
pub fn digest_text(sha256: &Hash) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256.0))
}

/// The digest in a text of [`digest_text`]'s form; `None` for any other text.
pub fn digest_of_text(text: &str) -> Option<Hash> {
    let encoded = text.strip_prefix("sha-256=:")?.strip_suffix(':')?;
    let bytes = STANDARD.decode(encoded).ok()?;
    bytes.try_into().ok().map(Hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9530, section 2.
    #[test]
    fn rfc_9530_example() {
        let hash = crate::hash::sha256(b"{\"hello\": \"world\"}\n");
        assert_eq!(
            digest_text(&hash),
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
        );
        assert_eq!(digest_of_text(&digest_text(&hash)), Some(hash));
        for other in [
            "",
            "{}",
            "sha-256=::",
            "sha-256=:RK/0:",
            "sha-256=:RK/0qy18",
        ] {
            assert_eq!(digest_of_text(other), None, "{other}");
        }
    }
}
