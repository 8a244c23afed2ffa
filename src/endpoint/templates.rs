//! The rows of templates and their variations.

use hyper::Method;
use kedge_protocol::action::Kind;

use super::LimitClass::{Lists, TemplateWrites};
use super::table::{handler, row};
use super::{Endpoint, Signs, Target, schema};
use crate::listing::LIST;
use crate::routes::templates;
use crate::views::Page;
use crate::views::resources::{Changed, TemplateView, VariationView, VariationsMade};

pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::Body(Kind::TemplateCreate, Target::Empty),
            limit: TemplateWrites,
            request: Some(schema::<templates::TemplateBody>),
            status: 201,
            response: schema::<Changed<TemplateView>>,
            handler: handler!(templates::create),
            ..row(Method::POST, "/templates", "Templates", "Make a template")
        },
        Endpoint {
            limit: Lists,
            query: &[LIST],
            response: schema::<Page<TemplateView>>,
            handler: handler!(templates::list),
            ..row(
                Method::GET,
                "/templates",
                "Templates",
                "List the organization's templates",
            )
        },
        Endpoint {
            response: schema::<TemplateView>,
            handler: handler!(templates::get),
            ..row(
                Method::GET,
                "/templates/{id}",
                "Templates",
                "Read a template",
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::TemplateUpdate, Target::Path),
            request: Some(schema::<templates::TemplatePatch>),
            response: schema::<Changed<TemplateView>>,
            handler: handler!(templates::update),
            ..row(
                Method::PATCH,
                "/templates/{id}",
                "Templates",
                "Change a template of which nothing was minted",
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::TemplateVariations, Target::Path),
            request: Some(schema::<templates::VariationsBody>),
            status: 201,
            response: schema::<VariationsMade>,
            handler: handler!(templates::add_variations),
            ..row(
                Method::POST,
                "/templates/{id}/variations",
                "Templates",
                "Make variations, all or none",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<VariationView>>,
            handler: handler!(templates::list_variations),
            ..row(
                Method::GET,
                "/templates/{id}/variations",
                "Templates",
                "List a template's variations",
            )
        },
    ]
}
