//! Error codes, each with its meaning and HTTP status.

macro_rules! codes {
    ($(#[doc = $meaning:literal] $name:ident = $text:literal, $status:literal;)*) => {
        /// Error code for programs. Codes are never renamed.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Code { $(#[doc = $meaning] $name),* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code's text in answers.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The meaning in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning.trim_ascii()),* }
            }

            /// The HTTP status that goes with it.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }
        }
    };
}

codes! {
    /// A member, parameter or header has a wrong value.
    ValidationError = "VALIDATION_ERROR", 400;
    /// The body is not JSON, has the same key twice, or is nested too deeply.
    MalformedJson = "MALFORMED_JSON", 400;
    /// The cursor was not made here, or is for another list.
    CursorInvalid = "CURSOR_INVALID", 400;
    /// No usable credentials.
    Unauthenticated = "UNAUTHENTICATED", 401;
    /// The token has expired.
    TokenExpired = "TOKEN_EXPIRED", 401;
    /// The e-mail address or password, or the refresh token, is wrong.
    CredentialsInvalid = "CREDENTIALS_INVALID", 401;
    /// A request that changes something has no signature.
    SignatureRequired = "SIGNATURE_REQUIRED", 401;
    /// The signature, or a header that belongs to it, is wrong.
    SignatureInvalid = "SIGNATURE_INVALID", 401;
    /// The signature's deadline has passed.
    DeadlineExpired = "DEADLINE_EXPIRED", 401;
    /// The nonce cannot be spent, or exactly the same request was refused before.
    NonceReused = "NONCE_REUSED", 409;
    /// The caller may not do this.
    Forbidden = "FORBIDDEN", 403;
    /// The requested resource does not exist, or the caller may not see it.
    ResourceNotFound = "RESOURCE_NOT_FOUND", 404;
    /// The path exists, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405;
    /// Something else has the name or address already.
    Conflict = "CONFLICT", 409;
    /// Another wallet has the e-mail address.
    EmailTaken = "EMAIL_TAKEN", 409;
    /// A request with the same idempotency key is in flight.
    IdempotencyInProgress = "IDEMPOTENCY_IN_PROGRESS", 409;
    /// The log has not reached the sequence that the read requires.
    SequenceNotReached = "SEQUENCE_NOT_REACHED", 409;
    /// It existed once, but is no longer kept, is archived, or has been replaced.
    Gone = "GONE", 410;
    /// A condition of the request does not hold.
    PreconditionFailed = "PRECONDITION_FAILED", 412;
    /// The request line and the headers are too large, or there are too many.
    HeadersTooLarge = "HEADERS_TOO_LARGE", 431;
    /// The body is too large.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413;
    /// The object's properties would be too large.
    ObjectTooLarge = "OBJECT_TOO_LARGE", 413;
    /// The batch has too many actions.
    BatchTooLarge = "BATCH_TOO_LARGE", 413;
    /// The endpoint does not accept a body of this type.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415;
    /// The organization's part of the log has used all the bytes of its tier and accepts no more writes.
    QuotaExceeded = "QUOTA_EXCEEDED", 403;
    /// A limit is used up. Retry-After states when there is room again.
    RateLimited = "RATE_LIMITED", 429;
    /// The resource's state does not allow it.
    StateViolation = "STATE_VIOLATION", 422;
    /// The idempotency key was used for another request.
    IdempotencyMismatch = "IDEMPOTENCY_MISMATCH", 422;
    /// The server failed; the log has the request's id.
    Internal = "INTERNAL", 500;
    /// Not now: overloaded, read-only, starting or failing. `outcome` states whether something was done, Retry-After when to try again.
    Unavailable = "UNAVAILABLE", 503;
    /// No requested byte exists. `Content-Range` states the size.
    RangeNotSatisfiable = "RANGE_NOT_SATISFIABLE", 416;
}
