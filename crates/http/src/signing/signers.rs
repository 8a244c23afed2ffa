//! Cache of frequent signers: with precomputed multiples of a key, a check takes about half the time of recovering the
//! key (adr/0007). Other signatures are checked by recovery.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use kedge_protocol::known_signer::KnownSigner;
use kedge_protocol::signature::{Signature, SignatureError};
use kedge_protocol::{Address, Hash};
use quick_cache::sync::Cache;

/// Cached signers, 37 KB each.
const SIGNERS_MAX: usize = 1_024;
/// Signatures after which a signer's multiples are computed, at the cost of three recoveries.
const KNOWN_AFTER: u32 = 8;

#[derive(Default)]
struct CachedSigner {
    signatures: AtomicU32,
    known: OnceLock<KnownSigner>,
}

pub(super) struct SignerCache(Cache<Address, Arc<CachedSigner>>);

impl SignerCache {
    pub(super) fn new() -> Self {
        Self(Cache::new(SIGNERS_MAX))
    }

    /// The address whose key signed `digest`; cheap if it is `signer`'s, as expected.
    pub(super) fn recover(
        &self,
        signer: Address,
        digest: &Hash,
        signature: &Signature,
    ) -> Result<Address, SignatureError> {
        let remembered = self.0.get(&signer);
        let known = remembered.as_ref().and_then(|signer| signer.known.get());
        if known.is_some_and(|known| known.signed(digest, signature)) {
            return Ok(signer);
        }
        let key = signature.recover_key(digest)?;
        let found = key.address();
        if found == signer && known.is_none() {
            let remembered = remembered.unwrap_or_else(|| {
                let first = Arc::<CachedSigner>::default();
                self.0.insert(signer, Arc::clone(&first));
                first
            });
            if remembered.signatures.fetch_add(1, Ordering::Relaxed) + 1 >= KNOWN_AFTER {
                remembered.known.get_or_init(|| KnownSigner::new(&key));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::signature::SigningKey;

    use super::*;

    // Holds invariant 57.
    #[test]
    fn a_signer_is_told_from_others_before_and_after_it_is_known() {
        let signers = SignerCache::new();
        let key = SigningKey::from_bytes(&[5; 32]).unwrap();
        let stranger = SigningKey::from_bytes(&[6; 32]).unwrap();
        let signer = key.address();
        for number in 0..3 * KNOWN_AFTER as u8 {
            let digest = Hash([number; 32]);
            let signature = key.sign(&digest);
            assert_eq!(signers.recover(signer, &digest, &signature), Ok(signer));
            let other = stranger.sign(&digest);
            assert_eq!(
                signers.recover(signer, &digest, &other),
                Ok(stranger.address())
            );
            let recovered = signature.recover(&Hash([255; 32])).unwrap();
            let found = signers.recover(signer, &Hash([255; 32]), &signature);
            assert_eq!(found, Ok(recovered));
        }
        let known = |address| {
            let signer = signers.0.get(&address);
            signer.is_some_and(|signer| signer.known.get().is_some())
        };
        assert!(known(signer));
        assert!(!known(stranger.address()));
    }
}
