//! Submission of checked requests to the engine. The request's bytes are held on its organization's log quota
//! meanwhile, and errors get what the caller needs to retry.

use std::sync::Arc;

use crate::error::{ApiError, ApiResult, NONCE_HIGHEST};
use crate::limits::RateLimits;
use kedge_actors::Engine;
use kedge_actors::api::{
    ActionOutcome, CommittedState, Principal, Submission, SubmissionError, SubmissionOutcome,
};
use kedge_protocol::Address;
use kedge_rules::resource_state::ResourceState;

#[derive(Clone)]
pub struct RequestSubmitter {
    engine: Engine,
    limits: Arc<RateLimits>,
}

impl RequestSubmitter {
    pub fn new(engine: Engine, limits: Arc<RateLimits>) -> Self {
        Self { engine, limits }
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Submits a checked request. If the caller is of the signer's organization, an error includes the signer's highest
    /// nonce.
    pub async fn submit(&self, submission: Arc<Submission>) -> ApiResult<SubmissionOutcome> {
        let (signer, nonce) = (submission.head.signer, submission.head.nonce);
        let _room = match submission.asker {
            Principal::Wallet {
                organization_id, ..
            }
            | Principal::Organization { organization_id } => {
                let bytes = submission.text.len() as u64;
                self.limits.hold_log(organization_id, bytes)?
            }
            Principal::Operator { .. } | Principal::Registration => None,
        };
        let submitted = self.engine.submit(submission).await;
        if let Ok(committed) = &submitted {
            self.follow(committed);
        }
        submitted.map_err(|error| {
            if error == SubmissionError::Unknown {
                return ApiError::unknown(Some((signer, nonce)));
            }
            let error = ApiError::from(error);
            let reported = error.headers.iter().any(|(name, _)| *name == NONCE_HIGHEST);
            match self.nonce_highest(signer) {
                Some(highest) if !reported && error.code.status() < 500 => {
                    error.with_header(NONCE_HIGHEST, highest.to_string())
                }
                _ => error,
            }
        })
    }

    /// Puts a stored tier in force. A request that changes a tier has only that one action.
    fn follow(&self, committed: &SubmissionOutcome) {
        let Some(ActionOutcome::Done(done)) = committed.actions.first() else {
            return;
        };
        let CommittedState::Resources(images) = &done.made else {
            return;
        };
        for image in images.iter() {
            if let ResourceState::Organization(organization) = image {
                self.limits.tier_changed(organization);
            }
        }
    }

    fn nonce_highest(&self, signer: Address) -> Option<u64> {
        let window = self.engine.published().snapshot.nonces(signer).ok()?;
        Some(window.highest())
    }
}
