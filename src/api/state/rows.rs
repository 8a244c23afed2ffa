//! Endpoints of state proofs.

use kedge_http::auth::rights::READS_ACTIONS;
use kedge_http::query::RequestParameter;
use kedge_protocol::Code;

use crate::api::EndpointRow;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::{CHECKPOINT, PROVE, schema};
use crate::api::row::{get, handler};
use crate::api::state::handlers;
use crate::api::state::views::StateProofView;
use crate::api::{objects, templates};

/// Which checkpoint a proof is of, and how long to wait for it.
const CHOICE: &[RequestParameter] = &[CHECKPOINT, WAIT];

/// How long to wait for a checkpoint that covers `min_sequence`.
pub const WAIT: RequestParameter = RequestParameter {
    name: "wait",
    schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 60, "default": 5}"#,
    description: "Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time.",
};

/// Whether items come with their state proofs.
pub const PROVEN: &[RequestParameter] = &[PROVE, WAIT];

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    let proof = |path, doc, handler| EndpointRow {
        query: &[CHOICE],
        response: schema::<StateProofView>,
        etag: true,
        ..get(path, doc, handler)
    };
    vec![
        proof(
            "/objects/{id}/state-proof",
            &OBJECT_PROOF,
            handler!(handlers::object),
        ),
        proof(
            "/templates/{id}/state-proof",
            &TEMPLATE_PROOF,
            handler!(handlers::template),
        ),
        EndpointRow {
            right: Some(READS_ACTIONS),
            ..proof("/state/{id}", &STATE_PROOF, handler!(handlers::any))
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "State",
    description: "Proofs of what the log has made of a resource.",
    area: None,
    ids: &[("/state/", PathParameter::AnyId)],
};

const OBJECT_PROOF: EndpointDoc = EndpointDoc {
    id: "getObjectStateProof",
    heading: &objects::rows::HEADING,
    summary: "Prove an object's state",
    description: "The object's entry at a signed checkpoint, with a proof that the checkpoint's root holds it. An id \
        that the log has not made gets a proof of absence. Verify it with `kedge verify state`, the SDKs, any \
        Merkle-Patricia trie of Ethereum, or the anchor contract.",
    errors: &[Code::SequenceNotReached, Code::StateViolation],
    links: &[AnswerLink::with_parameters(
        "getStateProof",
        &[("id", "$response.body#/key")],
    )],
    ..EndpointDoc::MISSING
};

const TEMPLATE_PROOF: EndpointDoc = EndpointDoc {
    id: "getTemplateStateProof",
    heading: &templates::rows::HEADING,
    summary: "Prove a template's state",
    description: "As for an object. The entry holds how many objects were minted and burned, so that supply is provable.",
    errors: &[Code::SequenceNotReached, Code::StateViolation],
    links: &[AnswerLink::with_parameters(
        "getStateProof",
        &[("id", "$response.body#/key")],
    )],
    ..EndpointDoc::MISSING
};

const STATE_PROOF: EndpointDoc = EndpointDoc {
    id: "getStateProof",
    heading: &HEADING,
    summary: "Prove the state of any resource",
    description: "The entry of any id of an object, template, variation, wallet, organization, API key, webhook, file or \
        dispute, and of the action that named a sequencer key. Who may see the resource may have its proof. An API \
        key needs the right to read actions, which show as much.",
    errors: &[Code::SequenceNotReached, Code::StateViolation],
    links: &[AnswerLink::with_parameters(
        "getConsistencyProof",
        &[
            ("from", "$response.body#/checkpoint/checkpoint/batches"),
            ("to", "$response.body#/checkpoint/checkpoint/batches"),
        ],
    )],
    ..EndpointDoc::MISSING
};
