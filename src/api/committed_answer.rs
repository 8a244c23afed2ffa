//! Answers to signed requests, from what was committed now, or earlier with the same idempotency key.

use kedge_actors::api::{ActionOutcome, SubmissionOutcome};
use kedge_http::error::{ApiError, ApiResult, NONCE_HIGHEST};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::ResourceIdText;
use kedge_protocol::receipt::Receipt;
use kedge_replay::resource_rows::{is_read_back, read_image};
use kedge_rules::resource_state::ResourceState;
use kedge_storage::StoreSnapshot;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::call::HandlerCall;
use crate::api::view_conversion::ActionPosition;

/// A resource that a request made or changed, with its proof.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Changed{T}")]
pub struct ResourceChange<T> {
    /// The resource.
    #[serde(flatten)]
    pub resource: T,
    /// The action that did so.
    pub action_id: ResourceIdText,
    /// Proof that the log holds the action; it can be checked offline at once.
    pub receipt: Receipt,
}

impl HandlerCall {
    /// A single action with its place in the log; the error if it was refused.
    pub fn position<'a>(
        &'a self,
        committed: &'a SubmissionOutcome,
    ) -> ApiResult<ActionPosition<'a>> {
        let internal = || ApiError::internal(&"an outcome without its action or its place");
        let (action, result) = self
            .submission()?
            .actions
            .first()
            .zip(committed.actions.first())
            .ok_or_else(internal)?;
        match result {
            ActionOutcome::Done(done) => Ok(ActionPosition {
                action,
                done,
                placement: committed.placement.as_ref().ok_or_else(internal)?,
            }),
            ActionOutcome::Refused(refusal) => {
                let highest = committed.nonce_highest.to_string();
                Err(ApiError::from(refusal).with_header(NONCE_HIGHEST, highest))
            }
        }
    }

    /// The resources that a single action made or changed, with its place in the log; the resource acted on first.
    pub fn images(&self, committed: &SubmissionOutcome) -> ApiResult<Vec<ResourceState>> {
        let position = self.position(committed)?;
        let mut images = position.done.images(position.placement.timestamp_ms);
        if let Some(first) = images.first_mut() {
            settle(first, &self.published().snapshot)?;
        }
        Ok(images)
    }

    /// The resource of this type that a single action made or changed.
    pub fn made<T: TryFrom<ResourceState>>(&self, committed: &SubmissionOutcome) -> ApiResult<T> {
        let mut images = self.images(committed)?.into_iter();
        let made = images.find_map(|image| T::try_from(image).ok());
        made.ok_or_else(|| {
            ApiError::internal(&"an action made something else than its answer shows")
        })
    }

    /// The answer that shows a resource, with the action's id and receipt.
    pub fn changed<T: Serialize>(
        &self,
        committed: &SubmissionOutcome,
        resource: T,
    ) -> ApiResult<HttpReply> {
        let position = self.position(committed)?;
        let answer = ResourceChange {
            resource,
            action_id: ResourceIdText(position.id()),
            receipt: position.receipt(self.services.access.verifier.domain()),
        };
        self.answered(committed, position.done.sequence, &answer)
    }

    /// An answer with the row's status and the signer's highest nonce.
    pub fn answered<T: Serialize>(
        &self,
        committed: &SubmissionOutcome,
        sequence: u64,
        answer: &T,
    ) -> ApiResult<HttpReply> {
        let text = serde_json::to_vec(answer).map_err(|error| ApiError::internal(&error))?;
        Ok(self.answered_text(committed, sequence, text))
    }

    /// [`Self::answered`] for encoded JSON.
    pub fn answered_text(
        &self,
        committed: &SubmissionOutcome,
        sequence: u64,
        text: Vec<u8>,
    ) -> HttpReply {
        let reply = HttpReply::json_text(self.status(), sequence, text);
        reply.with(NONCE_HIGHEST, &committed.nonce_highest.to_string())
    }
}

/// Fills in the creation of a resource. It is missing if the decision used a version whose position was not known then;
/// by now that version is stored.
fn settle(image: &mut ResourceState, snapshot: &StoreSnapshot) -> ApiResult<()> {
    let is_complete = image
        .trace()
        .is_none_or(|trace| trace.created_sequence != 0);
    // An answer about a type that is never read back shows no trace.
    if is_complete || !is_read_back(image) {
        return Ok(());
    }
    let stored = read_image(snapshot, image.id())?
        .ok_or_else(|| ApiError::internal(&"a committed resource is missing"))?;
    if let (Some(trace), Some(stored)) = (image.trace_mut(), stored.trace()) {
        trace.created_sequence = stored.created_sequence;
        trace.created_at_ms = stored.created_at_ms;
    }
    Ok(())
}
