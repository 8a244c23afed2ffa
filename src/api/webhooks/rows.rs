//! Endpoints of webhooks.

use hyper::Method;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::signing::{Signs, Target};
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use crate::api::Endpoint;
use crate::api::committed_answer::Changed;
use crate::api::document::{Doc, Link};
use crate::api::endpoint::schema;
use crate::api::keys::bodies::RotateBody;
use crate::api::listing;
use crate::api::listing::Page;
use crate::api::row::{
    IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, prepare, signed, unsigned,
};
use crate::api::webhooks::bodies::{WebhookBody, WebhookPatch};
use crate::api::webhooks::handlers;
use crate::api::webhooks::views::{DeliveryView, WebhookView, WebhookWithSecret};

/// A new secret changes a webhook. Redelivering an event is unsigned, but needs more than a right to read.
const CHANGES: Option<Right> = Some(Right {
    area: Area::Webhooks,
    access: Access::Update,
});

/// Signed requests: creation, changes, deletion.
fn changes() -> Vec<Endpoint> {
    vec![
        Endpoint {
            request: Some(schema::<WebhookBody>),
            status: 201,
            response: schema::<Changed<WebhookWithSecret>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::create)),
            ..signed(
                Method::POST,
                "/webhooks",
                &CREATE,
                Signs::Body(Kind::WebhookCreate, Target::Empty),
                answer!(handlers::shown),
            )
        },
        Endpoint {
            request: Some(schema::<WebhookPatch>),
            response: schema::<Changed<WebhookView>>,
            prepare: Some(prepare!(handlers::check)),
            ..signed(
                Method::PATCH,
                "/webhooks/{id}",
                &UPDATE,
                Signs::Body(Kind::WebhookUpdate, Target::Path),
                answer!(handlers::changed),
            )
        },
        Endpoint {
            response: schema::<Changed<WebhookView>>,
            ..signed(
                Method::DELETE,
                "/webhooks/{id}",
                &DELETE,
                Signs::NoBody(Kind::WebhookDelete, Target::Path),
                answer!(handlers::changed),
            )
        },
        Endpoint {
            right: CHANGES,
            request: Some(schema::<RotateBody>),
            response: schema::<Changed<WebhookWithSecret>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::rotate)),
            ..signed(
                Method::POST,
                "/webhooks/{id}/rotate",
                &ROTATE,
                Signs::Body(Kind::WebhookRotate, Target::Path),
                answer!(handlers::shown),
            )
        },
    ]
}

fn looks() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: &[listing::LIST],
            response: schema::<Page<WebhookView>>,
            ..get("/webhooks", &LIST, handler!(handlers::list))
        },
        Endpoint {
            response: schema::<WebhookView>,
            etag: true,
            ..get("/webhooks/{id}", &GET, handler!(handlers::get))
        },
        Endpoint {
            query: &[listing::LIST_NEWEST_FIRST],
            response: schema::<Page<DeliveryView>>,
            ..get(
                "/webhooks/{id}/deliveries",
                &DELIVERIES,
                handler!(handlers::deliveries),
            )
        },
        Endpoint {
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
        Endpoint {
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

pub(in crate::api) fn rows() -> impl Iterator<Item = Endpoint> {
    changes().into_iter().chain(looks())
}

const TAG: &str = "Webhooks";

const TO_WEBHOOK: Link = Link::with_parameters("getWebhook", &[("id", "$response.body#/id")]);
const TO_UPDATE: Link = Link::with_parameters("updateWebhook", &[("id", "$response.body#/id")]);
const TO_ROTATE: Link =
    Link::with_parameters("rotateWebhookSecret", &[("id", "$response.body#/id")]);
const TO_DELETE: Link = Link::with_parameters("deleteWebhook", &[("id", "$response.body#/id")]);
const TO_TEST: Link = Link::with_parameters("testWebhook", &[("id", "$response.body#/id")]);
const TO_DELIVERIES: Link =
    Link::with_parameters("listWebhookDeliveries", &[("id", "$response.body#/id")]);

const CREATE: Doc = Doc {
    id: "createWebhook",
    tag: TAG,
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
    ..Doc::MISSING
};

const LIST: Doc = Doc {
    id: "listWebhooks",
    tag: TAG,
    summary: "List the organization's webhooks",
    description: "The webhooks of the caller's organization that were not deleted, without their secrets.",
    links: &[Link::with_parameters(
        "getWebhook",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

const GET: Doc = Doc {
    id: "getWebhook",
    tag: TAG,
    summary: "Read a webhook",
    description: "A webhook without its secret.",
    links: &[TO_UPDATE, TO_DELIVERIES],
    ..Doc::MISSING
};

const UPDATE: Doc = Doc {
    id: "updateWebhook",
    tag: TAG,
    summary: "Change a webhook",
    description: "Changes the named members; absent ones stay. `active` switches it on again after \
        a receiver's 410.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

const DELETE: Doc = Doc {
    id: "deleteWebhook",
    tag: TAG,
    summary: "Delete a webhook",
    description: "Deletes a webhook: nothing more is sent. The signed payload is empty. The webhook stays in the log and leaves the list.",
    request_headers: IF_MATCH,
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

const ROTATE: Doc = Doc {
    id: "rotateWebhookSecret",
    tag: TAG,
    summary: "Give a webhook a new secret",
    description: "Gives a webhook a new secret, which is shown in this answer and its replays alone. For \
        `overlap_s` seconds, a day if that is absent, messages carry signatures of both secrets.",
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

const DELIVERIES: Doc = Doc {
    id: "listWebhookDeliveries",
    tag: TAG,
    summary: "List a webhook's deliveries",
    description: "What was sent, with what result, and when the next attempt is due.",
    links: &[Link::with_parameters(
        "redeliver",
        &[
            ("id", "$request.path.id"),
            ("delivery_id", "$response.body#/items/0/id"),
        ],
    )],
    ..Doc::MISSING
};

const TEST: Doc = Doc {
    id: "testWebhook",
    tag: TAG,
    summary: "Send a test event",
    description: "Sends an event of the type `webhook.test`, waits for the receiver's answer and \
        returns it; it is not kept among the deliveries. It changes nothing and is not signed; only \
        owners and admins may request it.",
    ..Doc::MISSING
};

const REDELIVER: Doc = Doc {
    id: "redeliver",
    tag: TAG,
    summary: "Redeliver a message",
    description: "Queues a delivery again, whatever its result was, with the same message and id. \
        It is made in its turn among the object's other deliveries.",
    errors: &[Code::StateViolation],
    links: &[Link::with_parameters(
        "listWebhookDeliveries",
        &[("id", "$response.body#/webhook_id")],
    )],
    ..Doc::MISSING
};
