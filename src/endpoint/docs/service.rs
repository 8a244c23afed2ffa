//! The service itself.

use kedge_http::query::Parameter;
use kedge_openapi::Doc;

const TAG: &str = "Service";

/// Headers of answers that are kept in two forms.
const IN_TWO_FORMS: &[Parameter] = &[
    Parameter {
        name: "Content-Encoding",
        schema_type: "string",
        description: "`gzip`, for callers whose `Accept-Encoding` allows it.",
    },
    Parameter {
        name: "Vary",
        schema_type: "string",
        description: "Which headers of the request the answer depends on.",
    },
];

pub(in crate::endpoint) const DOMAIN: Doc = Doc {
    id: "getDomain",
    tag: TAG,
    summary: "Read the domain of every signature",
    description: "The EIP-712 domain under which everything is signed, with the types, in the shape \
        of EIP-5267, and the address of the sequencer. A careful client compares it with the \
        contract's.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const KEYS: Doc = Doc {
    id: "getTokenKeys",
    tag: TAG,
    summary: "Read the public keys of access tokens",
    description: "The public keys that access tokens are signed with, as a JWK set (RFC 7517).",
    ..Doc::MISSING
};

pub(in crate::endpoint) const HEALTH: Doc = Doc {
    id: "getHealth",
    tag: TAG,
    summary: "Check that the process answers",
    description: "Answers as long as the process runs.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const READY: Doc = Doc {
    id: "getReadiness",
    tag: TAG,
    summary: "Check whether the server accepts changes",
    description: "Whether the server accepts changes, with the log's head. 503 and the reason if it \
        is read-only; reads continue then.",
    also: &[(503, "It accepts no changes now.")],
    ..Doc::MISSING
};

pub(in crate::endpoint) const VERSION: Doc = Doc {
    id: "getVersion",
    tag: TAG,
    summary: "Read name and version",
    description: "The name and version of the running server.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const DOCUMENT: Doc = Doc {
    id: "getDocument",
    tag: TAG,
    summary: "Read this document",
    description: "This document, generated from the table that routes requests.",
    response_headers: IN_TWO_FORMS,
    ..Doc::MISSING
};

pub(in crate::endpoint) const REFERENCE: Doc = Doc {
    id: "getReference",
    tag: TAG,
    summary: "Read the reference",
    description: "The reference for people: a page that shows this document and loads nothing from \
        elsewhere.",
    response_headers: IN_TWO_FORMS,
    ..Doc::MISSING
};

pub(in crate::endpoint) const REFERENCE_STYLE: Doc = Doc {
    id: "getReferenceStyle",
    tag: TAG,
    summary: "Read the reference's style sheet",
    description: "The style sheet of the reference.",
    response_headers: IN_TWO_FORMS,
    ..Doc::MISSING
};

pub(in crate::endpoint) const REFERENCE_SCRIPT: Doc = Doc {
    id: "getReferenceScript",
    tag: TAG,
    summary: "Read the reference's script",
    description: "The script of the reference.",
    response_headers: IN_TWO_FORMS,
    ..Doc::MISSING
};
