//! Endpoints of objects.

use hyper::Method;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::limits::LimitClass::{Lists, ObjectWrites};
use kedge_http::query::Parameter;
use kedge_http::signing::{Signs, Target};
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use crate::api::Endpoint;
use crate::api::bus::views::HistoryPage;
use crate::api::committed_answer::Changed;
use crate::api::document::{Doc, Link};
use crate::api::endpoint::{MIN_SEQUENCE, schema};
use crate::api::listing;
use crate::api::listing::Page;
use crate::api::objects::bodies::{ObjectBody, ObjectPatch, TransferBody};
use crate::api::objects::search_bodies::{CountBody, CountView, SearchBody};
use crate::api::objects::views::ObjectView;
use crate::api::objects::{handlers, history, list, search};
use crate::api::row::{TO_ACTION, TO_PROOF, answer, get, handler, signed, unsigned};

pub(in crate::api) fn rows() -> impl Iterator<Item = Endpoint> {
    objects().into_iter().chain(object())
}

fn objects() -> Vec<Endpoint> {
    vec![
        Endpoint {
            limit: ObjectWrites,
            request: Some(schema::<ObjectBody>),
            status: 201,
            response: schema::<Changed<ObjectView>>,
            ..signed(
                Method::POST,
                "/objects",
                &MINT,
                Signs::Body(Kind::Mint, Target::TemplateMember),
                answer!(handlers::changed),
            )
        },
        Endpoint {
            limit: Lists,
            query: &[listing::LIST, list::FILTERS],
            response: schema::<Page<ObjectView>>,
            ..get("/objects", &LIST, handler!(list::list))
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<SearchBody>),
            response: schema::<Page<ObjectView>>,
            ..unsigned(
                Method::POST,
                "/objects/search",
                &SEARCH,
                handler!(search::search),
            )
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<CountBody>),
            response: schema::<CountView>,
            ..unsigned(
                Method::POST,
                "/objects/count",
                &COUNT,
                handler!(search::count),
            )
        },
    ]
}

fn object() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: &[history::AT_SEQUENCE],
            response: schema::<ObjectView>,
            etag: true,
            ..get("/objects/{id}", &GET, handler!(handlers::get))
        },
        Endpoint {
            limit: ObjectWrites,
            request: Some(schema::<ObjectPatch>),
            response: schema::<Changed<ObjectView>>,
            ..signed(
                Method::PATCH,
                "/objects/{id}",
                &UPDATE,
                Signs::Body(Kind::Update, Target::Path),
                answer!(handlers::changed),
            )
        },
        Endpoint {
            request: Some(schema::<TransferBody>),
            response: schema::<Changed<ObjectView>>,
            right: Some(Right {
                area: Area::Objects,
                access: Access::Update,
            }),
            ..signed(
                Method::POST,
                "/objects/{id}/transfer",
                &TRANSFER,
                Signs::Body(Kind::Transfer, Target::Path),
                answer!(handlers::changed),
            )
        },
        Endpoint {
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

const TAG: &str = "Objects";

const TO_OBJECT: Link = Link::with_parameters("getObject", &[("id", "$response.body#/id")]);
const TO_HISTORY: Link =
    Link::with_parameters("listObjectHistory", &[("id", "$response.body#/id")]);

const IF_MATCH: &[Parameter] = &[Parameter {
    name: "If-Match",
    schema_type: r#"{"type": "string", "pattern": "^(\\*|\"[0-9]{1,20}\\.[0-9a-f]{16}(-gzip|-zstd)?\")$"}"#,
    description: "The ETag of the state that the change is meant for; 412 if the object has changed.",
}];

const ETAG: &[Parameter] = &[Parameter {
    name: "ETag",
    schema_type: "string",
    description: "The object's state after the change, for `If-Match`.",
}];

const MINT: Doc = Doc {
    id: "mintObject",
    tag: TAG,
    summary: "Mint an object",
    description: "Makes an object of a template, for callers that the template lets mint. The \
        variation's properties override the template's, and the body's override both. The object \
        belongs to the caller, or to the wallet that `to` names by id or address.",
    response_headers: ETAG,
    links: &[
        TO_OBJECT,
        TO_HISTORY,
        Link {
            to: "updateObject",
            parameters: &[("id", "$response.body#/id")],
            body: "",
        },
        Link {
            to: "transferObject",
            parameters: &[("id", "$response.body#/id")],
            body: r#"{"to": "$response.body#/owner_id"}"#,
        },
        Link::with_body(
            "submitAction",
            r#"{"action_type": "lock", "object_id": "$response.body#/id"}"#,
        ),
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const LIST: Doc = Doc {
    id: "listObjects",
    tag: TAG,
    summary: "List objects",
    description: "The objects of the caller's organization; with `template_id` those of a template, \
        with `owner_id` those that a wallet owns, both of any organization as far as the caller may \
        see them. All given filters must hold; `POST /objects/search` accepts trees of them.",
    errors: &[Code::ResourceNotFound],
    links: &[Link::with_parameters(
        "getObject",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

const SEARCH: Doc = Doc {
    id: "searchObjects",
    tag: TAG,
    summary: "Find objects by a filter",
    description: "The objects visible to the caller that the filter finds: a tree of `and`, `or` and `not` \
        over conditions on members and properties. It uses indexes and reads a bounded number of rows: past \
        that it is refused, and a narrower filter helps.",
    errors: &[Code::CursorInvalid],
    links: &[Link::with_parameters(
        "getObject",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

const COUNT: Doc = Doc {
    id: "countObjects",
    tag: TAG,
    summary: "Count the objects that a filter finds",
    description: "The exact number of objects visible to the caller that the filter finds. The \
        bound on the rows read is that of the search.",
    ..Doc::MISSING
};

const GET: Doc = Doc {
    id: "getObject",
    tag: TAG,
    summary: "Read an object",
    description: "An object of the caller's organization, of the caller, or of a public template; \
        with `at_sequence` as it was then, as far back as its listed history reaches.",
    errors: &[Code::Gone],
    links: &[
        TO_HISTORY,
        Link::with_parameters("getTemplate", &[("id", "$response.body#/template_id")]),
    ],
    ..Doc::MISSING
};

const UPDATE: Doc = Doc {
    id: "updateObject",
    tag: TAG,
    summary: "Merge a patch into an object's properties",
    description: "Merges a patch into an object's properties (RFC 7396): members that are null are \
        removed, objects are merged, anything else is replaced. Numbers that the patch does not \
        touch keep their spelling. The properties may have 1,048,576 bytes of compact JSON in all. \
        `If-Match` makes it a change of one known state.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    response_headers: ETAG,
    links: &[TO_OBJECT, TO_HISTORY, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

const TRANSFER: Doc = Doc {
    id: "transferObject",
    tag: TAG,
    summary: "Transfer an object to another wallet",
    description: "Transfers an object to another wallet, named by its id or its address.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    response_headers: ETAG,
    links: &[TO_OBJECT, TO_HISTORY, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

const HISTORY: Doc = Doc {
    id: "listObjectHistory",
    tag: TAG,
    summary: "List an object's last actions",
    description: "The last 1,000 actions on an object, newest first whatever `order` is. Older ones \
        leave this list and stay in the log; `pruned_before` gives the version from which on the \
        list is complete.",
    links: &[Link::with_parameters(
        "getAction",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};
