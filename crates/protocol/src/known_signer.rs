//! Checks signatures of known keys. Recovering a key ([`Signature::recover`]) takes some 130 doublings of a point. With
//! precomputed multiples of the key the same check needs only additions, and about half the time (adr/0007).

use k256::ecdsa::Signature as EcdsaSignature;
use k256::elliptic_curve::group::Group as _;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::{FieldBytes, ProjectivePoint, Scalar};

use crate::address::Address;
use crate::hash::Hash;
use crate::multiples::{self, GENERATOR, PointMultiples, PointTerms};
use crate::signature::{PublicKey, Signature};

/// Bits of half a scalar per window of a signer's table: 26 windows of 16 points, 37 KB.
const SIGNER_WINDOW_BITS: u32 = 5;

/// A signer's key, with its multiples: 37 KB.
pub struct KnownSigner {
    address: Address,
    multiples: PointMultiples,
}

impl std::fmt::Debug for KnownSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KnownSigner({})", self.address)
    }
}

impl KnownSigner {
    /// Computes the key's multiples, which takes as long as three recoveries.
    pub fn new(key: &PublicKey) -> Self {
        Self {
            address: key.address(),
            multiples: PointMultiples::new(ProjectivePoint::from(*key.point()), SIGNER_WINDOW_BITS),
        }
    }

    /// The address of the key.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Whether `signature` is the key's signature of `digest`: true exactly when [`Signature::recover`] returns
    /// the key's address.
    ///
    /// SEC 1, 4.1.4: the point z/s · G + r/s · Q is the one that the signature was made with. Its x must be r,
    /// and the parity of its y must match v; otherwise another key would be recovered.
    pub fn signed(&self, digest: &Hash, signature: &Signature) -> bool {
        let Ok(ecdsa) = EcdsaSignature::from_slice(&signature.0[..64]) else {
            return false;
        };
        let y_is_odd = match signature.0[64] {
            27 => false,
            28 => true,
            _ => return false,
        };
        let (r, s) = ecdsa.split_scalars();
        let Some(s_inverted) = Option::<Scalar>::from(s.invert_vartime()) else {
            return false;
        };
        let z = <Scalar as Reduce<FieldBytes>>::reduce(&FieldBytes::from(digest.0));
        let mut terms = PointTerms::new();
        terms.add(&GENERATOR, &(z * s_inverted));
        terms.add(&self.multiples, &(*r * s_inverted));
        let point = terms.sum();
        if bool::from(point.is_identity()) {
            return false;
        }
        let point = multiples::affine(point);
        point.x() == r.to_bytes() && bool::from(point.y_is_odd()) == y_is_odd
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::signature::SigningKey;

    fn known(key: &SigningKey) -> KnownSigner {
        let digest = Hash([1; 32]);
        KnownSigner::new(&key.sign(&digest).recover_key(&digest).unwrap())
    }

    /// The result of recovery, which is the reference.
    fn recovered(key: &SigningKey, digest: &Hash, signature: &Signature) -> bool {
        signature.recover(digest) == Ok(key.address())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        // Holds invariant 57.
        #[test]
        fn it_says_what_recovering_says(
            secret in prop::array::uniform32(1..=250u8),
            digest in prop::array::uniform32(any::<u8>()),
            flipped in 0..(32 + 64) * 8usize,
        ) {
            let key = SigningKey::from_bytes(&secret).unwrap();
            let signer = known(&key);
            prop_assert_eq!(signer.address(), key.address());
            prop_assert_eq!(format!("{signer:?}"), format!("KnownSigner({})", key.address()));
            let digest = Hash(digest);
            let signature = key.sign(&digest);
            prop_assert!(signer.signed(&digest, &signature));

            let mut other_v = signature;
            other_v.0[64] = 55 - other_v.0[64];
            prop_assert!(!signer.signed(&digest, &other_v));
            prop_assert!(!recovered(&key, &digest, &other_v));

            let (mut other_digest, mut other) = (digest, signature);
            match flipped.checked_sub(32 * 8) {
                None => other_digest.0[flipped / 8] ^= 1 << (flipped % 8),
                Some(flipped) => other.0[flipped / 8] ^= 1 << (flipped % 8),
            }
            prop_assert_eq!(
                signer.signed(&other_digest, &other),
                recovered(&key, &other_digest, &other)
            );

            let stranger = SigningKey::from_bytes(&[251; 32]).unwrap();
            prop_assert!(!signer.signed(&digest, &stranger.sign(&digest)));
        }
    }

    fn scalar(bytes: [u8; 32]) -> Scalar {
        <Scalar as Reduce<FieldBytes>>::reduce(&FieldBytes::from(bytes))
    }

    fn signature(r: &Scalar, s: &Scalar, y_is_odd: bool) -> Signature {
        let mut bytes = [27 + u8::from(y_is_odd); 65];
        bytes[..32].copy_from_slice(&r.to_bytes());
        bytes[32..64].copy_from_slice(&s.to_bytes());
        Signature(bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        // Holds invariant 57.
        /// A digest that a chosen point signs. Its s is as often high as low.
        #[test]
        fn the_equation_decides(
            secret in prop::array::uniform32(1..=250u8),
            a in prop::array::uniform32(any::<u8>()),
            b in prop::array::uniform32(1..=250u8),
        ) {
            let (secret, a, b) = (scalar(secret), scalar(a), scalar(b));
            let key = SigningKey::from_bytes(&secret.to_bytes().into()).unwrap();
            let point = (ProjectivePoint::GENERATOR * (a + b * secret)).to_affine();
            let r = scalar(point.x().into());
            let s = r * b.invert().unwrap();
            let digest = Hash((a * s).to_bytes().into());
            let y_is_odd = bool::from(point.y_is_odd());
            let signer = known(&key);
            for (s, y_is_odd) in [(s, y_is_odd), (-s, !y_is_odd)] {
                let signature = signature(&r, &s, y_is_odd);
                prop_assert!(signer.signed(&digest, &signature));
                prop_assert!(recovered(&key, &digest, &signature));
            }
            for (s, y_is_odd) in [(-s, y_is_odd), (s, !y_is_odd)] {
                let signature = signature(&r, &s, y_is_odd);
                prop_assert!(!signer.signed(&digest, &signature));
                prop_assert!(!recovered(&key, &digest, &signature));
            }
        }
    }

    /// z · G + r · Q is the point at infinity, which no signature is made with.
    #[test]
    fn infinity_is_refused() {
        let secret = scalar([7; 32]);
        let key = SigningKey::from_bytes(&[7; 32]).unwrap();
        let (r, _) = EcdsaSignature::from_slice(&key.sign(&Hash([9; 32])).0[..64])
            .unwrap()
            .split_scalars();
        let digest = Hash((-(*r * secret)).to_bytes().into());
        for s in [Scalar::ONE, *r, -Scalar::ONE] {
            for y_is_odd in [false, true] {
                let signature = signature(&r, &s, y_is_odd);
                assert!(!known(&key).signed(&digest, &signature));
                assert!(!recovered(&key, &digest, &signature));
            }
        }
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        let key = SigningKey::from_bytes(&[7; 32]).unwrap();
        let signer = known(&key);
        let digest = Hash([9; 32]);
        let good = key.sign(&digest);
        for (part, bytes) in [
            (0..32, [0; 32]),
            (32..64, [0; 32]),
            (0..32, [255; 32]),
            (32..64, [255; 32]),
        ] {
            let mut bad = good;
            bad.0[part].copy_from_slice(&bytes);
            assert!(!signer.signed(&digest, &bad));
        }
        for v in [0, 1, 26, 29, 30, 255] {
            let mut bad = good;
            bad.0[64] = v;
            assert!(!signer.signed(&digest, &bad), "{v}");
        }
        // z = 0 and a digest above the order are ordinary digests.
        for digest in [Hash::ZERO, Hash([255; 32])] {
            assert!(signer.signed(&digest, &key.sign(&digest)));
        }
    }
}
