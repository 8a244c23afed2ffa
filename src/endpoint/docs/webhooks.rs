//! Webhooks.

use kedge_api::Code;
use kedge_openapi::{Doc, Link};

use super::{IF_MATCH, TO_ACTION, TO_PROOF};

const TAG: &str = "Webhooks";

const TO_WEBHOOK: Link = Link::with_parameters("getWebhook", &[("id", "$response.body#/id")]);
const TO_UPDATE: Link = Link::with_parameters("updateWebhook", &[("id", "$response.body#/id")]);
const TO_ROTATE: Link =
    Link::with_parameters("rotateWebhookSecret", &[("id", "$response.body#/id")]);
const TO_DELETE: Link = Link::with_parameters("deleteWebhook", &[("id", "$response.body#/id")]);
const TO_TEST: Link = Link::with_parameters("testWebhook", &[("id", "$response.body#/id")]);
const TO_DELIVERIES: Link =
    Link::with_parameters("listWebhookDeliveries", &[("id", "$response.body#/id")]);

pub(in crate::endpoint) const CREATE: Doc = Doc {
    id: "createWebhook",
    tag: TAG,
    summary: "Make a webhook",
    description: "Makes a webhook of the caller's organization, for its owners and admins: events of \
        the named types are sent to the URL, at least once each and in order for each object, signed as \
        Standard Webhooks 1.0 specifies. `secret` is shown in this answer and its replays alone. The host \
        must be on the public internet. Failed deliveries are retried for three days; 410 switches the \
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

pub(in crate::endpoint) const LIST: Doc = Doc {
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

pub(in crate::endpoint) const GET: Doc = Doc {
    id: "getWebhook",
    tag: TAG,
    summary: "Read a webhook",
    description: "A webhook without its secret.",
    links: &[TO_UPDATE, TO_DELIVERIES],
    ..Doc::MISSING
};

pub(in crate::endpoint) const UPDATE: Doc = Doc {
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

pub(in crate::endpoint) const DELETE: Doc = Doc {
    id: "deleteWebhook",
    tag: TAG,
    summary: "Delete a webhook",
    description: "Deletes a webhook: nothing more is sent. The signed payload is empty. The webhook stays in the log and leaves the list.",
    request_headers: IF_MATCH,
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const ROTATE: Doc = Doc {
    id: "rotateWebhookSecret",
    tag: TAG,
    summary: "Give a webhook a new secret",
    description: "Gives a webhook a new secret, which is shown in this answer and its replays alone. For \
        `overlap_s` seconds, a day if that is absent, messages carry signatures of both secrets.",
    links: &[TO_WEBHOOK, TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const DELIVERIES: Doc = Doc {
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

pub(in crate::endpoint) const TEST: Doc = Doc {
    id: "testWebhook",
    tag: TAG,
    summary: "Send a test event",
    description: "Sends an event of the type `webhook.test`, waits for the receiver's answer and \
        returns it; it is not kept among the deliveries. It changes nothing and is not signed; only \
        owners and admins may request it.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const REDELIVER: Doc = Doc {
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
