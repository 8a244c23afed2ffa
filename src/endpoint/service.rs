//! The rows of the service itself.

use hyper::Method;

use super::Auth::Public;
use super::LimitClass::Free;
use super::table::{documented, handler};
use super::{Endpoint, docs, schema};
use crate::routes::{reference, service};

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::DomainView>,
            etag: true,
            handler: handler!(service::domain),
            ..documented(
                Method::GET,
                "/.well-known/eip712-domain.json",
                &docs::service::DOMAIN,
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::KeysView>,
            etag: true,
            handler: handler!(service::keys),
            ..documented(Method::GET, "/.well-known/jwks.json", &docs::service::KEYS)
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::HealthView>,
            handler: handler!(service::health),
            ..documented(Method::GET, "/healthz", &docs::service::HEALTH)
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::ReadyView>,
            handler: handler!(service::ready),
            ..documented(Method::GET, "/readyz", &docs::service::READY)
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<service::VersionView>,
            handler: handler!(service::version),
            ..documented(Method::GET, "/version", &docs::service::VERSION)
        },
        Endpoint {
            auth: Public,
            limit: Free,
            response: schema::<serde_json::Map<String, serde_json::Value>>,
            etag: true,
            handler: handler!(service::document),
            ..documented(Method::GET, "/openapi.json", &docs::service::DOCUMENT)
        },
        Endpoint {
            auth: Public,
            limit: Free,
            media_type: reference::PAGE_TYPE,
            etag: true,
            response: schema::<String>,
            handler: handler!(reference::page),
            ..documented(Method::GET, "/docs", &docs::service::REFERENCE)
        },
        Endpoint {
            auth: Public,
            limit: Free,
            media_type: reference::STYLE_TYPE,
            etag: true,
            response: schema::<String>,
            handler: handler!(reference::style),
            ..documented(
                Method::GET,
                "/docs/reference.css",
                &docs::service::REFERENCE_STYLE,
            )
        },
        Endpoint {
            auth: Public,
            limit: Free,
            media_type: reference::SCRIPT_TYPE,
            etag: true,
            response: schema::<String>,
            handler: handler!(reference::script),
            ..documented(
                Method::GET,
                "/docs/reference.js",
                &docs::service::REFERENCE_SCRIPT,
            )
        },
    ]
}
