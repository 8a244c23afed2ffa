//! Endpoints of the action bus.

use hyper::Method;
use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::limits::LimitClass::ActionBatches;
use kedge_http::query::RequestParameter;
use kedge_http::signing::SigningScheme;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::resource::Area;
use kedge_protocol::{Code, Prefix};

use crate::api::EndpointRow;
use crate::api::bus::bodies::{ActionBody, BatchBody, PreviewRequest};
use crate::api::bus::preview_views::PreviewAnswer;
use crate::api::bus::views::{ActionView, BatchAnswer};
use crate::api::bus::{actions, handlers, preview};
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::row::{answer, get, handler, post, signed};

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            request: Some(schema::<ActionBody>),
            status: 201,
            response: schema::<ActionView<'static>>,
            ..signed(
                Method::POST,
                "/ebus/actions",
                &SUBMIT,
                SigningScheme::Action,
                answer!(handlers::single),
            )
        },
        EndpointRow {
            limit: ActionBatches,
            request: Some(schema::<BatchBody>),
            response: schema::<BatchAnswer<'static>>,
            ..signed(
                Method::POST,
                "/ebus/actions/batch",
                &SUBMIT_BATCH,
                SigningScheme::Batch,
                answer!(handlers::batch),
            )
        },
        EndpointRow {
            right: Some(EndpointRight::new(Area::Actions, CrudAccess::Create)),
            request: Some(schema::<PreviewRequest>),
            response: schema::<PreviewAnswer<'static>>,
            ..post(
                "/ebus/actions/preview",
                &PREVIEW,
                handler!(preview::preview),
            )
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<ActionView<'static>>>,
            ..get("/ebus/actions", &LIST, handler!(actions::list))
        },
        EndpointRow {
            response: schema::<ActionView<'static>>,
            etag: true,
            ..get("/ebus/actions/{id}", &GET, handler!(actions::get))
        },
        EndpointRow {
            query: &[actions::FORM],
            response: schema::<ProofFile>,
            etag: true,
            ..get("/ebus/actions/{id}/proof", &PROOF, handler!(actions::proof))
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Action bus",
    description: "Signed actions, one by one or in batches, and their proofs.",
    area: Some(Area::Actions),
    ids: &[(
        "/ebus/actions/",
        PathParameter::IdOr(Prefix::Action, "sequence"),
    )],
};

const TO_PROOF: AnswerLink = AnswerLink::with_id("getActionProof");
const TO_BATCH: AnswerLink =
    AnswerLink::with_parameters("getBatch", &[("id", "$response.body#/batch_id")]);

const SUBMIT: EndpointDoc = EndpointDoc {
    id: "submitAction",
    heading: &HEADING,
    summary: "Submit one action",
    description: "Does one action. The signed payload is the exact text of the member `payload`, \
        from its first to its last byte, or `{}` if it is absent. The answer means that the action \
        is durable, and its receipt can be checked at once and offline.",
    links: &[
        AnswerLink::with_id("getAction"),
        TO_PROOF,
        AnswerLink::with_parameters("getObject", &[("id", "$response.body#/object_id")]),
        TO_BATCH,
    ],
    ..EndpointDoc::MISSING
};

const PREFER: &[RequestParameter] = &[RequestParameter::text(
    "Prefer",
    "`return=minimal` for an answer with as little about each action as possible (RFC 7240).",
)];

const PREFERENCE_APPLIED: &[RequestParameter] = &[RequestParameter::text(
    "Preference-Applied",
    "`return=minimal` if it was requested.",
)];

const SUBMIT_BATCH: EndpointDoc = EndpointDoc {
    id: "submitBatch",
    heading: &HEADING,
    summary: "Submit up to 500 actions under one signature",
    description: "Does up to 500 actions under one signature; the limits count one request. By \
        default they are independent, and the answer has one result for each in order: the action, or \
        why it was refused. With `atomic`, which is part of the signed text, all are done or none, \
        and the error names the first that was refused. One receipt proves all that were done. \
        `Prefer: return=minimal` leaves out what the sender can compute.",
    request_headers: PREFER,
    response_headers: PREFERENCE_APPLIED,
    links: &[
        AnswerLink::with_parameters(
            "getBatch",
            &[("id", "$response.body#/receipt/batch/header/number")],
        ),
        AnswerLink::with_parameters(
            "listBatchActions",
            &[("id", "$response.body#/receipt/batch/header/number")],
        ),
        AnswerLink::with_parameters("getAction", &[("id", "$response.body#/results/0/id")]),
    ],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listActions",
    heading: &HEADING,
    summary: "List the organization's actions",
    description: "The actions of the caller's organization, in the log's order.",
    links: &[AnswerLink::with_first_id("getAction")],
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getAction",
    heading: &HEADING,
    summary: "Read an action, by id or sequence",
    description: "An action with its receipt, by id or sequence: the organization's own, or one on \
        an object visible to the caller.",
    links: &[
        TO_PROOF,
        TO_BATCH,
        AnswerLink::with_parameters("getBatchLeaves", &[("id", "$response.body#/batch_id")]),
    ],
    ..EndpointDoc::MISSING
};

const PROOF: EndpointDoc = EndpointDoc {
    id: "getActionProof",
    heading: &HEADING,
    summary: "Get an action's proof file",
    description: "One self-contained file that proves the action without this server: the opened \
        leaf, the path to the signed batch header, and, once the chain has finalized an anchor that \
        covers it, the path to the anchored history with contract and transaction. `form=authorship` \
        adds the signature and the signed text, for the organization that signed.",
    errors: &[Code::Forbidden],
    links: &[AnswerLink::with_parameters(
        "getBatch",
        &[("id", "$response.body#/batch/header/number")],
    )],
    ..EndpointDoc::MISSING
};

const PREVIEW: EndpointDoc = EndpointDoc {
    id: "previewActions",
    heading: &HEADING,
    summary: "Preview what actions would do",
    description: "Shows what one action or a batch would do if it arrived now, and gives the typed \
        data to sign with the headers to send, so that a wallet can show and sign it. Nothing is \
        stored, no nonce is used, and nothing is promised: other requests may be placed first.",
    errors: &[Code::BatchTooLarge],
    ..EndpointDoc::MISSING
};
