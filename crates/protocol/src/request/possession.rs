//! The consent of a key to join a wallet ([`Kind::WalletKeyAdd`]). An address belongs to one wallet for ever, so it
//! joins only with a signature by its own key. Without one, anyone could bind a stranger's address to their wallet, and
//! receive transfers to it.
//!
//! The consent names the wallet and the key, but no time: an address never moves to another wallet, so the consent
//! never expires. The same wallet may use it again after it removed the key.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::action::Kind;
use crate::address::Address;
use crate::eip712;
use crate::hash::{Hash, keccak, keccak_parts};
use crate::record::{ActionRecord, RequestRecord};
use crate::signature::{Signature, SignatureError, SigningKey};

/// The EIP-712 type of a consent.
pub const CONSENT_TYPE: &str = "KeyConsent(string wallet,address key)";

static CONSENT_TYPEHASH: LazyLock<Hash> = LazyLock::new(|| keccak(CONSENT_TYPE.as_bytes()));

/// The hash of a consent, without the domain.
pub fn struct_hash(wallet: &str, key: Address) -> Hash {
    keccak_parts(&[
        &CONSENT_TYPEHASH.0,
        &keccak(wallet.as_bytes()).0,
        &key.to_word(),
    ])
}

/// The digest that the key signs to join a wallet, given as the text of the wallet's id.
pub fn digest(domain_separator: &Hash, wallet: &str, key: Address) -> Hash {
    eip712::digest(domain_separator, &struct_hash(wallet, key))
}

/// The key's consent to join a wallet.
pub fn consent(key: &SigningKey, domain_separator: &Hash, wallet: &str) -> Signature {
    key.sign(&digest(domain_separator, wallet, key.address()))
}

/// The payload of [`Kind::WalletKeyAdd`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyAddition {
    /// The key that joins the wallet.
    pub address: Address,
    /// The key's consent, as it was sent. Absent only in a log that is older than the rule.
    #[serde(default)]
    pub possession: Option<String>,
}

/// Why a key's consent is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PossessionError {
    /// There is no consent.
    #[error(
        "is required: the new key's signature over {CONSENT_TYPE} in the log's domain, with this wallet's id"
    )]
    Missing,
    /// The consent is not an accepted form of signature.
    #[error("must be a secp256k1 signature of 65 bytes by the new key: {0}")]
    Form(#[from] SignatureError),
    /// Another key signed, or another text.
    #[error(
        "recovers to {found}, not to {address}: another key made it, or it was made for another wallet than {wallet}, for \
         another key, or for another domain"
    )]
    Other {
        /// The recovered address.
        found: Address,
        /// The joining address.
        address: Address,
        /// The wallet's id.
        wallet: String,
    },
}

impl KeyAddition {
    /// Reads a payload.
    ///
    /// # Errors
    /// The text is not the JSON of such a payload.
    pub fn read(payload: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(payload)
    }

    /// Checks the key's consent to join the wallet with this id.
    ///
    /// # Errors
    /// Why the consent is not accepted.
    pub fn check(&self, domain_separator: &Hash, wallet: &str) -> Result<(), PossessionError> {
        let possession = self.possession.as_deref();
        let signature: Signature = possession.ok_or(PossessionError::Missing)?.parse()?;
        let address = self.address;
        let found = signature.recover(&digest(domain_separator, wallet, address))?;
        if found == address {
            return Ok(());
        }
        Err(PossessionError::Other {
            found,
            address,
            wallet: wallet.to_owned(),
        })
    }
}

/// Whether an action states a consent. Programs that are older than the rule refuse such an action.
pub fn is_stated(kind: &Kind, payload: &str) -> bool {
    *kind == Kind::WalletKeyAdd
        && KeyAddition::read(payload).is_ok_and(|addition| addition.possession.is_some())
}

/// Whether one of these actions states a consent.
pub fn is_stated_in(actions: &[ActionRecord<'_>]) -> bool {
    let mut actions = actions.iter();
    actions.any(|action| is_stated(&action.kind, &action.payload))
}

/// An invalid key addition in a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct KeyAdditionFault {
    /// The action's sequence.
    pub sequence: u64,
    /// The failed check.
    pub what: String,
}

/// Checks the consent of every key that a request added. Returns how many joined without one, which is possible only in
/// a log that is older than the rule.
///
/// # Errors
/// [`KeyAdditionFault`] for the first invalid consent.
pub fn check_record(
    domain_separator: &Hash,
    record: &RequestRecord<'_>,
) -> Result<u64, KeyAdditionFault> {
    let mut without = 0;
    for (action, sequence) in record.actions.iter().zip(record.first_sequence..) {
        if action.kind != Kind::WalletKeyAdd {
            continue;
        }
        let wrong = |what: String| KeyAdditionFault { sequence, what };
        let addition = KeyAddition::read(&action.payload)
            .map_err(|error| wrong(format!("a key addition cannot be read: {error}")))?;
        match addition.check(domain_separator, &action.target) {
            Ok(()) => {}
            Err(PossessionError::Missing) => without += 1,
            Err(error) => {
                let key = addition.address;
                return Err(wrong(format!("the possession of key {key} {error}")));
            }
        }
    }
    Ok(without)
}
