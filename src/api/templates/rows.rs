//! Endpoints of templates and variations.

use hyper::Method;
use kedge_http::limits::LimitClass::{Lists, TemplateWrites};
use kedge_http::signing::{Signs, Target};
use kedge_protocol::Code;
use kedge_protocol::action::Kind;

use crate::api::Endpoint;
use crate::api::committed_answer::Changed;
use crate::api::document::{Doc, Link};
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::listing::Page;
use crate::api::row::{IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, signed};
use crate::api::templates::bodies::{TemplateBody, TemplatePatch, VariationsBody};
use crate::api::templates::handlers;
use crate::api::templates::views::{TemplateView, VariationView, VariationsMade};

pub(in crate::api) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            limit: TemplateWrites,
            request: Some(schema::<TemplateBody>),
            status: 201,
            response: schema::<Changed<TemplateView>>,
            ..signed(
                Method::POST,
                "/templates",
                &CREATE,
                Signs::Body(Kind::TemplateCreate, Target::Empty),
                answer!(handlers::created),
            )
        },
        Endpoint {
            limit: Lists,
            query: &[listing::LIST],
            response: schema::<Page<TemplateView>>,
            etag: true,
            ..get("/templates", &LIST, handler!(handlers::list))
        },
        Endpoint {
            response: schema::<TemplateView>,
            etag: true,
            ..get("/templates/{id}", &GET, handler!(handlers::get))
        },
        Endpoint {
            request: Some(schema::<TemplatePatch>),
            response: schema::<Changed<TemplateView>>,
            ..signed(
                Method::PATCH,
                "/templates/{id}",
                &UPDATE,
                Signs::Body(Kind::TemplateUpdate, Target::Path),
                answer!(handlers::updated),
            )
        },
        Endpoint {
            request: Some(schema::<VariationsBody>),
            status: 201,
            response: schema::<VariationsMade>,
            ..signed(
                Method::POST,
                "/templates/{id}/variations",
                &CREATE_VARIATIONS,
                Signs::Body(Kind::TemplateVariations, Target::Path),
                answer!(handlers::varied),
            )
        },
        Endpoint {
            query: &[listing::LIST],
            response: schema::<Page<VariationView>>,
            ..get(
                "/templates/{id}/variations",
                &LIST_VARIATIONS,
                handler!(handlers::list_variations),
            )
        },
    ]
}

const TAG: &str = "Templates";

const CREATE: Doc = Doc {
    id: "createTemplate",
    tag: TAG,
    summary: "Make a template",
    description: "Makes a template in the caller's organization, for its owners and admins. Objects \
        begin with the template's properties. `actions` sets who may do what with them, if the \
        default does not fit: owners act, issuers mint. Custom kinds begin with `x.`. `max_supply` \
        bounds how many are ever minted. The name is unique in the organization.",
    links: &[
        Link::with_parameters("getTemplate", &[("id", "$response.body#/id")]),
        Link::with_parameters("createVariations", &[("id", "$response.body#/id")]),
        Link::with_parameters("updateTemplate", &[("id", "$response.body#/id")]),
        Link::with_parameters("listVariations", &[("id", "$response.body#/id")]),
        Link::with_body("mintObject", r#"{"template_id": "$response.body#/id"}"#),
        Link {
            to: "listObjects",
            parameters: &[("template_id", "$response.body#/id")],
            body: "",
        },
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const LIST: Doc = Doc {
    id: "listTemplates",
    tag: TAG,
    summary: "List the organization's templates",
    description: "The templates of the caller's organization, in the order of creation.",
    links: &[Link::with_parameters(
        "getTemplate",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

const GET: Doc = Doc {
    id: "getTemplate",
    tag: TAG,
    summary: "Read a template",
    description: "A template of the caller's organization, or a public one. Templates rarely change: \
        keep the answer with its ETag and ask with `If-None-Match`.",
    links: &[
        Link::with_parameters("listVariations", &[("id", "$response.body#/id")]),
        Link::with_body("mintObject", r#"{"template_id": "$response.body#/id"}"#),
    ],
    ..Doc::MISSING
};

const UPDATE: Doc = Doc {
    id: "updateTemplate",
    tag: TAG,
    summary: "Change a template",
    description: "Replaces the named members, each as a whole, for owners and admins of the template's \
        organization. A template with live objects cannot change: make a variation. When all of them are \
        burned it can be changed again, except for the places that its schema marks with `x-index`. Its \
        supply stays as it was created, and counts burned objects.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    links: &[
        Link::with_parameters("getTemplate", &[("id", "$response.body#/id")]),
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const CREATE_VARIATIONS: Doc = Doc {
    id: "createVariations",
    tag: TAG,
    summary: "Make variations, all or none",
    description: "Makes up to 500 variations of a template, all or none: a name, and properties \
        that are merged over the template's. One bare variation is accepted too.",
    links: &[
        Link::with_parameters("listVariations", &[("id", "$response.body#/template/id")]),
        Link::with_body(
            "mintObject",
            r#"{"template_id": "$response.body#/template/id", "variation_id": "$response.body#/items/0/id"}"#,
        ),
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const LIST_VARIATIONS: Doc = Doc {
    id: "listVariations",
    tag: TAG,
    summary: "List a template's variations",
    description: "A template's variations, in the order of creation.",
    errors: &[Code::ResourceNotFound],
    links: &[Link::with_body(
        "mintObject",
        r#"{"template_id": "$request.path.id", "variation_id": "$response.body#/items/0/id"}"#,
    )],
    ..Doc::MISSING
};
