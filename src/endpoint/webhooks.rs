//! The rows of webhooks.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::{RotateBody, WebhookBody, WebhookPatch};
use kedge_api::resources::Changed;
use kedge_api::webhook::{DeliveryView, WebhookView, WebhookWithSecret};
use kedge_http::auth::rights::{Access, Right};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::row::{answer, get, handler, prepare, signed, unsigned};
use super::{Endpoint, Signs, Target, docs, schema};
use crate::listing::{LIST, LIST_NEWEST_FIRST};
use crate::routes::webhooks;

/// A new secret changes a webhook. Sending an event again is not signed, but it is more than a
/// read.
const CHANGES: Option<Right> = Some(Right {
    area: Area::Webhooks,
    access: Access::Update,
});

/// Creating, changing and deleting: signed.
fn changes() -> Vec<Endpoint> {
    vec![
        Endpoint {
            request: Some(schema::<WebhookBody>),
            status: 201,
            response: schema::<Changed<WebhookWithSecret>>,
            prepare: Some(prepare!(webhooks::create)),
            ..signed(
                Method::POST,
                "/webhooks",
                &docs::webhooks::CREATE,
                Signs::Body(Kind::WebhookCreate, Target::Empty),
                answer!(webhooks::shown),
            )
        },
        Endpoint {
            request: Some(schema::<WebhookPatch>),
            response: schema::<Changed<WebhookView>>,
            prepare: Some(prepare!(webhooks::check)),
            ..signed(
                Method::PATCH,
                "/webhooks/{id}",
                &docs::webhooks::UPDATE,
                Signs::Body(Kind::WebhookUpdate, Target::Path),
                answer!(webhooks::changed),
            )
        },
        Endpoint {
            response: schema::<Changed<WebhookView>>,
            ..signed(
                Method::DELETE,
                "/webhooks/{id}",
                &docs::webhooks::DELETE,
                Signs::NoBody(Kind::WebhookDelete, Target::Path),
                answer!(webhooks::changed),
            )
        },
        Endpoint {
            right: CHANGES,
            request: Some(schema::<RotateBody>),
            response: schema::<Changed<WebhookWithSecret>>,
            prepare: Some(prepare!(webhooks::rotate)),
            ..signed(
                Method::POST,
                "/webhooks/{id}/rotate",
                &docs::webhooks::ROTATE,
                Signs::Body(Kind::WebhookRotate, Target::Path),
                answer!(webhooks::shown),
            )
        },
    ]
}

/// Reading and testing.
fn looks() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: &[LIST],
            response: schema::<Page<WebhookView>>,
            ..get("/webhooks", &docs::webhooks::LIST, handler!(webhooks::list))
        },
        Endpoint {
            response: schema::<WebhookView>,
            etag: true,
            ..get(
                "/webhooks/{id}",
                &docs::webhooks::GET,
                handler!(webhooks::get),
            )
        },
        Endpoint {
            query: &[LIST_NEWEST_FIRST],
            response: schema::<Page<DeliveryView>>,
            ..get(
                "/webhooks/{id}/deliveries",
                &docs::webhooks::DELIVERIES,
                handler!(webhooks::deliveries),
            )
        },
        Endpoint {
            right: CHANGES,
            keeps_answer: true,
            response: schema::<DeliveryView>,
            ..unsigned(
                Method::POST,
                "/webhooks/{id}/test",
                &docs::webhooks::TEST,
                handler!(webhooks::test),
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
                &docs::webhooks::REDELIVER,
                handler!(webhooks::redeliver),
            )
        },
    ]
}

/// Every row of webhooks.
pub(super) fn rows() -> impl Iterator<Item = Endpoint> {
    changes().into_iter().chain(looks())
}
