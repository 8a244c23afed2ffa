//! The action bus.

use kedge_api::Code;
use kedge_http::query::Parameter;
use kedge_openapi::{Doc, Link};

const TAG: &str = "Action bus";

const TO_PROOF: Link = Link::with_parameters("getActionProof", &[("id", "$response.body#/id")]);
const TO_BATCH: Link = Link::with_parameters("getBatch", &[("id", "$response.body#/batch_id")]);

pub(in crate::endpoint) const SUBMIT: Doc = Doc {
    id: "submitAction",
    tag: TAG,
    summary: "Submit one action",
    description: "Does one action. The signed payload is the exact text of the member `payload`, \
        from its first to its last byte, or `{}` if it is absent. The answer means that the action \
        is durable, and its receipt can be checked at once and offline.",
    links: &[
        Link::with_parameters("getAction", &[("id", "$response.body#/id")]),
        TO_PROOF,
        Link::with_parameters("getObject", &[("id", "$response.body#/object_id")]),
        TO_BATCH,
    ],
    ..Doc::MISSING
};

const PREFER: &[Parameter] = &[Parameter {
    name: "Prefer",
    schema_type: "string",
    description: "`return=minimal` for an answer with as little about each action as possible (RFC 7240).",
}];

const PREFERENCE_APPLIED: &[Parameter] = &[Parameter {
    name: "Preference-Applied",
    schema_type: "string",
    description: "`return=minimal` if it was requested.",
}];

pub(in crate::endpoint) const SUBMIT_BATCH: Doc = Doc {
    id: "submitBatch",
    tag: TAG,
    summary: "Submit up to 500 actions under one signature",
    description: "Does up to 500 actions under one signature; the limits count one request. By \
        default they are independent, and the answer has one result for each in order: the action, or \
        why it was refused. With `atomic`, which is part of the signed text, all are done or none, \
        and the error names the first that was refused. One receipt proves all that were done. \
        `Prefer: return=minimal` leaves out what the sender can compute.",
    request_headers: PREFER,
    response_headers: PREFERENCE_APPLIED,
    links: &[
        Link::with_parameters(
            "getBatch",
            &[("id", "$response.body#/receipt/batch/header/number")],
        ),
        Link::with_parameters(
            "listBatchActions",
            &[("id", "$response.body#/receipt/batch/header/number")],
        ),
        Link::with_parameters("getAction", &[("id", "$response.body#/results/0/id")]),
    ],
    ..Doc::MISSING
};

pub(in crate::endpoint) const LIST: Doc = Doc {
    id: "listActions",
    tag: TAG,
    summary: "List the organization's actions",
    description: "The actions of the caller's organization, in the log's order.",
    links: &[Link::with_parameters(
        "getAction",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

pub(in crate::endpoint) const GET: Doc = Doc {
    id: "getAction",
    tag: TAG,
    summary: "Read an action, by id or sequence",
    description: "An action with its receipt, by id or sequence: the organization's own, or one on \
        an object visible to the caller.",
    links: &[
        TO_PROOF,
        TO_BATCH,
        Link::with_parameters("getBatchLeaves", &[("id", "$response.body#/batch_id")]),
    ],
    ..Doc::MISSING
};

pub(in crate::endpoint) const PROOF: Doc = Doc {
    id: "getActionProof",
    tag: TAG,
    summary: "Get an action's proof file",
    description: "One self-contained file that proves the action without this server: the opened \
        leaf, the path to the signed batch header, and, once the chain has finalized an anchor that \
        covers it, the path to the anchored history with contract and transaction. `form=authorship` \
        adds the signature and the signed text, for the organization that signed.",
    errors: &[Code::Forbidden],
    links: &[Link::with_parameters(
        "getBatch",
        &[("id", "$response.body#/batch/header/number")],
    )],
    ..Doc::MISSING
};

pub(in crate::endpoint) const PREVIEW: Doc = Doc {
    id: "previewActions",
    tag: TAG,
    summary: "Preview what actions would do",
    description: "Shows what one action or a batch would do if it arrived now, and gives the typed \
        data to sign with the headers to send, so that a wallet can show and sign it. Nothing is \
        stored, no nonce is used, and nothing is promised: other requests may be placed first.",
    errors: &[Code::BatchTooLarge],
    ..Doc::MISSING
};
