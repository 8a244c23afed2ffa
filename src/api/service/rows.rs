//! Endpoints of the service itself.

use kedge_http::limits::LimitClass::Free;
use kedge_http::query::RequestParameter;

use crate::api::EndpointRow;
use crate::api::document::{ApiHeading, EndpointDoc};
use crate::api::endpoint::EndpointAuth::Public;
use crate::api::endpoint::schema;
use crate::api::row::{get, handler};
use crate::api::service::views::{DomainView, HealthView, ReadyView, VersionView};
use crate::api::service::{handlers, reference};

pub(in crate::api) fn rows() -> impl Iterator<Item = EndpointRow> {
    let rows = state().into_iter().chain(document());
    rows.map(|row| EndpointRow {
        auth: Public,
        limit: Free,
        ..row
    })
}

fn state() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            response: schema::<DomainView>,
            etag: true,
            ..get(
                "/.well-known/eip712-domain.json",
                &DOMAIN,
                handler!(handlers::domain),
            )
        },
        EndpointRow {
            response: schema::<handlers::KeysView>,
            etag: true,
            ..get("/.well-known/jwks.json", &KEYS, handler!(handlers::keys))
        },
        EndpointRow {
            response: schema::<HealthView>,
            ..get("/healthz", &HEALTH, handler!(handlers::health))
        },
        EndpointRow {
            response: schema::<ReadyView>,
            ..get("/readyz", &READY, handler!(handlers::ready))
        },
        EndpointRow {
            response: schema::<VersionView>,
            ..get("/version", &VERSION, handler!(handlers::version))
        },
    ]
}

fn document() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            response: schema::<serde_json::Map<String, serde_json::Value>>,
            etag: true,
            ..get("/openapi.json", &DOCUMENT, handler!(handlers::document))
        },
        EndpointRow {
            media_type: reference::PAGE_TYPE,
            etag: true,
            response: schema::<String>,
            ..get("/docs", &REFERENCE, handler!(reference::page))
        },
        EndpointRow {
            media_type: reference::STYLE_TYPE,
            etag: true,
            response: schema::<String>,
            ..get(
                "/docs/reference.css",
                &REFERENCE_STYLE,
                handler!(reference::style),
            )
        },
        EndpointRow {
            media_type: reference::SCRIPT_TYPE,
            etag: true,
            response: schema::<String>,
            ..get(
                "/docs/reference.js",
                &REFERENCE_SCRIPT,
                handler!(reference::script),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Service",
    description: "The domain, the keys, the health of the server, this document.",
    area: None,
    ids: &[],
};

/// Headers of answers that are kept in two forms.
const IN_TWO_FORMS: &[RequestParameter] = &[
    RequestParameter::text(
        "Content-Encoding",
        "`gzip`, for callers whose `Accept-Encoding` allows it.",
    ),
    RequestParameter::text(
        "Vary",
        "Which headers of the request the answer depends on.",
    ),
];

const DOMAIN: EndpointDoc = EndpointDoc {
    id: "getDomain",
    heading: &HEADING,
    summary: "Read the domain of every signature",
    description: "The EIP-712 domain under which everything is signed, with the types, in the shape \
        of EIP-5267, and the address of the sequencer. A careful client compares it with the \
        contract's.",
    ..EndpointDoc::MISSING
};

const KEYS: EndpointDoc = EndpointDoc {
    id: "getTokenKeys",
    heading: &HEADING,
    summary: "Read the public keys of access tokens",
    description: "The public keys that access tokens are signed with, as a JWK set (RFC 7517).",
    ..EndpointDoc::MISSING
};

const HEALTH: EndpointDoc = EndpointDoc {
    id: "getHealth",
    heading: &HEADING,
    summary: "Check that the process answers",
    description: "Answers as long as the process runs.",
    ..EndpointDoc::MISSING
};

const READY: EndpointDoc = EndpointDoc {
    id: "getReadiness",
    heading: &HEADING,
    summary: "Check whether the server accepts changes",
    description: "Whether the server accepts changes, with the log's head. 503 and the reason if it \
        is read-only; reads continue then.",
    also: &[(503, "It accepts no changes now.")],
    ..EndpointDoc::MISSING
};

const VERSION: EndpointDoc = EndpointDoc {
    id: "getVersion",
    heading: &HEADING,
    summary: "Read name and version",
    description: "The name and version of the running server.",
    ..EndpointDoc::MISSING
};

const DOCUMENT: EndpointDoc = EndpointDoc {
    id: "getDocument",
    heading: &HEADING,
    summary: "Read this document",
    description: "This document, generated from the table that routes requests.",
    response_headers: IN_TWO_FORMS,
    ..EndpointDoc::MISSING
};

const REFERENCE: EndpointDoc = EndpointDoc {
    id: "getReference",
    heading: &HEADING,
    summary: "Read the reference",
    description: "The reference for people: a page that shows this document and loads nothing from \
        elsewhere.",
    response_headers: IN_TWO_FORMS,
    ..EndpointDoc::MISSING
};

const REFERENCE_STYLE: EndpointDoc = EndpointDoc {
    id: "getReferenceStyle",
    heading: &HEADING,
    summary: "Read the reference's style sheet",
    description: "The style sheet of the reference.",
    response_headers: IN_TWO_FORMS,
    ..EndpointDoc::MISSING
};

const REFERENCE_SCRIPT: EndpointDoc = EndpointDoc {
    id: "getReferenceScript",
    heading: &HEADING,
    summary: "Read the reference's script",
    description: "The script of the reference.",
    response_headers: IN_TWO_FORMS,
    ..EndpointDoc::MISSING
};
