//! Endpoints of webhooks.

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
use crate::api::keys::bodies::RotateBody;
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::row::{
    IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, prepare, signed, unsigned,
};
use crate::api::webhooks::bodies::{WebhookBody, WebhookPatch};
use crate::api::webhooks::handlers;
use crate::api::webhooks::views::{DeliveryView, WebhookView, WebhookWithSecret};

/// A new secret changes a webhook. Redelivering an event is unsigned, but needs more than a right to read.
const CHANGES: Option<EndpointRight> = Some(EndpointRight {
    area: Area::Webhooks,
    access: CrudAccess::Update,
});

/// Signed requests: creation, changes, deletion.
fn changes() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            request: Some(schema::<WebhookBody>),
            status: 201,
            response: schema::<ResourceChange<WebhookWithSecret>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::create)),
            ..signed(
                Method::POST,
                "/webhooks",
                &CREATE,
                SigningScheme::Body(Kind::WebhookCreate, TargetSource::Empty),
                answer!(handlers::shown),
            )
        },
        EndpointRow {
            request: Some(schema::<WebhookPatch>),
            response: schema::<ResourceChange<WebhookView>>,
            prepare: Some(prepare!(handlers::check)),
            ..signed(
                Method::PATCH,
                "/webhooks/{id}",
                &UPDATE,
                SigningScheme::Body(Kind::WebhookUpdate, TargetSource::Path),
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            response: schema::<ResourceChange<WebhookView>>,
            ..signed(
                Method::DELETE,
                "/webhooks/{id}",
                &DELETE,
                SigningScheme::NoBody(Kind::WebhookDelete, TargetSource::Path),
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            right: CHANGES,
            request: Some(schema::<RotateBody>),
            response: schema::<ResourceChange<WebhookWithSecret>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::rotate)),
            ..signed(
                Method::POST,
                "/webhooks/{id}/rotate",
                &ROTATE,
                SigningScheme::Body(Kind::WebhookRotate, TargetSource::Path),
                answer!(handlers::shown),
            )
        },
    ]
}

fn looks() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<WebhookView>>,
            ..get("/webhooks", &LIST, handler!(handlers::list))
        },
        EndpointRow {
            response: schema::<WebhookView>,
            etag: true,
            ..get("/webhooks/{id}", &GET, handler!(handlers::get))
        },
        EndpointRow {
            query: &[listing::LIST_NEWEST_FIRST],
            response: schema::<ListPage<DeliveryView>>,
            ..get(
                "/webhooks/{id}/deliveries",
                &DELIVERIES,
                handler!(handlers::deliveries),
            )
        },
        EndpointRow {
            right: CHANGES,
            keeps_answer: true,
            response: schema::<DeliveryView>,
            ..unsigned(
                Method::POST,
                "/webhooks/{id}/test",
                &TEST,
                handler!(handlers::test),
            )
        },
        EndpointRow {
            right: CHANGES,
            keeps_answer: true,
            status: 202,
            response: schema::<DeliveryView>,
            ..unsigned(
                Method::POST,
                "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
                &REDELIVER,
                handler!(handlers::redeliver),
            )
        },
    ]
}

pub(in crate::api) fn rows() -> impl Iterator<Item = EndpointRow> {
    changes().into_iter().chain(looks())
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Webhooks",
    description: "Events that are sent to a URL.",
    area: Some(Area::Webhooks),
    ids: &[
        ("/webhooks/", PathParameter::Id(Prefix::Webhook)),
        (
            "/webhooks/{id}/deliveries/",
            PathParameter::Id(Prefix::Delivery),
        ),
    ],
};

const TO_WEBHOOK: AnswerLink =
    AnswerLink::with_parameters("getWebhook", &[("id", "$response.body#/id")]);
const TO_UPDATE: AnswerLink =
    AnswerLink::with_parameters("updateWebhook", &[("id", "$response.body#/id")]);
const TO_ROTATE: AnswerLink =
    AnswerLink::with_parameters("rotateWebhookSecret", &[("id", "$response.body#/id")]);
const TO_DELETE: AnswerLink =
    AnswerLink::with_parameters("deleteWebhook", &[("id", "$response.body#/id")]);
const TO_TEST: AnswerLink =
    AnswerLink::with_parameters("testWebhook", &[("id", "$response.body#/id")]);
const TO_DELIVERIES: AnswerLink =
    AnswerLink::with_parameters("listWebhookDeliveries", &[("id", "$response.body#/id")]);

const CREATE: EndpointDoc = EndpointDoc {
    id: "createWebhook",
    heading: &HEADING,
    summary: "Make a webhook",
    description: "Makes a webhook of the caller's organization, for its owners and admins: events of \
        the named types are sent to the URL, at least once each and in order for each object, signed as \
        Standard Webhooks 1.0 specifies. `secret` is shown in this answer and its replays alone. The host \
        must be on the public internet. An API key makes and changes only webhooks for events that it may \
        read itself. Failed deliveries are retried for three days; 410 switches the \
        webhook off.",
    errors: &[Code::StateViolation],
    links: &[
        TO_WEBHOOK,
        TO_UPDATE,
        TO_ROTATE,
        TO_DELETE,
        TO_TEST,
        TO_DELIVERIES,
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listWebhooks",
    heading: &HEADING,
    summary: "List the organization's webhooks",
    description: "The webhooks of the caller's organization that were not deleted, without their secrets.",
    links: &[AnswerLink::with_parameters(
        "getWebhook",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getWebhook",
    heading: &HEADING,
    summary: "Read a webhook",
    description: "A webhook without its secret.",
    links: &[TO_UPDATE, TO_DELIVERIES],
    ..EndpointDoc::MISSING
};

const UPDATE: EndpointDoc = EndpointDoc {
    id: "updateWebhook",
    heading: &HEADING,
    summary: "Change a webhook",
    description: "Changes the named members; absent ones stay. `active` switches it on again after \
        a receiver's 410.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const DELETE: EndpointDoc = EndpointDoc {
    id: "deleteWebhook",
    heading: &HEADING,
    summary: "Delete a webhook",
    description: "Deletes a webhook: nothing more is sent. The signed payload is empty. The webhook stays in the log and leaves the list.",
    request_headers: IF_MATCH,
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const ROTATE: EndpointDoc = EndpointDoc {
    id: "rotateWebhookSecret",
    heading: &HEADING,
    summary: "Give a webhook a new secret",
    description: "Gives a webhook a new secret, which is shown in this answer and its replays alone. For \
        `overlap_s` seconds, a day if that is absent, messages carry signatures of both secrets.",
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const DELIVERIES: EndpointDoc = EndpointDoc {
    id: "listWebhookDeliveries",
    heading: &HEADING,
    summary: "List a webhook's deliveries",
    description: "What was sent, with what result, and when the next attempt is due.",
    links: &[AnswerLink::with_parameters(
        "redeliver",
        &[
            ("id", "$request.path.id"),
            ("delivery_id", "$response.body#/items/0/id"),
        ],
    )],
    ..EndpointDoc::MISSING
};

const TEST: EndpointDoc = EndpointDoc {
    id: "testWebhook",
    heading: &HEADING,
    summary: "Send a test event",
    description: "Sends an event of the type `webhook.test`, waits for the receiver's answer and \
        returns it; it is not kept among the deliveries. It changes nothing and is not signed; only \
        owners and admins may request it.",
    ..EndpointDoc::MISSING
};

const REDELIVER: EndpointDoc = EndpointDoc {
    id: "redeliver",
    heading: &HEADING,
    summary: "Redeliver a message",
    description: "Queues a delivery again, whatever its result was, with the same message and id. \
        It is made in its turn among the object's other deliveries.",
    errors: &[Code::StateViolation],
    links: &[AnswerLink::with_parameters(
        "listWebhookDeliveries",
        &[("id", "$response.body#/webhook_id")],
    )],
    ..EndpointDoc::MISSING
};
