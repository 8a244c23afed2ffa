//! Endpoints of disputes.

use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::query::RequestParameter;
use kedge_protocol::Code;
use kedge_protocol::resource::Area;

use crate::api::EndpointRow;
use crate::api::disputes::bodies::DisputeBody;
use crate::api::disputes::handlers;
use crate::api::disputes::views::DisputeView;
use crate::api::document::{AnswerLink, EndpointDoc};
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::log;
use crate::api::row::{get, handler, post};

/// A submission is unsigned, because it proves itself, but needs more than a right to read.
const BRINGS: EndpointRight = EndpointRight::new(Area::Batches, CrudAccess::Create);

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            right: Some(BRINGS),
            keeps_answer: true,
            request: Some(schema::<DisputeBody>),
            status: 201,
            response: schema::<DisputeView>,
            ..post("/disputes", &CREATE, handler!(handlers::create))
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<DisputeView>>,
            ..get("/disputes", &LIST, handler!(handlers::list))
        },
        EndpointRow {
            response: schema::<DisputeView>,
            etag: true,
            ..get("/disputes/{id}", &GET, handler!(handlers::get))
        },
    ]
}

const LOCATION: &[RequestParameter] = &[RequestParameter::text(
    "Location",
    "The path of the dispute.",
)];

const CREATE: EndpointDoc = EndpointDoc {
    id: "bringDispute",
    heading: &log::rows::HEADING,
    summary: "Submit evidence of a fault, or a claim",
    description: "Accepts an evidence file: records that the sequencer signed or anchored, and that contradict \
        each other or the protocol. Evidence that shows its fault is recorded in the log with the verdict, an \
        action `system.verdict` that the operator signs; the same evidence again gives the same dispute, so this \
        request needs no signature and no `Idempotency-Key`. Evidence that shows no fault is 422 with the \
        reason, and leaves no trace. `kedge verify evidence` comes to the same verdict without this server, and \
        the contract's judge accepts the same evidence.\n\nAlso accepts a claim file: a proof in zero knowledge \
        of chosen words of one action. Only its claimant may submit it, with a token of the wallet that has the \
        claimant's key, else 403. A claim that holds is also recorded, once for each context: the same file \
        again gives the same dispute, another claim with the context is 409. A claim that does not hold is 400 \
        and names the member that is wrong; a batch or an anchor that this log does not have is 422. `kedge \
        verify claim` comes to the same verdict, and so does the contract `KedgeClaims`. A server without a key \
        for claims answers 503.",
    errors: &[Code::StateViolation, Code::Conflict],
    also: &[(
        200,
        "The evidence or claim was submitted before: the dispute that it led to.",
    )],
    response_headers: LOCATION,
    links: &[AnswerLink::with_id("getDispute")],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listDisputes",
    heading: &log::rows::HEADING,
    summary: "List the organization's disputes",
    description: "The disputes that the caller's organization submitted, in the order of their \
        verdicts, without the evidence and the claim files.",
    links: &[AnswerLink::with_first_id("getDispute")],
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getDispute",
    heading: &log::rows::HEADING,
    summary: "Read a dispute",
    description: "A dispute with its evidence or claim, which anyone can check again.",
    ..EndpointDoc::MISSING
};
