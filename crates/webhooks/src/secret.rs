//! Signing secrets and signatures of Standard Webhooks 1.0: HMAC-SHA256 over message id, time of the attempt and body,
//! under each valid secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use kedge_config::secrets::{self, SecretError};
use kedge_storage::SecretRow;
use sha2::Sha256;

/// Bytes of a secret; the standard asks for 24 to 64.
const SECRET_BYTES: usize = 32;
/// Prefix of a secret's text.
const PREFIX: &str = "whsec_";

pub fn new() -> Result<[u8; SECRET_BYTES], SecretError> {
    secrets::random()
}

/// A secret in the form shown to its owner.
pub fn text(secret: &[u8]) -> String {
    format!("{PREFIX}{}", BASE64.encode(secret))
}

/// Signature under one secret: `v1,` and base64.
pub fn sign(secret: &[u8], message_id: &str, timestamp_s: u64, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(format!("{message_id}.{timestamp_s}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
}

/// The `webhook-signature` field: one signature for each secret valid at this time.
pub fn signatures(row: &SecretRow, message_id: &str, timestamp_s: u64, body: &[u8]) -> String {
    let previous = row
        .previous
        .as_ref()
        .filter(|(_, until_ms)| timestamp_s.saturating_mul(1_000) < *until_ms)
        .map(|(secret, _)| secret);
    let secrets = [Some(&row.current), previous].into_iter().flatten();
    let signed = secrets.filter_map(|secret| sign(secret, message_id, timestamp_s, body));
    signed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of the npm package standardwebhooks 1.0.0 for this secret, id, time and body.
    const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw==";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIME_S: u64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,/Xy7FLfFISa1TZH7WLT+0x/orG5MlcutAFOpVan3/00=";

    #[test]
    fn signatures_are_the_standards() {
        let secret = BASE64.decode(SECRET).unwrap();
        assert_eq!(sign(&secret, ID, TIME_S, BODY).unwrap(), SIGNATURE);
        assert_ne!(sign(&secret, ID, TIME_S + 1, BODY).unwrap(), SIGNATURE);
        assert_ne!(sign(&secret, "msg", TIME_S, BODY).unwrap(), SIGNATURE);
        assert_ne!(sign(&secret, ID, TIME_S, b"{}").unwrap(), SIGNATURE);
    }

    #[test]
    fn both_secrets_sign_until_the_old_one_ends() {
        let row = SecretRow {
            current: vec![1; 32],
            previous: Some((BASE64.decode(SECRET).unwrap(), TIME_S * 1_000 + 1)),
        };
        let both = signatures(&row, ID, TIME_S, BODY);
        assert_eq!(both.split(' ').count(), 2);
        assert!(both.ends_with(SIGNATURE), "{both}");
        let later = signatures(&row, ID, TIME_S + 1, BODY);
        assert_eq!(later, sign(&row.current, ID, TIME_S + 1, BODY).unwrap());
    }

    #[test]
    fn secrets_have_the_standards_form() {
        let text = text(&new().unwrap());
        let secret = BASE64.decode(text.strip_prefix("whsec_").unwrap()).unwrap();
        assert!((24..=64).contains(&secret.len()));
    }
}
