//! Signatures of a signer whose key is known. Recovering the key ([`Signature::recover`]) shows whether the key of an
//! address signed a digest, with some 130 doublings of a point. With multiples of the key at hand the same check needs
//! additions alone, and about half the time (adr/0007).

use std::sync::LazyLock;

use k256::ecdsa::Signature as EcdsaSignature;
use k256::elliptic_curve::PrimeField as _;
use k256::elliptic_curve::group::Group as _;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::{AffineCoordinates, BatchNormalize};
use k256::{AffinePoint, FieldBytes, ProjectivePoint, Scalar};

use crate::address::Address;
use crate::hash::Hash;
use crate::signature::{PublicKey, Signature};

/// Bits of a scalar per window of a signer's table: 65 windows of 8 points, 46 KB.
const SIGNER_WINDOW_BITS: u32 = 4;
/// The same for the generator's single table: 33 windows of 128 points, 370 KB.
const GENERATOR_WINDOW_BITS: u32 = 8;

static GENERATOR: LazyLock<Multiples> =
    LazyLock::new(|| Multiples::new(ProjectivePoint::GENERATOR, GENERATOR_WINDOW_BITS));

/// A signer's key, with its multiples: 46 KB.
pub struct KnownSigner {
    address: Address,
    multiples: Multiples,
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
            multiples: Multiples::new(ProjectivePoint::from(*key.point()), SIGNER_WINDOW_BITS),
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
        let point = GENERATOR.times(&(z * s_inverted)) + self.multiples.times(&(*r * s_inverted));
        if bool::from(point.is_identity()) {
            return false;
        }
        let point = point.to_affine();
        point.x() == r.to_bytes() && bool::from(point.y_is_odd()) == y_is_odd
    }
}

/// Multiples of a point, so that multiplying it takes only additions.
struct Multiples {
    window_bits: u32,
    /// `digit · 2^(window_bits · window) · point`, by window and digit. Digits run from 1 to half of a window's
    /// values; negative digits use their negatives.
    points: Vec<AffinePoint>,
}

impl Multiples {
    fn new(point: ProjectivePoint, window_bits: u32) -> Self {
        let digits = 1usize << (window_bits - 1);
        // One more window, for the last digit's carry.
        let windows = (Scalar::NUM_BITS.div_ceil(window_bits) + 1) as usize;
        let mut points = Vec::with_capacity(windows * digits);
        let mut unit = point;
        for _ in 0..windows {
            let mut multiple = unit;
            for _ in 0..digits {
                points.push(multiple);
                multiple += unit;
            }
            unit = (0..window_bits).fold(unit, |unit, _| unit.double());
        }
        Self {
            window_bits,
            points: ProjectivePoint::batch_normalize_vartime(points.as_slice()),
        }
    }

    /// The scalar times the point.
    fn times(&self, scalar: &Scalar) -> ProjectivePoint {
        let mut sum = ProjectivePoint::IDENTITY;
        let windows = self.points.chunks_exact(1 << (self.window_bits - 1));
        for (multiples, digit) in windows.zip(digits(scalar, self.window_bits)) {
            let place = usize::from(digit.unsigned_abs()).checked_sub(1);
            match place.map(|place| &multiples[place]) {
                Some(multiple) if digit > 0 => sum += multiple,
                Some(multiple) => sum -= multiple,
                None => {}
            }
        }
        sum
    }
}

/// The digits of a scalar, lowest first, in windows of 4 or 8 bits: from just above minus half of a window's
/// values to half of them.
fn digits(scalar: &Scalar, window_bits: u32) -> impl Iterator<Item = i16> {
    let bytes: [u8; 32] = scalar.to_bytes().into();
    let whole = 1i16 << window_bits;
    let windows_of_byte = 8 / window_bits;
    let mut carry = 0;
    let windows = bytes.into_iter().rev().flat_map(move |byte| {
        (0..windows_of_byte).map(move |at| i16::from(byte) >> (at * window_bits) & (whole - 1))
    });
    windows.chain([0]).map(move |window| {
        let value = window + carry;
        carry = i16::from(value > whole / 2);
        value - whole * carry
    })
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

    /// What recovery returns, which is the reference.
    fn recovered(key: &SigningKey, digest: &Hash, signature: &Signature) -> bool {
        signature.recover(digest) == Ok(key.address())
    }

    #[test]
    fn digits_make_the_scalar_again() {
        let largest = -Scalar::ONE;
        let scalars = [Scalar::ZERO, Scalar::ONE, Scalar::from(0x8880u32), largest];
        for (scalar, bits) in scalars.iter().flat_map(|scalar| [(scalar, 4), (scalar, 8)]) {
            let digits: Vec<i16> = digits(scalar, bits).collect();
            let whole = Scalar::from(1u32 << bits);
            let again = digits.iter().rev().fold(Scalar::ZERO, |sum, digit| {
                let value = Scalar::from(u32::from(digit.unsigned_abs()));
                sum * whole + if *digit < 0 { -value } else { value }
            });
            assert_eq!(again, *scalar);
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
        // z = 0 and a digest above the order are ordinary digests.
        for digest in [Hash::ZERO, Hash([255; 32])] {
            assert!(signer.signed(&digest, &key.sign(&digest)));
        }
    }
}
