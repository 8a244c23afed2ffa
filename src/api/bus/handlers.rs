//! The action bus: one action, or a batch of them under one signature.

use std::borrow::Cow;

use hyper::header::HeaderName;
use kedge_actors::api::{ActionOutcome, Submission, SubmissionOutcome};
use kedge_http::envelope::ErrorEnvelope;
use kedge_http::error::{ApiError, ApiResult, ErrorDetail, NONCE_HIGHEST};
use kedge_http::reply::HttpReply;
use kedge_protocol::Code;
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, ReceiptAction};
use kedge_rules::Refusal;

use crate::api::bus::views::{BatchAnswer, BatchResult, MinimalAction, RefusedAction};
use crate::api::call::HandlerCall;
use crate::api::view_conversion::ActionPosition;

/// Pointer to the bus payload in the body.
pub(in crate::api) const PAYLOAD: &str = "/payload";

/// The answer to `POST /ebus/actions`
pub fn single(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let position = call.position(committed);
    let position = position.map_err(|error| error.under(PAYLOAD))?;
    let mut view = position.view(call.submission()?);
    view.receipt = Some(position.receipt(call.services.access.verifier.domain()));
    call.answered(committed, position.done.sequence, &view)
}

/// The answer to `POST /ebus/actions/batch`
pub fn batch(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let submission = call.submission()?;
    if submission.head.atomic
        && let Some((index, refusal)) = committed.first_refusal()
    {
        return Err(failed(index, refusal, committed.nonce_highest));
    }
    let minimal = call.prefers_minimal();
    let answer = results(call, submission, committed, minimal)?;
    let sequence = committed.placement.as_ref().map_or_else(
        || call.published().head.sequence,
        |placement| placement.first_sequence + u64::from(placement.count) - 1,
    );
    let text = answer
        .to_json()
        .map_err(|error| ApiError::internal(&error))?;
    let reply = call.answered_text(committed, sequence, text);
    Ok(if minimal {
        reply.with(
            HeaderName::from_static("preference-applied"),
            "return=minimal",
        )
    } else {
        reply
    })
}

/// The error of an atomic batch, because of one action.
fn failed(index: usize, refusal: &Refusal, nonce_highest: u64) -> ApiError {
    let error = refused(index, refusal);
    let message = format!(
        "action {index} was refused, so none was done: {}",
        error.message
    );
    let failed = ApiError {
        detail: ErrorDetail::Action {
            index,
            error: Box::new(error),
        },
        ..ApiError::new(Code::StateViolation, message)
    };
    failed.with_header(NONCE_HIGHEST, nonce_highest.to_string())
}

fn refused(index: usize, refusal: &Refusal) -> ApiError {
    ApiError::from(refusal).under(&format!("/actions/{index}{PAYLOAD}"))
}

fn results<'a>(
    call: &'a HandlerCall,
    submission: &'a Submission,
    committed: &'a SubmissionOutcome,
    minimal: bool,
) -> ApiResult<BatchAnswer<'a>> {
    let mut results = Vec::with_capacity(committed.actions.len());
    let mut receipts: Vec<ReceiptAction> = Vec::with_capacity(committed.actions.len());
    let request_id = &call.request_id;
    let actions = submission.actions.iter().zip(&committed.actions);
    for (index, (action, result)) in actions.enumerate() {
        let (done, placement) = match (result, &committed.placement) {
            (ActionOutcome::Done(done), Some(placement)) => (done, placement),
            (ActionOutcome::Refused(refusal), _) => {
                let error = &refused(index, refusal);
                let error = Cow::Owned(ErrorEnvelope { error, request_id }.to_raw()?);
                results.push(BatchResult::Refused(RefusedAction { error }));
                continue;
            }
            (ActionOutcome::Done(_), None) => {
                return Err(ApiError::internal(&"a done action without its place"));
            }
        };
        let position = ActionPosition {
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
    let receipt = committed.placement.as_ref().map(|placement| BatchReceipt {
        version: RECEIPT_VERSION,
        domain: *call.services.access.verifier.domain(),
        batch: placement.batch.signed,
        actions: receipts,
        proof: placement.proof(),
    });
    Ok(BatchAnswer { results, receipt })
}
