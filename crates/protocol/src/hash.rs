//! Hashes. Only this module and `lanes` choose the keccak implementation.

use core::fmt;
use core::str::FromStr;

use sha2::Sha256;
use sha3::{Digest, Keccak256};

use crate::lanes;

/// A 32-byte hash; JSON form is `0x` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// 32 zero bytes.
    pub const ZERO: Self = Self([0; 32]);

    /// The bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 16 bytes: the content of an identifier.
    pub fn first_16(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out.copy_from_slice(&self.0[..16]);
        out
    }
}

/// Why a text is not the expected hexadecimal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// The text does not begin with `0x`.
    #[error("must begin with 0x")]
    MissingPrefix,
    /// The text has a different number of digits than the value needs.
    #[error("must have {expected_digits} hexadecimal digits after 0x")]
    Length {
        /// How many digits the value needs.
        expected_digits: usize,
    },
    /// A character is not a hexadecimal digit.
    #[error("holds a character that is not a hexadecimal digit")]
    Digit,
}

/// Formats `bytes` as `0x` and lower-case digits.
pub fn to_hex(bytes: &[u8]) -> String {
    const_hex::encode_prefixed(bytes)
}

/// Reads exactly `N` bytes from `0x…`; accepts digits of either case.
pub fn from_hex<const N: usize>(text: &str) -> Result<[u8; N], HexError> {
    let digits = text.strip_prefix("0x").ok_or(HexError::MissingPrefix)?;
    if digits.len() != N * 2 {
        return Err(HexError::Length {
            expected_digits: N * 2,
        });
    }
    let mut out = [0; N];
    const_hex::decode_to_slice(digits, &mut out).map_err(|_| HexError::Digit)?;
    Ok(out)
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(const_hex::Buffer::<32, true>::new().format(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Self, HexError> {
        from_hex(text).map(Self)
    }
}

impl From<Hash> for Vec<u8> {
    fn from(hash: Hash) -> Self {
        hash.0.to_vec()
    }
}

impl TryFrom<Vec<u8>> for Hash {
    type Error = Vec<u8>;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Vec<u8>> {
        <[u8; 32]>::try_from(bytes).map(Self)
    }
}

/// Serde through the text form, for a type with `Display` and `FromStr`.
macro_rules! text_serde {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_serde;
text_serde!(Hash);

/// keccak256 of `bytes` (the Ethereum hash: Keccak with the original padding, not SHA3-256).
pub fn keccak(bytes: &[u8]) -> Hash {
    lanes::keccak_one(bytes)
}

/// keccak256 of the concatenation of `parts`.
pub fn keccak_parts(parts: &[&[u8]]) -> Hash {
    let mut hasher = Keccak256::new();
    for part in parts {
        hasher.update(part);
    }
    Hash(hasher.finalize().into())
}

/// SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

/// An incremental SHA-256, for bodies that arrive as a stream.
#[derive(Clone, Default)]
pub struct Sha256Stream(Sha256);

impl Sha256Stream {
    /// Hashes the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all pieces.
    pub fn finish(self) -> Hash {
        Hash(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        assert_eq!(
            keccak(b"").to_string(),
            "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
        );
        assert_eq!(
            sha256(b"abc").to_string(),
            "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(keccak_parts(&[b"a", b"bc"]), keccak(b"abc"));
        let mut stream = Sha256Stream::default();
        stream.update(b"a");
        stream.update(b"bc");
        assert_eq!(stream.finish(), sha256(b"abc"));
    }

    #[test]
    fn a_hash_is_its_bytes() {
        let hash = keccak(b"");
        assert_eq!(hash.as_bytes(), &hash.0);
        assert_eq!(format!("{hash:?}"), hash.to_string());
        let bytes = Vec::from(hash);
        assert_eq!(bytes, hash.0);
        assert_eq!(Hash::try_from(bytes), Ok(hash));
        for length in [0, 31, 33] {
            let bytes = vec![7; length];
            assert_eq!(Hash::try_from(bytes.clone()), Err(bytes));
        }
    }

    #[test]
    fn hexadecimal_is_strict() {
        assert_eq!("12".parse::<Hash>(), Err(HexError::MissingPrefix));
        assert_eq!(
            "0x12".parse::<Hash>(),
            Err(HexError::Length {
                expected_digits: 64
            })
        );
        assert_eq!(from_hex::<1>("0x1g"), Err(HexError::Digit));
        assert_eq!(from_hex::<2>("0xAb0c"), Ok([0xab, 0x0c]));
    }
}
