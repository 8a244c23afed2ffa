//! What goes into the engine and what comes out of it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::timing::RequestTiming;
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::nonce::NonceError;
use kedge_protocol::resource::{Object, Trace};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};
use kedge_rules::Refusal;
use kedge_rules::image::Image;
use parking_lot::Mutex;

use crate::overlay::Versioned;

/// Who sends the request, as authenticated by the edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asker {
    /// A wallet. Its organization's actor checks that the signer is one of its keys.
    Wallet {
        /// The wallet.
        wallet_id: Id,
        /// Its organization.
        organization_id: Id,
    },
    /// An organization, by an API key alone. The signer determines which of its wallets it is.
    Organization {
        /// The organization.
        organization_id: Id,
    },
    /// The operator, on behalf of an organization.
    Operator {
        /// The organization.
        organization_id: Id,
    },
    /// Nobody yet: the request registers a wallet.
    Registration,
}

impl Asker {
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

/// A secret that is stored in the commit of the action that made or renewed its owner, but never in the log.
#[derive(Clone, PartialEq, Eq)]
pub enum NewSecret {
    /// The password's hash (PHC string) of a wallet that is being registered.
    Password(String),
    /// What is stored of an API key's or a webhook's secret.
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

/// What is remembered, in the same commit, of a request with an idempotency key.
pub struct Keep {
    /// Hash of caller, endpoint and key.
    pub key: [u8; 32],
    /// Hash of the request's content.
    pub request: [u8; 32],
    /// Until when, Unix seconds.
    pub until_s: u64,
    /// The request's id.
    pub request_id: Arc<str>,
    /// How many objects have been made from the template that the request acts on.
    pub minted: u64,
    /// Whether its answer shows what its action made or changed; the log has only the action.
    pub shows_resources: bool,
    /// A secret that the answer shows once, sealed; set before the request is submitted.
    pub sealed_secret: OnceLock<Vec<u8>>,
    /// Held until the request has ended, so that no other request starts with the same key.
    pub in_progress: Mutex<Option<Box<dyn std::any::Any + Send + Sync>>>,
}

impl Keep {
    /// The sealed secret; empty if there is none.
    pub(crate) fn sealed_secret(&self) -> &[u8] {
        self.sealed_secret.get().map_or(&[], Vec::as_slice)
    }

    /// The request has ended and its effects can be read, so the next request with the key may start. Call this before
    /// the answer goes out, because the next one may follow at once.
    pub(crate) fn release(&self) {
        drop(self.in_progress.lock().take());
    }
}

impl std::fmt::Debug for Keep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keep")
            .field("until_s", &self.until_s)
            .finish_non_exhaustive()
    }
}

/// The state of a resource that a caller has seen, as its entity tag states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// Its version.
    pub version: u64,
    /// The first bytes of its integrity.
    pub integrity: [u8; 8],
}

impl Expected {
    /// The state of a resource with this trace.
    pub fn of(trace: &Trace) -> Self {
        let mut integrity = [0; 8];
        integrity.copy_from_slice(&trace.integrity.0[..8]);
        Self {
            version: trace.version,
            integrity,
        }
    }

    /// Refuses if a request names states and the resource is in none of them.
    pub(crate) fn check(
        states: Option<&[Self]>,
        resource: &'static str,
        trace: &Trace,
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
    /// What it does.
    pub kind: Kind,
    /// The target, as signed.
    pub target: Range<usize>,
    /// The payload, as signed.
    pub payload: Range<usize>,
    /// What may be disclosed of the payload, where the payload is a digest of a body with secrets.
    pub disclosed: Option<Range<usize>>,
    /// hashStruct of the action.
    pub action_hash: Hash,
    /// The action's content.
    pub content: Hash,
}

/// A request whose signature has been checked.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Who sends it.
    pub asker: Asker,
    /// Signer, nonce, deadline, atomic.
    pub head: RequestHead,
    /// The signature.
    pub signature: Signature,
    /// The EIP-712 digest that was signed.
    pub digest: Hash,
    /// The seed of the salts.
    pub salt_seed: Hash,
    /// The texts that the actions point into.
    pub text: String,
    /// The actions, in request order; 1 to 500.
    pub actions: Vec<SubmittedAction>,
    /// A secret that is stored with it.
    pub secret: Option<NewSecret>,
    /// Act only if the resource acted on is in one of these states (If-Match); for requests with one action.
    pub expected: Option<Vec<Expected>>,
    /// What to remember of it, if it has an idempotency key.
    pub keep: Option<Arc<Keep>>,
    /// When the caller stops waiting: work that has not begun by then never begins.
    pub expires_at: Instant,
    /// Where the times of its steps are noted, if it is sampled for tracing.
    pub timing: Option<Arc<RequestTiming>>,
}

impl Submission {
    /// The text of a range.
    pub fn text(&self, range: &Range<usize>) -> &str {
        &self.text[range.clone()]
    }
}

/// A batch as it was sealed, with its tree available for paths and multiproofs.
pub struct SealedBatch {
    /// The signed header.
    pub signed: SignedBatch,
    /// The batch's identifier.
    pub id: Id,
    /// The tree over its leaves.
    pub tree: BatchTree,
}

/// What an action made or changed; [`Done::images`] fills in sequence and times.
#[derive(Clone, Debug)]
pub enum Made {
    /// An object, as it is after the action.
    Object(Arc<Versioned<Object>>),
    /// Other resources, the one acted on first.
    Resources(Arc<Versioned<Vec<Image>>>),
}

/// An action that was done and is durable.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its place in the log.
    pub sequence: u64,
    /// Its leaf hash.
    pub leaf: Hash,
    /// The log's head with it.
    pub head: Hash,
    /// The resource that it acted on, or made first.
    pub resource: Id,
    /// That resource's version with it.
    pub version: u64,
    /// That resource's integrity before it.
    pub previous_integrity: Hash,
    /// That resource's integrity with it.
    pub integrity: Hash,
    /// What it made or changed.
    pub made: Made,
}

impl Done {
    /// What it made or changed, placed; the resource acted on first.
    pub fn images(&self, timestamp_ms: u64) -> Vec<Image> {
        let mut images = match &self.made {
            Made::Object(object) => vec![Image::Object(Object::clone(object))],
            Made::Resources(images) => Vec::clone(images),
        };
        Image::place_all(&mut images, self.sequence, timestamp_ms);
        images
    }
}

/// The outcome of one action of a submission.
#[derive(Clone, Debug)]
pub enum ActionOutcome {
    /// It was done.
    Done(Done),
    /// It was refused and changed nothing.
    Refused(Refusal),
}

/// Where a submission's done actions were placed: one batch, consecutively, at one time.
#[derive(Clone)]
pub struct Placement {
    /// The batch.
    pub batch: Arc<SealedBatch>,
    /// The sequence of the first.
    pub first_sequence: u64,
    /// The first one's index among the batch's leaves.
    pub first_leaf_index: u32,
    /// How many there are.
    pub count: u32,
    /// When they were placed, milliseconds.
    pub timestamp_ms: u64,
}

impl Placement {
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

/// The outcome of a submission. Everything in it is durable.
#[derive(Clone)]
pub struct Committed {
    /// Where its actions were placed; `None` if none was done and nothing changed.
    pub placement: Option<Placement>,
    /// One for each action, in request order. Where an atomic submission failed, the actions that would have succeeded
    /// on their own are refused too: see [`Committed::first_refusal`].
    pub actions: Vec<ActionOutcome>,
    /// The action at which an atomic submission failed.
    pub failed_index: Option<usize>,
    /// The signer's highest spent nonce.
    pub nonce_highest: u64,
}

impl Committed {
    /// The first refused action: its index in the request, and why.
    pub fn first_refusal(&self) -> Option<(usize, &Refusal)> {
        let skip = self.failed_index.unwrap_or(0);
        let mut actions = self.actions.iter().enumerate().skip(skip);
        actions.find_map(|(i, action)| match action {
            ActionOutcome::Refused(refusal) => Some((i, refusal)),
            ActionOutcome::Done(_) => None,
        })
    }
}

/// What happened to the request with a nonce that cannot be spent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Past {
    /// Some of it was done.
    Done {
        /// The sequence of its first action; only for the signer's own organization.
        sequence: Option<u64>,
    },
    /// Nothing was done, and nothing will be.
    Refused,
}

/// Why a submission failed as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The nonce cannot be spent.
    #[error("{error}")]
    Nonce {
        /// Why.
        error: NonceError,
        /// The signer's highest spent nonce.
        highest: u64,
        /// What happened to the request that used the nonce, where that is known.
        past: Option<Past>,
    },
    /// The same signed request failed as a whole before. That is remembered until its deadline.
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
    /// The caller's wallet does not exist (any more).
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
        /// How many it may have.
        limit: usize,
    },
    /// The caller's time ended before anything was begun: the request waited for supply that other requests hold, or
    /// for its turn.
    #[error("the request waited for others until it timed out; nothing was changed, try again")]
    Waited,
    /// Another node leads the log. Nothing was done, and nothing will be.
    #[error(
        "this node follows the log, and the node that leads it did not take the request; try again"
    )]
    NotLeading,
    /// The store accepts no writes now.
    #[error("{0}")]
    ReadOnly(String),
    /// Something that the request needs could not be read, or the server is stopping. Nothing was done, and nothing
    /// will be.
    #[error("the request could not be carried out now; nothing was changed")]
    Unavailable,
    /// It was on its way to the disk when the wait for its answer ended. It may be in the log already, may still get
    /// there, or may be lost.
    #[error("it is not known whether the request was carried out, or still will be")]
    Unknown,
}
