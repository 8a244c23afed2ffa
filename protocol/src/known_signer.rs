//! Signatures of a signer whose key is known. Whether the key of an address signed a digest is found
//! by recovering the key ([`Signature::recover`]), with some 130 doublings of a point. With multiples
//! of the key at hand the same question takes additions alone, and about half the time.

use k256::ecdsa::Signature as EcdsaSignature;
use k256::elliptic_curve::group::Group as _;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::{AffineCoordinates, BatchNormalize};
use k256::{AffinePoint, FieldBytes, ProjectivePoint, Scalar};

use crate::address::Address;
use crate::hash::Hash;
use crate::signature::{PublicKey, Signature};

/// Bits of a scalar that one entry of the table stands for.
const WINDOW_BITS: usize = 4;
/// Windows of a scalar of 256 bits, and one for what the last digit carries.
const WINDOWS: usize = 256 / WINDOW_BITS + 1;
/// Entries of a window: the digits 1 to 8; the others are their negatives.
const DIGITS: usize = 1 << (WINDOW_BITS - 1);

/// A signer's key, with its multiples: 46 KB.
pub struct KnownSigner {
    address: Address,
    /// `digit · 16^window · key`, by window and digit.
    multiples: Vec<AffinePoint>,
}

impl std::fmt::Debug for KnownSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KnownSigner({})", self.address)
    }
}

impl KnownSigner {
    /// Computes the key's multiples, which takes as long as three recoveries.
    pub fn new(key: &PublicKey) -> Self {
        let mut multiples = Vec::with_capacity(WINDOWS * DIGITS);
        let mut unit = ProjectivePoint::from(*key.point());
        for _ in 0..WINDOWS {
            let mut multiple = unit;
            for _ in 0..DIGITS {
                multiples.push(multiple);
                multiple += unit;
            }
            unit = (0..WINDOW_BITS).fold(unit, |unit, _| unit.double());
        }
        Self {
            address: key.address(),
            multiples: ProjectivePoint::batch_normalize_vartime(multiples.as_slice()),
        }
    }

    /// The address of the key.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Whether `signature` is the key's, of `digest`: true exactly where [`Signature::recover`] gives
    /// the key's address.
    ///
    /// SEC 1, 4.1.4: the point z/s · G + r/s · Q is the one that the signature was made with. Its x
    /// must be r itself, and its y as odd as v says, or another key would be recovered.
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
        let point =
            ProjectivePoint::mul_by_generator(&(z * s_inverted)) + self.times(&(*r * s_inverted));
        if bool::from(point.is_identity()) {
            return false;
        }
        let point = point.to_affine();
        point.x() == r.to_bytes() && bool::from(point.y_is_odd()) == y_is_odd
    }

    /// The scalar times the key.
    fn times(&self, scalar: &Scalar) -> ProjectivePoint {
        let mut sum = ProjectivePoint::IDENTITY;
        let windows = self.multiples.chunks_exact(DIGITS);
        for (multiples, digit) in windows.zip(digits(scalar)) {
            let multiple = usize::from(digit.unsigned_abs())
                .checked_sub(1)
                .map(|at| &multiples[at]);
            match multiple {
                Some(multiple) if digit > 0 => sum += multiple,
                Some(multiple) => sum -= multiple,
                None => {}
            }
        }
        sum
    }
}

/// The digits of a scalar to the base 16, from -7 to 8, the lowest first.
fn digits(scalar: &Scalar) -> [i8; WINDOWS] {
    let bytes = scalar.to_bytes();
    let nibbles = bytes.iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
    let mut digits = [0; WINDOWS];
    let mut carry = 0;
    for (digit, nibble) in digits.iter_mut().zip(nibbles.chain([0])) {
        let value = nibble.cast_signed() + carry;
        carry = i8::from(value > 8);
        *digit = value - 16 * carry;
    }
    digits
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

    /// What recovering says: the only judge.
    fn recovered(key: &SigningKey, digest: &Hash, signature: &Signature) -> bool {
        signature.recover(digest) == Ok(key.address())
    }

    #[test]
    fn digits_make_the_scalar_again() {
        let largest = -Scalar::ONE;
        for scalar in [Scalar::ZERO, Scalar::ONE, Scalar::from(0x88u32), largest] {
            let sixteen = Scalar::from(16u32);
            let again = digits(&scalar)
                .iter()
                .rev()
                .fold(Scalar::ZERO, |sum, digit| {
                    let value = Scalar::from(u32::from(digit.unsigned_abs()));
                    sum * sixteen + if *digit < 0 { -value } else { value }
                });
            assert_eq!(again, scalar);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn it_says_what_recovering_says(
            secret in prop::array::uniform32(1..=250u8),
            digest in prop::array::uniform32(any::<u8>()),
            flipped in 0..(32 + 64) * 8usize,
        ) {
            let key = SigningKey::from_bytes(&secret).unwrap();
            let signer = known(&key);
            prop_assert_eq!(signer.address(), key.address());
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
        // z = 0 and a digest beyond the order are digests like others.
        for digest in [Hash::ZERO, Hash([255; 32])] {
            assert!(signer.signed(&digest, &key.sign(&digest)));
        }
    }
}
