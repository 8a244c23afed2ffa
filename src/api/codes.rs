//! Error codes of an endpoint, mostly derived from its row.

use std::collections::BTreeSet;

use kedge_http::limits::LimitClass;
use kedge_http::signing::SigningScheme;
use kedge_protocol::Code;
use kedge_protocol::action::Kind;

use crate::api::endpoint::{EndpointAuth, EndpointRow, MIN_SEQUENCE};

/// Errors of every signed request.
const SIGNED: &[Code] = &[
    Code::SignatureRequired,
    Code::SignatureInvalid,
    Code::DeadlineExpired,
    Code::NonceReused,
    // The signature is valid, but the key is not the caller's.
    Code::Forbidden,
];

/// Errors of every request with a body.
const WITH_BODY: &[Code] = &[Code::PayloadTooLarge, Code::UnsupportedMediaType];

impl EndpointRow {
    /// All codes of its answers.
    pub fn codes(&self) -> BTreeSet<Code> {
        // Unknown parameters and internal errors are always possible.
        let mut codes = BTreeSet::from([Code::ValidationError, Code::Internal]);
        if self.limit != LimitClass::Free {
            codes.extend([Code::Unavailable, Code::RateLimited]);
        }
        if self.method == "GET" && self.limit != LimitClass::Free {
            // The data it needs may be archived.
            codes.insert(Code::Gone);
        }
        if self.auth == EndpointAuth::Bearer {
            // An API key may lack the right.
            codes.extend([Code::Unauthenticated, Code::TokenExpired, Code::Forbidden]);
        }
        if self.path.contains('{') {
            codes.insert(Code::ResourceNotFound);
        }
        let parameters = self.parameter_names();
        if parameters.contains(&"cursor") {
            codes.insert(Code::CursorInvalid);
        }
        if parameters.contains(&MIN_SEQUENCE.name) {
            codes.insert(Code::SequenceNotReached);
        }
        if self.request.is_some() {
            codes.extend(WITH_BODY);
            if self.signs != SigningScheme::File {
                codes.insert(Code::MalformedJson);
            }
        }
        if self.signs != SigningScheme::Nothing {
            codes.extend(SIGNED);
            if self.auth == EndpointAuth::Bearer {
                codes.insert(Code::QuotaExceeded);
            }
        }
        if self.is_idempotent() {
            codes.extend([Code::IdempotencyInProgress, Code::IdempotencyMismatch]);
            // The result of the first request may be archived.
            codes.insert(Code::Gone);
        }
        if self.is_conditional() {
            codes.insert(Code::PreconditionFailed);
        }
        match &self.signs {
            SigningScheme::Nothing | SigningScheme::File => {}
            SigningScheme::Body(kind, _)
            | SigningScheme::NoBody(kind, _)
            | SigningScheme::PathMember(kind, ..) => {
                codes.extend(kind.spec().refusals);
            }
            SigningScheme::WalletUpdate => codes.extend(Kind::WalletUpdate.spec().refusals),
            SigningScheme::Registration => codes.extend(Kind::WalletRegister.spec().refusals),
            SigningScheme::Action => codes.extend(Kind::Update.spec().refusals),
            // Each refused action of a batch is reported in its own result.
            SigningScheme::Batch => codes.extend([Code::BatchTooLarge, Code::StateViolation]),
        }
        codes.extend(self.doc.errors);
        codes
    }
}
