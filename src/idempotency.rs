//! `Idempotency-Key`: a retry with the same key is answered as the first time, and nothing is done twice. The key is
//! checked before the nonce. What is needed is stored in the commit of the change itself: a hash of the request, its
//! place in the log, from which the answer is made again, and what the log does not hold (the resource as it was, the
//! errors of actions that failed). Secrets are never kept.

pub mod unsigned;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use hyper::HeaderMap;
use kedge_actors::Published;
use kedge_actors::api::{
    ActionOutcome, Done, Keep, Made, Outcome, Placement, SealedBatch, Submission,
};
use kedge_actors::overlay::Versioned;
use kedge_api::Code;
use kedge_api::accounts::{ApiKeyView, InvitationView};
use kedge_api::resources::{FileView, ObjectView, TemplateView, VariationView, WalletView};
use kedge_api::webhook::WebhookView;
use kedge_http::clock::now_s;
use kedge_http::envelope::Envelope;
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_machine::Refusal;
use kedge_machine::image::Image;
use kedge_protocol::action::{ActionTexts, ActionWords, hash_actions};
use kedge_protocol::chain::{next_head, next_integrity};
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Hash, Id};
use kedge_storage::{IdempotencyRow, Snapshot};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::App;
use crate::call::Call;
use crate::endpoint::{Endpoint, Signs};
use crate::routes;

/// The header.
pub const HEADER: &str = "idempotency-key";
/// Marks an answer as a replay: nothing was done again.
pub const REPLAYED: &str = "idempotent-replayed";
/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// The keys of requests in flight.
#[derive(Clone, Default)]
pub struct InProgress {
    keys: Arc<Mutex<HashSet<[u8; 32]>>>,
}

/// Holds a key's place among those in flight.
struct Held {
    keys: InProgress,
    key: [u8; 32],
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keys.locked().remove(&self.key);
    }
}

impl InProgress {
    fn locked(&self) -> parking_lot::MutexGuard<'_, HashSet<[u8; 32]>> {
        self.keys.lock()
    }
}

/// A request that was carried out before: as it was submitted then, and its outcome.
pub struct Replayed {
    submission: Submission,
    outcome: Outcome,
    residue: Vec<u8>,
}

/// The request's key, if it has one.
pub fn key_of(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|text| {
        !text.is_empty()
            && text.len() <= KEY_BYTES_MAX
            && text.bytes().all(|byte| byte.is_ascii_graphic())
    });
    match (text, values.next()) {
        (Some(text), None) => Ok(Some(text)),
        _ => Err(ApiError::new(
            Code::ValidationError,
            format!(
                "Idempotency-Key must be one value of 1 to {KEY_BYTES_MAX} visible ASCII characters"
            ),
        )),
    }
}

/// Begins a request with a key. If it is new, `submission` learns what to keep; otherwise the
/// result of the earlier request is returned.
pub fn begin(
    call: &Call,
    path: &str,
    key: &str,
    submission: &mut Submission,
) -> Result<Option<Replayed>, ApiError> {
    let app = &call.app;
    // A caller that registers has no organization yet, but has an address.
    let caller: &[u8] = match &call.session {
        Some(session) => &session.organization_id.bytes,
        None => &submission.head.signer.0,
    };
    let key = scope(caller, call.endpoint, path, key);
    let request = request_hash(submission);
    let (held, published) = match claim(app, key, request)? {
        Claimed::Before { row, published } => {
            return rebuild(&published.snapshot, submission, row).map(Some);
        }
        Claimed::New { held, published } => (held, published),
    };
    let (endpoint, request_id) = (call.endpoint, Arc::clone(&call.request_id));
    let minted = minted(&published.snapshot, submission)?;
    submission.keep = Some(Arc::new(Keep {
        key,
        request,
        until_s: now_s() + app.idempotency_key_s,
        residue: Box::new(move |outcomes, timestamp_ms| {
            residue(endpoint, outcomes, timestamp_ms, minted, &request_id)
        }),
        in_progress: Mutex::new(Some(Box::new(held))),
    }));
    Ok(None)
}

/// The state of a key.
enum Claimed {
    /// It is unused, and no other request can use it while it is held.
    New {
        held: Held,
        published: Arc<Published>,
    },
    /// The same request was carried out with it.
    Before {
        row: IdempotencyRow,
        published: Arc<Published>,
    },
}

/// Takes a key's place among those in flight, unless its request was carried out before.
fn claim(app: &App, key: [u8; 32], request: [u8; 32]) -> Result<Claimed, ApiError> {
    let is_new = app.idempotency.locked().insert(key);
    let held = is_new.then(|| Held {
        keys: app.idempotency.clone(),
        key,
    });
    // Read after the place was taken: requests that ended before that are visible now.
    let published = app.published();
    if let Some(row) = published.snapshot.idempotency(key)?
        && row.until_s > now_s()
    {
        if row.request != request {
            return Err(ApiError::new(
                Code::IdempotencyMismatch,
                "the key was used for another request; use a new key for a new request",
            ));
        }
        return Ok(Claimed::Before { row, published });
    }
    match held {
        Some(held) => Ok(Claimed::New { held, published }),
        None => Err(ApiError::new(
            Code::IdempotencyInProgress,
            "a request with this key is in flight; try again shortly to get its answer",
        )),
    }
}

/// Keys of different callers, methods and paths are different keys.
fn scope(caller: &[u8], endpoint: &Endpoint, path: &str, key: &str) -> [u8; 32] {
    let method = endpoint.method.as_str();
    let caller_bytes = [caller.len() as u8];
    let parts = [
        &caller_bytes[..],
        caller,
        method.as_bytes(),
        b" ",
        path.as_bytes(),
        b" ",
        key.as_bytes(),
    ];
    keccak_parts(&parts).0
}

/// A hash of what a request asks for, independent of its signer and nonce.
fn request_hash(submission: &Submission) -> [u8; 32] {
    let mut bytes = vec![u8::from(submission.head.atomic)];
    for action in &submission.actions {
        let words = words(submission, action);
        bytes.extend_from_slice(&words.action_hash(&Hash::ZERO).0);
    }
    keccak(&bytes).0
}

fn words(submission: &Submission, action: &kedge_actors::SubmittedAction) -> ActionWords {
    let target = submission.text(&action.target);
    let payload = submission.text(&action.payload);
    ActionWords::of(&action.kind, target, payload.as_bytes())
}

/// How many objects were made from the template that the request acts on: part of its answer.
fn minted(snapshot: &Snapshot, submission: &Submission) -> Result<u64, ApiError> {
    let target = submission
        .actions
        .first()
        .map(|action| submission.text(&action.target));
    match target.and_then(|target| target.parse::<Id>().ok()) {
        Some(template) => Ok(snapshot.minted(template)?),
        None => Ok(0),
    }
}

/// The part of the answer that the log does not hold.
fn residue(
    endpoint: &Endpoint,
    outcomes: &[ActionOutcome],
    timestamp_ms: u64,
    minted: u64,
    request_id: &str,
) -> Vec<u8> {
    let written = match (&endpoint.signs, outcomes.first()) {
        (Signs::Action, _) => Ok(Vec::new()),
        (Signs::Batch, _) => serde_json::to_vec(&errors(outcomes, request_id)),
        (_, Some(ActionOutcome::Done(done))) => resource(done, timestamp_ms, minted),
        _ => Ok(Vec::new()),
    };
    written.expect("views hold only what JSON takes")
}

fn errors(outcomes: &[ActionOutcome], request_id: &str) -> BTreeMap<usize, Option<Box<RawValue>>> {
    let error = |(index, outcome): (usize, &ActionOutcome)| match outcome {
        ActionOutcome::Done(_) => None,
        ActionOutcome::Refused(refusal) => {
            let error = &routes::bus::refused(index, refusal);
            let envelope = Envelope { error, request_id };
            let text = serde_json::to_string(&envelope).ok()?;
            Some((index, RawValue::from_string(text).ok()))
        }
    };
    outcomes.iter().enumerate().filter_map(error).collect()
}

/// The members of the answer other than the action's id and receipt. Secrets are made elsewhere and
/// are never among them.
fn resource(done: &Done, timestamp_ms: u64, minted: u64) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Registered {
        wallet: WalletView,
    }
    #[derive(Serialize)]
    struct Varied {
        items: Vec<VariationView>,
        template: TemplateView,
    }

    if let Some(object) = done.object(timestamp_ms) {
        return serde_json::to_vec(&ObjectView::from(object));
    }
    let mut images = done.resources(timestamp_ms).into_iter();
    let first = images.next();
    match (first, images.next()) {
        (Some(Image::Wallet(wallet)), Some(_)) => serde_json::to_vec(&Registered {
            wallet: wallet.into(),
        }),
        (Some(Image::Wallet(wallet)), None)
        | (Some(Image::Organization(_)), Some(Image::Wallet(wallet))) => {
            serde_json::to_vec(&WalletView::from(wallet))
        }
        (Some(Image::Organization(_)), Some(Image::Invitation(invitation))) => {
            serde_json::to_vec(&InvitationView::from(invitation))
        }
        (Some(Image::ApiKey(key)), _) => serde_json::to_vec(&ApiKeyView::of(key, None)),
        (Some(Image::Webhook(webhook)), _) => serde_json::to_vec(&WebhookView::from(webhook)),
        (Some(Image::Template(template)), None) => {
            serde_json::to_vec(&TemplateView::of(template, minted))
        }
        (Some(Image::Template(template)), Some(second)) => {
            let variations = std::iter::once(second).chain(images);
            let variations = variations.filter_map(|image| match image {
                Image::Variation(variation) => Some(VariationView::from(variation)),
                _ => None,
            });
            serde_json::to_vec(&Varied {
                items: variations.collect(),
                template: TemplateView::of(template, minted),
            })
        }
        (Some(Image::File(file)), _) => serde_json::to_vec(&FileView::from(file)),
        _ => Ok(b"{}".to_vec()),
    }
}

/// The request as it was carried out, from the log. `again` is the same request as received now.
fn rebuild(
    snapshot: &Snapshot,
    again: &Submission,
    row: IdempotencyRow,
) -> Result<Replayed, ApiError> {
    let missing = || ApiError::internal(&"the log lacks a request that was kept");
    let record = snapshot
        .requests_from(row.first_sequence)
        .next()
        .ok_or_else(missing)??;
    let batch = snapshot.batch(record.batch_number)?.ok_or_else(missing)?;
    let leaves = snapshot.leaves(record.batch_number)?.ok_or_else(missing)?;
    let mut submission = Submission {
        head: record.head,
        signature: record.signature,
        salt_seed: record.salt_seed,
        ..again.clone()
    };
    let signature_hash = keccak(&record.signature.0);
    let signer = &record.head.signer;
    let texts: Vec<ActionTexts<'_>> = (0..)
        .zip(&submission.actions)
        .map(|(index, action)| ActionTexts {
            index,
            kind: &action.kind,
            target: submission.text(&action.target),
            payload: submission.text(&action.payload),
        })
        .collect();
    let hashes = hash_actions(&texts, &record.salt_seed, signer, &signature_hash);
    for (action, hashes) in submission.actions.iter_mut().zip(hashes) {
        action.action_hash = hashes.action;
        action.content = hashes.content;
    }
    let mut actions: Vec<ActionOutcome> = (0..submission.actions.len())
        .map(|_| ActionOutcome::Refused(Refusal::Unavailable))
        .collect();
    let first = record.first_leaf_index as usize;
    let before = leaves.iter().take(first);
    let mut head = before.fold(batch.header.previous_head, |head, leaf| {
        next_head(&head, leaf)
    });
    let done = record.actions.iter().zip(leaves.iter().skip(first));
    for ((action, leaf), sequence) in done.zip(record.first_sequence..) {
        head = next_head(&head, leaf);
        let index = usize::from(action.index);
        let content = submission.actions.get(index).ok_or_else(missing)?.content;
        actions[index] = ActionOutcome::Done(Done {
            sequence,
            leaf: *leaf,
            head,
            resource: action.resource,
            version: action.version,
            previous_integrity: action.previous_integrity,
            integrity: next_integrity(&action.previous_integrity, &content),
            made: Made::Resources(Arc::new(Versioned::placed(Vec::new(), sequence))),
        });
    }
    let outcome = Outcome {
        placement: Some(Placement {
            first_sequence: record.first_sequence,
            first_leaf_index: record.first_leaf_index,
            count: record.actions.len() as u32,
            timestamp_ms: record.timestamp_ms,
            batch: Arc::new(SealedBatch {
                signed: batch,
                id: batch.id(),
                tree: BatchTree::new(&leaves),
            }),
        }),
        actions,
        failed_index: None,
        nonce_highest: snapshot.nonces(record.head.signer)?.highest(),
    };
    Ok(Replayed {
        submission,
        outcome,
        residue: row.residue,
    })
}

/// The answer to a request that was carried out before.
pub async fn answer(call: Call, replayed: Replayed) -> Result<Reply, ApiError> {
    let Replayed {
        submission,
        outcome,
        residue,
    } = replayed;
    let reply = match call.endpoint.signs {
        Signs::Action => routes::bus::action_reply(&call, &submission, &outcome)?,
        Signs::Batch => {
            let errors: BTreeMap<usize, Option<Box<RawValue>>> =
                serde_json::from_slice(&residue).map_err(|error| ApiError::internal(&error))?;
            routes::bus::replayed_batch(&call, &submission, &outcome, &errors)?
        }
        Signs::Registration => {
            routes::wallets::registered_again(&call, &submission, &outcome, &residue).await?
        }
        _ => routes::answered_again(&call, &submission, &outcome, &residue)?,
    };
    let name = hyper::header::HeaderName::from_static(REPLAYED);
    Ok(reply.with(name, "true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_taken() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HEADER, value.parse().unwrap());
            }
            key_of(&headers)
                .map(|key| key.map(str::to_owned))
                .map_err(|error| error.code)
        };
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["a-1"]), Ok(Some("a-1".to_owned())));
        let long = "x".repeat(256);
        for bad in [&[""][..], &["a b"], &["a", "b"], &[long.as_str()]] {
            assert_eq!(of(bad), Err(Code::ValidationError), "{bad:?}");
        }
    }
}
