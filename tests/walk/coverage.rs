//! Agreement of documented and actual refusals: the walk meets no undocumented refusal, and every documented one except
//! those named here.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::harness::Server;

/// A status and a code.
type Refusal = (u16, String);
/// Refusals by operation: method and path.
type Refusals = BTreeMap<String, BTreeSet<Refusal>>;

/// Servers whose refusals are not counted.
static UNCOUNTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static DOCUMENTED: OnceCell<Refusals> = OnceCell::const_new();
static SEEN: Mutex<Refusals> = Mutex::new(Refusals::new());
static FINISHED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Tests that meet refusals. The last one to end compares.
const TESTS: [&str; 11] = [
    "a_lost_race_is_told",
    "a_new_password_ends_every_login_before_it",
    "a_part_of_a_file_that_is_not_there",
    "every_body_that_is_too_large",
    "every_change_signed_wrongly_and_sent_again",
    "every_endpoint_called_well",
    "every_endpoint_when_a_limit_is_used_up",
    "every_endpoint_without_authority",
    "every_read_and_every_path",
    "every_refusal_of_an_endpoints_own",
    "the_others_ids_are_answered_as_ids_of_nothing",
];

/// Refusals that the walk meets on no operation, and the reason.
const NEVER: [(&str, &str); 5] = [
    (
        "INTERNAL",
        "takes a fault inside: tests/faults/disk.rs, tests/faults/crash.rs",
    ),
    (
        "UNAVAILABLE",
        "takes a server that is overloaded, read-only or starting: tests/api/capacity/overload.rs, tests/faults/recovery.rs",
    ),
    (
        "QUOTA_EXCEEDED",
        "takes an organization that has filled its part of the log: tests/api/capacity/log_quota.rs; of files: tests/api/resources/files.rs",
    ),
    (
        "GONE",
        "takes a log whose old segments were archived: tests/program/upkeep/archive.rs; or an object of many actions: tests/api/resources/history.rs",
    ),
    (
        "IDEMPOTENCY_IN_PROGRESS",
        "takes two requests at one moment: tests/api/requests/idempotency.rs",
    ),
];

const EMPTY: &str = "has no body, so no other request can come with the same key and path";
const EXPORT: &str = "public, and walked without credentials: tests/api/log/export.rs";
const LARGE: &str =
    "takes a MiB of properties: the same rule as where templates are made, which is walked";
const FULL: &str = "takes as many as there may be: races.rs does that with webhooks";

/// Refusals of single operations that the walk does not meet, and the reason.
const NEVER_HERE: [(&str, &str, &str); 27] = [
    ("DELETE /api-keys/{id}", "IDEMPOTENCY_MISMATCH", EMPTY),
    (
        "DELETE /organizations/me/invitations/{id}",
        "IDEMPOTENCY_MISMATCH",
        EMPTY,
    ),
    (
        "DELETE /organizations/me/members/{id}",
        "IDEMPOTENCY_MISMATCH",
        EMPTY,
    ),
    (
        "DELETE /wallets/me/keys/{id}",
        "IDEMPOTENCY_MISMATCH",
        EMPTY,
    ),
    ("DELETE /webhooks/{id}", "IDEMPOTENCY_MISMATCH", EMPTY),
    (
        "POST /webhooks/{id}/deliveries/{delivery_id}/redeliver",
        "IDEMPOTENCY_MISMATCH",
        EMPTY,
    ),
    ("POST /webhooks/{id}/test", "IDEMPOTENCY_MISMATCH", EMPTY),
    (
        "DELETE /webhooks/{id}",
        "PRECONDITION_FAILED",
        "one check with PATCH, which is walked",
    ),
    (
        "PATCH /organizations/me/members/{id}",
        "PRECONDITION_FAILED",
        "one check with the other PATCHes, which are walked",
    ),
    ("GET /export", "TOKEN_EXPIRED", EXPORT),
    ("GET /export", "UNAUTHENTICATED", EXPORT),
    ("GET /export", "FORBIDDEN", "tests/api/access/privileges.rs"),
    ("PATCH /templates/{id}", "OBJECT_TOO_LARGE", LARGE),
    ("POST /ebus/actions", "OBJECT_TOO_LARGE", LARGE),
    (
        "POST /objects/{id}/transfer",
        "OBJECT_TOO_LARGE",
        "documented with all actions on objects; a transfer adds nothing",
    ),
    ("POST /templates/{id}/variations", "OBJECT_TOO_LARGE", LARGE),
    (
        "POST /ebus/actions/preview",
        "BATCH_TOO_LARGE",
        "takes 501 actions; the batch endpoint is walked with them",
    ),
    ("POST /api-keys", "STATE_VIOLATION", FULL),
    (
        "POST /objects",
        "STATE_VIOLATION",
        "takes a supply that is used up: tests/api/resources/templates.rs",
    ),
    (
        "POST /objects/count",
        "SEQUENCE_NOT_REACHED",
        "waits as every read does, which is walked",
    ),
    (
        "POST /objects/search",
        "SEQUENCE_NOT_REACHED",
        "waits as every read does, which is walked",
    ),
    (
        "POST /objects/search",
        "CURSOR_INVALID",
        "tests/api/resources/search.rs",
    ),
    (
        "POST /wallets/register",
        "CONFLICT",
        "takes an address that has a wallet: tests/api/access/privileges.rs",
    ),
    (
        "POST /wallets/register",
        "NONCE_REUSED",
        "takes a signer that has a wallet: tests/api/requests/answers.rs",
    ),
    (
        "POST /wallets/token/refresh",
        "TOKEN_EXPIRED",
        "takes a refresh token's whole lifetime",
    ),
    (
        "POST /wallets/token/refresh",
        "UNAUTHENTICATED",
        "takes a store that lost the wallet of a token",
    ),
    (
        "POST /webhooks/{id}/deliveries/{delivery_id}/redeliver",
        "STATE_VIOLATION",
        "takes a webhook that is switched off: tests/api/feeds/webhooks.rs",
    ),
];

fn locked<T>(of: &'static Mutex<T>) -> parking_lot::MutexGuard<'static, T> {
    of.lock()
}

/// The codes of a response, which may be a reference to a component.
fn codes(document: &Value, response: &Value) -> Vec<String> {
    let response = match response["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => response,
    };
    let codes = response["x-codes"].as_array().into_iter().flatten();
    codes
        .map(|code| code.as_str().unwrap().to_owned())
        .collect()
}

async fn documented(server: &Server) -> &'static Refusals {
    let read = async || {
        let document = server.get("/openapi.json", None).await.expect(200).body;
        let mut documented = Refusals::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let of = format!("{} {path}", method.to_uppercase());
                let refusals = documented.entry(of).or_default();
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let status: u16 = status.parse().unwrap();
                    let codes = codes(&document, response).into_iter();
                    refusals.extend(codes.map(|code| (status, code)));
                }
            }
        }
        documented
    };
    DOCUMENTED.get_or_init(read).await
}

/// The operation of a request, if there is one.
fn operation<'d>(documented: &'d Refusals, method: &str, path: &str) -> Option<&'d str> {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &&str| {
        let parts: Vec<&str> = template.split('/').collect();
        let mut pairs = parts.iter().zip(&segments);
        parts.len() == segments.len()
            && pairs.all(|(part, segment)| part == segment || part.starts_with('{'))
    };
    let templates = documented.keys().map(|of| of.split_once(' ').unwrap().1);
    // A literal path takes precedence over one with an id in its place.
    let template = templates
        .filter(fits)
        .min_by_key(|template| template.matches('{').count())?;
    let (of, _) = documented.get_key_value(&format!("{method} {template}"))?;
    Some(of)
}

/// Stops counting a server's refusals, because its requests have another purpose. They must all be documented
/// nevertheless.
pub(crate) fn leave_out(server: &Server) {
    locked(&UNCOUNTED).insert(server.url.clone());
}

/// Records a refusal, which must be documented.
pub(crate) async fn saw(server: &Server, method: &str, path: &str, status: u16, body: &[u8]) {
    if status < 400 {
        return;
    }
    let documented = documented(server).await;
    let Some(of) = operation(documented, method, path) else {
        return;
    };
    let body: Value = serde_json::from_slice(body).unwrap();
    let refusal = (status, body["code"].as_str().unwrap().to_owned());
    assert!(
        documented[of].contains(&refusal),
        "{of} does not document {refusal:?}: {body}"
    );
    if locked(&UNCOUNTED).contains(&server.url) {
        return;
    }
    locked(&SEEN)
        .entry(of.to_owned())
        .or_default()
        .insert(refusal);
}

/// Reports the end of a test. The last one checks for documented refusals that were never met.
pub(crate) fn finished(test: &'static str) {
    assert!(TESTS.contains(&test), "{test} is not in the list");
    let mut finished = locked(&FINISHED);
    finished.insert(test);
    if finished.len() < TESTS.len() {
        return;
    }
    let (seen, mut wrong) = (locked(&SEEN), Vec::new());
    let documented = DOCUMENTED.get().unwrap();
    let excepted = |of: &str, code: &str| {
        NEVER_HERE
            .iter()
            .any(|(known, its, _)| *known == of && *its == code)
    };
    for (of, refusals) in documented {
        let expected = |(_, code): &&Refusal| !NEVER.iter().any(|(known, _)| known == code);
        for (status, code) in refusals.iter().filter(expected) {
            let met = seen
                .get(of)
                .is_some_and(|seen| seen.contains(&(*status, code.clone())));
            if met == excepted(of, code) {
                let what = if met {
                    "is met after all"
                } else {
                    "is never met"
                };
                wrong.push(format!("{of}: {status} {code} {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} refusals: {wrong:#?}", wrong.len());
}
