//! Proof of possession: a key joins a wallet only with its own consent, so a stranger's address cannot be bound.

use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::{from_hex, to_hex};
use kedge_protocol::possession;
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server};

async fn add(server: &Server, to: &Caller, body: &Value) -> Answer {
    let kind = ("wallet.key_add", to.wallet_id.as_str());
    let request = ("POST", "/wallets/me/keys");
    to.change(server, request, kind, &body.to_string()).await
}

async fn remove(server: &Server, from: &Caller, key: Address) -> Answer {
    let path = format!("/wallets/me/keys/{key}");
    let payload = json!({ "address": key }).to_string();
    let signed = (
        "wallet.key_remove",
        from.wallet_id.as_str(),
        payload.as_str(),
    );
    let request = ("DELETE", path.as_str());
    from.change_as(server, request, signed, "", &[from.bearer()])
        .await
}

/// Checks that the answer refuses for want of consent; returns the error's message.
#[track_caller]
fn not_consenting(answer: &Answer, code: &str) -> String {
    answer.refused(422, "STATE_VIOLATION");
    let errors = &answer.body["body"]["errors"];
    assert_eq!(
        (&errors[0]["pointer"], &errors[0]["code"]),
        (&json!("/possession"), &json!(code)),
        "{errors}"
    );
    assert_eq!(errors.as_array().unwrap().len(), 1, "{errors}");
    errors[0]["message"].as_str().unwrap().to_owned()
}

/// The malleated form of a signature: n − s for s and the other v, which the protocol refuses.
fn high_s(signature: &Signature) -> String {
    const ORDER: &str = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let order: [u8; 32] = from_hex(ORDER).unwrap();
    let mut bytes = signature.0;
    let mut borrow = 0;
    for at in (0..32).rev() {
        let s = i32::from(bytes[32 + at]) + borrow;
        let difference = i32::from(order[at]) - s;
        borrow = i32::from(difference < 0);
        bytes[32 + at] = difference.rem_euclid(256) as u8;
    }
    bytes[64] = 55 - bytes[64];
    to_hex(&bytes)
}

// Holds invariant 217.
#[tokio::test]
async fn a_strangers_address_stays_the_strangers() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let stranger = Caller::nobody();
    let address = stranger.key.address();

    let message = not_consenting(
        &add(&server, &ann, &json!({ "address": address })).await,
        "required",
    );
    assert!(message.contains("KeyConsent"), "{message}");
    // An address of another wallet is answered like one of none.
    let taken = json!({ "address": bob.key.address() });
    let same = not_consenting(&add(&server, &ann, &taken).await, "required");
    assert_eq!(same, message);

    // Nothing was bound: an object for the address reaches no wallet, and its key can register.
    let template = bob.new_template(&server, "thing").await;
    let object = bob.new_object(&server, &template).await;
    let to = json!({ "to": address }).to_string();
    bob.change(
        &server,
        ("POST", &format!("/objects/{object}/transfer")),
        ("transfer", &object),
        &to,
    )
    .await
    .refused(404, "RESOURCE_NOT_FOUND");
    let body = stranger.registration("stranger@example.com").to_string();
    stranger.send_registration(&server, &body).await.expect(201);
}

// Holds invariant 217.
#[tokio::test]
async fn a_consent_names_the_wallet_the_key_and_the_log() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let new = SigningKey::from_bytes(&[0x77; 32]).unwrap();
    let other = SigningKey::from_bytes(&[0x78; 32]).unwrap();
    let wallet = ann.wallet_id.as_str();
    let here = server.domain.separator();
    let with = |possession: Value| json!({ "address": new.address(), "possession": possession });

    let elsewhere = Domain {
        chain_id: server.domain.chain_id + 1,
        ..server.domain
    };
    let contract = Domain {
        verifying_contract: Address([7; 20]),
        ..server.domain
    };
    let of_another_key = possession::digest(&here, wallet, other.address());
    let right = possession::digest(&here, wallet, new.address());
    for (why, signature) in [
        (
            "another wallet",
            possession::consent(&new, &here, &bob.wallet_id),
        ),
        (
            "upper case",
            possession::consent(&new, &here, &wallet.to_uppercase()),
        ),
        (
            "another chain",
            possession::consent(&new, &elsewhere.separator(), wallet),
        ),
        (
            "another contract",
            possession::consent(&new, &contract.separator(), wallet),
        ),
        ("another key named", new.sign(&of_another_key)),
        ("another key signs", other.sign(&right)),
        ("the wallet's own key signs", ann.key.sign(&right)),
        ("other words", new.sign(&Hash([1; 32]))),
    ] {
        let answer = add(&server, &ann, &with(json!(signature))).await;
        let message = not_consenting(&answer, "signature");
        assert!(message.contains("recovers to 0x"), "{why}: {message}");
    }
}

// Holds invariant 217.
/// A possession has the same form as X-Signature.
#[tokio::test]
async fn a_consent_has_one_form() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let new = SigningKey::from_bytes(&[0x77; 32]).unwrap();
    let with = |possession: Value| json!({ "address": new.address(), "possession": possession });
    let good = possession::consent(&new, &server.domain.separator(), &ann.wallet_id);
    let bytes = good.0;
    let mut odd_v = bytes;
    odd_v[64] = 29;
    let of_zeros = [vec![2], vec![0; 128]].concat();
    for (text, says) in [
        (high_s(&good), "upper half"),
        (to_hex(&bytes[..64]), "130 hexadecimal digits"),
        (
            to_hex(&[&bytes[..], &[0]].concat()),
            "130 hexadecimal digits",
        ),
        // The forms of P-256 keys and passkeys.
        (to_hex(&of_zeros), "130 hexadecimal digits"),
        (to_hex(&[3; 300]), "130 hexadecimal digits"),
        (to_hex(&odd_v), "must be 0, 1, 27 or 28"),
        (to_hex(&[0; 65]), "does not recover"),
        (String::new(), "must begin with 0x"),
        (to_hex(&bytes)[2..].to_owned(), "must begin with 0x"),
        (format!("0x{}", "zz".repeat(65)), "not a hexadecimal digit"),
    ] {
        let message = not_consenting(&add(&server, &ann, &with(json!(text))).await, "format");
        assert!(message.contains(says), "{text}: {message}");
        assert!(
            message.contains("secp256k1 signature of 65 bytes"),
            "{message}"
        );
    }
    not_consenting(&add(&server, &ann, &with(Value::Null)).await, "required");
    add(&server, &ann, &with(json!(7)))
        .await
        .refused(400, "VALIDATION_ERROR");

    // As in X-Signature, v may be 0 or 1, and digits are of either case.
    let mut low_v = bytes;
    low_v[64] -= 27;
    let spelled = format!("0x{}", to_hex(&low_v)[2..].to_uppercase());
    let added = add(&server, &ann, &with(json!(spelled))).await.expect(201);
    assert_eq!(
        added.body["keys"],
        json!([ann.key.address(), new.address()])
    );
}

// Holds invariant 217.
/// A consent names one wallet and never expires, so that wallet may use it again and no other can.
#[tokio::test]
async fn a_consent_is_the_wallets_that_it_names() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let new = Caller::nobody();
    let consent = new.joining(&server, &ann.wallet_id);
    let address = new.key.address();

    not_consenting(&add(&server, &bob, &consent).await, "signature");
    add(&server, &ann, &consent).await.expect(201);
    add(&server, &ann, &consent).await.refused(409, "CONFLICT");
    remove(&server, &ann, address).await.expect(200);
    // The address stays Ann's, even against its own key.
    not_consenting(&add(&server, &bob, &consent).await, "signature");
    let for_bob = new.joining(&server, &bob.wallet_id);
    add(&server, &bob, &for_bob).await.refused(409, "CONFLICT");
    let body = new.registration("new@example.com").to_string();
    new.send_registration(&server, &body)
        .await
        .refused(409, "CONFLICT");
    add(&server, &ann, &consent).await.expect(201);

    // The key's consent is valid, but the key registered a wallet and stays there.
    let of_bob = bob.joining(&server, &ann.wallet_id);
    add(&server, &ann, &of_bob).await.refused(409, "CONFLICT");
}
