//! Ordered JSON scalars: exact decimals, text by code point, and the same order as bytes, for the keys of an index.
//!
//! The order of an index: null, false, true, numbers, texts, then arrays and objects as one, then an absent value. An
//! index distinguishes texts by their first 256 bytes and numbers by 64 digits.

use std::borrow::Cow;
use std::cmp::Ordering;

use kedge_protocol::limits::{INDEXED_NUMBER_DIGITS_MAX, INDEXED_TEXT_BYTES_MAX};

/// Beyond this exponent, numbers count as equal; below its negative, as zero. No number in use comes near it.
const EXPONENT_MAX: i64 = 1_000_000_000_000_000_000;

/// An exact JSON number: 0.d₁d₂…dₙ × 10^exponent, where neither the first nor the last digit is 0. Zero has no digits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExactDecimal {
    is_negative: bool,
    exponent: i64,
    /// Digits 0 to 9.
    digits: Vec<u8>,
}

impl ExactDecimal {
    /// Parses a number (RFC 8259, 6); `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, parse_power(power)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let digits = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() || !digits().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let zeros = digits().take_while(|digit| *digit == b'0').count();
        let mut digits: Vec<u8> = digits().skip(zeros).map(|digit| digit - b'0').collect();
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let exponent = power.saturating_add(number_of(whole.len()) - number_of(zeros));
        Some(Self::new(is_negative, exponent, digits))
    }

    fn new(is_negative: bool, exponent: i64, digits: Vec<u8>) -> Self {
        if digits.is_empty() || exponent < -EXPONENT_MAX {
            return Self {
                is_negative: false,
                exponent: 0,
                digits: Vec::new(),
            };
        }
        if exponent > EXPONENT_MAX {
            return Self {
                is_negative,
                exponent: EXPONENT_MAX + 1,
                digits: vec![1],
            };
        }
        Self {
            is_negative,
            exponent,
            digits,
        }
    }

    /// Compares the magnitudes of numbers with the same sign.
    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        let by_exponent = self.exponent.cmp(&other.exponent);
        by_exponent.then_with(|| self.digits.cmp(&other.digits))
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        }
    }

    /// Two digits per byte, so that no byte is 0 and a longer number sorts after its prefix. A cut number differs in
    /// its last byte from the number equal to its prefix.
    fn push_ordered(&self, out: &mut Vec<u8>) {
        out.push(match self.sign() {
            -1 => sign::NEGATIVE,
            0 => sign::ZERO,
            _ => sign::POSITIVE,
        });
        let start = out.len();
        if self.sign() == 0 {
            return;
        }
        let biased = (self.exponent as u64) ^ (1 << 63);
        out.extend_from_slice(&biased.to_be_bytes());
        let kept = self.digits.len().min(INDEXED_NUMBER_DIGITS_MAX);
        let pair = |pair: &[u8]| pair[0] * 10 + pair.get(1).copied().unwrap_or(0) + 1;
        out.extend(self.digits[..kept].chunks(2).map(pair));
        out.push(u8::from(kept < self.digits.len()));
        if self.is_negative {
            for byte in &mut out[start..] {
                *byte = !*byte;
            }
        }
    }
}

impl From<u64> for ExactDecimal {
    fn from(number: u64) -> Self {
        let text = number.to_string();
        let digits = text.trim_end_matches('0').bytes();
        Self::new(
            false,
            number_of(text.len()),
            digits.map(|digit| digit - b'0').collect(),
        )
    }
}

/// A count of digits; texts are far shorter than the largest number.
fn number_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(EXPONENT_MAX)
}

/// Parses the exponent after `e`.
fn parse_power(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let power = digits.bytes().fold(0i64, |power, digit| {
        power
            .saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
    });
    Some(if is_negative { -power } else { power })
}

impl PartialOrd for ExactDecimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactDecimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| {
            if self.is_negative {
                other.cmp_magnitude(self)
            } else {
                self.cmp_magnitude(other)
            }
        })
    }
}

mod sign {
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const ZERO: u8 = 2;
    pub(super) const POSITIVE: u8 = 3;
}

/// First byte of an ordered value. Permanent, because keys contain it.
pub mod tag {
    /// `null`
    pub const NULL: u8 = 0x10;
    /// `false`
    pub const FALSE: u8 = 0x20;
    /// `true`
    pub const TRUE: u8 = 0x21;
    /// A number.
    pub const NUMBER: u8 = 0x30;
    /// A string.
    pub const TEXT: u8 = 0x40;
    /// An array or an object: all sort as equal.
    pub const COMPOUND: u8 = 0x50;
    /// An absent value.
    pub const ABSENT: u8 = 0x60;
}

/// Follows a zero byte of a string.
const ESCAPED: u8 = 0xff;
/// Follows the zero byte at the end of a complete string.
const WHOLE: u8 = 1;
/// Follows the zero byte at the end of a cut string.
const CUT: u8 = 2;

/// A JSON value that is neither an array nor an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JsonScalar<'a> {
    Null,
    /// `true` or `false`
    Bool(bool),
    Number(ExactDecimal),
    /// A string, unescaped.
    Text(Cow<'a, str>),
}

impl<'a> JsonScalar<'a> {
    /// Parses a value, which must be valid JSON without surrounding white space; `None` for arrays and objects.
    pub fn parse(json: &'a str) -> Option<Self> {
        match json.as_bytes().first()? {
            b'n' => Some(Self::Null),
            b't' => Some(Self::Bool(true)),
            b'f' => Some(Self::Bool(false)),
            b'"' => parse_text(json).map(Self::Text),
            _ => ExactDecimal::parse(json).map(Self::Number),
        }
    }

    /// Number of bytes or digits that a comparison may examine.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 1,
            Self::Number(number) => number.digits.len(),
            Self::Text(text) => text.len(),
        }
    }

    /// Order of two values of one type; `None` if the types differ.
    pub fn cmp_same_type(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Null, Self::Null) => Some(Ordering::Equal),
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::Number(one), Self::Number(other)) => Some(one.cmp(other)),
            // UTF-8 bytes sort like the code points.
            (Self::Text(one), Self::Text(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
            _ => None,
        }
    }

    /// Writes the value so that byte order is value order, and no value's bytes are a prefix of another's. Long strings
    /// and numbers are cut: values that are cut to the same bytes sort as equal. Returns false if it cut.
    pub fn push_ordered(&self, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Null => out.push(tag::NULL),
            Self::Bool(false) => out.push(tag::FALSE),
            Self::Bool(true) => out.push(tag::TRUE),
            Self::Number(number) => {
                out.push(tag::NUMBER);
                number.push_ordered(out);
                return number.digits.len() <= INDEXED_NUMBER_DIGITS_MAX;
            }
            Self::Text(text) => {
                let is_whole = push_text_start(out, text);
                out.extend_from_slice(&[0, if is_whole { WHOLE } else { CUT }]);
                return is_whole;
            }
        }
        true
    }
}

/// Writes the common prefix of all strings that begin with `text`. Returns false if it cut.
pub fn push_text_start(out: &mut Vec<u8>, text: &str) -> bool {
    out.push(tag::TEXT);
    let kept = text.len().min(INDEXED_TEXT_BYTES_MAX);
    for &byte in &text.as_bytes()[..kept] {
        out.push(byte);
        if byte == 0 {
            out.push(ESCAPED);
        }
    }
    kept == text.len()
}

fn parse_text(json: &str) -> Option<Cow<'_, str>> {
    if json.contains('\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        let inside = json.strip_prefix('"')?.strip_suffix('"')?;
        Some(Cow::Borrowed(inside))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> ExactDecimal {
        ExactDecimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_are_exact() {
        let rising = [
            "-1e400",
            "-123456789012345678901234567890.5",
            "-123456789012345678901234567890",
            "-9007199254740993",
            "-9007199254740992",
            "-1.5",
            "-15e-2",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "2e400",
        ];
        for (i, one) in rising.iter().enumerate() {
            for (j, other) in rising.iter().enumerate() {
                let (left, right) = (decimal(one), decimal(other));
                assert_eq!(left.cmp(&right), i.cmp(&j), "{one} and {other}");
                assert_eq!(left < right, i < j, "{one} and {other}");
            }
        }
        for same in [
            ["1.50", "15e-1"],
            ["0", "-0.000e7"],
            ["1e2", "100"],
            ["0.001E+3", "1"],
            ["120", "12.0e1"],
            ["1e99999999999999999999", "2e99999999999999999998"],
            ["1e-99999999999999999999", "0"],
        ] {
            assert_eq!(decimal(same[0]), decimal(same[1]), "{same:?}");
        }
        for number in [0, 7, 100, 1_020, u64::MAX] {
            assert_eq!(ExactDecimal::from(number), decimal(&number.to_string()));
        }
        for bad in [
            "", "-", "1.", ".5", "e1", "1e", "1e+", "1x", "+1", "0x1", "1 ",
        ] {
            assert_eq!(ExactDecimal::parse(bad), None, "{bad}");
        }
    }

    /// All values in this order, across types.
    #[test]
    fn bytes_are_in_the_order_of_types_and_values() {
        let long = "\"".to_owned() + &"x".repeat(INDEXED_TEXT_BYTES_MAX) + "\"";
        let rising = [
            "null",
            "false",
            "true",
            "-20",
            "-19.5",
            "-1",
            "-0.1",
            "-0.01",
            "0",
            "0.01",
            "0.1",
            "1",
            "1.0001",
            "1.01",
            "9",
            "10",
            "100",
            "\"\"",
            r#""\u0000""#,
            r#""\u0000a""#,
            r#""\u0001""#,
            "\"a\"",
            r#""a\u0000""#,
            "\"aa\"",
            "\"b\"",
            &long,
            "\"ä\"",
            "\"\u{ffff}\"",
            "\"\u{10000}\"",
        ];
        let bytes: Vec<Vec<u8>> = rising
            .iter()
            .map(|json| {
                let mut out = Vec::new();
                assert!(
                    JsonScalar::parse(json).unwrap().push_ordered(&mut out),
                    "{json}"
                );
                out
            })
            .collect();
        for pair in bytes.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
            assert!(!pair[1].starts_with(&pair[0]), "{pair:?}");
        }
    }

    #[test]
    fn only_values_of_one_type_are_compared() {
        let all = ["null", "false", "1", "\"a\""];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                let order = JsonScalar::parse(one)
                    .unwrap()
                    .cmp_same_type(&JsonScalar::parse(other).unwrap());
                assert_eq!(
                    order,
                    (i == j).then_some(Ordering::Equal),
                    "{one} and {other}"
                );
            }
        }
    }

    #[test]
    fn what_is_cut_follows_what_it_was_cut_to() {
        let text = "x".repeat(INDEXED_TEXT_BYTES_MAX);
        let digits = "7".repeat(INDEXED_NUMBER_DIGITS_MAX);
        for (whole, cut) in [
            (format!("\"{text}\""), format!("\"{text}a\"")),
            (digits.clone(), format!("{digits}.1")),
            (format!("-{digits}.1"), format!("-{digits}")),
        ] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let first = JsonScalar::parse(&whole).unwrap().push_ordered(&mut one);
            let second = JsonScalar::parse(&cut).unwrap().push_ordered(&mut other);
            assert!(one < other, "{whole}");
            assert_ne!(first, second, "{whole}");
        }
    }

    /// Scalars that are often close to each other.
    fn json() -> impl Strategy<Value = String> {
        let number = (
            "-?(0|[1-9][0-9]{0,4})(\\.[0-9]{1,4})?",
            prop::option::of(-6..6i32),
        );
        prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|value| value.to_string()),
            number.prop_map(|(mantissa, power)| match power {
                Some(power) => format!("{mantissa}e{power}"),
                None => mantissa,
            }),
            any::<f64>().prop_filter_map("finite", |value| {
                value.is_finite().then(|| value.to_string())
            }),
            "[1-9][0-9]{60,70}",
            "[\\x00ab\u{e4}\u{10000}]{0,5}".prop_map(|text| crate::json::quoted(&text)),
            "x{250,260}y{0,2}".prop_map(|text| crate::json::quoted(&text)),
        ]
    }

    fn rank(scalar: &JsonScalar<'_>) -> u8 {
        match scalar {
            JsonScalar::Null => 0,
            JsonScalar::Bool(_) => 1,
            JsonScalar::Number(_) => 2,
            JsonScalar::Text(_) => 3,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        // Holds invariant 43.
        /// Byte order is value order; after a cut, only the non-strict order remains.
        #[test]
        fn byte_order_is_value_order(one in json(), other in json()) {
            let (one, other) = (JsonScalar::parse(&one).unwrap(), JsonScalar::parse(&other).unwrap());
            let (mut left, mut right) = (Vec::new(), Vec::new());
            let whole = one.push_ordered(&mut left) && other.push_ordered(&mut right);
            if right.is_empty() {
                other.push_ordered(&mut right);
            }
            let order = one
                .cmp_same_type(&other)
                .unwrap_or_else(|| rank(&one).cmp(&rank(&other)));
            if whole {
                prop_assert_eq!(left.cmp(&right), order);
            } else {
                prop_assert!(left.cmp(&right) == order || left == right);
            }
            prop_assert!(left == right || !right.starts_with(&left));
        }

        /// A second implementation of numbers: as whole numbers of a common unit.
        #[test]
        fn decimals_are_scaled_integers(
            one in any::<i64>(), other in any::<i64>(), by in 0..6u32, and in 0..6u32,
        ) {
            let value = |number: i64, scale: u32| i128::from(number) * 10i128.pow(6 - scale);
            let read = |number: i64, scale: u32| decimal(&format!("{number}e-{scale}"));
            let order = value(one, by).cmp(&value(other, and));
            prop_assert_eq!(read(one, by).cmp(&read(other, and)), order);
        }
    }
}
