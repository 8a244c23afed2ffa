//! One-time secrets of answers, sealed for replays of their request. The sealing key derives from this server's key and
//! the `Idempotency-Key`, of which the store has only a hash: neither the store nor the key alone opens a secret.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use kedge_config::secrets::{self, SecretError};

use super::code::MacKey;

/// Separates this use of the server's key from others.
const LABEL: &[u8] = b"kedge: a secret for the replays of a request";

pub struct OneTimeSecrets(MacKey);

impl OneTimeSecrets {
    pub fn new(key: [u8; 32]) -> Self {
        Self(MacKey::new(key))
    }

    /// `scope` names the caller, the method, the path and the `Idempotency-Key`.
    fn key(&self, scope: &[&[u8]]) -> LessSafeKey {
        let mut text = LABEL.to_vec();
        for part in scope {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part);
        }
        let key = UnboundKey::new(&AES_256_GCM, &self.0.hash(&text));
        LessSafeKey::new(key.expect("a hash has as many bytes as a key"))
    }

    /// Seals a secret for the request with this scope.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn seal(&self, scope: &[&[u8]], secret: &str) -> Result<Vec<u8>, SecretError> {
        let nonce: [u8; NONCE_LEN] = secrets::random()?;
        let mut sealed = secret.as_bytes().to_vec();
        let of_this = Nonce::assume_unique_for_key(nonce);
        self.key(scope)
            .seal_in_place_append_tag(of_this, Aad::empty(), &mut sealed)
            .expect("a secret is far shorter than the cipher's limit");
        Ok([&nonce[..], &sealed].concat())
    }

    /// Opens a sealed secret; `None` for another scope or server key.
    pub fn open(&self, scope: &[&[u8]], sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let of_this = Nonce::assume_unique_for_key(*nonce);
        let plain = self
            .key(scope)
            .open_in_place(of_this, Aad::empty(), &mut sealed);
        String::from_utf8(plain.ok()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_scope_and_server_open_a_secret() {
        let (server, other) = (OneTimeSecrets::new([1; 32]), OneTimeSecrets::new([2; 32]));
        let scope: [&[u8]; 2] = [b"POST /api-keys", b"order-1"];
        let sealed = server.seal(&scope, "kdg_live_x").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"kdg_live"));
        assert_eq!(server.open(&scope, &sealed).as_deref(), Some("kdg_live_x"));
        assert_ne!(server.seal(&scope, "kdg_live_x").unwrap(), sealed);
        assert_eq!(other.open(&scope, &sealed), None);
        for wrong in [
            [&b"POST /api-keys"[..], b"order-2"],
            [b"POST /api-keyso", b"rder-1"],
            [b"POST /webhooks", b"order-1"],
        ] {
            assert_eq!(server.open(&wrong, &sealed), None);
        }
        let mut changed = sealed.clone();
        changed[NONCE_LEN] ^= 1;
        for damaged in [&changed[..], &sealed[..NONCE_LEN], &[]] {
            assert_eq!(server.open(&scope, damaged), None);
        }
    }
}
