//! The action bus: one action, or a batch of them under one signature.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderName;
use kedge_actors::api::{ActionOutcome, Outcome, Submission};
use kedge_api::Code;
use kedge_api::action::{BatchAnswer, BatchResult, MinimalAction, RefusedAction};
use kedge_http::envelope::Envelope;
use kedge_http::error::{ApiError, Detail, NONCE_HIGHEST};
use kedge_http::reply::Reply;
use kedge_machine::Refusal;
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, ReceiptAction};
use serde_json::value::RawValue;

use crate::call::Call;
use kedge_http::shown::Position;

/// The pointer to the bus payload in the body.
pub(super) const PAYLOAD: &str = "/payload";

/// `POST /ebus/actions`
pub async fn submit(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    action_reply(&call, &submission, &outcome)
}

/// The answer to one action.
pub fn action_reply(
    call: &Call,
    submission: &Submission,
    outcome: &Outcome,
) -> Result<Reply, ApiError> {
    let highest = outcome.nonce_highest.to_string();
    let (Some(action), Some(result)) = (submission.actions.first(), outcome.actions.first()) else {
        return Err(ApiError::internal(&"an outcome without its action"));
    };
    let (done, placement) = match (result, &outcome.placement) {
        (ActionOutcome::Done(done), Some(placement)) => (done, placement),
        (ActionOutcome::Refused(refusal), _) => {
            return Err(ApiError::from(refusal)
                .under(PAYLOAD)
                .with_header(NONCE_HIGHEST, highest));
        }
        (ActionOutcome::Done(_), None) => {
            return Err(ApiError::internal(&"a done action without its place"));
        }
    };
    let position = Position {
        action,
        done,
        placement,
    };
    let mut view = position.view(submission);
    view.receipt = Some(position.receipt(call.app.verifier.domain()));
    let reply = Reply::json(StatusCode::CREATED, done.sequence, &view)?;
    Ok(reply.with(NONCE_HIGHEST, &highest))
}

/// `POST /ebus/actions/batch`
pub async fn submit_batch(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    if submission.head.atomic
        && let Some((index, refusal)) = outcome.first_refusal()
    {
        let error = ApiError::from(refusal).under(&format!("/actions/{index}{PAYLOAD}"));
        let message = format!(
            "action {index} was refused, so none was done: {}",
            error.message
        );
        let failed = ApiError {
            detail: Detail::Action {
                index,
                error: Box::new(error),
            },
            ..ApiError::new(Code::StateViolation, message)
        };
        let highest = outcome.nonce_highest.to_string();
        return Err(failed.with_header(NONCE_HIGHEST, highest));
    }
    let errors = refusals(&outcome);
    let request_id = &call.request_id;
    let written = |error: &ApiError| Envelope { error, request_id }.to_raw().map(Cow::Owned);
    let errors: Result<Vec<_>, ApiError> = errors
        .iter()
        .map(|error| error.as_ref().map(written).transpose())
        .collect();
    batch_reply(&call, &submission, &outcome, errors?)
}

/// The answer to a batch that was carried out before; `kept` holds the errors of its actions.
pub fn replayed_batch(
    call: &Call,
    submission: &Submission,
    outcome: &Outcome,
    kept: &BTreeMap<usize, Option<Box<RawValue>>>,
) -> Result<Reply, ApiError> {
    let error = |index| Some(Cow::Borrowed(kept.get(&index)?.as_deref()?));
    let errors = (0..outcome.actions.len()).map(error).collect();
    batch_reply(call, submission, outcome, errors)
}

fn batch_reply(
    call: &Call,
    submission: &Submission,
    outcome: &Outcome,
    errors: Vec<Option<Cow<'_, RawValue>>>,
) -> Result<Reply, ApiError> {
    let minimal = call.prefers_minimal();
    let highest = outcome.nonce_highest.to_string();
    let answer = answer(call, submission, outcome, errors, minimal)?;
    let sequence = outcome.placement.as_ref().map_or_else(
        || call.published().head.sequence,
        |placement| placement.first_sequence + u64::from(placement.count) - 1,
    );
    let reply = Reply::ok(sequence, &answer)?.with(NONCE_HIGHEST, &highest);
    Ok(if minimal {
        reply.with(
            HeaderName::from_static("preference-applied"),
            "return=minimal",
        )
    } else {
        reply
    })
}

/// The error of a batch's refused action.
pub fn refused(index: usize, refusal: &Refusal) -> ApiError {
    ApiError::from(refusal).under(&format!("/actions/{index}{PAYLOAD}"))
}

/// The errors of refused actions, each at its index.
fn refusals(outcome: &Outcome) -> Vec<Option<ApiError>> {
    let error = |(index, action): (usize, &ActionOutcome)| match action {
        ActionOutcome::Done(_) => None,
        ActionOutcome::Refused(refusal) => Some(refused(index, refusal)),
    };
    outcome.actions.iter().enumerate().map(error).collect()
}

fn answer<'a>(
    call: &'a Call,
    submission: &'a Submission,
    outcome: &'a Outcome,
    errors: Vec<Option<Cow<'a, RawValue>>>,
    minimal: bool,
) -> Result<BatchAnswer<'a>, ApiError> {
    let mut results = Vec::with_capacity(outcome.actions.len());
    let mut receipts: Vec<ReceiptAction> = Vec::with_capacity(outcome.actions.len());
    let actions = submission.actions.iter().zip(&outcome.actions).zip(errors);
    for (index, ((action, result), error)) in actions.enumerate() {
        let (done, placement) = match (result, &outcome.placement, error) {
            (ActionOutcome::Done(done), Some(placement), _) => (done, placement),
            (_, _, Some(error)) => {
                results.push(BatchResult::Refused(RefusedAction { error }));
                continue;
            }
            _ => return Err(ApiError::internal(&"a done action without its place")),
        };
        let position = Position {
            action,
            done,
            placement,
        };
        receipts.push(position.receipt_action(index));
        results.push(if minimal {
            BatchResult::Minimal(MinimalAction {
                sequence: done.sequence,
                leaf_index: position.leaf_index(),
                object_version: done.version,
            })
        } else {
            BatchResult::Done(Box::new(position.view(submission)))
        });
    }
    let receipt = outcome.placement.as_ref().map(|placement| BatchReceipt {
        version: RECEIPT_VERSION,
        domain: *call.app.verifier.domain(),
        batch: placement.batch.signed,
        actions: receipts,
        proof: placement.proof(),
    });
    Ok(BatchAnswer { results, receipt })
}
