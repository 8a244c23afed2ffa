//! What can go wrong, from the wire to the proofs.

use std::time::Duration;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::key_proof::KeyProofError;
use kedge_protocol::merkle::ProofError;
use kedge_protocol::proof::ProofFileError;
use kedge_protocol::receipt::ReceiptError;
use kedge_protocol::signature::SignatureError;
use kedge_protocol::{Address, Hash, Id};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// The result of checking an answer.
pub(crate) type Check = std::result::Result<(), VerificationError>;

/// The server's error envelope.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{code} ({status}): {}", self.message())]
pub struct Envelope {
    /// The machine-readable code, such as `RESOURCE_NOT_FOUND`.
    pub code: String,
    /// The HTTP status.
    pub status: u16,
    /// The context: `message`, `request_id`, and more by code.
    #[serde(default)]
    pub body: Map<String, Value>,
}

impl Envelope {
    /// What the server says about it.
    pub fn message(&self) -> &str {
        self.text("message").unwrap_or("no message")
    }

    /// The request's id, for asking the operator.
    pub fn request_id(&self) -> Option<&str> {
        self.text("request_id")
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.body.get(member).and_then(Value::as_str)
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused.
    #[error(transparent)]
    Refused(#[from] Envelope),
    /// The server answered with something that is not its envelope.
    #[error("the server answered with status {status} and no error envelope: {text}")]
    Unexpected {
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        text: String,
    },
    /// The request did not get through, or its answer did not come back whole. A signed request
    /// may have been carried out all the same.
    #[error("{0}")]
    Transport(String),
    /// No answer in time. A signed request may have been carried out all the same.
    #[error("no answer within {timeout_ms} ms")]
    Timeout {
        /// How long was waited.
        timeout_ms: u64,
    },
    /// The request was carried out by an earlier sending whose answer was lost. It stands in the log,
    /// once; its actions can be read there by these identifiers.
    #[error("the request was carried out before, and its answer was lost; its actions begin with {}", .actions[0])]
    AlreadyDone {
        /// The sequence of the first of its actions, where the server says it.
        sequence: Option<u64>,
        /// The identifiers of its actions in request order; not each must have been done.
        actions: Vec<Id>,
    },
    /// A successful answer that cannot be read.
    #[error("the answer to {what} cannot be read: {error}")]
    Answer {
        /// The call.
        what: &'static str,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The answer does not hold: the server is faulty, or not the one that was trusted.
    #[error("the answer does not verify: {0}")]
    Verification(#[from] Box<VerificationError>),
    /// The call was put together wrongly; nothing was sent.
    #[error("{0}")]
    Usage(String),
}

/// What a refusal says of what was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    /// What was asked may be done, now or later.
    Unknown,
    /// The nonce was spent by the very same request, at this sequence.
    Before(Option<u64>),
    /// It says nothing of it, or that nothing was done.
    Nothing,
}

impl Envelope {
    pub(crate) fn done(&self) -> Done {
        let sequence = || {
            let told = self.body.get("sequence")?;
            told.as_u64().or_else(|| told.as_str()?.parse().ok())
        };
        match (
            self.code.as_str(),
            self.text("outcome"),
            self.text("reason"),
        ) {
            (_, Some("unknown"), _) => Done::Unknown,
            ("NONCE_REUSED", _, Some("done")) => Done::Before(sequence()),
            _ => Done::Nothing,
        }
    }
}

impl Error {
    pub(crate) fn done(&self) -> Done {
        match self {
            Self::Refused(envelope) => envelope.done(),
            // A server in front of this one gave up, or the way broke off.
            Self::Unexpected {
                status: 502 | 504, ..
            }
            | Self::Transport(_)
            | Self::Timeout { .. } => Done::Unknown,
            _ => Done::Nothing,
        }
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(envelope) => Some(&envelope.code),
            _ => None,
        }
    }
}

impl From<VerificationError> for Error {
    fn from(error: VerificationError) -> Self {
        Self::Verification(Box::new(error))
    }
}

/// Why an answer is not to be believed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VerificationError {
    /// The receipt does not hold by itself.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The receipt is for another action than the one that was sent.
    #[error("the receipt is for content {found}, but the action that was sent has {expected}")]
    OtherAction {
        /// The content of what was sent.
        expected: Hash,
        /// The content in the receipt.
        found: Hash,
    },
    /// An identifier that follows from the action is another one in the answer.
    #[error("the answer names {found}, but the action that was sent makes {expected}")]
    OtherId {
        /// What the action makes.
        expected: Id,
        /// What the answer says.
        found: Id,
    },
    /// An action was done, but no receipt shows it.
    #[error("the answer has no receipt for action {index} of the request, which it says was done")]
    NoReceipt {
        /// The action's index in the request.
        index: usize,
    },
    /// The receipt and the results do not speak of the same actions.
    #[error("the receipt's actions are not the request's actions that were done")]
    OtherActions,
    /// The sequencer signed two headers with one number. Both are evidence: keep them.
    #[error("equivocation: the sequencer signed two headers with batch number {}", .0[0].header.number)]
    Equivocation(Box<[SignedBatch; 2]>),
    /// Two consecutive headers do not join. Both are evidence: keep them.
    #[error("headers {} and {} do not join into one chain", .0[0].header.number, .0[1].header.number)]
    BrokenLink(Box<[SignedBatch; 2]>),
    /// A proof file does not hold.
    #[error(transparent)]
    ProofFile(#[from] ProofFileError),
    /// The file is about another action than the one that was asked for.
    #[error("the proof is of action {found}, not of {expected}")]
    OtherProof {
        /// The action that was asked for.
        expected: Id,
        /// The action in the file.
        found: Id,
    },
    /// A claim does not hold.
    #[cfg(feature = "claims")]
    #[error(transparent)]
    Claim(kedge_prover::claim::ClaimError),
    /// A consistency proof does not hold.
    #[error("the consistency proof: {0}")]
    Consistency(ProofError),
    /// A checkpoint's signature does not recover.
    #[error("the checkpoint: {0}")]
    Signature(#[from] SignatureError),
    /// Somebody else signed the checkpoint.
    #[error("the checkpoint was signed by {found}, not by the sequencer {expected}")]
    OtherSequencer {
        /// The pinned sequencer.
        expected: Address,
        /// Who signed.
        found: Address,
    },
    /// The log does not show the sequencer key that the server states.
    #[error("the sequencer's next key: {0}")]
    Key(#[from] KeyProofError),
    /// The server speaks for another log than the pinned one.
    #[error("the server's log is another one than the pinned one: {0}")]
    OtherLog(String),
    /// An anchor's batch or a field derived from others is not what it should be.
    #[error("{0}")]
    Inconsistent(&'static str),
}

/// How long the server asks to wait, as it said it in `Retry-After`.
pub(crate) fn retry_after(headers: &hyper::HeaderMap) -> Option<Duration> {
    let text = headers.get(hyper::header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
