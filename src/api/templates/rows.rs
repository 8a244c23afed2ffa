//! Endpoints of templates and variations.

use hyper::Method;
use kedge_http::limits::LimitClass::{Lists, TemplateWrites};
use kedge_http::signing::{SigningScheme, TargetSource};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;
use kedge_protocol::{Code, Prefix};

use crate::api::EndpointRow;
use crate::api::committed_answer::ResourceChange;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::row::{IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, signed};
use crate::api::state::rows::PROVEN;
use crate::api::state::views::ProvablePage;
use crate::api::templates::bodies::{TemplateBody, TemplatePatch, VariationsBody};
use crate::api::templates::handlers;
use crate::api::templates::views::{TemplateView, VariationView, VariationsView};

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            limit: TemplateWrites,
            request: Some(schema::<TemplateBody>),
            status: 201,
            response: schema::<ResourceChange<TemplateView>>,
            ..signed(
                Method::POST,
                "/templates",
                &CREATE,
                SigningScheme::Body(Kind::TemplateCreate, TargetSource::Empty),
                answer!(handlers::created),
            )
        },
        EndpointRow {
            limit: Lists,
            query: &[listing::LIST, PROVEN],
            response: schema::<ProvablePage<TemplateView>>,
            etag: true,
            ..get("/templates", &LIST, handler!(handlers::list))
        },
        EndpointRow {
            query: &[PROVEN],
            response: schema::<TemplateView>,
            etag: true,
            ..get("/templates/{id}", &GET, handler!(handlers::get))
        },
        EndpointRow {
            request: Some(schema::<TemplatePatch>),
            response: schema::<ResourceChange<TemplateView>>,
            ..signed(
                Method::PATCH,
                "/templates/{id}",
                &UPDATE,
                SigningScheme::Body(Kind::TemplateUpdate, TargetSource::Path),
                answer!(handlers::updated),
            )
        },
        EndpointRow {
            request: Some(schema::<VariationsBody>),
            status: 201,
            response: schema::<VariationsView>,
            ..signed(
                Method::POST,
                "/templates/{id}/variations",
                &CREATE_VARIATIONS,
                SigningScheme::Body(Kind::TemplateVariations, TargetSource::Path),
                answer!(handlers::varied),
            )
        },
        EndpointRow {
            query: &[listing::LIST, PROVEN],
            response: schema::<ProvablePage<VariationView>>,
            ..get(
                "/templates/{id}/variations",
                &LIST_VARIATIONS,
                handler!(handlers::list_variations),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Templates",
    description: "What objects are made from.",
    area: Some(Area::Templates),
    ids: &[("/templates/", PathParameter::Id(Prefix::Template))],
};

const CREATE: EndpointDoc = EndpointDoc {
    id: "createTemplate",
    heading: &HEADING,
    summary: "Make a template",
    description: "Makes a template in the caller's organization, for its owners and admins. Objects \
        begin with the template's properties. `actions` sets who may do what with them, if the \
        default does not fit: owners act, issuers mint. Custom kinds begin with `x.`. `max_supply` \
        bounds how many are ever minted. The name is unique in the organization.",
    links: &[
        AnswerLink::with_id("getTemplate"),
        AnswerLink::with_id("createVariations"),
        AnswerLink::with_id("updateTemplate"),
        AnswerLink::with_id("listVariations"),
        AnswerLink::with_body("mintObject", r#"{"template_id": "$response.body#/id"}"#),
        AnswerLink::with_parameters("listObjects", &[("template_id", "$response.body#/id")]),
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listTemplates",
    heading: &HEADING,
    summary: "List the organization's templates",
    description: "The templates of the caller's organization, in the order of creation.",
    links: &[AnswerLink::with_first_id("getTemplate")],
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getTemplate",
    heading: &HEADING,
    summary: "Read a template",
    description: "A template of the caller's organization, or a public one. Templates rarely change: \
        keep the answer with its ETag and ask with `If-None-Match`.",
    links: &[
        AnswerLink::with_id("listVariations"),
        AnswerLink::with_body("mintObject", r#"{"template_id": "$response.body#/id"}"#),
    ],
    ..EndpointDoc::MISSING
};

const UPDATE: EndpointDoc = EndpointDoc {
    id: "updateTemplate",
    heading: &HEADING,
    summary: "Change a template",
    description: "Replaces the named members, each as a whole, for owners and admins of the template's \
        organization. A template with live objects cannot change: make a variation. When all of them are \
        burned it can be changed again, except for the places that its schema marks with `x-index`. Its \
        supply stays as it was created, and counts burned objects.",
    errors: &[Code::PreconditionFailed],
    request_headers: IF_MATCH,
    links: &[AnswerLink::with_id("getTemplate"), TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const CREATE_VARIATIONS: EndpointDoc = EndpointDoc {
    id: "createVariations",
    heading: &HEADING,
    summary: "Make variations, all or none",
    description: "Makes up to 500 variations of a template, all or none: a name, and properties \
        that are merged over the template's. One bare variation is accepted too.",
    links: &[
        AnswerLink::with_parameters("listVariations", &[("id", "$response.body#/template/id")]),
        AnswerLink::with_body(
            "mintObject",
            r#"{"template_id": "$response.body#/template/id", "variation_id": "$response.body#/items/0/id"}"#,
        ),
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const LIST_VARIATIONS: EndpointDoc = EndpointDoc {
    id: "listVariations",
    heading: &HEADING,
    summary: "List a template's variations",
    description: "A template's variations, in the order of creation.",
    errors: &[Code::ResourceNotFound],
    links: &[AnswerLink::with_body(
        "mintObject",
        r#"{"template_id": "$request.path.id", "variation_id": "$response.body#/items/0/id"}"#,
    )],
    ..EndpointDoc::MISSING
};
