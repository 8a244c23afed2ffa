//! Errors of transport, server and verification.

use std::time::Duration;

use kedge_protocol::Code;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::key_proof::KeyProofError;
use kedge_protocol::merkle::ProofError;
use kedge_protocol::proof::ProofFileError;
use kedge_protocol::receipt::ReceiptError;
use kedge_protocol::signature::SignatureError;
use kedge_protocol::state::answer::{StateAnswerError, StateItemError};
use kedge_protocol::{Address, Hash, Id};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Result of a call.
pub type ClientResult<T> = Result<T, ClientError>;

pub(crate) type VerificationResult = Result<(), VerificationError>;

/// Error answer of the server, an error envelope.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{code} ({status}): {}", self.message())]
pub struct ServerRefusal {
    /// Machine-readable code, such as `RESOURCE_NOT_FOUND`.
    pub code: String,
    /// HTTP status.
    pub status: u16,
    /// Context: `message`, `request_id`, and more by code.
    #[serde(default)]
    pub body: Map<String, Value>,
}

impl ServerRefusal {
    /// Explanation for people.
    pub fn message(&self) -> &str {
        self.text("message").unwrap_or("no message")
    }

    /// Request id, to quote to the operator.
    pub fn request_id(&self) -> Option<&str> {
        self.text("request_id")
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.body.get(member).and_then(Value::as_str)
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server refused the request.
    #[error(transparent)]
    Refused(#[from] ServerRefusal),
    /// The server answered with an error, but not with its error envelope.
    #[error("the server answered with status {status} and no error envelope: {text}")]
    Unexpected {
        /// HTTP status.
        status: u16,
        /// Start of the body.
        text: String,
    },
    /// The request was not sent, or its answer did not arrive completely. A signed request may still have been carried
    /// out.
    #[error("{0}")]
    Transport(String),
    /// No answer in time. A signed request may still have been carried out.
    #[error("no answer within {timeout_ms} ms")]
    Timeout {
        /// Time limit in milliseconds.
        timeout_ms: u64,
    },
    /// An earlier attempt, whose answer was lost, carried out the request. The log holds its actions once, under these
    /// identifiers.
    #[error("the request was carried out before, and its answer was lost; its actions begin with {}", .actions[0])]
    AlreadyDone {
        /// Sequence of its first action, if the server states it.
        sequence: Option<u64>,
        /// Identifiers of its actions in request order; some may have been refused.
        actions: Vec<Id>,
    },
    /// A successful answer could not be parsed.
    #[error("the answer to {what} cannot be read: {error}")]
    Answer {
        /// Name of the call.
        what: &'static str,
        /// Parse error.
        error: serde_json::Error,
    },
    /// The answer failed verification: the server is faulty, or not the trusted one.
    #[error("the answer does not verify: {0}")]
    Verification(#[from] Box<VerificationError>),
    /// The call was invalid; nothing was sent.
    #[error("{0}")]
    Usage(String),
}

/// Effect of a refused request, as the refusal states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RefusalEffect {
    /// The request may be done, now or later.
    Unknown,
    /// An earlier attempt of the request spent the nonce, at this sequence.
    Before(Option<u64>),
    /// Nothing was done, or the refusal does not say.
    Nothing,
}

impl ServerRefusal {
    pub(crate) fn done(&self) -> RefusalEffect {
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
            (_, Some("unknown"), _) => RefusalEffect::Unknown,
            (code, _, Some("done")) if code == Code::NonceReused.text() => {
                RefusalEffect::Before(sequence())
            }
            _ => RefusalEffect::Nothing,
        }
    }
}

impl ClientError {
    pub(crate) fn done(&self) -> RefusalEffect {
        match self {
            Self::Refused(envelope) => envelope.done(),
            // A proxy gave up, or the connection broke.
            Self::Unexpected {
                status: 502 | 504, ..
            }
            | Self::Transport(_)
            | Self::Timeout { .. } => RefusalEffect::Unknown,
            _ => RefusalEffect::Nothing,
        }
    }

    /// Code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(envelope) => Some(&envelope.code),
            _ => None,
        }
    }
}

impl From<VerificationError> for ClientError {
    fn from(error: VerificationError) -> Self {
        Self::Verification(Box::new(error))
    }
}

/// Why an answer failed verification.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VerificationError {
    /// The receipt is invalid.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The receipt is for another action.
    #[error("the receipt is for content {found}, but the sent action has {expected}")]
    OtherAction {
        /// Content hash of the sent action.
        expected: Hash,
        /// Content hash in the receipt.
        found: Hash,
    },
    /// An identifier in the answer does not follow from the action.
    #[error("the answer names {found}, but the sent action makes {expected}")]
    OtherId {
        /// Identifier computed from the action.
        expected: Id,
        /// Identifier in the answer.
        found: Id,
    },
    /// A completed action has no receipt.
    #[error("the answer reports action {index} of the request as done, but has no receipt for it")]
    NoReceipt {
        /// Index of the action in the request.
        index: usize,
    },
    /// The receipt and the results cover different actions.
    #[error("the receipt covers other actions than those of the request that were done")]
    OtherActions,
    /// The sequencer signed two headers with the same number. Keep both as evidence.
    #[error("equivocation: the sequencer signed two headers with batch number {}", .0[0].header.number)]
    Equivocation(Box<[SignedBatch; 2]>),
    /// Two consecutive headers do not connect. Keep both as evidence.
    #[error("headers {} and {} do not connect", .0[0].header.number, .0[1].header.number)]
    BrokenLink(Box<[SignedBatch; 2]>),
    /// A proof file is invalid.
    #[error(transparent)]
    ProofFile(#[from] ProofFileError),
    /// A state proof is invalid.
    #[error(transparent)]
    State(#[from] StateAnswerError),
    /// An item is not what its state proof shows.
    #[error(transparent)]
    Item(#[from] StateItemError),
    /// A proof file is about another action.
    #[error("the proof is of action {found}, not of {expected}")]
    OtherProof {
        /// The requested action.
        expected: Id,
        /// The action in the file.
        found: Id,
    },
    /// A claim is invalid.
    #[cfg(feature = "claims")]
    #[error(transparent)]
    Claim(kedge_prover::claim::ClaimError),
    /// A consistency proof is invalid.
    #[error("the consistency proof: {0}")]
    Consistency(ProofError),
    /// No key can be recovered from a checkpoint's signature.
    #[error("the checkpoint: {0}")]
    Signature(#[from] SignatureError),
    /// Another key signed the checkpoint.
    #[error("the checkpoint was signed by {found}, not by the sequencer {expected}")]
    OtherSequencer {
        /// Address of the pinned sequencer.
        expected: Address,
        /// Address of the signing key.
        found: Address,
    },
    /// The log does not prove the sequencer key that the server states.
    #[error("the sequencer's next key: {0}")]
    Key(#[from] KeyProofError),
    /// The server's log is not the pinned one.
    #[error("the server's log is not the pinned one: {0}")]
    OtherLog(String),
    /// A batch of an anchor, or a derived field, is wrong.
    #[error("{0}")]
    Inconsistent(&'static str),
}

/// Wait time from the `Retry-After` header.
pub(crate) fn retry_after(headers: &hyper::HeaderMap) -> Option<Duration> {
    let text = headers.get(hyper::header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
