//! The rows of webhooks.

use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::table::{handler, row};
use super::{Endpoint, Signs, Target, schema};
use crate::auth::rights::{Access, Right};
use crate::listing::LIST;
use crate::routes::webhooks;
use crate::views::Page;
use crate::views::resources::Changed;
use crate::views::webhook::{DeliveryView, WebhookView, WebhookWithSecret};

const TAG: &str = "Webhooks";
/// A new secret changes a webhook; what is sent anew is not signed, but it is no mere read either.
const CHANGES: Option<Right> = Some(Right {
    area: Area::Webhooks,
    access: Access::Update,
});

/// Where events are sent, and which.
#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
struct WebhookBody {
    /// An https URL whose host is on the public internet.
    url: String,
    /// Types of events; `*` is every type.
    events: Vec<String>,
    #[schemars(default = "yes")]
    active: bool,
    #[schemars(default)]
    description: String,
}

fn yes() -> bool {
    true
}

#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
struct WebhookPatch {
    url: Option<String>,
    events: Option<Vec<String>>,
    active: Option<bool>,
    description: Option<String>,
}

#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
struct RotateBody {
    /// For how long both secrets sign, seconds: a day if absent, at most a week.
    overlap_s: Option<u64>,
}

/// Making, changing and ending: signed.
fn changes() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::Body(Kind::WebhookCreate, Target::Empty),
            request: Some(schema::<WebhookBody>),
            status: 201,
            response: schema::<Changed<WebhookWithSecret>>,
            handler: handler!(webhooks::create),
            ..row(
                Method::POST,
                "/webhooks",
                TAG,
                "Make a webhook; its secret is shown once",
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::WebhookUpdate, Target::Path),
            request: Some(schema::<WebhookPatch>),
            response: schema::<Changed<WebhookView>>,
            handler: handler!(webhooks::update),
            ..row(Method::PATCH, "/webhooks/{id}", TAG, "Change a webhook")
        },
        Endpoint {
            signs: Signs::NoBody(Kind::WebhookDelete, Target::Path),
            response: schema::<Changed<WebhookView>>,
            handler: handler!(webhooks::update),
            ..row(
                Method::DELETE,
                "/webhooks/{id}",
                TAG,
                "End a webhook; the payload that is signed is empty",
            )
        },
        Endpoint {
            right: CHANGES,
            signs: Signs::Body(Kind::WebhookRotate, Target::Path),
            request: Some(schema::<RotateBody>),
            response: schema::<Changed<WebhookWithSecret>>,
            handler: handler!(webhooks::rotate),
            ..row(
                Method::POST,
                "/webhooks/{id}/rotate",
                TAG,
                "Give a webhook a new secret; for a while both sign",
            )
        },
    ]
}

/// Looking, and trying out.
fn looks() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: &[LIST],
            response: schema::<Page<WebhookView>>,
            handler: handler!(webhooks::list),
            ..row(
                Method::GET,
                "/webhooks",
                TAG,
                "List the organization's webhooks",
            )
        },
        Endpoint {
            response: schema::<WebhookView>,
            handler: handler!(webhooks::get),
            ..row(Method::GET, "/webhooks/{id}", TAG, "Read a webhook")
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<DeliveryView>>,
            handler: handler!(webhooks::deliveries),
            ..row(
                Method::GET,
                "/webhooks/{id}/deliveries",
                TAG,
                "List a webhook's deliveries, newest first",
            )
        },
        Endpoint {
            right: CHANGES,
            response: schema::<DeliveryView>,
            handler: handler!(webhooks::test),
            ..row(
                Method::POST,
                "/webhooks/{id}/test",
                TAG,
                "Send a test event at once; it is not kept among the deliveries",
            )
        },
        Endpoint {
            right: CHANGES,
            status: 202,
            response: schema::<DeliveryView>,
            handler: handler!(webhooks::redeliver),
            ..row(
                Method::POST,
                "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
                TAG,
                "Make a delivery again, at once",
            )
        },
    ]
}

/// Every row of webhooks.
pub(super) fn rows() -> impl Iterator<Item = Endpoint> {
    changes().into_iter().chain(looks())
}
