//! The rows of templates and their variations.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::{TemplateBody, TemplatePatch, VariationsBody};
use kedge_api::resources::{Changed, TemplateView, VariationView, VariationsMade};
use kedge_protocol::action::Kind;

use super::LimitClass::{Lists, TemplateWrites};
use super::row::{answer, get, handler, signed};
use super::{Endpoint, Signs, Target, docs, schema};
use crate::listing::LIST;
use crate::routes::templates;

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            limit: TemplateWrites,
            request: Some(schema::<TemplateBody>),
            status: 201,
            response: schema::<Changed<TemplateView>>,
            ..signed(
                Method::POST,
                "/templates",
                &docs::templates::CREATE,
                Signs::Body(Kind::TemplateCreate, Target::Empty),
                answer!(templates::created),
            )
        },
        Endpoint {
            limit: Lists,
            query: &[LIST],
            response: schema::<Page<TemplateView>>,
            etag: true,
            ..get(
                "/templates",
                &docs::templates::LIST,
                handler!(templates::list),
            )
        },
        Endpoint {
            response: schema::<TemplateView>,
            etag: true,
            ..get(
                "/templates/{id}",
                &docs::templates::GET,
                handler!(templates::get),
            )
        },
        Endpoint {
            request: Some(schema::<TemplatePatch>),
            response: schema::<Changed<TemplateView>>,
            ..signed(
                Method::PATCH,
                "/templates/{id}",
                &docs::templates::UPDATE,
                Signs::Body(Kind::TemplateUpdate, Target::Path),
                answer!(templates::updated),
            )
        },
        Endpoint {
            request: Some(schema::<VariationsBody>),
            status: 201,
            response: schema::<VariationsMade>,
            ..signed(
                Method::POST,
                "/templates/{id}/variations",
                &docs::templates::CREATE_VARIATIONS,
                Signs::Body(Kind::TemplateVariations, Target::Path),
                answer!(templates::varied),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<VariationView>>,
            ..get(
                "/templates/{id}/variations",
                &docs::templates::LIST_VARIATIONS,
                handler!(templates::list_variations),
            )
        },
    ]
}
