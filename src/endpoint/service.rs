//! The rows of the service itself.

use kedge_api::service::{DomainView, HealthView, ReadyView, VersionView};

use super::Auth::Public;
use super::LimitClass::Free;
use super::row::{get, handler};
use super::{Endpoint, docs, schema};
use crate::routes::{reference, service};

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<DomainView>,
            etag: true,
            ..get(
                "/.well-known/eip712-domain.json",
                &docs::service::DOMAIN,
                handler!(service::domain),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::KeysView>,
            etag: true,
            ..get(
                "/.well-known/jwks.json",
                &docs::service::KEYS,
                handler!(service::keys),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<HealthView>,
            ..get(
                "/healthz",
                &docs::service::HEALTH,
                handler!(service::health),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<ReadyView>,
            ..get("/readyz", &docs::service::READY, handler!(service::ready))
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<VersionView>,
            ..get(
                "/version",
                &docs::service::VERSION,
                handler!(service::version),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<serde_json::Map<String, serde_json::Value>>,
            etag: true,
            ..get(
                "/openapi.json",
                &docs::service::DOCUMENT,
                handler!(service::document),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            media_type: reference::PAGE_TYPE,
            etag: true,
            response: schema::<String>,
            ..get(
                "/docs",
                &docs::service::REFERENCE,
                handler!(reference::page),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            media_type: reference::STYLE_TYPE,
            etag: true,
            response: schema::<String>,
            ..get(
                "/docs/reference.css",
                &docs::service::REFERENCE_STYLE,
                handler!(reference::style),
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            media_type: reference::SCRIPT_TYPE,
            etag: true,
            response: schema::<String>,
            ..get(
                "/docs/reference.js",
                &docs::service::REFERENCE_SCRIPT,
                handler!(reference::script),
            )
        },
    ]
}
