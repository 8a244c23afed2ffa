//! The rows of webhooks.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::{RotateBody, WebhookBody, WebhookPatch};
use kedge_api::resources::Changed;
use kedge_api::webhook::{DeliveryView, WebhookView, WebhookWithSecret};
use kedge_http::auth::rights::{Access, Right};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::table::{documented, handler};
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
            signs: Signs::Body(Kind::WebhookCreate, Target::Empty),
            request: Some(schema::<WebhookBody>),
            status: 201,
            response: schema::<Changed<WebhookWithSecret>>,
            handler: handler!(webhooks::create),
            ..documented(Method::POST, "/webhooks", &docs::webhooks::CREATE)
        },
        Endpoint {
            signs: Signs::Body(Kind::WebhookUpdate, Target::Path),
            request: Some(schema::<WebhookPatch>),
            response: schema::<Changed<WebhookView>>,
            handler: handler!(webhooks::update),
            ..documented(Method::PATCH, "/webhooks/{id}", &docs::webhooks::UPDATE)
        },
        Endpoint {
            signs: Signs::NoBody(Kind::WebhookDelete, Target::Path),
            response: schema::<Changed<WebhookView>>,
            handler: handler!(webhooks::update),
            ..documented(Method::DELETE, "/webhooks/{id}", &docs::webhooks::DELETE)
        },
        Endpoint {
            right: CHANGES,
            signs: Signs::Body(Kind::WebhookRotate, Target::Path),
            request: Some(schema::<RotateBody>),
            response: schema::<Changed<WebhookWithSecret>>,
            handler: handler!(webhooks::rotate),
            ..documented(
                Method::POST,
                "/webhooks/{id}/rotate",
                &docs::webhooks::ROTATE,
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
            handler: handler!(webhooks::list),
            ..documented(Method::GET, "/webhooks", &docs::webhooks::LIST)
        },
        Endpoint {
            response: schema::<WebhookView>,
            etag: true,
            handler: handler!(webhooks::get),
            ..documented(Method::GET, "/webhooks/{id}", &docs::webhooks::GET)
        },
        Endpoint {
            query: &[LIST_NEWEST_FIRST],
            response: schema::<Page<DeliveryView>>,
            handler: handler!(webhooks::deliveries),
            ..documented(
                Method::GET,
                "/webhooks/{id}/deliveries",
                &docs::webhooks::DELIVERIES,
            )
        },
        Endpoint {
            right: CHANGES,
            keeps_answer: true,
            response: schema::<DeliveryView>,
            handler: handler!(webhooks::test),
            ..documented(Method::POST, "/webhooks/{id}/test", &docs::webhooks::TEST)
        },
        Endpoint {
            right: CHANGES,
            keeps_answer: true,
            status: 202,
            response: schema::<DeliveryView>,
            handler: handler!(webhooks::redeliver),
            ..documented(
                Method::POST,
                "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
                &docs::webhooks::REDELIVER,
            )
        },
    ]
}

/// Every row of webhooks.
pub(super) fn rows() -> impl Iterator<Item = Endpoint> {
    changes().into_iter().chain(looks())
}
