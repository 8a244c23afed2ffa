//! Precomputed multiples of a point, so that multiplying the point takes only additions.
//!
//! secp256k1 has a λ for which λ · (x, y) is (β · x, y), which costs one multiplication. Every scalar is a + λ · b with
//! halves of 128 bits (Guide to Elliptic Curve Cryptography, algorithm 3.74). So one table of 128 bits serves both
//! halves: the sum of the second half's multiples is multiplied by λ once, at the end.

use std::array;
use std::iter;
use std::sync::LazyLock;

use k256::elliptic_curve::point::BatchNormalize;
use k256::elliptic_curve::scalar::IsHigh as _;
use k256::{AffinePoint, ProjectivePoint, Scalar};

/// Bits of a half per window of the generator's table: 15 windows of 256 points, 338 KB.
const GENERATOR_WINDOW_BITS: u32 = 9;
/// Capacity for the multiples of one half of the generator's and one of a signer's scalar.
const TERMS: usize = 48;
/// Bits of a half, and one for the last digit's carry.
const HALF_BITS: u32 = 129;

/// The generator's multiples.
pub(crate) static GENERATOR: LazyLock<PointMultiples> =
    LazyLock::new(|| PointMultiples::new(ProjectivePoint::GENERATOR, GENERATOR_WINDOW_BITS));

/// A point's multiples.
pub(crate) struct PointMultiples {
    window_bits: u32,
    /// `digit · 2^(window_bits · window) · point`, by window and digit. Digits run from 1 to half of a window's
    /// values; negative digits use their negatives.
    points: Vec<AffinePoint>,
}

impl PointMultiples {
    /// The multiples of `point` for windows of this many bits, at most 14.
    pub(crate) fn new(point: ProjectivePoint, window_bits: u32) -> Self {
        let digits = 1usize << (window_bits - 1);
        let windows = HALF_BITS.div_ceil(window_bits) as usize;
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

    /// The multiples that add up to `half` times the point.
    fn of(&self, half: ScalarHalf) -> impl Iterator<Item = AffinePoint> {
        let windows = self.points.chunks_exact(1 << (self.window_bits - 1));
        let digits = digits(half.size, self.window_bits);
        windows.zip(digits).filter_map(move |(multiples, digit)| {
            let place = usize::from(digit.unsigned_abs()).checked_sub(1)?;
            let multiple = multiples[place];
            Some(if digit.is_negative() == half.is_negative {
                multiple
            } else {
                -multiple
            })
        })
    }
}

/// Multiples of several points to be added up. They are copied first: a cache miss on a table then costs one wait and
/// not one for each addition.
pub(crate) struct PointTerms {
    /// Multiples of the first halves and of the second halves.
    halves: [Vec<AffinePoint>; 2],
}

impl PointTerms {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            halves: array::from_fn(|_| Vec::with_capacity(TERMS)),
        }
    }

    /// Adds `scalar` times the point of `multiples`.
    pub(crate) fn add(&mut self, multiples: &PointMultiples, scalar: &Scalar) {
        for (terms, half) in self.halves.iter_mut().zip(split(scalar)) {
            terms.extend(multiples.of(half));
        }
    }

    /// The sum.
    pub(crate) fn sum(&self) -> ProjectivePoint {
        let [first, second] = self.halves.each_ref().map(|terms| {
            let mut terms = terms.iter();
            let first = terms.next().map(ProjectivePoint::from).unwrap_or_default();
            terms.fold(first, |sum, term| sum + term)
        });
        first + second.endomorphism()
    }
}

/// A point in affine coordinates. Unlike `to_affine`, not constant-time: nothing here is secret.
pub(crate) fn affine(point: ProjectivePoint) -> AffinePoint {
    let [point] = ProjectivePoint::batch_normalize_vartime(&[point]);
    point
}

/// Half of a scalar, between -2^128 and 2^128.
#[derive(Clone, Copy, Debug)]
struct ScalarHalf {
    is_negative: bool,
    size: u128,
}

impl ScalarHalf {
    fn of(scalar: Scalar) -> Self {
        let is_negative = bool::from(scalar.is_high());
        let [low, next, ..] = limbs(&if is_negative { -scalar } else { scalar });
        Self {
            is_negative,
            size: u128::from(next) << 64 | u128::from(low),
        }
    }
}

/// Splits a scalar into halves: a + λ · b. The constants are libsecp256k1's; `k256` repeats its proof of the halves'
/// size.
fn split(scalar: &Scalar) -> [ScalarHalf; 2] {
    let limbs = limbs(scalar);
    let c1 = Scalar::from(times_shifted(&limbs, &G1));
    let c2 = Scalar::from(times_shifted(&limbs, &G2));
    let second = c1 * Scalar::from(MINUS_B1) - c2 * Scalar::from(B2);
    let first = scalar - &(second * *LAMBDA);
    [first, second].map(ScalarHalf::of)
}

const MINUS_B1: u128 = 0xe443_7ed6_010e_8828_6f54_7fa9_0abf_e4c3;
const B2: u128 = 0x3086_d221_a7d4_6bcd_e86c_90e4_9284_eb15;
/// λ, as its upper and lower half.
static LAMBDA: LazyLock<Scalar> = LazyLock::new(|| {
    let [high, low, half] = [
        0x5363_ad4c_c05c_30e0_a526_1c02_8812_645a,
        0x122e_22ea_2081_6678_df02_967c_1b23_bd72,
        1u128 << 64,
    ]
    .map(Scalar::from);
    high * half.square() + low
});
/// libsecp256k1's g1 and g2: the divisions' factors times 2^384, lowest limb first.
const G1: [u64; 4] = [
    0xe893_209a_45db_b031,
    0x3daa_8a14_71e8_ca7f,
    0xe86c_90e4_9284_eb15,
    0x3086_d221_a7d4_6bcd,
];
const G2: [u64; 4] = [
    0x1571_b4ae_8ac4_7f71,
    0x2212_08ac_9df5_06c6,
    0x6f54_7fa9_0abf_e4c4,
    0xe443_7ed6_010e_8828,
];

/// a · b / 2^384, rounded.
fn times_shifted(a: &[u64; 4], b: &[u64; 4]) -> u128 {
    let mut product = [0u64; 8];
    for (i, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, b) in b.iter().enumerate() {
            let sum = u128::from(*a) * u128::from(*b) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + 4] = carry as u64;
    }
    let whole = u128::from(product[7]) << 64 | u128::from(product[6]);
    whole + u128::from(product[5] >> 63)
}

/// A scalar's 64-bit limbs, lowest first.
fn limbs(scalar: &Scalar) -> [u64; 4] {
    let bytes: [u8; 32] = scalar.to_bytes().into();
    let (limbs, _) = bytes.as_chunks::<8>();
    array::from_fn(|place| u64::from_be_bytes(limbs[3 - place]))
}

/// The signed digits of a number, lowest first, in windows of this many bits: from just above minus half of a window's
/// values to half of them.
fn digits(number: u128, window_bits: u32) -> impl Iterator<Item = i16> {
    let whole = 1i16 << window_bits;
    let mut rest = number;
    let mut carry = 0;
    iter::repeat_with(move || {
        let value = (rest as i16 & (whole - 1)) + carry;
        rest >>= window_bits;
        carry = i16::from(value > whole / 2);
        value - whole * carry
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edges() -> Vec<Scalar> {
        let half = Scalar::from(1u128 << 64).square();
        let (one, lambda) = (Scalar::ONE, *LAMBDA);
        let mut edges = vec![Scalar::ZERO, one, half, half - one, lambda, one - lambda];
        edges.extend([Scalar::from(MINUS_B1), Scalar::from(B2)]);
        // The middle: the largest scalar that is not high, and the next one.
        edges.extend([-(Scalar::from(2u32).invert().unwrap()), half * half]);
        let negative: Vec<Scalar> = edges.iter().map(|edge| -*edge).collect();
        edges.extend(negative);
        edges
    }

    fn scalar() -> impl Strategy<Value = Scalar> {
        let any = (any::<u128>(), any::<u128>());
        let any = any.prop_map(|(a, b)| Scalar::from(a) * Scalar::from(b) + Scalar::from(a ^ b));
        prop_oneof![any, prop::sample::select(edges())]
    }

    fn value(half: ScalarHalf) -> Scalar {
        let size = Scalar::from(half.size);
        if half.is_negative { -size } else { size }
    }

    fn sum_of_digits(number: u128, bits: u32) -> Scalar {
        let windows = HALF_BITS.div_ceil(bits) as usize;
        let digits: Vec<i16> = digits(number, bits).take(windows).collect();
        let whole = Scalar::from(1u32 << bits);
        digits.iter().rev().fold(Scalar::ZERO, |sum, digit| {
            let half = 1i16 << (bits - 1);
            assert!((1 - half..=half).contains(digit), "{digit}");
            let value = Scalar::from(u32::from(digit.unsigned_abs()));
            sum * whole + if *digit < 0 { -value } else { value }
        })
    }

    #[test]
    fn the_constant_turns_points() {
        let turned = ProjectivePoint::GENERATOR.endomorphism();
        assert_eq!(ProjectivePoint::GENERATOR * *LAMBDA, turned);
    }

    #[test]
    fn digits_make_the_number_again() {
        let numbers = [0, 1, 16, 17, 0x8888 << 100, u128::MAX - 1, u128::MAX];
        for (number, bits) in numbers.iter().flat_map(|number| [(number, 5), (number, 9)]) {
            assert_eq!(sum_of_digits(*number, bits), Scalar::from(*number));
        }
    }

    proptest! {
        #[test]
        fn halves_make_the_scalar_again(scalar in scalar()) {
            let [first, second] = split(&scalar);
            prop_assert_eq!(value(first) + value(second) * *LAMBDA, scalar);
            for (half, bits) in [first, second].into_iter().flat_map(|half| [(half, 5), (half, 9)]) {
                prop_assert_eq!(sum_of_digits(half.size, bits), Scalar::from(half.size));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Includes cases in which two multiples, or all of them, cancel each other.
        #[test]
        fn terms_make_the_sum(a in scalar(), b in scalar(), point in scalar(), bits in 4..=6u32) {
            let generator = ProjectivePoint::GENERATOR;
            for (point, b) in [
                (generator * point, b),
                (generator, -a),
                (-generator, a),
                (generator, a),
                (generator * point, Scalar::ZERO),
            ] {
                let mut terms = PointTerms::new();
                terms.add(&GENERATOR, &a);
                terms.add(&PointMultiples::new(point, bits), &b);
                let sum = generator * a + point * b;
                prop_assert_eq!(terms.sum(), sum);
                prop_assert_eq!(affine(terms.sum()), sum.to_affine());
            }
        }
    }
}
