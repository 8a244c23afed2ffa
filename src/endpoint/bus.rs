//! The rows of the action bus and of events.

use hyper::Method;
use kedge_api::Page;
use kedge_api::action::{ActionView, BatchAnswer};
use kedge_api::bodies::{ActionBody, BatchBody, PreviewRequest};
use kedge_api::event::{EventText, EventView};
use kedge_api::preview::PreviewAnswer;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::events::filter;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::resource::Area;

use super::LimitClass::ActionBatches;
use super::row::{answer, get, handler, signed, unsigned};
use super::{EVENT_STREAM, Endpoint, Signs, docs, schema};
use crate::listing::LIST;
use crate::routes::{actions, bus, events, preview};

/// The rows.
pub(super) fn rows() -> impl Iterator<Item = Endpoint> {
    actions().into_iter().chain(events())
}

/// Submitting actions, and reading them.
fn actions() -> Vec<Endpoint> {
    vec![
        Endpoint {
            request: Some(schema::<ActionBody>),
            status: 201,
            response: schema::<ActionView<'static>>,
            ..signed(
                Method::POST,
                "/ebus/actions",
                &docs::bus::SUBMIT,
                Signs::Action,
                answer!(bus::single),
            )
        },
        Endpoint {
            limit: ActionBatches,
            request: Some(schema::<BatchBody>),
            response: schema::<BatchAnswer<'static>>,
            ..signed(
                Method::POST,
                "/ebus/actions/batch",
                &docs::bus::SUBMIT_BATCH,
                Signs::Batch,
                answer!(bus::batch),
            )
        },
        Endpoint {
            right: Some(Right {
                area: Area::Actions,
                access: Access::Create,
            }),
            request: Some(schema::<PreviewRequest>),
            response: schema::<PreviewAnswer<'static>>,
            ..unsigned(
                Method::POST,
                "/ebus/actions/preview",
                &docs::bus::PREVIEW,
                handler!(preview::preview),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<ActionView<'static>>>,
            ..get("/ebus/actions", &docs::bus::LIST, handler!(actions::list))
        },
        Endpoint {
            response: schema::<ActionView<'static>>,
            etag: true,
            ..get(
                "/ebus/actions/{id}",
                &docs::bus::GET,
                handler!(actions::get),
            )
        },
        Endpoint {
            query: &[actions::FORM],
            response: schema::<ProofFile>,
            etag: true,
            ..get(
                "/ebus/actions/{id}/proof",
                &docs::bus::PROOF,
                handler!(actions::proof),
            )
        },
    ]
}

/// Events.
fn events() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: &[LIST, filter::FILTERS, events::BEFORE],
            response: schema::<Page<EventView>>,
            ..get("/ebus/events", &docs::events::LIST, handler!(events::list))
        },
        Endpoint {
            query: &[filter::FILTERS, events::RESUME],
            media_type: EVENT_STREAM,
            response: schema::<EventText>,
            ..get(
                "/ebus/events/stream",
                &docs::events::STREAM,
                handler!(events::stream),
            )
        },
    ]
}
