//! Cursors of lists: a position, authenticated with this server's key and bound to one list. A modified cursor, or one
//! of another list, does not open.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use kedge_protocol::Code;
use sha2::Sha256;

use crate::auth::code::MacKey;
use crate::error::{ApiError, ApiResult};

const SEAL_BYTES: usize = 16;

pub struct CursorCodec {
    key: MacKey,
}

/// Identity of a list: route, caller, filters and order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CursorScope(String);

impl CursorScope {
    /// Parts are prefixed by their lengths, so they cannot run together.
    pub fn of(parts: &[&str]) -> Self {
        Self(parts.iter().fold(String::new(), |scope, part| {
            format!("{scope}{}:{part}", part.len())
        }))
    }
}

impl CursorCodec {
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key: MacKey::new(key),
        }
    }

    /// The length separates place and scope.
    fn seal(&self, scope: &CursorScope, place: &[u8]) -> Hmac<Sha256> {
        let mut seal = self.key.mac(&(place.len() as u64).to_be_bytes());
        seal.update(place);
        seal.update(scope.0.as_bytes());
        seal
    }

    /// The cursor for the entries after `place`, an encoding chosen by the list.
    pub fn make(&self, scope: &CursorScope, place: &[u8]) -> String {
        let seal = self.seal(scope, place).finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([place, &seal[..SEAL_BYTES]].concat())
    }

    /// The place of a cursor made for this list.
    pub fn open(&self, scope: &CursorScope, cursor: &str) -> ApiResult<Vec<u8>> {
        let mut place = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
        let length = place.len().checked_sub(SEAL_BYTES).ok_or_else(invalid)?;
        let seal = place.split_off(length);
        let checked = self.seal(scope, &place).verify_truncated_left(&seal);
        checked.map_err(|_| invalid())?;
        Ok(place)
    }
}

fn invalid() -> ApiError {
    ApiError::new(
        Code::CursorInvalid,
        "the cursor is not one that this list gave to this caller with these filters",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_and_foreign_cursors_do_not_open() {
        let cursors = CursorCodec::new([1; 32]);
        let scope = CursorScope::of(&["/objects", "org_1", "tpl_1"]);
        let cursor = cursors.make(&scope, b"any bytes");
        assert_eq!(cursors.open(&scope, &cursor).unwrap(), b"any bytes");
        let foreign = [
            CursorScope::of(&["/objects", "org_2", "tpl_1"]),
            CursorScope::of(&["/objects", "org_1", ""]),
            CursorScope::of(&["/objects", "org_1tpl_1", ""]),
        ];
        for other in foreign {
            assert_eq!(
                cursors.open(&other, &cursor).unwrap_err().code,
                Code::CursorInvalid
            );
        }
        let mut forged = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
        forged[7] ^= 1;
        let forged = URL_SAFE_NO_PAD.encode(forged);
        for bad in [forged.as_str(), "", "77", "not/base64", &cursor[1..]] {
            assert!(cursors.open(&scope, bad).is_err(), "{bad}");
        }
        assert!(CursorCodec::new([2; 32]).open(&scope, &cursor).is_err());
    }
}
