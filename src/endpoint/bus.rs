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
use super::table::{EVENT_STREAM, documented, handler};
use super::{Endpoint, Signs, docs, schema};
use crate::listing::LIST;
use crate::routes::{actions, bus, events, preview};

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::Action,
            request: Some(schema::<ActionBody>),
            status: 201,
            response: schema::<ActionView<'static>>,
            handler: handler!(bus::submit),
            ..documented(Method::POST, "/ebus/actions", &docs::bus::SUBMIT)
        },
        Endpoint {
            signs: Signs::Batch,
            limit: ActionBatches,
            request: Some(schema::<BatchBody>),
            response: schema::<BatchAnswer<'static>>,
            handler: handler!(bus::submit_batch),
            ..documented(
                Method::POST,
                "/ebus/actions/batch",
                &docs::bus::SUBMIT_BATCH,
            )
        },
        Endpoint {
            right: Some(Right {
                area: Area::Actions,
                access: Access::Create,
            }),
            request: Some(schema::<PreviewRequest>),
            response: schema::<PreviewAnswer<'static>>,
            handler: handler!(preview::preview),
            ..documented(Method::POST, "/ebus/actions/preview", &docs::bus::PREVIEW)
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<ActionView<'static>>>,
            handler: handler!(actions::list),
            ..documented(Method::GET, "/ebus/actions", &docs::bus::LIST)
        },
        Endpoint {
            response: schema::<ActionView<'static>>,
            etag: true,
            handler: handler!(actions::get),
            ..documented(Method::GET, "/ebus/actions/{id}", &docs::bus::GET)
        },
        Endpoint {
            query: &[actions::FORM],
            response: schema::<ProofFile>,
            etag: true,
            handler: handler!(actions::proof),
            ..documented(Method::GET, "/ebus/actions/{id}/proof", &docs::bus::PROOF)
        },
        Endpoint {
            query: &[LIST, filter::FILTERS, events::BEFORE],
            response: schema::<Page<EventView>>,
            handler: handler!(events::list),
            ..documented(Method::GET, "/ebus/events", &docs::events::LIST)
        },
        Endpoint {
            query: &[filter::FILTERS, events::RESUME],
            media_type: EVENT_STREAM,
            response: schema::<EventText>,
            handler: handler!(events::stream),
            ..documented(Method::GET, "/ebus/events/stream", &docs::events::STREAM)
        },
    ]
}
