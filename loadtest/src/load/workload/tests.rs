//! Tests of the workload, and a workload for other tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use clap::Parser as _;
use kedge_protocol::Prefix;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;

use super::*;

fn id(prefix: Prefix, number: usize) -> Id {
    Id::of_hash(prefix, &keccak(&number.to_be_bytes()))
}

/// A workload of organizations with this many objects each.
pub(crate) fn workload(arguments: &str, organizations: usize, objects: usize) -> Workload {
    let arguments = std::iter::once("kedge-load").chain(arguments.split(' '));
    let mut options = RunOptions::try_parse_from(arguments).unwrap();
    (options.organizations, options.objects) = (organizations, organizations * objects);
    let organizations: Vec<LoadOrganization> = (0..organizations)
        .map(|number| {
            let key = SigningKey::from_bytes(&[number as u8 + 1; 32]).unwrap();
            LoadOrganization {
                id: id(Prefix::Organization, number),
                recipients: [key.address(), key.address()],
                key,
                api_key: Some("k".to_owned()),
                access_token: None,
                template: id(Prefix::Template, number),
                objects: (0..objects)
                    .map(|object| id(Prefix::Object, number * 1000 + object))
                    .collect(),
                actions: Vec::new(),
                next_nonce: 10,
            }
        })
        .collect();
    let hot = organizations[0].objects.first().copied();
    Workload::new(organizations, hot, Hash::ZERO, "h:1", &options)
}

#[test]
fn bodies_hold_the_signed_texts_as_they_are() {
    for arguments in [
        "batch-updates --batch 3",
        "batch-transfers --batch 3",
        "batch-mints --batch 3",
        "single-updates",
    ] {
        let workload = workload(arguments, 2, 5);
        for number in 0..12 {
            let body = std::str::from_utf8(workload.body(number)).unwrap();
            let texts = workload.texts(number);
            assert_eq!(body.matches("action_type").count(), texts.len());
            for (target, payload) in texts {
                assert!(
                    body.contains(&format!(r#""{target}","payload":{payload}}}"#)),
                    "{arguments}"
                );
            }
        }
    }
}

#[test]
fn a_request_goes_round_where_objects_are_few() {
    let workload = workload("batch-updates --batch 5", 1, 2);
    let texts = workload.texts(0);
    assert_eq!(texts[0].0, texts[2].0);
    assert_ne!(
        texts[0].1, texts[2].1,
        "the second update changes something"
    );
    assert_eq!(texts[0].1, texts[1].1);
}

#[test]
fn every_nonce_once_and_heads_as_they_are_sent() {
    let workload = workload("single-updates", 3, 2);
    let nonces: BTreeSet<_> = (0..30)
        .map(|number| workload.head(number))
        .map(|head| (head.signer.to_string(), head.nonce))
        .collect();
    assert_eq!(nonces.len(), 30);
    let signed = workload.sign(4).unwrap();
    let mut out = Vec::new();
    workload.write_head(&mut out, 4, &signed, Some("\"1.a\""));
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("POST /ebus/actions HTTP/1.1\r\nhost: h:1\r\nx-api-key: k\r\n"));
    assert!(text.contains(&format!("x-signature: {}\r\n", signed.signature)));
    assert!(text.contains(&format!("x-signature-salt: {}\r\n", signed.seed)));
    assert!(text.contains("x-signature-nonce: 11\r\n"));
    assert!(text.ends_with("\r\nif-match: \"1.a\"\r\n\r\n"));
}

#[test]
fn reads_and_changes_are_mixed_as_asked_and_numbered_without_gaps() {
    let workload = workload("mixed --reads-percent 70", 1, 2);
    let mut numbers = (BTreeSet::new(), BTreeSet::new());
    for slot in 0..300 {
        match workload.step(slot) {
            WorkloadStep::Read(number) => numbers.0.insert(number),
            WorkloadStep::Write(number) => numbers.1.insert(number),
        };
    }
    assert_eq!(numbers.0, (0..210).collect());
    assert_eq!(numbers.1, (0..90).collect());
}
