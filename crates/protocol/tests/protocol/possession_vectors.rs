//! Checks consents of keys to join a wallet against vectors that eth-account made: `vectors/possession.json`.

use kedge_protocol::Address;
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::{Hash, keccak};
use kedge_protocol::ids::{Id, Prefix};
use kedge_protocol::possession::{self, CONSENT_TYPE, KeyAddition, PossessionError};
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::{SignatureError, SigningKey};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/possession.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn hash(value: &Value) -> Hash {
    text(value).parse().unwrap()
}

fn separator(vectors: &Value) -> Hash {
    let domain = Domain {
        chain_id: vectors["domain"]["chainId"].as_u64().unwrap(),
        verifying_contract: text(&vectors["domain"]["verifyingContract"])
            .parse()
            .unwrap(),
    };
    let separator = domain.separator();
    assert_eq!(separator, hash(&vectors["domain_separator"]));
    separator
}

/// The address and the wallet of a vector's message.
fn message(entry: &Value) -> (Address, &str) {
    let message = &entry["message"];
    (
        text(&message["key"]).parse().unwrap(),
        text(&message["wallet"]),
    )
}

// Holds invariant 217.
#[test]
fn what_consents_is_taken() {
    let vectors = vectors();
    let separator = separator(&vectors);
    assert_eq!(CONSENT_TYPE, text(&vectors["type"]["string"]));
    assert_eq!(
        keccak(CONSENT_TYPE.as_bytes()),
        hash(&vectors["type"]["typehash"])
    );
    let carol = hash(&vectors["keys"]["carol"]["private"]);
    let carol = SigningKey::from_bytes(&carol.0).unwrap();
    let good = vectors["good"].as_array().unwrap();
    assert!(good.len() >= 2);
    for entry in good {
        let (key, wallet) = message(entry);
        let struct_hash = possession::struct_hash(wallet, key);
        assert_eq!(struct_hash, hash(&entry["struct_hash"]));
        let digest = possession::digest(&separator, wallet, key);
        assert_eq!(digest, hash(&entry["digest"]));
        let body = text(&entry["body"]);
        let addition = KeyAddition::read(body).unwrap();
        assert_eq!(addition.address, key);
        assert_eq!(
            addition.possession.as_deref(),
            Some(text(&entry["signature"]))
        );
        assert_eq!(addition.check(&separator, wallet), Ok(()));
        assert!(possession::is_stated(&Kind::WalletKeyAdd, body));
        let made = possession::consent(&carol, &separator, wallet).to_string();
        let v = made.len() - 2;
        assert_eq!(made[..v], text(&entry["signature"])[..v]);
    }
}

// Holds invariant 217.
#[test]
fn what_does_not_consent_is_refused() {
    let vectors = vectors();
    let separator = separator(&vectors);
    let refused = vectors["must_refuse"].as_array().unwrap();
    assert!(refused.len() >= 9);
    for entry in refused {
        let why = text(&entry["why"]);
        let (address, wallet) = message(entry);
        let addition = KeyAddition {
            address,
            possession: Some(text(&entry["signature"]).to_owned()),
        };
        let error = addition.check(&separator, wallet).unwrap_err();
        let by = text(&entry["refused_by"]);
        if let Some(other) = by.strip_prefix("another signer: ") {
            let found: Address = other.parse().unwrap();
            let expected = PossessionError::Other {
                found,
                address,
                wallet: wallet.to_owned(),
            };
            assert_eq!(error, expected, "{why}");
        } else if by == "high s" {
            assert_eq!(error, SignatureError::HighS.into(), "{why}");
        } else {
            assert!(matches!(error, PossessionError::Form(_)), "{why}: {error}");
        }
    }
}

/// A request that adds keys to a wallet, one for each payload.
fn record<'a>(wallet: &'a str, payloads: &'a [String]) -> RequestRecord<'a> {
    let id = |prefix| Id {
        prefix,
        bytes: [1; 16],
    };
    let action = |(index, payload): (u16, &'a String)| ActionRecord {
        index,
        kind: Kind::WalletKeyAdd,
        target: wallet.into(),
        payload: payload.into(),
        disclosed: None,
        resource: id(Prefix::Wallet),
        version: 1,
        previous_integrity: Hash::ZERO,
        previous_sequence: 0,
    };
    RequestRecord {
        batch_number: 0,
        first_sequence: 5,
        first_leaf_index: 0,
        timestamp_ms: 0,
        organization_id: id(Prefix::Organization),
        wallet_id: id(Prefix::Wallet),
        head: RequestHead {
            signer: Address::ZERO,
            nonce: 1,
            deadline_s: 1,
            atomic: false,
        },
        signature: possession::consent(
            &SigningKey::from_bytes(&[1; 32]).unwrap(),
            &Hash::ZERO,
            wallet,
        ),
        salt_seed: Hash::ZERO,
        actions: (0..).zip(payloads).map(action).collect(),
        failed: Vec::new(),
    }
}

// Holds invariant 218.
#[test]
fn a_records_consents_are_checked_and_those_without_are_counted() {
    let vectors = vectors();
    let separator = separator(&vectors);
    let good = &vectors["good"][0];
    let (key, wallet) = message(good);
    let body = text(&good["body"]).to_owned();
    let bare = format!(r#"{{"address":"{key}"}}"#);
    let checked = |payloads: &[String]| {
        possession::check_record(&separator, &record(wallet, payloads))
            .map_err(|wrong| (wrong.sequence, wrong.to_string()))
    };
    assert_eq!(checked(&[]), Ok(0));
    assert_eq!(checked(&[bare.clone(), body.clone(), bare.clone()]), Ok(2));
    assert!(!possession::is_stated(&Kind::WalletKeyAdd, &bare));
    assert!(!possession::is_stated(&Kind::WalletKeyRemove, &body));
    let forged = body.replace(&key.to_string(), &Address([9; 20]).to_string());
    let (sequence, what) = checked(&[bare.clone(), forged]).unwrap_err();
    assert!(sequence == 6 && what.contains("recovers to"), "{what}");
    let (sequence, what) = checked(&[bare, body, "{}".to_owned()]).unwrap_err();
    assert!(sequence == 7 && what.contains("cannot be read"), "{what}");
}
