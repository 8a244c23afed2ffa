//! The rows of templates and their variations.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::{TemplateBody, TemplatePatch, VariationsBody};
use kedge_api::resources::{Changed, TemplateView, VariationView, VariationsMade};
use kedge_protocol::action::Kind;

use super::LimitClass::{Lists, TemplateWrites};
use super::table::{documented, handler};
use super::{Endpoint, Signs, Target, docs, schema};
use crate::listing::LIST;
use crate::routes::templates;

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::Body(Kind::TemplateCreate, Target::Empty),
            limit: TemplateWrites,
            request: Some(schema::<TemplateBody>),
            status: 201,
            response: schema::<Changed<TemplateView>>,
            handler: handler!(templates::create),
            ..documented(Method::POST, "/templates", &docs::templates::CREATE)
        },
        Endpoint {
            limit: Lists,
            query: &[LIST],
            response: schema::<Page<TemplateView>>,
            etag: true,
            handler: handler!(templates::list),
            ..documented(Method::GET, "/templates", &docs::templates::LIST)
        },
        Endpoint {
            response: schema::<TemplateView>,
            etag: true,
            handler: handler!(templates::get),
            ..documented(Method::GET, "/templates/{id}", &docs::templates::GET)
        },
        Endpoint {
            signs: Signs::Body(Kind::TemplateUpdate, Target::Path),
            request: Some(schema::<TemplatePatch>),
            response: schema::<Changed<TemplateView>>,
            handler: handler!(templates::update),
            ..documented(Method::PATCH, "/templates/{id}", &docs::templates::UPDATE)
        },
        Endpoint {
            signs: Signs::Body(Kind::TemplateVariations, Target::Path),
            request: Some(schema::<VariationsBody>),
            status: 201,
            response: schema::<VariationsMade>,
            handler: handler!(templates::add_variations),
            ..documented(
                Method::POST,
                "/templates/{id}/variations",
                &docs::templates::CREATE_VARIATIONS,
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<VariationView>>,
            handler: handler!(templates::list_variations),
            ..documented(
                Method::GET,
                "/templates/{id}/variations",
                &docs::templates::LIST_VARIATIONS,
            )
        },
    ]
}
