//! Errors as callers see them: a code, its status, a text that says what to do, and nothing internal.
//! [`crate::envelope`] encodes them.

use std::borrow::Cow;

use hyper::StatusCode;
use hyper::header::HeaderName;
use kedge_actors::CheckpointError;
use kedge_actors::api::{NonceOutcome, SubmissionError};
use kedge_protocol::Address;
use kedge_protocol::Code;
use kedge_rules::json;
use kedge_rules::{FieldError, Refusal};
use kedge_storage::StoreReadError;

use crate::limits::ShareKind;
use crate::redaction;

/// Details of an error.
#[derive(Clone, PartialEq, Debug)]
pub enum ErrorDetail {
    None,
    /// Wrong places of the body.
    Fields(Vec<FieldError>),
    /// The missing resource.
    Resource {
        resource: Cow<'static, str>,
        /// The identifier as the caller gave it.
        id: String,
    },
    /// Nothing was done, and nothing will be.
    NothingDone,
    /// The request may have been carried out, or may still be.
    Unknown {
        /// Signer and nonce of a signed request, which counts at most once.
        spending: Option<(Address, u64)>,
    },
    /// The exhausted limit.
    Limit {
        policy: &'static str,
    },
    /// Outcome of the request that used the nonce before.
    Nonce(NonceOutcome),
    /// Address recovered from the signature.
    Recovered(Address),
    /// The requested part of the log is archived.
    Archived {
        /// First sequence available here.
        minimum_sequence: u64,
        /// First batch available here.
        minimum_batch: u64,
    },
    /// The batches of the checkpoint nearest to the requested one that can be proven.
    NearestCheckpoint(u64),
    /// First refused action of an all-or-none request.
    Action {
        index: usize,
        error: Box<ApiError>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct ApiError {
    pub code: Code,
    /// Text for people: what went wrong and what to do.
    pub message: Cow<'static, str>,
    pub detail: ErrorDetail,
    /// Additional headers of the answer.
    pub headers: Vec<(HeaderName, String)>,
}

pub type ApiResult<T> = Result<T, ApiError>;

/// Text of an unknown outcome.
const UNKNOWN: &str = "the outcome of this request is unknown: it may be in the log, may still be added to it, or \
     may be lost. Do not sign it again with another nonce. Send exactly the same signed request again until you get \
     another answer: its nonce is spent at most once, so the request is done at most once. With the same \
     Idempotency-Key you then get the answer of the first time; without one, NONCE_REUSED with the reason \"done\" \
     means that it is in the log";
/// `Retry-After` when too much is in flight.
const RETRY_SOON_S: u64 = 1;
/// `Retry-After` when an operator has to act.
const RETRY_LATER_S: u64 = 60;

impl ApiError {
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: ErrorDetail::None,
            headers: Vec::new(),
        }
    }

    /// VALIDATION_ERROR for one place of the body.
    pub fn field(pointer: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self::fields(vec![FieldError {
            pointer: pointer.to_owned(),
            code: code.into(),
            message: message.into(),
        }])
    }

    /// VALIDATION_ERROR for several places of the body.
    pub fn fields(fields: Vec<FieldError>) -> Self {
        let message = FieldError::message_of(&fields);
        Self {
            detail: ErrorDetail::Fields(fields),
            ..Self::new(Code::ValidationError, message)
        }
    }

    /// VALIDATION_ERROR for a query parameter or a header.
    pub fn parameter(name: &str, message: impl std::fmt::Display) -> Self {
        Self::new(Code::ValidationError, format!("{name} {message}"))
    }

    /// RESOURCE_NOT_FOUND.
    pub fn not_found(resource: impl Into<Cow<'static, str>>, id: impl Into<String>) -> Self {
        let (resource, id) = (resource.into(), id.into());
        Self {
            message: format!("there is no {resource} {id:?}, or it is not yours to see").into(),
            detail: ErrorDetail::Resource { resource, id },
            ..Self::new(Code::ResourceNotFound, "")
        }
    }

    /// RESOURCE_NOT_FOUND for an unknown path.
    pub fn no_path(path: &str) -> Self {
        Self {
            message: "the API has no such path; /docs shows the paths that there are".into(),
            ..Self::not_found("path", path)
        }
    }

    /// UNAVAILABLE with `Retry-After`. Nothing was done.
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after_s: u64) -> Self {
        Self {
            detail: ErrorDetail::NothingDone,
            ..Self::new(Code::Unavailable, message)
        }
        .with_header(hyper::header::RETRY_AFTER, retry_after_s.to_string())
    }

    /// SEQUENCE_NOT_REACHED with `Retry-After`.
    pub fn not_reached(message: impl Into<Cow<'static, str>>, retry_after_s: u64) -> Self {
        Self::new(Code::SequenceNotReached, message)
            .with_header(hyper::header::RETRY_AFTER, retry_after_s.to_string())
    }

    /// UNAVAILABLE with an unknown outcome: the request was on its way to the disk.
    pub fn unknown(spending: Option<(Address, u64)>) -> Self {
        Self {
            detail: ErrorDetail::Unknown { spending },
            ..Self::unavailable(UNKNOWN, RETRY_SOON_S)
        }
    }

    /// The error for a request that changes something: the change may have been made before the server failed.
    #[must_use]
    pub fn of_change(self) -> Self {
        if self.code != Code::Internal || self.detail != ErrorDetail::None {
            return self;
        }
        Self {
            detail: ErrorDetail::Unknown { spending: None },
            ..self
        }
    }

    /// UNAVAILABLE because too much is in flight.
    pub fn overloaded() -> Self {
        Self::unavailable(
            "the server is at its limit of requests in flight; try again shortly",
            RETRY_SOON_S,
        )
    }

    /// UNAVAILABLE because the server stops before what the request waits for has come.
    pub fn stopping() -> Self {
        Self::unavailable("the server is stopping; ask again", RETRY_SOON_S)
    }

    /// INTERNAL. The details go to the log under the request's id, not into the answer.
    pub fn internal(what: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %what, "a request failed with an internal error");
        Self::new(
            Code::Internal,
            "the server failed; its log has the details under this request id",
        )
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Prepends `prefix` to the pointers of its field errors.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        if let ErrorDetail::Fields(fields) = &mut self.detail {
            for field in fields.iter_mut() {
                field.pointer.insert_str(0, prefix);
            }
            return Self {
                headers: self.headers,
                ..Self::fields(std::mem::take(fields))
            };
        }
        self
    }
}

/// Error of a refused action; pointers are relative to the payload.
impl From<json::JsonReadError> for ApiError {
    fn from(error: json::JsonReadError) -> Self {
        let mut field = match error {
            json::JsonReadError::Json(error) | json::JsonReadError::Form(error, _) => {
                return Self::new(Code::MalformedJson, format!("the body: {error}"));
            }
            json::JsonReadError::Member(field) => field,
        };
        if field.code == "type" {
            field.message = format!("is wrong: {}", field.message);
        }
        Self::fields(vec![field])
    }
}

impl From<&Refusal> for ApiError {
    fn from(refusal: &Refusal) -> Self {
        let reported = |code| Self::new(code, refusal.message());
        match refusal {
            Refusal::Invalid(fields) => Self::fields(fields.clone()),
            Refusal::NotFound { resource, id } => Self::not_found(resource.clone(), id.clone()),
            Refusal::Forbidden(_) => reported(Code::Forbidden),
            Refusal::State(_) => reported(Code::StateViolation),
            Refusal::ObjectTooLarge { .. } => reported(Code::ObjectTooLarge),
            Refusal::Precondition { .. } => reported(Code::PreconditionFailed),
            Refusal::Conflict(_) => reported(Code::Conflict),
            Refusal::EmailTaken => reported(Code::EmailTaken),
            Refusal::Unavailable => Self::unavailable(refusal.message(), RETRY_SOON_S),
        }
    }
}

/// Error of a submission that failed as a whole. A valid signature by a foreign key is FORBIDDEN, not
/// SIGNATURE_INVALID: only the right is missing, and signing again with the same key cannot help.
impl From<CheckpointError> for ApiError {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Read(error) => Self::from(error),
            CheckpointError::NoRoot => Self::not_reached(error.to_string(), RETRY_SOON_S),
            CheckpointError::Key(_) => Self::unavailable(error.to_string(), RETRY_SOON_S),
        }
    }
}

/// Archived parts are gone; other failed reads are the server's fault.
impl From<StoreReadError> for ApiError {
    fn from(error: StoreReadError) -> Self {
        match error {
            // The archive's location is for the operator alone.
            StoreReadError::Archived {
                last_sequence,
                first_batch,
                ..
            } => Self {
                detail: ErrorDetail::Archived {
                    minimum_sequence: last_sequence + 1,
                    minimum_batch: first_batch,
                },
                ..Self::new(
                    Code::Gone,
                    format!(
                        "sequences up to {last_sequence} are archived; ask the server's operator for them"
                    ),
                )
            },
            error if error.is_for_now() => {
                tracing::warn!(%error, "a read failed for now");
                Self::unavailable(
                    "the server lacks open files or memory for now; try again",
                    1,
                )
            }
            error => Self::internal(&error),
        }
    }
}

impl From<SubmissionError> for ApiError {
    fn from(error: SubmissionError) -> Self {
        let message = error.to_string();
        match error {
            SubmissionError::Nonce { highest, past, .. } => Self {
                detail: past.map_or(ErrorDetail::None, ErrorDetail::Nonce),
                ..Self::new(Code::NonceReused, message)
            }
            .with_header(NONCE_HIGHEST, highest.to_string()),
            SubmissionError::Replayed => Self {
                detail: ErrorDetail::Nonce(NonceOutcome::Refused),
                ..Self::new(Code::NonceReused, message)
            },
            SubmissionError::DeadlineExpired => Self::new(Code::DeadlineExpired, message),
            SubmissionError::SignerNotOfWallet | SubmissionError::SignerNotOfOrganization => {
                Self::new(Code::Forbidden, message)
            }
            SubmissionError::NoSuchWallet => Self::new(Code::Unauthenticated, message),
            SubmissionError::Unknown => Self::unknown(None),
            SubmissionError::Overloaded
            | SubmissionError::Waited
            | SubmissionError::NotLeading
            | SubmissionError::Unavailable => Self::unavailable(message, RETRY_SOON_S),
            SubmissionError::Share { limit } => ShareKind::Requests.refused(limit),
            SubmissionError::ReadOnly(why) => {
                Self::unavailable(redaction::without_paths(&why), RETRY_LATER_S)
            }
        }
    }
}

/// `X-Nonce-Highest`: the signer's highest spent nonce.
pub const NONCE_HIGHEST: HeaderName = HeaderName::from_static("x-nonce-highest");

#[cfg(test)]
mod tests {
    use kedge_protocol::nonce::NonceError;

    use super::*;

    #[test]
    fn refusals_and_submit_errors_have_their_codes() {
        let invalid = Refusal::field("/name", "required", "is required");
        let refused: [(&Refusal, &str, u16); 9] = [
            (&invalid, "VALIDATION_ERROR", 400),
            (
                &Refusal::not_found("object", "obj_1"),
                "RESOURCE_NOT_FOUND",
                404,
            ),
            (&Refusal::Forbidden("no".into()), "FORBIDDEN", 403),
            (&Refusal::State("locked".into()), "STATE_VIOLATION", 422),
            (
                &Refusal::ObjectTooLarge { bytes: 9 },
                "OBJECT_TOO_LARGE",
                413,
            ),
            (
                &Refusal::Precondition {
                    resource: "webhook".into(),
                    version: 3,
                },
                "PRECONDITION_FAILED",
                412,
            ),
            (&Refusal::Conflict("name".into()), "CONFLICT", 409),
            (&Refusal::EmailTaken, "EMAIL_TAKEN", 409),
            (&Refusal::Unavailable, "UNAVAILABLE", 503),
        ];
        let failed = [
            (SubmissionError::Share { limit: 3 }, "RATE_LIMITED", 429),
            (SubmissionError::Waited, "UNAVAILABLE", 503),
            (SubmissionError::Replayed, "NONCE_REUSED", 409),
            (SubmissionError::DeadlineExpired, "DEADLINE_EXPIRED", 401),
            (SubmissionError::SignerNotOfWallet, "FORBIDDEN", 403),
            (SubmissionError::NoSuchWallet, "UNAUTHENTICATED", 401),
            (SubmissionError::Overloaded, "UNAVAILABLE", 503),
            (
                SubmissionError::ReadOnly("old store".into()),
                "UNAVAILABLE",
                503,
            ),
            (SubmissionError::Unavailable, "UNAVAILABLE", 503),
            (SubmissionError::Unknown, "UNAVAILABLE", 503),
        ];
        let refused = refused.map(|(refusal, code, status)| {
            let error = ApiError::from(refusal);
            // Events report refusals with the same texts.
            assert_eq!(
                (error.code.text(), &error.message),
                (refusal.code(), &refusal.message())
            );
            (error, code, status)
        });
        let failed = failed.map(|(error, code, status)| (ApiError::from(error), code, status));
        let cases = refused.into_iter().chain(failed);
        for (error, code, status) in cases {
            assert_eq!((error.code.text(), error.code.status()), (code, status));
            let retry = error
                .headers
                .iter()
                .any(|(name, _)| name == hyper::header::RETRY_AFTER);
            assert_eq!(retry, [429, 503].contains(&status), "{code}");
            let says_outcome = matches!(
                error.detail,
                ErrorDetail::NothingDone | ErrorDetail::Unknown { .. }
            );
            assert_eq!(says_outcome, status == 503, "{code}");
        }
    }

    #[test]
    fn a_nonce_error_tells_the_highest() {
        let error = NonceError::Used {
            nonce: 3,
            highest: 7,
        };
        let past = NonceOutcome::Done { sequence: Some(5) };
        let error = ApiError::from(SubmissionError::Nonce {
            error,
            highest: 7,
            past: Some(past),
        });
        assert_eq!(error.detail, ErrorDetail::Nonce(past));
        assert_eq!(error.code, Code::NonceReused);
        assert_eq!(error.headers, [(NONCE_HIGHEST, "7".to_owned())]);
    }

    #[test]
    fn pointers_move_under_a_prefix() {
        let error = ApiError::field("/properties", "type", "must be a JSON object");
        let error = error.under("/actions/3/payload");
        let ErrorDetail::Fields(fields) = &error.detail else {
            panic!("fields")
        };
        assert_eq!(fields[0].pointer, "/actions/3/payload/properties");
        assert!(
            error
                .message
                .starts_with("/actions/3/payload/properties must")
        );
    }
}
