//! The rows.

use std::sync::LazyLock;

use hyper::Method;
use kedge_protocol::resource::Area;

use super::Auth::{Bearer, Public};
use super::LimitClass::{ActionBatches, Free, Lists, Tier};
use super::{
    Endpoint, Parameter, Signs, accounts, objects, schema, templates, transfers, webhooks,
};
use crate::auth::rights::{Access, Right};
use crate::events::filter;
use crate::listing::LIST;
use crate::routes::{
    actions, anchors, batches, bus, events, organizations, preview, service, wallets,
};
use crate::signing::registration::RegisterBody;
use crate::views::Page;
use crate::views::action::{ActionView, BatchAction, BatchAnswer};
use crate::views::event::{EventText, EventView};
use crate::views::log::{AnchorView, BatchView, CheckpointView, ConsistencyView, LeavesView};
use crate::views::preview::PreviewAnswer;
use crate::views::resources::{Changed, OwnWallet};
use crate::views::schema::ProofFile;

/// A parameter of every read of the log.
pub const MIN_SEQUENCE: Parameter = Parameter {
    name: "min_sequence",
    schema_type: "integer",
    description: "Waits up to 5 s until the answer reflects this sequence.",
};

/// The media type of most answers.
pub(super) const JSON: &str = "application/json";
/// The media type of streams of events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Events have an area of their own beside the bus on which they stand.
const READS_EVENTS: Option<Right> = Some(Right {
    area: Area::Events,
    access: Access::Read,
});

macro_rules! handler {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}
pub(super) use handler;

/// A row with what most rows share.
pub(super) fn row(
    method: Method,
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
) -> Endpoint {
    Endpoint {
        method,
        path,
        tag,
        summary,
        auth: Bearer,
        right: None,
        signs: Signs::Nothing,
        limit: Tier,
        query: &[],
        request: None,
        status: 200,
        media_type: JSON,
        response: schema::<()>,
        handler: handler!(service::health),
    }
}

/// Every route.
pub static TABLE: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let mut table = rows();
    table.extend(accounts::rows());
    table.extend(templates::rows());
    table.extend(objects::rows());
    table.extend(transfers::rows());
    table.extend(webhooks::rows());
    table
});

fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            signs: Signs::Registration,
            request: Some(schema::<RegisterBody>),
            status: 201,
            response: schema::<Changed<wallets::LoggedIn>>,
            handler: handler!(wallets::register),
            ..row(
                Method::POST,
                "/wallets/register",
                "Accounts",
                "Register a wallet, and its organization",
            )
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::LoginBody>),
            response: schema::<wallets::LoggedIn>,
            handler: handler!(wallets::login),
            ..row(Method::POST, "/wallets/login", "Accounts", "Log in")
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::RefreshBody>),
            response: schema::<wallets::LoggedIn>,
            handler: handler!(wallets::refresh),
            ..row(
                Method::POST,
                "/wallets/token/refresh",
                "Accounts",
                "Exchange a refresh token for new tokens",
            )
        },
        Endpoint {
            response: schema::<OwnWallet>,
            handler: handler!(wallets::me),
            ..row(
                Method::GET,
                "/wallets/me",
                "Accounts",
                "Read the caller's wallet",
            )
        },
        Endpoint {
            response: schema::<organizations::OwnOrganization>,
            handler: handler!(organizations::me),
            ..row(
                Method::GET,
                "/organizations/me",
                "Accounts",
                "Read the caller's organization: its tier, its limits and what is used of them",
            )
        },
        Endpoint {
            signs: Signs::Action,
            request: Some(schema::<bus::ActionBody>),
            status: 201,
            response: schema::<ActionView<'static>>,
            handler: handler!(bus::submit),
            ..row(
                Method::POST,
                "/ebus/actions",
                "Action bus",
                "Submit one action",
            )
        },
        Endpoint {
            signs: Signs::Batch,
            limit: ActionBatches,
            request: Some(schema::<bus::BatchBody>),
            response: schema::<BatchAnswer<'static>>,
            handler: handler!(bus::submit_batch),
            ..row(
                Method::POST,
                "/ebus/actions/batch",
                "Action bus",
                "Submit up to 500 actions under one signature",
            )
        },
        Endpoint {
            right: Some(Right {
                area: Area::Actions,
                access: Access::Create,
            }),
            request: Some(schema::<preview::PreviewRequest>),
            response: schema::<PreviewAnswer<'static>>,
            handler: handler!(preview::preview),
            ..row(
                Method::POST,
                "/ebus/actions/preview",
                "Action bus",
                "Tell what actions would do, and what to sign for them",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<ActionView<'static>>>,
            handler: handler!(actions::list),
            ..row(
                Method::GET,
                "/ebus/actions",
                "Action bus",
                "List the organization's actions",
            )
        },
        Endpoint {
            response: schema::<ActionView<'static>>,
            handler: handler!(actions::get),
            ..row(
                Method::GET,
                "/ebus/actions/{id}",
                "Action bus",
                "Read an action, by id or sequence",
            )
        },
        Endpoint {
            query: &[actions::FORM],
            response: schema::<ProofFile>,
            handler: handler!(actions::proof),
            ..row(
                Method::GET,
                "/ebus/actions/{id}/proof",
                "Action bus",
                "Get an action's proof file",
            )
        },
        Endpoint {
            right: READS_EVENTS,
            query: &[LIST, filter::FILTERS, events::BEFORE],
            response: schema::<Page<EventView>>,
            handler: handler!(events::list),
            ..row(Method::GET, "/ebus/events", "Action bus", "List events")
        },
        Endpoint {
            right: READS_EVENTS,
            query: &[filter::FILTERS, events::RESUME],
            media_type: EVENT_STREAM,
            response: schema::<EventText>,
            handler: handler!(events::stream),
            ..row(
                Method::GET,
                "/ebus/events/stream",
                "Action bus",
                "Follow events as they happen (server-sent events)",
            )
        },
        Endpoint {
            auth: Public,
            limit: Lists,
            query: &[LIST],
            response: schema::<Page<BatchView>>,
            handler: handler!(batches::list),
            ..row(Method::GET, "/batches", "Log", "List batches")
        },
        Endpoint {
            auth: Public,
            response: schema::<BatchView>,
            handler: handler!(batches::get),
            ..row(
                Method::GET,
                "/batches/{id}",
                "Log",
                "Read a batch, by id or number",
            )
        },
        Endpoint {
            auth: Public,
            response: schema::<LeavesView>,
            handler: handler!(batches::leaves),
            ..row(
                Method::GET,
                "/batches/{id}/leaves",
                "Log",
                "Read a batch's leaves",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<BatchAction>>,
            handler: handler!(batches::actions),
            ..row(
                Method::GET,
                "/batches/{id}/actions",
                "Log",
                "List a batch's actions; others' as leaves alone",
            )
        },
        Endpoint {
            auth: Public,
            query: &[LIST],
            response: schema::<Page<AnchorView>>,
            handler: handler!(anchors::list),
            ..row(Method::GET, "/anchors", "Log", "List anchors")
        },
        Endpoint {
            auth: Public,
            response: schema::<AnchorView>,
            handler: handler!(anchors::get),
            ..row(
                Method::GET,
                "/anchors/{id}",
                "Log",
                "Read an anchor, by id or number",
            )
        },
        Endpoint {
            auth: Public,
            response: schema::<CheckpointView>,
            handler: handler!(anchors::checkpoint),
            ..row(
                Method::GET,
                "/checkpoint",
                "Log",
                "Read the newest signed head",
            )
        },
        Endpoint {
            auth: Public,
            query: &[anchors::SIZES],
            response: schema::<ConsistencyView>,
            handler: handler!(anchors::consistency),
            ..row(
                Method::GET,
                "/consistency",
                "Log",
                "Get the proof that the log of one size extends another",
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::DomainView>,
            handler: handler!(service::domain),
            ..row(
                Method::GET,
                "/.well-known/eip712-domain.json",
                "Service",
                "Read the domain of every signature",
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::KeysView>,
            handler: handler!(service::keys),
            ..row(
                Method::GET,
                "/.well-known/jwks.json",
                "Service",
                "Read the public keys of access tokens",
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::HealthView>,
            handler: handler!(service::health),
            ..row(
                Method::GET,
                "/healthz",
                "Service",
                "Tell that the process answers",
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::ReadyView>,
            handler: handler!(service::ready),
            ..row(
                Method::GET,
                "/readyz",
                "Service",
                "Tell whether the server takes changes; 503 if not",
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::VersionView>,
            handler: handler!(service::version),
            ..row(Method::GET, "/version", "Service", "Tell what runs")
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<serde_json::Map<String, serde_json::Value>>,
            handler: handler!(service::document),
            ..row(
                Method::GET,
                "/openapi.json",
                "Service",
                "Read this document",
            )
        },
    ]
}
