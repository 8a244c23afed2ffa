//! Bodies of the action bus with signature headers: they are read as serde reads them, an action alone is read like one
//! in a list, and a signature is valid for the signed words only.

use std::time::Instant;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use kedge_http::error::ApiError;
use kedge_http::signing::{HEADERS, RequestVerifier, SignatureHeaders, SignedTexts, bus};
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::eip712::Domain;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde_json::{Value, json};

use crate::fuzz;

const NOW_S: u64 = 1_800_000_000;

fn domain() -> Domain {
    Domain {
        chain_id: 1,
        verifying_contract: Address([7; 20]),
    }
}

/// Checks that a refusal blames the caller and states a reason.
fn refused(error: &ApiError) -> String {
    assert!(error.status().is_client_error(), "{error:?}");
    assert!(
        !error.message.is_empty() || format!("{:?}", error.detail).len() > 8,
        "{error:?}"
    );
    format!("{:?} {} {:?}", error.code, error.message, error.detail)
}

fn words(texts: &SignedTexts) -> Vec<(String, String, String)> {
    let words = texts.words();
    words
        .map(|words| {
            (
                words.kind.to_owned(),
                words.target.to_owned(),
                words.payload.to_owned(),
            )
        })
        .collect()
}

/// Compares an action's words with serde's reading: kind, target and payload.
fn check_action(action: &Value, words: &(String, String, String)) {
    let (kind, target, payload) = words;
    assert_eq!(action["action_type"], json!(kind));
    let named = action
        .get("object_id")
        .or_else(|| action.get("template_id"));
    assert_eq!(named.and_then(Value::as_str).unwrap_or_default(), target);
    let read: Value = serde_json::from_str(payload).unwrap();
    let given = action.get("payload").cloned().unwrap_or_else(|| json!({}));
    assert_eq!(
        read, given,
        "the payload that is signed is the one that was sent"
    );
}

/// Signs the parsed texts. The signature must be valid for them, and invalid for other words.
fn check_signature(read: impl Fn() -> SignedTexts) {
    let key = SigningKey::from_bytes(&[3; 32]).unwrap();
    let texts = read();
    let seed = Hash([9; 32]);
    let hashes: Vec<Hash> = (0..)
        .zip(texts.words())
        .map(|(index, words)| {
            let kind = Kind::of_text(words.kind).unwrap();
            ActionWords::of(&kind, words.target, words.payload.as_bytes())
                .action_hash(&salt(&seed, index))
        })
        .collect();
    let head = RequestHead {
        signer: key.address(),
        nonce: 5,
        deadline_s: NOW_S + 60,
        atomic: texts.atomic,
    };
    let headers = SignatureHeaders {
        signature: key.sign(&head.digest(&domain().separator(), &hashes)),
        signer: key.address(),
        nonce: head.nonce,
        deadline_s: head.deadline_s,
        salt_seed: seed,
    };
    let verifier = RequestVerifier::new(domain());
    let asker = || kedge_actors::api::Principal::Registration;
    let submission = verifier.check(asker(), &headers, read(), Instant::now());
    assert_eq!(submission.unwrap().actions.len(), hashes.len());
    let other = SignatureHeaders {
        nonce: headers.nonce + 1,
        ..headers
    };
    assert!(
        verifier
            .check(asker(), &other, read(), Instant::now())
            .is_err()
    );
    let mut changed = read();
    changed.atomic = !changed.atomic;
    assert!(
        verifier
            .check(asker(), &headers, changed, Instant::now())
            .is_err()
    );
}

fn target(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else {
        return "not UTF-8".to_owned();
    };
    let preview = bus::preview(text.to_owned())
        .err()
        .map(|error| refused(&error));
    let single = match bus::single(text.to_owned()) {
        Ok(single) => single,
        Err(error) => {
            let single = refused(&error);
            return match bus::batch(text.to_owned()) {
                Ok(many) => batch(text, &many),
                Err(error) => format!("{single} / {} / {preview:?}", refused(&error)),
            };
        }
    };
    let value: Value = serde_json::from_str(text).unwrap();
    let single = words(&single);
    check_action(&value, &single[0]);
    // The same action in a list of one, and in a preview.
    let many = bus::batch(format!("{{\"actions\":[{text}]}}")).unwrap();
    assert_eq!(words(&many), single);
    let shown = bus::preview(text.to_owned()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(words(&shown.bus), single);
    check_signature(|| bus::single(text.to_owned()).unwrap());
    format!("one {}", single[0].0)
}

fn batch(text: &str, many: &SignedTexts) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    let read = words(many);
    let actions = value["actions"].as_array().unwrap();
    assert_eq!(actions.len(), read.len());
    for (action, words) in actions.iter().zip(&read) {
        check_action(action, words);
    }
    assert_eq!(
        value
            .get("atomic")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        many.atomic
    );
    check_signature(|| bus::batch(text.to_owned()).unwrap());
    let kinds: Vec<&str> = read.iter().take(3).map(|words| words.0.as_str()).collect();
    format!("many {} {}", kinds.join(" "), many.atomic)
}

#[test]
fn bodies_are_read_as_serde_reads_them() {
    let object = Id::of_hash(Prefix::Object, &Hash([1; 32]));
    let template = Id::of_hash(Prefix::Template, &Hash([2; 32]));
    let seeds = [
        format!(
            r#"{{"action_type":"update","object_id":"{object}","payload":{{"a":[1,2.50,"é"]}}}}"#
        ),
        format!(
            r#"{{"action_type":"mint","template_id":"{template}","payload":{{"properties":{{}}}}}}"#
        ),
        format!(r#"{{"action_type":"x.use","object_id":"{object}"}}"#),
        r#"{ "payload" : { "\u0061" : null } , "object_id" : "\u006fbj_1" , "action_type" : "b\u0075rn" }"#
            .to_owned(),
        format!(
            r#"{{"actions":[{{"action_type":"transfer","object_id":"{object}","payload":{{"to":"0x00"}}}},{{"action_type":"burn","object_id":"{object}"}}],"atomic":true}}"#
        ),
    ];
    let words = [
        "\"action_type\":\"lock\"",
        "\"atomic\":false",
        "null",
        "{}",
        "[]",
        ",",
        "\\u0061",
        "\\ud83d\\ude00",
        "\"payload\":",
        "\"object_id\":\"\"",
        "\"template_id\":",
        "\"x.a-b_c\"",
        " ",
        "\"signer\":",
        "\u{feff}",
        "\u{0}",
    ];
    fuzz("bodies")
        .seeds(seeds.map(Vec::from))
        .words(&words)
        .run(target);
}

/// Inputs are lines, `name: value`.
#[test]
fn headers_are_read_or_refused_by_name() {
    let key = SigningKey::from_bytes(&[3; 32]).unwrap();
    let values = [
        key.sign(&Hash([2; 32])).to_string(),
        key.address().to_string(),
        "7".to_owned(),
        (NOW_S + 60).to_string(),
        Hash([3; 32]).to_string(),
    ];
    let lines = HEADERS
        .iter()
        .zip(&values)
        .map(|(name, value)| format!("{name}: {value}"));
    let good = lines.collect::<Vec<_>>().join("\n");
    let words: Vec<&str> = HEADERS
        .iter()
        .copied()
        .chain(["\n", ": ", "0x", " ", "00"])
        .collect();
    fuzz("headers")
        .seeds([good.into_bytes()])
        .words(&words)
        .run(|input| {
            let mut headers = HeaderMap::new();
            for line in input.split(|byte| *byte == b'\n') {
                let end = line
                    .iter()
                    .position(|byte| *byte == b':')
                    .unwrap_or(line.len());
                let (name, value) = line.split_at(end);
                let value = value.strip_prefix(b":").unwrap_or_default().trim_ascii();
                let name = HeaderName::from_bytes(name);
                if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
                    headers.append(name, value);
                }
            }
            let signer = SignatureHeaders::signer(&headers);
            let read = match SignatureHeaders::read(&headers, NOW_S) {
                Ok(read) => read,
                Err(error) => return refused(&error),
            };
            assert_eq!(signer, Some(read.signer));
            // Written by their one form and read again.
            let values = [
                read.signature.to_string(),
                read.signer.to_string(),
                read.nonce.to_string(),
                read.deadline_s.to_string(),
                read.salt_seed.to_string(),
            ];
            let mut written = HeaderMap::new();
            for (name, value) in HEADERS.into_iter().zip(values) {
                written.insert(name, HeaderValue::from_str(&value).unwrap());
            }
            assert_eq!(SignatureHeaders::read(&written, NOW_S).unwrap(), read);
            "read".to_owned()
        });
}
