//! Random values and their reference order.

use std::cmp::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_protocol::limits::{INDEXED_NUMBER_DIGITS_MAX, INDEXED_TEXT_BYTES_MAX};

/// Pseudo-random numbers from a seed (splitmix64).
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn seeded() -> Self {
        let given = std::env::var("KEDGE_TEST_SEED").ok();
        let clock = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            since.as_millis() as u64
        };
        let seed = given.map_or_else(clock, |text| text.parse().unwrap());
        eprintln!("searches: KEDGE_TEST_SEED={seed}");
        Self(seed)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// A value of the model.
#[derive(Clone, Debug)]
pub(super) enum V {
    Null,
    Bool(bool),
    /// A mantissa and its number of decimal places.
    Number(i64, u32),
    /// A number with one digit more than an index distinguishes. Such numbers differ only in the last digit, which is
    /// one less than this. They are further from zero than any `Number` of their sign.
    Huge(i64),
    Text(String),
    List(Vec<V>),
    Object,
}

impl V {
    pub(super) fn random(rng: &mut Rng, depth: u64) -> Self {
        match rng.below(8 + depth) {
            0 => Self::Null,
            1 => Self::Bool(rng.one_in(2)),
            2 if rng.one_in(3) => Self::Huge(rng.pick(&[-3, -2, -1, 1, 2, 3])),
            2..=4 => {
                let mantissa = rng.pick(&[0, 1, 2, 3, 10, 15, 20, 150, 9_007_199_254_740_993]);
                let sign = if rng.one_in(3) { -1 } else { 1 };
                Self::Number(
                    sign * (mantissa + i64::from(rng.one_in(5))),
                    rng.below(3) as u32,
                )
            }
            5 if rng.one_in(2) => {
                let end = rng.pick(&["", "x", "xa", "xb", "ä", "äb"]);
                Self::Text("x".repeat(INDEXED_TEXT_BYTES_MAX - 1) + end)
            }
            5..=7 => Self::Text(
                rng.pick(&[
                    "",
                    "a",
                    "ab",
                    "abc",
                    "b",
                    "ä",
                    "\u{0}",
                    "a\u{0}",
                    "\u{10000}",
                    "\u{ffff}",
                    "1",
                    "%",
                    "a_*\\\"/",
                ])
                .to_owned(),
            ),
            8 => Self::List((0..rng.below(3)).map(|_| Self::random(rng, 0)).collect()),
            _ => Self::Object,
        }
    }

    /// A JSON spelling of the value.
    pub(super) fn json(&self, rng: &mut Rng) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(mantissa, scale) => match rng.below(3) {
                0 => format!("{mantissa}e-{scale}"),
                1 if *mantissa != 0 => format!("{mantissa}00E-{}", scale + 2),
                _ => {
                    let unit = 10i64.pow(*scale);
                    let sign = if *mantissa < 0 { "-" } else { "" };
                    let (whole, rest) = (mantissa.abs() / unit, mantissa.abs() % unit);
                    match scale {
                        0 => format!("{sign}{whole}"),
                        _ => format!("{sign}{whole}.{rest:0>width$}", width = *scale as usize),
                    }
                }
            },
            Self::Huge(last) => {
                let sign = if *last < 0 { "-" } else { "" };
                let digits = "7".repeat(INDEXED_NUMBER_DIGITS_MAX);
                format!("{sign}{digits}{}", last.abs() - 1)
            }
            Self::Text(text) if rng.one_in(3) => {
                let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                format!("\"{}\"", units.collect::<String>())
            }
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(|value| value.json(rng)).collect();
                format!("[{}]", values.join(","))
            }
            Self::Object => r#"{"x":1}"#.to_owned(),
        }
    }

    pub(super) fn cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Null, Self::Null) => Some(Ordering::Equal),
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::Number(one, by), Self::Number(other, and)) => {
                let scaled =
                    |number: &i64, scale: &u32| i128::from(*number) * 10i128.pow(9 - scale);
                Some(scaled(one, by).cmp(&scaled(other, and)))
            }
            (Self::Huge(one), Self::Huge(other)) => Some(one.cmp(other)),
            (Self::Huge(one), Self::Number(..)) => Some(one.cmp(&0)),
            (Self::Number(..), Self::Huge(other)) => Some(0.cmp(other)),
            (Self::Text(one), Self::Text(other)) => Some(one.chars().cmp(other.chars())),
            _ => None,
        }
    }

    fn rank(value: Option<&Self>) -> u8 {
        match value {
            Some(Self::Null) => 0,
            Some(Self::Bool(_)) => 1,
            Some(Self::Number(..) | Self::Huge(_)) => 2,
            Some(Self::Text(_)) => 3,
            Some(Self::List(_) | Self::Object) => 4,
            None => 5,
        }
    }

    /// Index order: by type, then by value.
    pub(super) fn cmp_places(one: Option<&Self>, other: Option<&Self>) -> Ordering {
        Self::rank(one).cmp(&Self::rank(other)).then_with(|| {
            let (Some(one), Some(other)) = (one, other) else {
                return Ordering::Equal;
            };
            match (one, other) {
                (Self::Text(one), Self::Text(other)) => text_place(one).cmp(&text_place(other)),
                // The last digit is cut, unless it is 0 and therefore absent.
                (Self::Huge(one), Self::Huge(other)) => {
                    one.clamp(&-2, &2).cmp(other.clamp(&-2, &2))
                }
                _ => one.cmp(other).unwrap_or(Ordering::Equal),
            }
        })
    }
}

/// The part of a text that an index distinguishes: its beginning, and whether it continues.
fn text_place(text: &str) -> (&[u8], bool) {
    let kept = text.len().min(INDEXED_TEXT_BYTES_MAX);
    (&text.as_bytes()[..kept], kept < text.len())
}
