//! Input and output of the engine: submissions, their outcomes and errors.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::timing::RequestTiming;
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::nonce::NonceError;
use kedge_protocol::resource::{Object, ResourceTrace};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};
use kedge_rules::Refusal;
use kedge_rules::resource_state::ResourceState;
use parking_lot::Mutex;

use crate::overlay::StateVersion;

/// The authenticated sender of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Principal {
    /// A wallet. Its organization's actor checks that the signer is one of its keys.
    Wallet { wallet_id: Id, organization_id: Id },
    /// An organization, by an API key alone. The signer determines the wallet.
    Organization { organization_id: Id },
    /// The operator, on behalf of an organization.
    Operator { organization_id: Id },
    /// An unregistered signer, whose request registers a wallet.
    Registration,
}

impl Principal {
    /// The organization whose actor admits the request; `None` is the registration desk.
    pub fn organization_id(&self) -> Option<Id> {
        match self {
            Self::Wallet {
                organization_id, ..
            }
            | Self::Organization { organization_id }
            | Self::Operator { organization_id } => Some(*organization_id),
            Self::Registration => None,
        }
    }
}

/// Secret stored in the commit of the action that creates or renews its owner, but never in the log.
#[derive(Clone, PartialEq, Eq)]
pub enum NewSecret {
    /// The password's hash (PHC string) of a wallet that is being registered.
    Password(String),
    /// The stored form of an API key's or a webhook's secret.
    Token(Vec<u8>),
}

impl std::fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Password(_) => "Password(…)",
            Self::Token(_) => "Token(…)",
        })
    }
}

/// Record of a request with an idempotency key, stored in the request's commit.
pub struct IdempotencyClaim {
    /// Hash of caller, endpoint and key.
    pub key: [u8; 32],
    /// Hash of the request's content.
    pub request: [u8; 32],
    /// Expiry, Unix seconds.
    pub until_s: u64,
    pub request_id: Arc<str>,
    /// How many objects the template that the request acts on had minted.
    pub minted: u64,
    /// Whether the answer shows the resources that its action changed; the log has only the action.
    pub shows_resources: bool,
    /// A secret that the answer shows once, sealed; set before the request is submitted.
    pub sealed_secret: OnceLock<Vec<u8>>,
    /// The lock on the key, held until the request has ended, so that no other request starts with it.
    pub in_progress: Mutex<Option<Box<dyn std::any::Any + Send + Sync>>>,
}

impl IdempotencyClaim {
    /// The sealed secret; empty if there is none.
    pub(crate) fn sealed_secret(&self) -> &[u8] {
        self.sealed_secret.get().map_or(&[], Vec::as_slice)
    }

    /// Lets the next request with the key start. Must be called once the effects can be read and before the answer is
    /// sent, because the next request may follow immediately.
    pub(crate) fn release(&self) {
        drop(self.in_progress.lock().take());
    }
}

impl std::fmt::Debug for IdempotencyClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keep")
            .field("until_s", &self.until_s)
            .finish_non_exhaustive()
    }
}

/// State of a resource as the caller's entity tag names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpectedVersion {
    pub version: u64,
    /// The first bytes of its integrity.
    pub integrity: [u8; 8],
}

impl ExpectedVersion {
    /// The state of a resource with this trace.
    pub fn of(trace: &ResourceTrace) -> Self {
        let mut integrity = [0; 8];
        integrity.copy_from_slice(&trace.integrity.0[..8]);
        Self {
            version: trace.version,
            integrity,
        }
    }

    /// Refuses a request that names states if the resource is in none of them.
    pub(crate) fn check(
        states: Option<&[Self]>,
        resource: &'static str,
        trace: &ResourceTrace,
    ) -> Result<(), Refusal> {
        match states {
            Some(states) if !states.contains(&Self::of(trace)) => Err(Refusal::Precondition {
                resource: resource.into(),
                version: trace.version,
            }),
            _ => Ok(()),
        }
    }
}

/// One action of a submission. Texts are ranges of the submission's `text`.
#[derive(Clone, Debug)]
pub struct SubmittedAction {
    pub kind: Kind,
    /// The target, as signed.
    pub target: Range<usize>,
    /// The payload, as signed.
    pub payload: Range<usize>,
    /// The part of the payload that may be disclosed, if the payload is a digest of a body with secrets.
    pub disclosed: Option<Range<usize>>,
    /// EIP-712 `hashStruct` of the action.
    pub action_hash: Hash,
    pub content: Hash,
}

/// A request whose signature has been checked.
#[derive(Clone, Debug)]
pub struct Submission {
    pub asker: Principal,
    /// Signer, nonce, deadline, atomic.
    pub head: RequestHead,
    pub signature: Signature,
    /// The EIP-712 digest that was signed.
    pub digest: Hash,
    pub salt_seed: Hash,
    /// The texts that the actions point into.
    pub text: String,
    /// The actions, in request order; 1 to 500.
    pub actions: Vec<SubmittedAction>,
    pub secret: Option<NewSecret>,
    /// The states in which the resource may be acted on (If-Match); only for requests with one action.
    pub expected: Option<Vec<ExpectedVersion>>,
    /// The record for its idempotency key, if it has one.
    pub keep: Option<Arc<IdempotencyClaim>>,
    /// When the caller stops waiting: work that has not begun by then never begins.
    pub expires_at: Instant,
    /// Receives the times of its steps, if it is sampled for tracing.
    pub timing: Option<Arc<RequestTiming>>,
}

impl Submission {
    /// The text of a range.
    pub fn text(&self, range: &Range<usize>) -> &str {
        &self.text[range.clone()]
    }
}

/// Sealed batch with its Merkle tree, for paths and multiproofs.
pub struct SealedBatch {
    pub signed: SignedBatch,
    pub id: Id,
    pub tree: BatchTree,
}

/// Resources that an action created or changed; [`CommittedAction::images`] fills in sequence and times.
#[derive(Clone, Debug)]
pub enum CommittedState {
    /// An object after the action.
    Object(Arc<StateVersion<Object>>),
    /// Other resources, the one acted on first.
    Resources(Arc<StateVersion<Vec<ResourceState>>>),
}

/// A durable action.
#[derive(Clone, Debug)]
pub struct CommittedAction {
    pub sequence: u64,
    pub leaf: Hash,
    /// The log's head after it.
    pub head: Hash,
    /// The resource acted on, or the first one created.
    pub resource: Id,
    /// That resource's version after it.
    pub version: u64,
    /// That resource's integrity before it.
    pub previous_integrity: Hash,
    /// That resource's integrity after it.
    pub integrity: Hash,
    pub made: CommittedState,
}

impl CommittedAction {
    /// The resources it created or changed, with sequence and time; the one acted on first.
    pub fn images(&self, timestamp_ms: u64) -> Vec<ResourceState> {
        let mut images = match &self.made {
            CommittedState::Object(object) => vec![ResourceState::Object(Object::clone(object))],
            CommittedState::Resources(images) => Vec::clone(images),
        };
        ResourceState::place_all(&mut images, self.sequence, timestamp_ms);
        images
    }
}

/// The outcome of one action of a submission.
#[derive(Clone, Debug)]
pub enum ActionOutcome {
    Done(CommittedAction),
    Refused(Refusal),
}

/// Position of a submission's done actions in the log: one batch, consecutive, with one timestamp.
#[derive(Clone)]
pub struct BatchPlacement {
    pub batch: Arc<SealedBatch>,
    /// Sequence of the first action.
    pub first_sequence: u64,
    /// Leaf index of the first action in the batch.
    pub first_leaf_index: u32,
    pub count: u32,
    /// When they were placed, Unix milliseconds.
    pub timestamp_ms: u64,
}

impl BatchPlacement {
    /// The multiproof of the submission's leaves; empty if they fill the batch.
    pub fn proof(&self) -> Vec<Hash> {
        let first = self.first_leaf_index as usize;
        let indices: Vec<usize> = (first..first + self.count as usize).collect();
        self.batch.tree.proof(&indices)
    }

    /// The path of one leaf of the batch.
    pub fn path(&self, leaf_index: u32) -> Vec<Hash> {
        self.batch.tree.proof(&[leaf_index as usize])
    }
}

/// Durable outcome of a submission.
#[derive(Clone)]
pub struct SubmissionOutcome {
    pub placement: Option<BatchPlacement>,
    /// One outcome for each action, in request order. If an atomic submission failed, the actions that would have
    /// succeeded alone are refused too: see [`SubmissionOutcome::first_refusal`].
    pub actions: Vec<ActionOutcome>,
    /// The action at which an atomic submission failed.
    pub failed_index: Option<usize>,
    /// The signer's highest spent nonce.
    pub nonce_highest: u64,
}

impl SubmissionOutcome {
    /// Index and reason of the first refused action.
    pub fn first_refusal(&self) -> Option<(usize, &Refusal)> {
        let skip = self.failed_index.unwrap_or(0);
        let mut actions = self.actions.iter().enumerate().skip(skip);
        actions.find_map(|(i, action)| match action {
            ActionOutcome::Refused(refusal) => Some((i, refusal)),
            ActionOutcome::Done(_) => None,
        })
    }
}

/// Outcome of the earlier request with the same nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceOutcome {
    /// At least one action was done; `sequence` is the first one's, for callers of the signer's own organization.
    Done { sequence: Option<u64> },
    /// Nothing was done, and nothing will be.
    Refused,
}

/// Why a submission failed as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionError {
    /// The nonce cannot be spent.
    #[error("{error}")]
    Nonce {
        error: NonceError,
        highest: u64,
        /// The outcome of the request that used the nonce, if known.
        past: Option<NonceOutcome>,
    },
    /// The same signed request failed as a whole before. The store remembers that until its deadline.
    #[error("this signed request was refused before; sign a new one with a new salt seed")]
    Replayed,
    /// The deadline passed before the actions could be placed.
    #[error("the request's deadline passed before it could be placed")]
    DeadlineExpired,
    /// The signer is not an active key of the caller's wallet.
    #[error("the signing address is not an active key of the caller's wallet")]
    SignerNotOfWallet,
    /// The signer is not an active key of a wallet of the API key's organization.
    #[error("the signing address is not an active key of a wallet of the API key's organization")]
    SignerNotOfOrganization,
    /// The caller's wallet does not exist or was removed.
    #[error("the caller's wallet does not exist")]
    NoSuchWallet,
    /// Too many requests are in flight.
    #[error("the server is at its limit of requests in flight; try again shortly")]
    Overloaded,
    /// The organization has as many requests in flight as it may.
    #[error(
        "the organization has {limit} requests in flight, its share; try again when one has ended"
    )]
    Share {
        /// The organization's share.
        limit: usize,
    },
    /// The caller's time ended while the request waited for supply that other requests hold, or for its turn. Nothing
    /// was begun.
    #[error("the request waited for others until it timed out; nothing was changed, try again")]
    Waited,
    /// Another node leads the log. Nothing was done, and nothing will be.
    #[error(
        "this node follows the log, and the node that leads it did not take the request; try again"
    )]
    NotLeading,
    #[error("{0}")]
    ReadOnly(String),
    /// A read that the request needs failed, or the server is stopping. Nothing was done, and nothing will be.
    #[error("the request could not be carried out now; nothing was changed")]
    Unavailable,
    /// The wait for the answer ended after the request was placed. It may be in the log, may still get there, or may be
    /// lost.
    #[error("it is not known whether the request was carried out, or still will be")]
    Unknown,
}
