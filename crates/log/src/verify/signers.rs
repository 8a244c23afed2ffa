//! Recovers the signers of headers. A log has few signing keys and many signatures: once a key is recovered, its
//! multiples check the next signature in half of the time.

use std::sync::Arc;

use kedge_protocol::known_signer::KnownSigner;
use kedge_protocol::signature::{Signature, SignatureError};
use kedge_protocol::{Address, Hash};
use parking_lot::RwLock;

/// Limit of keys with computed multiples. A log with more key changes is only checked more slowly.
const KNOWN_MAX: usize = 8;

#[derive(Default)]
pub(super) struct BatchSigners(RwLock<Vec<Arc<KnownSigner>>>);

impl BatchSigners {
    /// The address whose key signed `digest`: the result of [`Signature::recover`].
    pub(super) fn of(
        &self,
        digest: &Hash,
        signature: &Signature,
    ) -> Result<Address, SignatureError> {
        if let Some(last) = self.last()
            && last.signed(digest, signature)
        {
            return Ok(last.address());
        }
        let key = signature.recover_key(digest)?;
        let address = key.address();
        if self.is_new(&address) {
            let signer = Arc::new(KnownSigner::new(&key));
            self.0.write().push(signer);
        }
        Ok(address)
    }

    fn last(&self) -> Option<Arc<KnownSigner>> {
        self.0.read().last().cloned()
    }

    fn is_new(&self, address: &Address) -> bool {
        let known = self.0.read();
        known.len() < KNOWN_MAX && known.iter().all(|signer| signer.address() != *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kedge_protocol::signature::SigningKey;

    #[test]
    fn it_says_what_recovering_says() {
        let signers = BatchSigners::default();
        let digest = Hash([7; 32]);
        let keys: Vec<SigningKey> = (1..=KNOWN_MAX as u8 + 2)
            .map(|number| SigningKey::from_bytes(&[number; 32]).unwrap())
            .collect();
        // Forwards and backwards: the key is known, but no longer the last used one.
        for key in keys.iter().chain(keys.iter().rev()) {
            for _ in 0..2 {
                let signature = key.sign(&digest);
                assert_eq!(signers.of(&digest, &signature), Ok(key.address()));
                let other = Hash([8; 32]);
                assert_eq!(signers.of(&other, &signature), signature.recover(&other));
            }
        }
        assert_eq!(signers.0.read().len(), KNOWN_MAX);
        let none = Signature([0; 65]);
        assert_eq!(signers.of(&digest, &none), none.recover(&digest));
        assert!(none.recover(&digest).is_err());
    }
}
