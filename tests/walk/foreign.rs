//! Isolation of two organizations by id: every endpoint with the other's ids, in the path, the body, the query and the
//! headers. The other's resources are answered as missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use kedge_protocol::Prefix;
use serde_json::json;

use crate::ask::{Ask, Got};
use crate::check::refused;
use crate::harness::Caller;
use crate::row::{Auth, Gives, NOBODY, Row};
use crate::table::{find, table, walk};
use crate::world::World;

/// Headers that may differ between answers: those of the request, the time, and the limits.
const MOMENTARY: [&str; 9] = [
    "x-request-id",
    "date",
    "x-sequence",
    "x-nonce-highest",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
];

/// An answer without the parts that identify the request: status, headers and text.
fn shape(got: &Got, id: &str) -> (u16, BTreeMap<String, String>, String) {
    let headers = got.headers.iter().filter_map(|(name, value)| {
        let momentary = MOMENTARY.contains(&name.as_str());
        let value = value.to_str().unwrap().replace(id, "ID");
        (!momentary).then(|| (name.to_string(), value))
    });
    let text = String::from_utf8_lossy(&got.bytes).replace(id, "ID");
    let text = text.replace(&got.request_id, "REQUEST");
    // Request ids have different lengths.
    let headers = headers.filter(|(name, _)| name != "content-length");
    (got.status, headers.collect(), text)
}

/// Checks that another organization's id is answered like one that names nothing.
#[track_caller]
fn same(others: &Got, id: &str, nothing: &Got, nothing_id: &str) {
    assert_eq!(
        shape(others, id),
        shape(nothing, nothing_id),
        "{}",
        others.reported()
    );
    assert!(others.status >= 400, "{}", others.reported());
}

fn nothing_like(id: &str) -> String {
    format!("{}_{NOBODY}", &id[..3])
}

/// Sends the row's own request with every `id` replaced, as the other organization's owner.
async fn with_id(
    world: &World,
    row: &Row,
    ask: &Ask,
    (id, by): (&str, &str),
    credentials: (&'static str, String),
) -> Got {
    let swap = |text: &str| text.replace(id, by);
    let (ann, bob) = (world.ann.key.address(), world.bob.key.address());
    let body = swap(&String::from_utf8_lossy(&ask.body));
    let ask = Ask {
        path: swap(&ask.path),
        body: body
            .replace(&ann.to_string(), &bob.to_string())
            .into_bytes(),
        actions: ask
            .actions
            .iter()
            .map(|(kind, target, payload)| (kind.clone(), swap(target), swap(payload)))
            .collect(),
        ..ask.clone()
    };
    // Requests about the caller's own organization name it.
    let own = |text: &str| text.replace(&world.ann.organization_id, &world.bob.organization_id);
    let own = |text: &str| own(text).replace(&world.ann.wallet_id, &world.bob.wallet_id);
    let actions = ask.actions.iter();
    let actions =
        actions.map(|(kind, target, payload)| (kind.clone(), own(target), payload.clone()));
    let ask = Ask {
        actions: actions.collect(),
        ..ask
    };
    world.call(row, &ask, &world.bob, &[credentials]).await
}

/// Whether ids with this prefix name private resources of one organization.
fn belongs_to_one(prefix: Prefix) -> bool {
    match prefix {
        Prefix::Wallet
        | Prefix::Key
        | Prefix::Template
        | Prefix::Variation
        | Prefix::Object
        | Prefix::Action
        | Prefix::File
        | Prefix::Webhook
        | Prefix::Delivery
        | Prefix::Dispute => true,
        Prefix::Organization | Prefix::Batch | Prefix::Anchor | Prefix::Event => false,
    }
}

/// Every id of the first organization that a request names.
fn ids_of(world: &World, row: &Row, ask: &Ask) -> Vec<String> {
    let text = format!("{} {}", ask.path, String::from_utf8_lossy(&ask.body));
    let places = text.match_indices('_').map(|(place, _)| place);
    let ids = places.filter_map(|place| {
        let start = place.checked_sub(3)?;
        let id = text.get(start..place + 27)?;
        let plain = id[4..].bytes().all(|byte| byte.is_ascii_alphanumeric());
        let named = Prefix::of_text(&id[..3]).is_some_and(belongs_to_one);
        (named && plain).then(|| id.to_owned())
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    // A wallet's id is not secret, because objects are given to it. Its membership is.
    ids.retain(|id| !id.starts_with("wal") || row.path.starts_with("/organizations"));
    ids.retain(|id| *id != world.ann.organization_id);
    ids
}

async fn others_ids(world: Arc<World>, row: Arc<Row>) {
    let (world, row) = (&*world, &*row);
    let ask = (row.ask)(world).await;
    let ids = ids_of(world, row, &ask);
    if row.path.contains("{id}") && !row.path.contains("/me/keys") {
        assert!(!ids.is_empty(), "{} names no id: {}", row.name(), ask.path);
    }
    let mut credentials = vec![world.bob.bearer()];
    if row.auth != Auth::Wallet {
        credentials.push(("x-api-key", world.bobs_key.clone()));
    }
    for id in &ids {
        for shown in &credentials {
            let nothing = nothing_like(id);
            let others = with_id(world, row, &ask, (id, id), shown.clone()).await;
            let missing = with_id(world, row, &ask, (id, &nothing), shown.clone()).await;
            if row.path == "/ebus/actions/batch" || row.path == "/ebus/actions/preview" {
                one_action(&others, id, &missing, &nothing);
                continue;
            }
            if row.path == "/objects/search" || row.path == "/objects/count" {
                // An empty result, or a missing resource: the same answer for both.
                assert_eq!(shape(&others, id), shape(&missing, &nothing));
                assert!(
                    !others.reported().contains(&world.object),
                    "{}",
                    others.reported()
                );
                continue;
            }
            refused(&others, "RESOURCE_NOT_FOUND");
            if row.proves_absence {
                assert_eq!(missing.status, 200, "{}", missing.reported());
                assert_eq!(missing.json()["present"], false);
                continue;
            }
            same(&others, id, &missing, &nothing);
        }
    }
}

/// The same for an answer with one result per action.
#[track_caller]
fn one_action(others: &Got, id: &str, missing: &Got, nothing: &str) {
    let error = |got: &Got| got.json()["results"][0]["error"].clone();
    let reported = |got: &Got, id: &str| {
        let text = error(got).to_string().replace(id, "ID");
        text.replace(&got.request_id, "REQUEST")
    };
    assert_eq!(reported(others, id), reported(missing, nothing));
    let code = error(others)["code"].clone();
    assert_eq!(code, "RESOURCE_NOT_FOUND", "{}", others.reported());
}

// Holds invariants 51, 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_others_ids_are_answered_as_ids_of_nothing() {
    let world = World::new(&[]).await;
    // Batches and anchors are public.
    let wanted = |row: &Row| {
        let public = row.path.starts_with("/batches") || row.path.starts_with("/anchors");
        row.auth != Auth::Public && !public
    };
    walk(&world, wanted, others_ids).await;
    queries(&world).await;
    cursors(&world).await;
    registering(&world).await;
    crate::coverage::finished("the_others_ids_are_answered_as_ids_of_nothing");
}

/// Filters that name the other organization's things.
async fn queries(world: &World) {
    let row = find("GET", "/objects");
    let as_bob = async |path: String| {
        world
            .call(&row, &Ask::get(path), &world.bob, &[world.bob.bearer()])
            .await
    };
    let others = as_bob(format!("/objects?template_id={}", world.template)).await;
    let nothing = nothing_like(&world.template);
    let missing = as_bob(format!("/objects?template_id={nothing}")).await;
    same(&others, &world.template, &missing, &nothing);
    for (parameter, id) in [
        ("/objects?owner_id", &world.ann.wallet_id),
        // A caller's own failed attempts may name them too.
        ("/ebus/events?type=object.created&object_id", &world.object),
        (
            "/ebus/events?type=object.created&template_id",
            &world.template,
        ),
    ] {
        let others = as_bob(format!("{parameter}={id}")).await;
        let nothing = nothing_like(id);
        let missing = as_bob(format!("{parameter}={nothing}")).await;
        assert_eq!(others.status, 200, "{}", others.reported());
        assert_eq!(shape(&others, id), shape(&missing, &nothing));
        assert_eq!(others.json()["items"], json!([]), "{}", others.reported());
    }
}

/// Cursors that the other organization received.
async fn cursors(world: &World) {
    for row in table() {
        if row.gives != Gives::List || row.has_id() || row.auth == Auth::Public {
            continue;
        }
        let ask = (row.ask)(world).await;
        let page = world
            .by_ann(&row, &ask.clone().query("limit=1"))
            .await
            .json();
        let Some(cursor) = page["cursor"].as_str() else {
            continue;
        };
        let ask = ask.query(&format!("cursor={cursor}"));
        let got = world
            .call(&row, &ask, &world.bob, &[world.bob.bearer()])
            .await;
        refused(&got, "CURSOR_INVALID");
    }
}

/// Knowing an organization's name is not enough to join it.
async fn registering(world: &World) {
    let row = find("POST", "/wallets/register");
    let reported = async |id: &str| {
        let caller = Caller::nobody();
        let mut body = caller.registration("stranger@example.com");
        body["organization_id"] = json!(id);
        let ask = Ask {
            signer: Some(Arc::new(caller)),
            ..Ask::json("/wallets/register", &body).signing("wallet.register", "")
        };
        let got = world.by_ann(&row, &ask).await;
        refused(&got, "FORBIDDEN");
        got
    };
    let id = &world.ann.organization_id;
    let (others, missing) = (reported(id).await, reported(&nothing_like(id)).await);
    same(&others, id, &missing, &nothing_like(id));
}
