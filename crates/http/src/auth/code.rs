//! Texts that name a record and carry a secret: API keys and invitation codes. The record's id is part of the text, so
//! one read finds it. The store has only a keyed hash of the secret, or nothing.

use crc::{CRC_32_ISO_HDLC, Crc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use kedge_config::secrets::{self, SecretError};
use kedge_protocol::{Id, Prefix};
use sha2::Sha256;

/// Prefix of keys of a live service, known to secret scanners.
const KEY_HEAD: &str = "kdg_live_";
/// Prefix of invitation codes.
const INVITATION_HEAD: &str = "kdi_";
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Base62 digits of 128 bits.
const WORD_DIGITS: usize = 22;
/// Base62 digits of 32 bits.
const CHECKSUM_DIGITS: usize = 6;
/// Digits of a key: id, 256 random bits, checksum.
const KEY_DIGITS: usize = 3 * WORD_DIGITS + CHECKSUM_DIGITS;

/// The CRC of Ethernet, gzip and PNG.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Appends a number in base62, highest digit first, padded with zeros.
fn push_base62(text: &mut String, mut number: u128, count: usize) {
    let mut digits = [b'0'; WORD_DIGITS];
    for digit in digits[..count].iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    text.extend(digits[..count].iter().copied().map(char::from));
}

fn of_base62(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0u128, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'Z' => digit - b'A' + 10,
            b'a'..=b'z' => digit - b'a' + 36,
            _ => return None,
        };
        number.checked_mul(62)?.checked_add(value.into())
    })
}

/// Key of keyed hashes.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

impl MacKey {
    /// The key as stored in its file.
    pub fn new(key: [u8; 32]) -> Self {
        // A key shorter than a block is padded with zeros (RFC 2104, 2).
        let mut block = [0; 64];
        block[..32].copy_from_slice(&key);
        Self(Hmac::new(&block.into()))
    }

    pub(crate) fn mac(&self, text: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(text);
        mac
    }

    /// HMAC-SHA-256 (RFC 2104).
    pub fn hash(&self, text: &[u8]) -> [u8; 32] {
        self.mac(text).finalize().into_bytes().into()
    }

    /// Compares a hash in constant time.
    pub fn is_hash_of(&self, hash: &[u8], text: &[u8]) -> bool {
        self.mac(text).verify_slice(hash).is_ok()
    }
}

/// Whether a text looks like an API key, valid or not.
pub fn is_key(text: &str) -> bool {
    text.starts_with(KEY_HEAD)
}

/// Makes an API key: `kdg_live_`, then id and 32 random bytes in base62, then their CRC-32 in base62.
pub fn new_key(id: Id) -> Result<String, SecretError> {
    let random: [u8; 32] = secrets::random()?;
    let (halves, _) = random.as_chunks::<16>();
    let mut text = String::with_capacity(KEY_HEAD.len() + KEY_DIGITS);
    text.push_str(KEY_HEAD);
    push_base62(&mut text, u128::from_be_bytes(id.bytes), WORD_DIGITS);
    for half in halves {
        push_base62(&mut text, u128::from_be_bytes(*half), WORD_DIGITS);
    }
    let checksum = CHECKSUM.checksum(text.as_bytes());
    push_base62(&mut text, checksum.into(), CHECKSUM_DIGITS);
    Ok(text)
}

/// The id named by a key; `None` if form or checksum is wrong.
pub fn key_id(text: &str) -> Option<Id> {
    let digits = text.strip_prefix(KEY_HEAD)?.as_bytes();
    if digits.len() != KEY_DIGITS {
        return None;
    }
    let (body, checksum) = text.as_bytes().split_at(text.len() - CHECKSUM_DIGITS);
    if of_base62(checksum)? != u128::from(CHECKSUM.checksum(body)) {
        return None;
    }
    Some(Id {
        prefix: Prefix::Key,
        bytes: of_base62(&digits[..WORD_DIGITS])?.to_be_bytes(),
    })
}

/// Invitation codes: the invitation's id and a keyed hash of it. Nothing of a code is stored.
pub struct InvitationCodes(MacKey);

impl InvitationCodes {
    pub fn new(key: MacKey) -> Self {
        Self(key)
    }

    /// The code of an invitation, which is deterministic.
    pub fn of(&self, invitation: Id) -> String {
        let mut half = [0; 16];
        half.copy_from_slice(&self.0.hash(&invitation.bytes)[..16]);
        let mut text = INVITATION_HEAD.to_owned();
        push_base62(
            &mut text,
            u128::from_be_bytes(invitation.bytes),
            WORD_DIGITS,
        );
        push_base62(&mut text, u128::from_be_bytes(half), WORD_DIGITS);
        text
    }

    /// The invitation of a code.
    pub fn open(&self, code: &str) -> Option<Id> {
        let digits = code.strip_prefix(INVITATION_HEAD)?.as_bytes();
        if digits.len() != 2 * WORD_DIGITS {
            return None;
        }
        let (id, half) = digits.split_at(WORD_DIGITS);
        let bytes = of_base62(id)?.to_be_bytes();
        let half = of_base62(half)?.to_be_bytes();
        let mac = self.0.mac(&bytes);
        mac.verify_truncated_left(&half).ok()?;
        Some(Id {
            prefix: Prefix::Action,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(prefix: Prefix, byte: u8) -> Id {
        Id {
            prefix,
            bytes: [byte; 16],
        }
    }

    #[test]
    fn keys_name_their_id_and_a_wrong_character_is_noticed() {
        for byte in [0, 1, 0xff] {
            let text = new_key(id(Prefix::Key, byte)).unwrap();
            assert_eq!(text.len(), KEY_HEAD.len() + KEY_DIGITS);
            assert_eq!(key_id(&text), Some(id(Prefix::Key, byte)));
            for at in 0..text.len() {
                let mut changed = text.clone().into_bytes();
                changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
                assert_eq!(key_id(&String::from_utf8(changed).unwrap()), None, "{at}");
            }
            assert_eq!(key_id(&text[..text.len() - 1]), None);
            assert_ne!(new_key(id(Prefix::Key, byte)).unwrap(), text);
        }
    }

    /// Check value of CRC-32/ISO-HDLC, and the digits of a known number.
    #[test]
    fn the_checksum_is_the_common_one_in_base62() {
        assert_eq!(CHECKSUM.checksum(b"123456789"), 0xcbf4_3926);
        let mut text = String::new();
        push_base62(&mut text, 61 * 62 + 10, 3);
        assert_eq!(text, "0zA");
        assert_eq!(of_base62(b"0zA"), Some(61 * 62 + 10));
        assert_eq!(of_base62(&[b'z'; WORD_DIGITS]), None, "more than 128 bits");
    }

    #[test]
    fn invitations_open_with_their_own_code_alone() {
        let codes = InvitationCodes::new(MacKey::new([1; 32]));
        let invitation = id(Prefix::Action, 7);
        let code = codes.of(invitation);
        assert_eq!(codes.open(&code), Some(invitation));
        let other = InvitationCodes::new(MacKey::new([2; 32]));
        assert_eq!(other.open(&code), None);
        for at in 0..code.len() {
            let mut changed = code.clone().into_bytes();
            changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
            assert_eq!(
                codes.open(&String::from_utf8(changed).unwrap()),
                None,
                "{at}"
            );
        }
    }

    /// RFC 4231, test case 2, its key padded with zeros to 32 bytes (the same key by RFC 2104, 2).
    #[test]
    fn hashes_are_hmac_sha_256() {
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let key = MacKey::new(key);
        let text = b"what do ya want for nothing?";
        let hash = key.hash(text);
        assert_eq!(
            const_hex::encode(hash),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert!(key.is_hash_of(&hash, text));
        assert!(!key.is_hash_of(&hash[..31], text));
        assert!(!key.is_hash_of(&hash, &text[1..]));
    }
}
