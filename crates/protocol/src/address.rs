//! Ethereum addresses.

use core::fmt;
use core::str::FromStr;

use crate::hash::{HexError, from_hex, keccak, text_serde};

/// A 20-byte Ethereum address; its text is EIP-55 checksummed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// The zero address.
    pub const ZERO: Self = Self([0; 20]);

    /// The address as a 32-byte word, left-padded with zeros (as in the EVM).
    pub fn to_word(self) -> [u8; 32] {
        let mut word = [0; 32];
        word[12..].copy_from_slice(&self.0);
        word
    }
}

/// Why a text is not an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not `0x` and 40 hexadecimal digits.
    #[error("an address {0}")]
    Hex(#[from] HexError),
    /// Mixed case that does not match the EIP-55 checksum: a mistyped address.
    #[error("the address's upper and lower case do not match its EIP-55 checksum")]
    Checksum,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = crate::hash::to_hex(&self.0).into_bytes();
        let digest = keccak(&text[2..]);
        for (i, digit) in text[2..].iter_mut().enumerate() {
            let nibble = digest.0[i / 2] >> (4 * (1 - i % 2)) & 15;
            if nibble >= 8 {
                digit.make_ascii_uppercase();
            }
        }
        f.write_str(core::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    /// Accepts one case throughout, or mixed case with a correct EIP-55 checksum.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let address = Self(from_hex(text)?);
        let digits = &text[2..];
        let lower = digits.bytes().any(|digit| digit.is_ascii_lowercase());
        let upper = digits.bytes().any(|digit| digit.is_ascii_uppercase());
        if lower && upper && address.to_string() != text {
            return Err(AddressError::Checksum);
        }
        Ok(address)
    }
}

text_serde!(Address);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eip_55_examples() {
        for text in [
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
            "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(format!("{address:?}"), text);
            assert_eq!(text.to_lowercase().parse(), Ok(address));
        }
        assert_eq!(
            "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".parse::<Address>(),
            Err(AddressError::Checksum)
        );
    }
}
