//! Field elements and curve points as EVM words (EIP-197's order) and as snarkjs' decimal texts. Both are canonical: a
//! number is below the field's order, and a point lies on its curve and in its group.

use ark_bn254::{Fq, Fq2, G1Affine, G2Affine};
use ark_ec::AffineRepr as _;
use ark_ff::{BigInt, BigInteger as _, PrimeField};
use kedge_protocol::Hash;

/// Why numbers are not a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointError {
    /// A number is not below the order of its field.
    #[error("a number is not below the field's order")]
    Number,
    /// A text is not a decimal number without leading zeros.
    #[error("a number must be decimal, without leading zeros")]
    Decimal,
    /// The coordinates do not satisfy the curve's equation.
    #[error("a point does not lie on its curve")]
    NotOnCurve,
    /// The point is on the curve, but not in the group of the right order.
    #[error("a point is not in its group")]
    OtherGroup,
    /// The third coordinate, which snarkjs writes as one, is another.
    #[error("a point's third coordinate must be one")]
    NotAffine,
}

/// A field element as a big-endian word.
pub(crate) fn word<F: PrimeField<BigInt = BigInt<4>>>(number: F) -> Hash {
    let mut word = Hash::ZERO;
    word.0.copy_from_slice(&number.into_bigint().to_bytes_be());
    word
}

/// The field element of a big-endian word.
pub(crate) fn number<F: PrimeField<BigInt = BigInt<4>>>(word: &Hash) -> Result<F, PointError> {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().rev().zip(word.0.as_chunks::<8>().0) {
        *limb = u64::from_be_bytes(*bytes);
    }
    F::from_bigint(BigInt(limbs)).ok_or(PointError::Number)
}

/// The field element of a decimal text.
pub(crate) fn decimal<F: PrimeField<BigInt = BigInt<4>>>(text: &str) -> Result<F, PointError> {
    // 2^256 has 78 digits.
    if text.len() > 78 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(PointError::Decimal);
    }
    if text.is_empty() || (text.starts_with('0') && text.len() > 1) {
        return Err(PointError::Decimal);
    }
    let number: BigInt<4> = text.parse().map_err(|()| PointError::Number)?;
    F::from_bigint(number).ok_or(PointError::Number)
}

/// Words x, y; zeros for the point at infinity.
pub(crate) fn g1_words(point: &G1Affine) -> [Hash; 2] {
    point
        .xy()
        .map_or([Hash::ZERO; 2], |(x, y)| [word(x), word(y)])
}

/// Words x imaginary, x real, y imaginary, y real; zeros for the point at infinity.
pub(crate) fn g2_words(point: &G2Affine) -> [Hash; 4] {
    point.xy().map_or([Hash::ZERO; 4], |(x, y)| {
        [word(x.c1), word(x.c0), word(y.c1), word(y.c0)]
    })
}

/// The point of G1 with these words.
pub(crate) fn g1(words: &[Hash; 2]) -> Result<G1Affine, PointError> {
    if *words == [Hash::ZERO; 2] {
        return Ok(G1Affine::identity());
    }
    g1_of(number(&words[0])?, number(&words[1])?)
}

/// The point of G2 with these words.
pub(crate) fn g2(words: &[Hash; 4]) -> Result<G2Affine, PointError> {
    if *words == [Hash::ZERO; 4] {
        return Ok(G2Affine::identity());
    }
    let [x1, x0, y1, y0] = words;
    g2_of(
        Fq2::new(number(x0)?, number(x1)?),
        Fq2::new(number(y0)?, number(y1)?),
    )
}

/// A point of G1, whose group is the whole curve.
pub(crate) fn g1_of(x: Fq, y: Fq) -> Result<G1Affine, PointError> {
    let point = G1Affine::new_unchecked(x, y);
    if point.is_on_curve() {
        Ok(point)
    } else {
        Err(PointError::NotOnCurve)
    }
}

pub(crate) fn g2_of(x: Fq2, y: Fq2) -> Result<G2Affine, PointError> {
    let point = G2Affine::new_unchecked(x, y);
    if !point.is_on_curve() {
        return Err(PointError::NotOnCurve);
    }
    if point.is_in_correct_subgroup_assuming_on_curve() {
        Ok(point)
    } else {
        Err(PointError::OtherGroup)
    }
}

/// snarkjs' form of a G1 point: x, y and one.
pub(crate) type G1Json = [String; 3];
/// snarkjs' form of a G2 point: real part of each coordinate first.
pub(crate) type G2Json = [[String; 2]; 3];

pub(crate) fn g1_texts(point: &G1Affine) -> G1Json {
    let (x, y, z) = match point.xy() {
        Some((x, y)) => (x.to_string(), y.to_string(), "1"),
        None => ("0".to_owned(), "1".to_owned(), "0"),
    };
    [x, y, z.to_owned()]
}

pub(crate) fn g2_texts(point: &G2Affine) -> G2Json {
    let pair = |number: Fq2| [number.c0.to_string(), number.c1.to_string()];
    let constant = |number: u8| [number.to_string(), "0".to_owned()];
    match point.xy() {
        Some((x, y)) => [pair(x), pair(y), constant(1)],
        None => [constant(0), constant(1), constant(0)],
    }
}

pub(crate) fn g1_of_texts(texts: &G1Json) -> Result<G1Affine, PointError> {
    if texts[2] != "1" {
        return Err(PointError::NotAffine);
    }
    g1_of(decimal(&texts[0])?, decimal(&texts[1])?)
}

pub(crate) fn g2_of_texts(texts: &G2Json) -> Result<G2Affine, PointError> {
    if texts[2] != ["1", "0"] {
        return Err(PointError::NotAffine);
    }
    let pair = |pair: &[String; 2]| Ok(Fq2::new(decimal(&pair[0])?, decimal(&pair[1])?));
    g2_of(pair(&texts[0])?, pair(&texts[1])?)
}
