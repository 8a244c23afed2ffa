//! Routing: from method and path to the row.

use std::collections::{BTreeMap, BTreeSet};

use hyper::header::ALLOW;
use hyper::{Method, StatusCode};
use kedge_http::body::{ACCEPT_PATCH, PATCH_TYPES};
use kedge_http::error::{ApiError, ApiResult};
use kedge_protocol::Code;

use crate::api::{EndpointRow, TABLE};

pub struct EndpointRouter {
    paths: matchit::Router<BTreeMap<&'static str, usize>>,
    /// The paths with a PATCH.
    patched: BTreeSet<&'static str>,
}

#[derive(Debug)]
pub struct RouteMatch {
    /// Its index in [`TABLE`].
    pub index: usize,
    /// `{id}` of the path.
    pub id: String,
    /// The second parameter, if the path has two.
    pub sub_id: String,
}

impl Default for EndpointRouter {
    fn default() -> Self {
        let mut methods: BTreeMap<&str, BTreeMap<&'static str, usize>> = BTreeMap::new();
        for (index, endpoint) in TABLE.iter().enumerate() {
            let of_path = methods.entry(endpoint.path).or_default();
            of_path.insert(endpoint.method.as_str(), index);
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in methods {
            paths
                .insert(path, methods)
                .expect("the table's paths do not overlap; a test builds the router");
        }
        let patches = TABLE.iter().filter(|row| row.method == Method::PATCH);
        Self {
            paths,
            patched: patches.map(|row| row.path).collect(),
        }
    }
}

impl EndpointRouter {
    /// The endpoint for a method and a path; HEAD matches like GET.
    pub fn find(&self, method: &Method, path: &str) -> ApiResult<RouteMatch> {
        let matched = self.paths.at(path).map_err(|_| ApiError::no_path(path))?;
        let wanted = if *method == Method::HEAD {
            "GET"
        } else {
            method.as_str()
        };
        if let Some(&index) = matched.value.get(wanted) {
            let mut parameters = matched.params.iter();
            let mut next = || parameters.next().map_or("", |(_, value)| value).to_owned();
            return Ok(RouteMatch {
                index,
                id: next(),
                sub_id: next(),
            });
        }
        let mut allowed: Vec<&str> = matched.value.keys().copied().collect();
        if allowed.contains(&"GET") {
            allowed.push("HEAD");
        }
        let takes_patch = allowed.contains(&"PATCH");
        let allowed = allowed.join(", ");
        let message = format!("{method} is not for {path}; allowed: {allowed}");
        let error = ApiError::new(Code::MethodNotAllowed, message).with_header(ALLOW, allowed);
        Err(if takes_patch {
            error.with_header(ACCEPT_PATCH, PATCH_TYPES.to_owned())
        } else {
            error
        })
    }

    /// Whether an answer of this status has `Accept-Patch` (RFC 5789, 3.1).
    pub fn states_patch(&self, endpoint: &EndpointRow, status: StatusCode) -> bool {
        match endpoint.method {
            Method::PATCH => status == StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Method::GET => {
                let is_read = status.is_success() || status == StatusCode::NOT_MODIFIED;
                is_read && self.patched.contains(endpoint.path)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_and_methods_told() {
        let router = EndpointRouter::default();
        let found = router.find(&Method::PATCH, "/objects/obj_1").unwrap();
        assert_eq!(TABLE[found.index].path, "/objects/{id}");
        assert_eq!(found.id, "obj_1");
        let path = "/webhooks/whk_1/deliveries/dlv_2/redeliver";
        let found = router.find(&Method::POST, path).unwrap();
        assert_eq!(
            (found.id.as_str(), found.sub_id.as_str()),
            ("whk_1", "dlv_2")
        );
        let head = router.find(&Method::HEAD, "/objects/obj_1").unwrap();
        assert_eq!(TABLE[head.index].method, Method::GET);
        let error = router.find(&Method::DELETE, "/objects/obj_1").unwrap_err();
        assert_eq!(error.code, Code::MethodNotAllowed);
        assert_eq!(error.headers[0].1, "GET, PATCH, HEAD");
        assert_eq!(error.headers[1].1, PATCH_TYPES);
        for path in ["/nothing", "/objects/", "/objects/a/b", ""] {
            let error = router.find(&Method::GET, path).unwrap_err();
            assert_eq!(error.code, Code::ResourceNotFound);
            assert!(error.message.starts_with("the API has no such path"));
        }
    }
}
