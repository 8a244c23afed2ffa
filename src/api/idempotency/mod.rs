//! `Idempotency-Key`: a retry with the same key gets the first answer, and nothing is done twice. The key is checked
//! after the signature and before deadline and nonce, so a retry of the same bytes is answered for as long as the key
//! is kept. The asker's right is checked first (`rights.rs`), and only the first request's asker gets the stored
//! answer. The change's own commit stores what is needed: a hash of the request, its place in the log, and what the log
//! does not hold (the resource's state at that time, reasons of failed actions). The outcome is rebuilt from these, and
//! the row's `answer` makes the same answer. One-time secrets are sealed so that the key itself opens them (adr/0020).

mod rights;
pub mod secrets;
pub mod unsigned_requests;

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use hyper::HeaderMap;
use kedge_actors::api::{
    ActionOutcome, BatchPlacement, CommittedAction, CommittedState, IdempotencyClaim, SealedBatch,
    Submission, SubmissionOutcome,
};
use kedge_actors::overlay::StateVersion;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_protocol::Code;
use kedge_protocol::action::{ActionTexts, ActionWords, hash_actions};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::{next_head, next_integrity};
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Hash, Id};
use kedge_replay::resource_rows::read_row;
use kedge_rules::Refusal;
use kedge_rules::resource_state::ResourceState;
use kedge_storage::{CodecError, IdempotencyResidue, StoreSnapshot};
use parking_lot::Mutex;

use crate::api::EndpointRow;
use crate::api::call::{EarlierRequest, HandlerCall};
use kedge_http::auth::CallerSession;
use kedge_http::idempotency::in_flight::{KeyState, claim, used_by_another};
use kedge_http::signing::SigningScheme;

pub const HEADER: &str = "idempotency-key";
/// Marks an answer as a replay: nothing was done again.
pub const REPLAYED: &str = "idempotent-replayed";
/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

pub fn key_of(headers: &HeaderMap) -> ApiResult<Option<&str>> {
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

/// Begins a request with a key. For a new key, `submission` gets a record of what to keep; otherwise `call` becomes the
/// earlier request, and its outcome is returned.
pub fn begin(
    call: &mut HandlerCall,
    path: &str,
    key: &str,
    submission: &mut Submission,
) -> ApiResult<Option<SubmissionOutcome>> {
    let services = &call.services;
    // A registering caller has no organization yet, but has an address.
    let caller: &[u8] = match &call.session {
        Some(session) => &session.organization_id.bytes,
        None => &submission.head.signer.0,
    };
    let text = key;
    let key = scope(caller, call.endpoint, path, text);
    let request = request_hash(call.session, submission);
    let claimed = claim(
        &services.changes.in_progress,
        &services.engine,
        key,
        request,
    );
    let (held, published) = match claimed {
        Ok(KeyState::New { held, published }) => (held, published),
        // Only callers with the right to the request learn that the key is known.
        Err(known) => {
            if call.session.is_some() {
                rights::check(&services.published().snapshot, submission)?;
            }
            return Err(known);
        }
        Ok(KeyState::Before { row, published }) => {
            let asker = rights::check(&published.snapshot, submission)?;
            let kept = IdempotencyResidue::decode(&row.residue);
            let (kept, sealed) = kept.map_err(|error| ApiError::internal(&error))?;
            call.shown_once = secrets::opened(call, submission, path, text, sealed);
            let sequence = row.first_sequence;
            let of = (&*submission, asker);
            return rebuild(&published.snapshot, call, of, kept, sequence).map(Some);
        }
    };
    submission.keep = Some(Arc::new(IdempotencyClaim {
        key,
        request,
        until_s: now_s() + services.changes.key_lifetime_s,
        request_id: Arc::clone(&call.request_id),
        minted: minted(&published.snapshot, submission)?,
        shows_resources: !matches!(
            call.endpoint.signs,
            SigningScheme::Action | SigningScheme::Batch
        ),
        sealed_secret: OnceLock::new(),
        in_progress: Mutex::new(Some(Box::new(held))),
    }));
    Ok(None)
}

/// Separates keys of different callers, methods and paths.
fn scope(caller: &[u8], endpoint: &EndpointRow, path: &str, key: &str) -> [u8; 32] {
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

/// A hash of the request, independent of its nonce. An API key alone is part of it; the signer's wallet is not, because
/// the log has it.
fn request_hash(session: Option<CallerSession>, submission: &Submission) -> [u8; 32] {
    let mut bytes = vec![u8::from(submission.head.atomic)];
    if let Some(session) = session.filter(|session| session.wallet_id.is_none()) {
        bytes.extend_from_slice(&session.asker().bytes);
    }
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

/// Number of objects made from the request's template, which is part of its answer.
fn minted(snapshot: &StoreSnapshot, submission: &Submission) -> ApiResult<u64> {
    let target = submission
        .actions
        .first()
        .map(|action| submission.text(&action.target));
    match target.and_then(|target| target.parse::<Id>().ok()) {
        Some(template) => Ok(snapshot.minted(template)?),
        None => Ok(0),
    }
}

/// Turns `call` into the earlier request, from the log and the stored row; returns its outcome. `again` is the same
/// request as received now, from the wallet `asker`.
fn rebuild(
    snapshot: &StoreSnapshot,
    call: &mut HandlerCall,
    (again, asker): (&Submission, Id),
    kept: IdempotencyResidue<'_>,
    first_sequence: u64,
) -> ApiResult<SubmissionOutcome> {
    let mut requests = snapshot.requests_from(first_sequence);
    let record = requests.next().ok_or_else(missing)??;
    let first = snapshot.wallet_by_address(record.head.signer)?;
    if first.is_none_or(|first| first.id != asker) {
        return Err(used_by_another());
    }
    let batch = snapshot.batch(record.batch_number)?.ok_or_else(missing)?;
    let leaves = snapshot.leaves(record.batch_number)?.ok_or_else(missing)?;
    let internal = |error: &dyn Display| ApiError::internal(error);
    call.request_id = kept.request_id.into();
    call.earlier = Some(EarlierRequest {
        minted: kept.minted,
    });
    let submission = as_signed_then(again, &record);
    let images: Result<Vec<ResourceState>, CodecError> =
        kept.resources.iter().map(read_row).collect();
    let images = images.map_err(|error| internal(&error))?;
    let mut actions = done(&submission, &record, &batch, &leaves, images)?;
    for (index, refusal) in kept.refusals {
        let refusal = serde_json::from_str(&refusal).map_err(|error| internal(&error))?;
        let action = actions.get_mut(usize::from(index)).ok_or_else(missing)?;
        *action = ActionOutcome::Refused(refusal);
    }
    call.submission = Some(Arc::new(submission));
    Ok(SubmissionOutcome {
        placement: Some(BatchPlacement {
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
    })
}

fn missing() -> ApiError {
    ApiError::internal(&"the log lacks a request that was kept")
}

/// The request as it was signed then, possibly with another nonce and signature.
fn as_signed_then(again: &Submission, record: &RequestRecord<'_>) -> Submission {
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
    submission
}

/// The outcomes of a request's successful actions; `images` is the result of a single one. The others are filled in
/// later.
fn done(
    submission: &Submission,
    record: &RequestRecord<'_>,
    batch: &SignedBatch,
    leaves: &[Hash],
    images: Vec<ResourceState>,
) -> ApiResult<Vec<ActionOutcome>> {
    let mut actions: Vec<ActionOutcome> = (0..submission.actions.len())
        .map(|_| ActionOutcome::Refused(Refusal::Unavailable))
        .collect();
    let made = CommittedState::Resources(Arc::new(StateVersion::placed(
        images,
        record.first_sequence,
    )));
    let (before, own) = leaves
        .split_at_checked(record.first_leaf_index as usize)
        .ok_or_else(missing)?;
    let mut head = before
        .iter()
        .fold(batch.header.previous_head, |head, leaf| {
            next_head(&head, leaf)
        });
    let placed = record.actions.iter().zip(own);
    for ((action, leaf), sequence) in placed.zip(record.first_sequence..) {
        head = next_head(&head, leaf);
        let index = usize::from(action.index);
        let content = submission.actions.get(index).ok_or_else(missing)?.content;
        actions[index] = ActionOutcome::Done(CommittedAction {
            sequence,
            leaf: *leaf,
            head,
            resource: action.resource,
            version: action.version,
            previous_integrity: action.previous_integrity,
            integrity: next_integrity(&action.previous_integrity, &content),
            made: made.clone(),
        });
    }
    Ok(actions)
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
