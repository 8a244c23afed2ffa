//! What can go wrong, from the wire to the proofs.

use std::time::Duration;

use kedge_protocol::Code;
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
    /// The server's explanation.
    pub fn message(&self) -> &str {
        self.text("message").unwrap_or("no message")
    }

    /// The request's id, to quote to the operator.
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
    /// The server's answer is not its error envelope.
    #[error("the server answered with status {status} and no error envelope: {text}")]
    Unexpected {
        /// The HTTP status.
        status: u16,
        /// The start of the body.
        text: String,
    },
    /// The request did not get through, or its answer did not arrive whole. A signed request may still have
    /// been carried out.
    #[error("{0}")]
    Transport(String),
    /// No answer in time. A signed request may still have been carried out.
    #[error("no answer within {timeout_ms} ms")]
    Timeout {
        /// The time limit.
        timeout_ms: u64,
    },
    /// The request was carried out by an earlier attempt whose answer was lost. The log holds it, once; its
    /// actions can be read there by these identifiers.
    #[error("the request was carried out before, and its answer was lost; its actions begin with {}", .actions[0])]
    AlreadyDone {
        /// The sequence of the first of its actions, if the server states it.
        sequence: Option<u64>,
        /// The identifiers of its actions in request order; some may not have been done.
        actions: Vec<Id>,
    },
    /// A successful answer could not be parsed.
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
    /// The call was invalid; nothing was sent.
    #[error("{0}")]
    Usage(String),
}

/// What a refusal states about what was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    /// The request may be done, now or later.
    Unknown,
    /// The same request spent the nonce, at this sequence.
    Before(Option<u64>),
    /// It states nothing about that, or that nothing was done.
    Nothing,
}

impl Envelope {
    pub(crate) fn done(&self) -> Done {
        let sequence = || {
            let reported = self.body.get("sequence")?;
            reported
                .as_u64()
                .or_else(|| reported.as_str()?.parse().ok())
        };
        match (
            self.code.as_str(),
            self.text("outcome"),
            self.text("reason"),
        ) {
            (_, Some("unknown"), _) => Done::Unknown,
            (code, _, Some("done")) if code == Code::NonceReused.text() => Done::Before(sequence()),
            _ => Done::Nothing,
        }
    }
}

impl Error {
    pub(crate) fn done(&self) -> Done {
        match self {
            Self::Refused(envelope) => envelope.done(),
            // A proxy in front of the server gave up, or the connection broke.
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

/// Why an answer is not trusted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VerificationError {
    /// The receipt itself is invalid.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The receipt is for an action other than the one sent.
    #[error("the receipt is for content {found}, but the sent action has {expected}")]
    OtherAction {
        /// The content of the action sent.
        expected: Hash,
        /// The content in the receipt.
        found: Hash,
    },
    /// An identifier in the answer is not the one that follows from the action.
    #[error("the answer names {found}, but the sent action makes {expected}")]
    OtherId {
        /// The identifier that follows.
        expected: Id,
        /// The identifier in the answer.
        found: Id,
    },
    /// An action was done, but no receipt proves it.
    #[error("the answer reports action {index} of the request as done, but has no receipt for it")]
    NoReceipt {
        /// The action's index in the request.
        index: usize,
    },
    /// The receipt and the results cover different actions.
    #[error("the receipt covers other actions than those of the request that were done")]
    OtherActions,
    /// The sequencer signed two headers with one number. Both are evidence: keep them.
    #[error("equivocation: the sequencer signed two headers with batch number {}", .0[0].header.number)]
    Equivocation(Box<[SignedBatch; 2]>),
    /// Two consecutive headers do not connect. Both are evidence: keep them.
    #[error("headers {} and {} do not connect", .0[0].header.number, .0[1].header.number)]
    BrokenLink(Box<[SignedBatch; 2]>),
    /// A proof file does not hold.
    #[error(transparent)]
    ProofFile(#[from] ProofFileError),
    /// The file is about an action other than the requested one.
    #[error("the proof is of action {found}, not of {expected}")]
    OtherProof {
        /// The requested action.
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
    /// A checkpoint's signature recovers to no key.
    #[error("the checkpoint: {0}")]
    Signature(#[from] SignatureError),
    /// Another key signed the checkpoint.
    #[error("the checkpoint was signed by {found}, not by the sequencer {expected}")]
    OtherSequencer {
        /// The pinned sequencer.
        expected: Address,
        /// The key that signed.
        found: Address,
    },
    /// The log does not show the sequencer key that the server states.
    #[error("the sequencer's next key: {0}")]
    Key(#[from] KeyProofError),
    /// The server's log is not the pinned one.
    #[error("the server's log is not the pinned one: {0}")]
    OtherLog(String),
    /// An anchor's batch, or a field derived from others, is wrong.
    #[error("{0}")]
    Inconsistent(&'static str),
}

/// How long to wait, according to the server's `Retry-After`.
pub(crate) fn retry_after(headers: &hyper::HeaderMap) -> Option<Duration> {
    let text = headers.get(hyper::header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
