//! The final comparison: resources, log, events and proofs on the server are those of the oracle.

use std::collections::{BTreeMap, BTreeSet};

use kedge_protocol::Hash;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::Receipt;
use serde_json::{Value, json};

use crate::clients::{Clients, Exchange, Fate};
use crate::followers::{Follower, position};
use crate::plan::Form;
use crate::replay::{Logged, Replayed, Trust, assert_object, assert_template};
use crate::support::Rng;
use crate::wire::Prepared;

/// Actions whose proof files are requested.
const PROOFS: usize = 40;
/// Objects whose events are requested separately.
const OBJECTS_FILTERED: usize = 20;
/// Up to this many refusals the server has forgotten none (`EVENTS_KEPT_MAX`).
const FAILURES_SURE: usize = 8_000;

/// The event type of a kind of action.
fn event_type(kind: &str) -> &'static str {
    match kind {
        "mint" => "object.created",
        "update" | "set_attributes" | "delete_attributes" => "object.updated",
        "transfer" => "object.transferred",
        "lock" => "object.locked",
        "unlock" => "object.unlocked",
        "burn" => "object.burned",
        "template.create" => "template.created",
        "template.variations" => "variation.created",
        _ => "action.executed",
    }
}

async fn get(clients: &Clients, path: &str, reader: usize) -> Value {
    let token = &clients.signers[reader].token;
    let answer = clients
        .wire
        .get(path, token)
        .await
        .expect("a server that answers");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

async fn list(clients: &Clients, path: &str, reader: usize) -> Vec<Value> {
    clients
        .wire
        .list(path, &clients.signers[reader].token)
        .await
}

/// The wallet that created an organization.
fn owner_of(replayed: &Replayed, organization: &str) -> usize {
    let wallets = replayed.state.wallets.iter();
    let mut owners = wallets.enumerate();
    let found = owners.find(|(_, wallet)| wallet.organization == organization);
    found.unwrap().0
}

pub(crate) async fn objects(clients: &Clients, replayed: &Replayed) {
    let mut histories: BTreeMap<&str, Vec<&Logged>> = BTreeMap::new();
    for logged in &replayed.log {
        let of_resource = histories.entry(&logged.effect.resource);
        of_resource.or_default().push(logged);
    }
    for (id, object) in &replayed.state.objects {
        let shown = get(clients, &format!("/objects/{id}"), object.owner).await;
        assert_object(&replayed.state, id, object, &shown);
        let path = format!("/objects/{id}/history");
        let history = list(clients, &path, object.owner).await;
        let reported: Vec<Value> = history
            .iter()
            .map(|action| {
                json!([
                    action["sequence"],
                    action["action_type"],
                    action["object_version"],
                    action["content"],
                    action["leaf"],
                    action["previous_integrity"]
                ])
            })
            .collect();
        let wanted = histories[id.as_str()].iter().rev();
        let wanted: Vec<Value> = wanted
            .map(|logged| {
                let effect = &logged.effect;
                json!([
                    logged.sequence,
                    logged.kind,
                    effect.after.version,
                    logged.content,
                    logged.leaf,
                    effect.before.integrity
                ])
            })
            .collect();
        assert_eq!(reported, wanted, "the history of {id}");
    }
}

pub(crate) async fn templates(clients: &Clients, replayed: &Replayed) {
    for (id, template) in &replayed.state.templates {
        let reader = owner_of(replayed, &template.organization);
        let shown = get(clients, &format!("/templates/{id}"), reader).await;
        let objects = replayed.state.objects.values();
        let burned = objects.filter(|object| object.template == *id && object.status == "burned");
        assert_template(id, template, burned.count(), &shown);
        let found = list(clients, &format!("/templates/{id}/variations"), reader).await;
        let reported: Vec<Value> = found
            .iter()
            .map(|shown| {
                json!([
                    shown["id"],
                    shown["name"],
                    shown["properties"],
                    shown["index"]
                ])
            })
            .collect();
        let wanted = template.variations.iter().enumerate().map(|(index, id)| {
            let variation = &replayed.state.variations[id];
            json!([id, variation.name, variation.properties, index])
        });
        assert_eq!(
            reported,
            wanted.collect::<Vec<Value>>(),
            "the variations of {id}"
        );
    }
}

/// The events of one organization. Its stream and its list must agree and report every action of the oracle's log once.
pub(crate) async fn events(
    clients: &Clients,
    replayed: &Replayed,
    (organization, base): (&str, u64),
    follower: Follower,
    rng: &mut Rng,
) -> Vec<Value> {
    let reader = owner_of(replayed, organization);
    let listed = list(clients, "/ebus/events?order=asc", reader).await;
    let streamed = follower.finish(position(listed.last().unwrap())).await;
    let positions: Vec<(u64, u64)> = streamed.iter().map(position).collect();
    assert!(
        positions.is_sorted_by(|a, b| a < b),
        "a stream that goes back"
    );
    let is_failure = |event: &&Value| event["type"] == "action.failed";
    let failures = streamed.iter().filter(is_failure).count();
    if failures < FAILURES_SURE {
        assert_same(&streamed, &listed);
    }

    let mine = replayed.log.iter();
    let mine: Vec<&Logged> = mine
        .filter(|logged| {
            logged
                .reported
                .iter()
                .any(|reported| reported == organization)
        })
        .collect();
    let wanted = mine.iter().flat_map(|logged| {
        let one = json!([
            event_type(logged.kind),
            logged.sequence,
            logged.id(),
            logged.effect.resource,
            logged.effect.after.version
        ]);
        std::iter::repeat_n(one, logged.events)
    });
    let of_log = |event: &&Value| {
        let version = &event["data"]["version"];
        version.is_u64() && event["sequence"].as_u64() > Some(base)
    };
    let reported = streamed.iter().filter(of_log).map(|event| {
        let data = &event["data"];
        json!([
            event["type"],
            event["sequence"],
            event["action_id"],
            data["resource_id"],
            data["version"]
        ])
    });
    assert_eq!(
        reported.collect::<Vec<Value>>(),
        wanted.collect::<Vec<Value>>()
    );

    check_sealed(&streamed, &mine, base);
    check_filtered(clients, &mine, reader, rng).await;
    streamed
}

/// Checks that each batch with one of these actions was reported as sealed, once.
fn check_sealed(streamed: &[Value], mine: &[&Logged], base: u64) {
    let batches: BTreeSet<u64> = mine.iter().map(|logged| logged.batch_number).collect();
    let sealed = streamed.iter().filter(|event| {
        event["type"] == "batch.sealed" && event["data"]["first_sequence"].as_u64() > Some(base)
    });
    let sealed: Vec<u64> = sealed
        .map(|event| event["data"]["number"].as_u64().unwrap())
        .collect();
    assert_eq!(sealed, batches.into_iter().collect::<Vec<u64>>());
}

/// Checks that an object's event lists hold each of its actions.
async fn check_filtered(clients: &Clients, mine: &[&Logged], reader: usize, rng: &mut Rng) {
    let objects: Vec<&str> = mine
        .iter()
        .map(|logged| logged.effect.resource.as_str())
        .collect();
    for _ in 0..OBJECTS_FILTERED {
        let id = rng.pick(&objects);
        let path = format!("/ebus/events?object_id={id}&type=object.*,action.executed");
        if id.starts_with("obj_") {
            let found = list(clients, &path, reader).await;
            let versions: Vec<u64> = found
                .iter()
                .map(|event| event["data"]["version"].as_u64().unwrap())
                .collect();
            let wanted = mine.iter().filter(|logged| logged.effect.resource == id);
            assert!(
                wanted
                    .map(|logged| logged.effect.after.version)
                    .eq(versions),
                "{id}: {found:?}"
            );
        }
    }
}

/// Compares two long lists and shows only the first difference.
fn assert_same(streamed: &[Value], listed: &[Value]) {
    let differs = streamed.iter().zip(listed).find(|(a, b)| a != b);
    assert_eq!(differs, None, "the stream (first) is not the list");
    let longer = streamed
        .get(listed.len())
        .or_else(|| listed.get(streamed.len()));
    assert_eq!(
        longer,
        None,
        "{} events streamed, {} listed",
        streamed.len(),
        listed.len()
    );
}

/// Checks that every refusal was reported once, with the code of its answer, and that no other was reported.
pub(crate) fn failures(
    replayed: &Replayed,
    exchanges: &[Exchange],
    organization: &str,
    streamed: &[Value],
) {
    let mut reported: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in streamed
        .iter()
        .filter(|event| event["type"] == "action.failed")
    {
        let data = &event["data"];
        let what = format!("{} {} {}", event["id"], data["action_type"], data["index"]);
        reported
            .entry(what)
            .or_default()
            .push(data["code"].as_str().unwrap());
    }
    for exchange in exchanges {
        let plan = &exchange.plan;
        if replayed.state.wallets[plan.caller].organization != organization {
            continue;
        }
        for (index, (act, fate)) in plan.acts.iter().zip(&exchange.fates).enumerate() {
            let id = kedge_protocol::event::event_id(&exchange.contents[index], 0);
            let what = format!("{} {} {index}", json!(id), json!(act.kind));
            let codes = reported.remove(&what).unwrap_or_default();
            match fate {
                Fate::Done(_) => assert!(codes.is_empty(), "{what} was done: {codes:?}"),
                // If the answer was lost, its reason may be reported at most once.
                Fate::NotDone => {
                    let was_lost = exchange.body.is_none() || exchange.attempts > 1;
                    assert!(codes.is_empty() || was_lost, "{what}: {codes:?}");
                }
                Fate::Refused(code) => {
                    let again = exchange.attempts as usize;
                    assert!(
                        (1..=again).contains(&codes.len()),
                        "{what} was reported {codes:?}"
                    );
                    assert!(
                        codes.last() == Some(&code.as_str()),
                        "{what} was reported {codes:?}"
                    );
                }
            }
        }
    }
    assert!(
        reported.is_empty(),
        "failures that nobody was answered: {reported:?}"
    );
}

/// Checks some actions with their receipts and proof files.
pub(crate) async fn proofs(clients: &Clients, replayed: &Replayed, trust: Trust, rng: &mut Rng) {
    for _ in 0..PROOFS {
        let logged = rng.pick(&replayed.log);
        let path = format!("/ebus/actions/{}", logged.id());
        let action = get(clients, &path, logged.caller).await;
        let receipt: Receipt = serde_json::from_value(action["receipt"].clone()).unwrap();
        receipt.verify(&trust.domain, &trust.sequencer).unwrap();
        assert_eq!(receipt.leaf.hash().unwrap(), logged.leaf);
        assert!(
            logged.head.is_none_or(|head| action["head"] == json!(head)),
            "{action}"
        );
        for (form, authorship) in [("inclusion", false), ("authorship", true)] {
            let file = get(clients, &format!("{path}/proof?form={form}"), logged.caller).await;
            let file: ProofFile = serde_json::from_value(file).unwrap();
            let shown = file.verify(&trust.domain, &trust.sequencer).unwrap();
            assert_eq!(shown.authorship, authorship);
            assert_eq!(file.leaf.hash().unwrap(), logged.leaf);
        }
    }
}

/// The last sequence of the log.
pub(crate) async fn last_sequence(clients: &Clients) -> u64 {
    let newest = get(clients, "/batches?order=desc&limit=1", 0).await;
    newest["items"][0]["last_sequence"].as_u64().unwrap()
}

/// The leaves of the whole public log up to this last sequence, batch by batch, and its signed head.
pub(crate) async fn leaves(clients: &Clients, sequence: u64) -> (Vec<Hash>, Hash) {
    let request = Prepared {
        method: "GET",
        path: format!("/checkpoint?at_least={sequence}&wait=60"),
        headers: Vec::new(),
        body: String::new(),
    };
    let answer = clients.wire.send(&request).await.unwrap();
    let checkpoint = &answer.body["checkpoint"];
    let batches = checkpoint["batches"].as_u64().unwrap();
    let head = checkpoint["head"].as_str().unwrap().parse().unwrap();
    let mut leaves = Vec::new();
    for number in 0..batches {
        let of_batch = get(clients, &format!("/batches/{number}/leaves"), 0).await;
        let hashes = of_batch["leaves"].as_array().unwrap().iter();
        leaves.extend(hashes.map(|leaf| leaf.as_str().unwrap().parse::<Hash>().unwrap()));
    }
    (leaves, head)
}

type IsForm = fn(Form) -> bool;

/// The number of requests of each form that were done, refused, or partly both.
pub(crate) fn summary(exchanges: &[Exchange]) -> String {
    let count = |form: IsForm, done: bool| {
        let of_form = exchanges.iter().filter(|exchange| form(exchange.plan.form));
        let fates = of_form.flat_map(|exchange| &exchange.fates);
        fates
            .filter(|fate| matches!(fate, Fate::Done(_)) == done)
            .count()
    };
    let forms: [(&str, IsForm); 3] = [
        ("by themselves", |form| form == Form::Single),
        ("in batches", |form| matches!(form, Form::Batch { .. })),
        ("by resource", |form| form == Form::Resource),
    ];
    let counted = forms.map(|(name, form)| {
        format!(
            "{} of {} done {name}",
            count(form, true),
            count(form, true) + count(form, false)
        )
    });
    counted.join(", ")
}
