//! Endpoints of objects.

use hyper::Method;
use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::limits::LimitClass::{Lists, ObjectWrites};
use kedge_http::query::RequestParameter;
use kedge_http::signing::{SigningScheme, TargetSource};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;
use kedge_protocol::{Code, Prefix};

use crate::api::EndpointRow;
use crate::api::bus::views::HistoryPage;
use crate::api::committed_answer::ResourceChange;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::{MIN_SEQUENCE, schema};
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::objects::bodies::{ObjectBody, ObjectPatch, TransferBody};
use crate::api::objects::search_bodies::{CountBody, CountView, SearchBody};
use crate::api::objects::views::ObjectView;
use crate::api::objects::{handlers, history, list, search};
use crate::api::row::{TO_ACTION, TO_PROOF, answer, get, handler, post, signed};
use crate::api::state::rows::PROVEN;
use crate::api::state::views::ProvablePage;

pub(in crate::api) fn rows() -> impl Iterator<Item = EndpointRow> {
    objects().into_iter().chain(object())
}

fn objects() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            limit: ObjectWrites,
            request: Some(schema::<ObjectBody>),
            status: 201,
            response: schema::<ResourceChange<ObjectView>>,
            ..signed(
                Method::POST,
                "/objects",
                &MINT,
                SigningScheme::Body(Kind::Mint, TargetSource::TemplateMember),
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            limit: Lists,
            query: &[listing::LIST, list::FILTERS, PROVEN],
            response: schema::<ProvablePage<ObjectView>>,
            ..get("/objects", &LIST, handler!(list::list))
        },
        EndpointRow {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<SearchBody>),
            response: schema::<ListPage<ObjectView>>,
            ..post("/objects/search", &SEARCH, handler!(search::search))
        },
        EndpointRow {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<CountBody>),
            response: schema::<CountView>,
            ..post("/objects/count", &COUNT, handler!(search::count))
        },
    ]
}

fn object() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            query: &[history::AT_SEQUENCE, PROVEN],
            response: schema::<ObjectView>,
            etag: true,
            ..get("/objects/{id}", &GET, handler!(handlers::get))
        },
        EndpointRow {
            limit: ObjectWrites,
            request: Some(schema::<ObjectPatch>),
            response: schema::<ResourceChange<ObjectView>>,
            ..signed(
                Method::PATCH,
                "/objects/{id}",
                &UPDATE,
                SigningScheme::Body(Kind::Update, TargetSource::Path),
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            request: Some(schema::<TransferBody>),
            response: schema::<ResourceChange<ObjectView>>,
            right: Some(EndpointRight::new(Area::Objects, CrudAccess::Update)),
            ..signed(
                Method::POST,
                "/objects/{id}/transfer",
                &TRANSFER,
                SigningScheme::Body(Kind::Transfer, TargetSource::Path),
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            query: &[listing::LIST_NEWEST_FIRST],
            response: schema::<HistoryPage>,
            ..get(
                "/objects/{id}/history",
                &HISTORY,
                handler!(handlers::history),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Objects",
    description: "Minting, reading, changing and transferring objects.",
    area: Some(Area::Objects),
    ids: &[("/objects/", PathParameter::Id(Prefix::Object))],
};

const TO_OBJECT: AnswerLink = AnswerLink::with_id("getObject");
const TO_HISTORY: AnswerLink = AnswerLink::with_id("listObjectHistory");

const IF_MATCH: &[RequestParameter] = &[RequestParameter {
    name: "If-Match",
    schema_type: r#"{"type": "string", "pattern": "^(\\*|\"[0-9]{1,20}\\.[0-9a-f]{16}(-gzip|-zstd)?\")$"}"#,
    description: "The ETag of the state that the change is meant for; 412 if the object has changed.",
}];

const ETAG: &[RequestParameter] = &[RequestParameter::text(
    "ETag",
    "The object's state after the change, for `If-Match`.",
)];

const MINT: EndpointDoc = EndpointDoc {
    id: "mintObject",
    heading: &HEADING,
    summary: "Mint an object",
    description: "Makes an object of a template, for callers that the template lets mint. The \
        variation's properties override the template's, and the body's override both. The object \
        belongs to the caller, or to the wallet that `to` names by id or address.",
    response_headers: ETAG,
    links: &[
        TO_OBJECT,
        TO_HISTORY,
        AnswerLink::with_id("updateObject"),
        AnswerLink {
            to: "transferObject",
            parameters: &[("id", "$response.body#/id")],
            body: r#"{"to": "$response.body#/owner_id"}"#,
        },
        AnswerLink::with_body(
            "submitAction",
            r#"{"action_type": "lock", "object_id": "$response.body#/id"}"#,
        ),
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listObjects",
    heading: &HEADING,
    summary: "List objects",
    description: "The objects of the caller's organization; with `template_id` those of a template, \
        with `owner_id` those that a wallet owns, both of any organization as far as the caller may \
        see them. All given filters must hold; `POST /objects/search` accepts trees of them.",
    errors: &[Code::ResourceNotFound],
    links: &[AnswerLink::with_first_id("getObject")],
    ..EndpointDoc::MISSING
};

const SEARCH: EndpointDoc = EndpointDoc {
    id: "searchObjects",
    heading: &HEADING,
    summary: "Find objects by a filter",
    description: "The objects visible to the caller that the filter finds: a tree of `and`, `or` and `not` \
        over conditions on members and properties. It uses indexes and reads a bounded number of rows: past \
        that it is refused, and a narrower filter helps.",
    errors: &[Code::CursorInvalid],
    links: &[AnswerLink::with_first_id("getObject")],
    ..EndpointDoc::MISSING
};

const COUNT: EndpointDoc = EndpointDoc {
    id: "countObjects",
    heading: &HEADING,
    summary: "Count the objects that a filter finds",
    description: "The exact number of objects visible to the caller that the filter finds. The \
        bound on the rows read is that of the search.",
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getObject",
    heading: &HEADING,
    summary: "Read an object",
    description: "An object of the caller's organization, of the caller, or of a public template; \
        with `at_sequence` as it was then, as far back as its listed history reaches.",
    errors: &[Code::Gone],
    links: &[
        TO_HISTORY,
        AnswerLink::with_parameters("getTemplate", &[("id", "$response.body#/template_id")]),
    ],
    ..EndpointDoc::MISSING
};

const UPDATE: EndpointDoc = EndpointDoc {
    id: "updateObject",
    heading: &HEADING,
    summary: "Merge a patch into an object's properties",
    description: "Merges a patch into an object's properties (RFC 7396): members that are null are \
        removed, objects are merged, anything else is replaced. Numbers that the patch does not \
        touch keep their spelling. The properties may have 1,048,576 bytes of compact JSON in all. \
        `If-Match` makes it a change of one known state.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    response_headers: ETAG,
    links: &[TO_OBJECT, TO_HISTORY, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const TRANSFER: EndpointDoc = EndpointDoc {
    id: "transferObject",
    heading: &HEADING,
    summary: "Transfer an object to another wallet",
    description: "Transfers an object to another wallet, named by its id or its address.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    response_headers: ETAG,
    links: &[TO_OBJECT, TO_HISTORY, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const HISTORY: EndpointDoc = EndpointDoc {
    id: "listObjectHistory",
    heading: &HEADING,
    summary: "List an object's last actions",
    description: "The last 1,000 actions on an object, newest first whatever `order` is. Older ones \
        leave this list and stay in the log; `pruned_before` gives the version from which on the \
        list is complete.",
    links: &[AnswerLink::with_first_id("getAction")],
    ..EndpointDoc::MISSING
};
