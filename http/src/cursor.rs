//! Cursors of lists: a place, sealed with a key of this server, for one list alone. A cursor that was changed, or comes
//! from another list, does not open.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_api::Code;
use kedge_protocol::hash::keccak_parts;

use crate::error::ApiError;

const SEAL_BYTES: usize = 16;

/// Makes and opens cursors.
pub struct Cursors {
    key: [u8; 32],
}

/// The list that a cursor belongs to: the route, the caller, the filters and the order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope(String);

impl Scope {
    /// A scope made of its parts; a length before each keeps them apart.
    pub fn of(parts: &[&str]) -> Self {
        Self(parts.iter().fold(String::new(), |scope, part| {
            format!("{scope}{}:{part}", part.len())
        }))
    }
}

impl Cursors {
    /// Cursors under a secret key.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// keccak with the key in front: it is a sponge, so it needs no nested construction. The length
    /// keeps place and scope apart.
    fn seal(&self, scope: &Scope, place: &[u8]) -> [u8; SEAL_BYTES] {
        let bytes = (place.len() as u64).to_be_bytes();
        keccak_parts(&[&self.key, &bytes, place, scope.0.as_bytes()]).first_16()
    }

    /// The cursor for the entries after `place`, a number.
    pub fn make(&self, scope: &Scope, place: u128) -> String {
        self.make_behind(scope, &place.to_be_bytes())
    }

    /// The place of a cursor that was made here for this list, as a number.
    pub fn open(&self, scope: &Scope, cursor: &str) -> Result<u128, ApiError> {
        let place = self.open_behind(scope, cursor)?;
        let place = place.try_into().map_err(|_| invalid())?;
        Ok(u128::from_be_bytes(place))
    }

    /// The cursor for the entries after `place`, any bytes.
    pub fn make_behind(&self, scope: &Scope, place: &[u8]) -> String {
        let seal = self.seal(scope, place);
        URL_SAFE_NO_PAD.encode([place, seal.as_slice()].concat())
    }

    /// The place of a cursor that was made here for this list.
    pub fn open_behind(&self, scope: &Scope, cursor: &str) -> Result<Vec<u8>, ApiError> {
        let mut place = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
        let length = place.len().checked_sub(SEAL_BYTES).ok_or_else(invalid)?;
        let seal = place.split_off(length);
        let expected = self.seal(scope, &place);
        // Every byte is compared, so the time does not reveal where they differ.
        let difference = expected
            .iter()
            .zip(&seal)
            .fold(0, |difference, (a, b)| difference | (a ^ b));
        if difference == 0 {
            Ok(place)
        } else {
            Err(invalid())
        }
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
        let cursors = Cursors::new([1; 32]);
        let scope = Scope::of(&["/objects", "org_1", "tpl_1"]);
        let cursor = cursors.make(&scope, 77);
        assert_eq!(cursors.open(&scope, &cursor).unwrap(), 77);
        let foreign = [
            Scope::of(&["/objects", "org_2", "tpl_1"]),
            Scope::of(&["/objects", "org_1", ""]),
            Scope::of(&["/objects", "org_1tpl_1", ""]),
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
        assert!(Cursors::new([2; 32]).open(&scope, &cursor).is_err());
        let place = b"any bytes".as_slice();
        let behind = cursors.make_behind(&scope, place);
        assert_eq!(cursors.open_behind(&scope, &behind).unwrap(), place);
        assert!(cursors.open(&scope, &behind).is_err());
    }
}
