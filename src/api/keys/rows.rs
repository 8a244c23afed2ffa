//! Endpoints of API keys.

use hyper::Method;
use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::signing::{SigningScheme, TargetSource};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;
use kedge_protocol::{Code, Prefix};

use crate::api::EndpointRow;
use crate::api::committed_answer::ResourceChange;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::schema;
use crate::api::keys::bodies::{KeyBody, RotateBody};
use crate::api::keys::handlers;
use crate::api::keys::views::{ApiKeyView, NewApiKeyView};
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::row::{TO_ACTION, TO_PROOF, answer, get, handler, prepare, signed};

const CHANGES_KEY: EndpointRight = EndpointRight::new(Area::ApiKeys, CrudAccess::Update);

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            request: Some(schema::<KeyBody>),
            status: 201,
            response: schema::<ResourceChange<NewApiKeyView>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::create)),
            ..signed(
                Method::POST,
                "/api-keys",
                &CREATE,
                SigningScheme::Body(Kind::KeyCreate, TargetSource::Empty),
                answer!(handlers::shown),
            )
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<ApiKeyView>>,
            ..get("/api-keys", &LIST, handler!(handlers::list))
        },
        EndpointRow {
            response: schema::<ApiKeyView>,
            etag: true,
            ..get("/api-keys/{id}", &GET, handler!(handlers::get))
        },
        EndpointRow {
            response: schema::<ResourceChange<ApiKeyView>>,
            ..signed(
                Method::DELETE,
                "/api-keys/{id}",
                &DELETE,
                SigningScheme::NoBody(Kind::KeyDelete, TargetSource::Path),
                answer!(handlers::deleted),
            )
        },
        EndpointRow {
            right: Some(CHANGES_KEY),
            request: Some(schema::<RotateBody>),
            response: schema::<ResourceChange<NewApiKeyView>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::rotate)),
            ..signed(
                Method::POST,
                "/api-keys/{id}/rotate",
                &ROTATE,
                SigningScheme::Body(Kind::KeyRotate, TargetSource::Path),
                answer!(handlers::shown),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "API keys",
    description: "Credentials for programs, with narrow rights.",
    area: Some(Area::ApiKeys),
    ids: &[("/api-keys/", PathParameter::Id(Prefix::Key))],
};

const TO_KEY: AnswerLink = AnswerLink::with_id("getApiKey");
const TO_ROTATE: AnswerLink = AnswerLink::with_id("rotateApiKey");
const TO_DELETE: AnswerLink = AnswerLink::with_id("deleteApiKey");

const CREATE: EndpointDoc = EndpointDoc {
    id: "createApiKey",
    heading: &HEADING,
    summary: "Make an API key",
    description: "Makes an API key of the caller's organization, for its owners and admins. `key` is \
        shown in this answer and its replays alone: send it as `x-api-key`, alone or together with an access \
        token of the same organization; then the narrower right applies. What `permissions` does not \
        grant is refused. A key signs nothing: changes still need a signature of one of the \
        organization's wallets. A request with an API key grants only rights that this key has.",
    errors: &[Code::StateViolation],
    links: &[TO_KEY, TO_ROTATE, TO_DELETE, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listApiKeys",
    heading: &HEADING,
    summary: "List the organization's API keys",
    description: "The API keys of the caller's organization that were not deleted, without their secrets.",
    links: &[AnswerLink::with_first_id("getApiKey")],
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getApiKey",
    heading: &HEADING,
    summary: "Read an API key",
    description: "An API key without its secret: what it may do, when it expires, and when it was last used.",
    links: &[TO_ROTATE, TO_DELETE],
    ..EndpointDoc::MISSING
};

const DELETE: EndpointDoc = EndpointDoc {
    id: "deleteApiKey",
    heading: &HEADING,
    summary: "Delete an API key",
    description: "Deletes an API key: from now on it is refused. It stays in the log and leaves the list.",
    links: &[TO_KEY, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const ROTATE: EndpointDoc = EndpointDoc {
    id: "rotateApiKey",
    heading: &HEADING,
    summary: "Replace an API key's secret",
    description: "Gives an API key a new secret, which is shown in this answer and its replays alone. The \
        old secret stays valid for `overlap_s` seconds, a day if that is absent, so that it can be \
        replaced everywhere first.",
    links: &[TO_KEY, TO_DELETE, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};
