//! What each endpoint does. Reads use the published snapshot and wait for no actor. Pages of lists and pieces of
//! exports are read and written on threads of their own, never on the runtime's workers.

pub mod actions;
pub mod anchors;
pub mod batches;
pub mod bus;
pub mod disputes;
pub mod events;
pub mod export;
pub mod files;
pub mod keys;
pub mod members;
pub mod object_list;
pub mod objects;
pub mod organizations;
pub mod past;
pub mod preview;
pub mod reference;
pub mod search;
pub mod sequencer_keys;
pub mod service;
pub mod templates;
pub mod wallets;
pub mod webhooks;

use kedge_actors::api::{ActionOutcome, Made, Outcome, Submission};
use kedge_api::scalars::IdText;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::error::{ApiError, NONCE_HIGHEST};
use kedge_http::reply::Reply;
use kedge_machine::image::Image;
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::{Area, Object, Trace};
use kedge_storage::ReadError;
use serde::Serialize;

use crate::call::Call;
use kedge_http::shown::Position;

/// Caching of answers that are for one caller only.
const PRIVATE: &str = "private, no-cache";
/// Caching of public answers that may still change.
const PUBLIC: &str = "public, no-cache";
/// Caching of public answers that never change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// The right that an API key needs to read the content of actions, in whichever answer.
const READS_ACTIONS: Right = Right {
    area: Area::Actions,
    access: Access::Read,
};

/// A single signed action that was done, with what its answer needs.
struct Single {
    /// What it made or changed.
    made: Made,
    /// Its sequence.
    sequence: u64,
    /// When it was placed, Unix milliseconds.
    timestamp_ms: u64,
    action_id: IdText,
    receipt: Receipt,
    nonce_highest: u64,
}

/// Takes apart the outcome of a single action.
fn single(call: &Call, submission: &Submission, outcome: &Outcome) -> Result<Single, ApiError> {
    let done = match outcome.actions.first() {
        Some(ActionOutcome::Done(done)) => done,
        Some(ActionOutcome::Refused(refusal)) => {
            let highest = outcome.nonce_highest.to_string();
            return Err(ApiError::from(refusal).with_header(NONCE_HIGHEST, highest));
        }
        None => return Err(ApiError::internal(&"an outcome without its action")),
    };
    let (Some(placement), Some(action)) = (&outcome.placement, submission.actions.first()) else {
        return Err(ApiError::internal(&"a done action without its place"));
    };
    let position = Position {
        action,
        done,
        placement,
    };
    Ok(Single {
        made: done.made.clone(),
        sequence: done.sequence,
        timestamp_ms: placement.timestamp_ms,
        action_id: IdText(position.id()),
        receipt: position.receipt(call.app.verifier.domain()),
        nonce_highest: outcome.nonce_highest,
    })
}

impl Single {
    /// The object that the action made or changed, with its position in the log.
    fn object(&self, call: &Call) -> Result<Object, ApiError> {
        let Made::Object(made) = &self.made else {
            return Err(ApiError::internal(
                &"an action on an object made something else",
            ));
        };
        let mut object: Object = Object::clone(made);
        object.trace.place(self.sequence, self.timestamp_ms);
        if object.trace.created_sequence == 0 {
            // The decision used a version whose own position was not known then; that version is
            // stored now.
            let stored = call.published().snapshot.object(object.id)?;
            let stored =
                stored.ok_or_else(|| ApiError::internal(&"a committed object is missing"))?;
            object.trace.created_sequence = stored.trace.created_sequence;
            object.trace.created_at_ms = stored.trace.created_at_ms;
        }
        Ok(object)
    }

    /// The resources that the action made or changed, with their position in the log.
    fn images(&self) -> Result<Vec<Image>, ApiError> {
        let Made::Resources(made) = &self.made else {
            return Err(ApiError::internal(&"an action on resources made an object"));
        };
        let mut images: Vec<Image> = Vec::clone(made);
        Image::place_all(&mut images, self.sequence, self.timestamp_ms);
        Ok(images)
    }

    /// An answer made of members that were kept as text, of `more`, and of the action's id and
    /// receipt.
    fn reply_again<T: Serialize>(
        &self,
        status: hyper::StatusCode,
        residue: &[u8],
        more: &T,
    ) -> Result<Reply, ApiError> {
        #[derive(Serialize)]
        struct Proven<'a, T> {
            #[serde(flatten)]
            more: &'a T,
            action_id: IdText,
            receipt: &'a Receipt,
        }

        let proven = Proven {
            more,
            action_id: self.action_id,
            receipt: &self.receipt,
        };
        let proven = serde_json::to_vec(&proven).map_err(|error| ApiError::internal(&error))?;
        // Texts are joined, not values, so a number keeps every digit it was sent with.
        let kept = residue
            .strip_suffix(b"}")
            .ok_or_else(|| ApiError::internal(&"the kept answer is not a JSON object"))?;
        let mut body = kept.to_vec();
        if kept != b"{" {
            body.push(b',');
        }
        body.extend_from_slice(&proven[1..]);
        let json = hyper::header::HeaderValue::from_static("application/json");
        let reply = Reply::bytes(status, self.sequence, json, body);
        Ok(reply.with(NONCE_HIGHEST, &self.nonce_highest.to_string()))
    }

    /// An answer, with the signer's highest nonce.
    fn reply<T: Serialize>(&self, status: hyper::StatusCode, body: &T) -> Result<Reply, ApiError> {
        let reply = Reply::json(status, self.sequence, body)?;
        Ok(reply.with(NONCE_HIGHEST, &self.nonce_highest.to_string()))
    }
}

/// The answer to a single action that was carried out before; `residue` holds what the answer
/// contained besides the action's id and receipt.
pub fn answered_again(
    call: &Call,
    submission: &Submission,
    outcome: &Outcome,
    residue: &[u8],
) -> Result<Reply, ApiError> {
    let single = single(call, submission, outcome)?;
    let status = hyper::StatusCode::from_u16(call.endpoint.status)
        .map_err(|error| ApiError::internal(&error))?;
    single.reply_again(status, residue, &())
}

/// Fills in when a resource was made. If the decision used a version whose own position was not known then, it is
/// missing; by now that version is stored.
fn settle(
    trace: &mut Trace,
    stored: impl FnOnce() -> Result<Option<Trace>, ReadError>,
) -> Result<(), ApiError> {
    if trace.created_sequence == 0 {
        let stored = stored()?;
        let stored =
            stored.ok_or_else(|| ApiError::internal(&"a committed resource is missing"))?;
        trace.created_sequence = stored.created_sequence;
        trace.created_at_ms = stored.created_at_ms;
    }
    Ok(())
}
