//! Disputes.

use std::sync::OnceLock;

use kedge_protocol::claim::{ClaimBinding, DisclosureMask};
use kedge_protocol::{Address, Hash};
use kedge_prover::claim::{ClaimDisclosure, prove};
use kedge_prover::groth16::ProvingKey;
use kedge_prover::keys;
use serde_json::{Value, json};

use crate::ask::Ask;
use crate::forgery;
use crate::row::{Gives, Row, Takes, ask, case, row};
use crate::world::World;

const DISPUTE: [&str; 7] = [
    "id",
    "organization_id",
    "kind",
    "subject_id",
    "batch",
    "created_at",
    "sequence",
];

/// Submits new evidence, altered by `bend`.
async fn bring(world: &World, bend: impl FnOnce(&mut Value)) -> Ask {
    let file = forgery::equivocation(&world.server).await;
    let mut body = forgery::json(&file);
    bend(&mut body);
    Ask::json("/disputes", &body)
}

/// A claim on the action, with its own purpose, altered by `bend`.
async fn claim(world: &World, claimant: Address, bend: impl FnOnce(&mut Value)) -> Ask {
    static KEY: OnceLock<ProvingKey> = OnceLock::new();
    let path = format!("/ebus/actions/{}/proof", world.action);
    let proof = world.server.get(&path, Some(&world.ann.token)).await;
    let proof = serde_json::from_value(proof.expect(200).body).unwrap();
    let choice = ClaimDisclosure {
        mask: DisclosureMask::new(1).unwrap(),
        hashes_only: false,
    };
    let mut purpose = Hash::ZERO;
    purpose.0[24..].copy_from_slice(&world.fresh().to_be_bytes());
    let binding = ClaimBinding {
        resolver: Address::ZERO,
        claimant,
        purpose,
    };
    let proving = tokio::task::spawn_blocking(move || {
        let key = KEY.get_or_init(|| keys::dev_insecure_proving().unwrap());
        prove(key, &proof, choice, binding).unwrap()
    });
    let mut body = serde_json::to_value(proving.await.unwrap()).unwrap();
    bend(&mut body);
    Ask::json("/disputes", &body)
}

fn bringing() -> Vec<Row> {
    vec![Row {
        status: 201,
        right: ("batches", "create"),
        takes: Takes::Json,
        gives: Gives::Json,
        keys: &DISPUTE,
        cases: vec![
            case!("VALIDATION_ERROR" at "/format", world => {
                bring(world, |body| body["format"] = json!("kedge.other")).await
            }),
            case!("VALIDATION_ERROR" at "/version", world => {
                bring(world, |body| body["version"] = json!(2)).await
            }),
            case!("STATE_VIOLATION", world => {
                let same = |body: &mut Value| {
                    body["evidence"]["second"] = body["evidence"]["first"].clone();
                };
                bring(world, same).await
            }),
            case!("STATE_VIOLATION", world => {
                bring(world, |body| body["domain"]["chain_id"] = json!(1)).await
            }),
            case!("VALIDATION_ERROR" at "/proof/a", world => {
                let off_curve = |body: &mut Value| {
                    body["proof"]["a"][0] = json!(Hash([1; 32]));
                };
                claim(world, world.ann.key.address(), off_curve).await
            }),
            case!("FORBIDDEN", world => {
                claim(world, world.bob.key.address(), |_| ()).await
            }),
            case!("CONFLICT", world => {
                let first = claim(world, world.ann.key.address(), |_| ()).await;
                let text = String::from_utf8(first.body.clone()).unwrap();
                let bearer = [world.ann.bearer()];
                let made = world.server.call("POST", "/disputes", &bearer, &text);
                let mut body = made.await.expect(201).body["claim"].clone();
                body["proof"]["c"] = body["proof"]["a"].clone();
                Ask::json("/disputes", &body)
            }),
            case!("PAYLOAD_TOO_LARGE", world => {
                let ask = bring(world, |_| ()).await;
                let mut body = ask.body.clone();
                body.resize(200 * 1024, b' ');
                ask.with_body(body)
            }),
        ],
        ..row(
            "POST",
            "/disputes",
            ask!(world => bring(world, |_| ()).await),
        )
    }]
}

fn reading() -> Vec<Row> {
    vec![
        Row {
            right: ("batches", "read"),
            gives: Gives::List,
            keys: &DISPUTE,
            ..row("GET", "/disputes", ask!(_world => Ask::get("/disputes")))
        },
        Row {
            right: ("batches", "read"),
            keys: &DISPUTE,
            ..row(
                "GET",
                "/disputes/{id}",
                ask!(world => Ask::get(format!("/disputes/{}", world.dispute))),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = bringing();
    rows.extend(reading());
    rows
}
