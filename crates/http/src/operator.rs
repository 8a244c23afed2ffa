//! The operator's actions in the log: signed with the operator's key and its own nonces, like everyone's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::now_s;
use crate::error::{ApiError, ApiResult};
use crate::signing::{RequestVerifier, SignatureHeaders, SignedActionText};
use kedge_actors::Engine;
use kedge_actors::api::{IdempotencyClaim, Principal, SubmissionOutcome};
use kedge_config::secrets;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id};
use kedge_storage::SideWrite;
use tokio::sync::Mutex;

use crate::submitter::RequestSubmitter;

/// Time limit of an operator's action.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends the operator's actions, one at a time: each takes the next nonce.
pub struct OperatorKey {
    key: SigningKey,
    submitter: RequestSubmitter,
    verifier: Arc<RequestVerifier>,
    turn: Mutex<()>,
}

impl OperatorKey {
    pub fn new(
        key: SigningKey,
        submitter: RequestSubmitter,
        verifier: Arc<RequestVerifier>,
    ) -> Self {
        Self {
            key,
            submitter,
            verifier,
            turn: Mutex::new(()),
        }
    }

    /// Stores the key's address if the log does not name it yet: replays would refuse the key's signature otherwise.
    /// The start does this too, unless the store accepts no writes then.
    async fn store_address(&self, engine: &Engine) -> ApiResult<()> {
        let mut known = engine.published().snapshot.operators()?;
        if !known.contains(&self.key.address()) {
            known.push(self.key.address());
            engine.side_write(SideWrite::Operators(known)).await?;
        }
        Ok(())
    }

    /// Carries out one action about `organization_id`; `keep` is stored for the caller that requested it.
    pub async fn act(
        &self,
        organization_id: Id,
        kind: Kind,
        target: impl ToString,
        payload: &str,
        keep: Option<IdempotencyClaim>,
    ) -> ApiResult<SubmissionOutcome> {
        let _turn = self.turn.lock().await;
        let engine = self.submitter.engine();
        self.store_address(engine).await?;
        let nonces = engine.published().snapshot.nonces(self.key.address())?;
        let seed = secrets::random().map_err(|error| ApiError::internal(&error))?;
        let salt_seed = Hash(seed);
        let head = RequestHead {
            signer: self.key.address(),
            nonce: nonces.highest() + 1,
            deadline_s: now_s() + PATIENCE.as_secs(),
            atomic: false,
        };
        let target = target.to_string();
        let words = ActionWords::of(&kind, &target, payload.as_bytes());
        let action_hash = words.action_hash(&salt(&salt_seed, 0));
        let separator = engine.domain().separator();
        let signature = self.key.sign(&head.digest(&separator, &[action_hash]));
        let text = format!("{target}{payload}");
        let headers = SignatureHeaders {
            signature,
            signer: head.signer,
            nonce: head.nonce,
            deadline_s: head.deadline_s,
            salt_seed,
        };
        let action = SignedActionText {
            kind,
            target: 0..target.len(),
            payload: target.len()..text.len(),
            disclosed: None,
        };
        let (asker, signed) = (
            Principal::Operator { organization_id },
            (text, action).into(),
        );
        let expires_at = Instant::now() + PATIENCE;
        let mut submission = self.verifier.check(asker, &headers, signed, expires_at)?;
        submission.keep = keep.map(Arc::new);
        let committed = self.submitter.submit(Arc::new(submission)).await?;
        match committed.first_refusal() {
            Some((_, refusal)) => Err(ApiError::from(refusal)),
            None => Ok(committed),
        }
    }
}
