//! Redirects of v2 paths to their v3 successors. They are answered before the table of endpoints, count on the
//! address's limit, and touch nothing else. Renames are by path; the successor decides about the method. Errors have
//! v2's form. Only plain path segments are redirected, so no redirect leaves the server.

use hyper::header::{ALLOW, HeaderName, HeaderValue, LINK, LOCATION};
use hyper::{Method, StatusCode, Uri};
use kedge_config::{Config, V2Mode, is_plain_segment};
use kedge_protocol::Code;
use serde_json::json;

use crate::error::{ApiError, ApiResult};
use crate::metric_definitions::V2_REQUESTS;
use crate::reply::{DEPRECATED_SINCE, DEPRECATION, HttpReply, successor_link};

const PREFIX: &str = "/v2";
/// `Sunset` (RFC 8594): the announced end of v2 paths.
const SUNSET: &str = "Tue, 30 Jun 2026 23:59:59 GMT";
/// The same in Unix seconds.
const SUNSET_S: u64 = 1_782_863_999;
const SUNSET_HEADER: HeaderName = HeaderName::from_static("sunset");

pub struct LegacyLayer {
    mode: V2Mode,
    /// Path segment of objects in v2.
    legacy_segment: String,
}

/// The parts of v2 that have successors.
pub const AREAS: [&str; 4] = ["user", "objects", "templates", "activity"];

#[derive(PartialEq, Eq, Debug)]
struct SuccessorPath {
    path: String,
    /// The part of v2, one of [`AREAS`]: a label of the metrics.
    area: &'static str,
    /// Text about what the path alone does not express.
    hint: &'static str,
}

impl SuccessorPath {
    fn new(area: &'static str, path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            area,
            hint: "",
        }
    }
}

/// The rest of a v2 path after `/v2`.
fn after_prefix(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path is one of v2, known or not.
pub fn covers(path: &str) -> bool {
    after_prefix(path).is_some()
}

fn joined(area: &str, segments: &[&str]) -> String {
    segments
        .iter()
        .fold(area.to_owned(), |path, segment| path + "/" + segment)
}

impl LegacyLayer {
    pub fn new(config: &Config) -> Self {
        Self {
            mode: config.v2_mode,
            legacy_segment: config.v2_legacy_segment.clone(),
        }
    }

    /// A warning for the operator at the start if v2 has outlived its date.
    pub fn overdue(&self, now_s: u64) -> Option<String> {
        let stands = self.mode != V2Mode::Off && now_s > SUNSET_S;
        stands.then(|| {
            format!(
                "the v2 layer was announced to end on {SUNSET} and is due for removal; when \
                 {V2_REQUESTS} stops growing, set v2_mode = \"off\""
            )
        })
    }

    /// Answers a request whose path [`covers`] recognizes.
    pub fn answer(&self, method: &Method, uri: &Uri, sequence: u64) -> ApiResult<HttpReply> {
        let path = uri.path();
        let missing = || ApiError::no_path(path);
        if self.mode == V2Mode::Off {
            return Err(missing());
        }
        let rest = after_prefix(path).ok_or_else(missing)?;
        let segments: Vec<&str> = rest.split('/').skip(1).collect();
        if !segments.iter().all(|segment| is_plain_segment(segment)) {
            return Err(ApiError::new(
                Code::ValidationError,
                "the path holds an empty or dot segment, or a character that v2 paths never have",
            ));
        }
        let successor = self.successor(&segments).ok_or_else(missing)?;
        if successor.area == "activity" && !matches!(*method, Method::GET | Method::HEAD) {
            let message = format!("{method} is not for {path}; allowed: GET, HEAD");
            return Err(ApiError::new(Code::MethodNotAllowed, message)
                .with_header(ALLOW, "GET, HEAD".to_owned()));
        }
        metrics::counter!(V2_REQUESTS, "area" => successor.area).increment(1);
        match self.mode {
            V2Mode::Redirect => redirect(method, uri, &successor, sequence),
            _ => Err(gone(method, &successor)),
        }
    }

    /// The renames of the v3 announcement. A listed path takes precedence over its area.
    fn successor(&self, segments: &[&str]) -> Option<SuccessorPath> {
        match segments {
            ["user", "profile"] => Some(SuccessorPath::new("user", "/wallets/me")),
            ["user", rest @ ..] if !rest.is_empty() => {
                Some(SuccessorPath::new("user", joined("/wallets", rest)))
            }
            ["activity"] => Some(SuccessorPath::new("activity", "/ebus/events")),
            ["templates", rest @ ..] => {
                Some(SuccessorPath::new("templates", joined("/templates", rest)))
            }
            [first, rest @ ..] if *first == self.legacy_segment => match rest {
                [_, "actions"] => Some(SuccessorPath {
                    hint: "; the object's id goes into the body, as object_id",
                    ..SuccessorPath::new("objects", "/ebus/actions")
                }),
                _ => Some(SuccessorPath::new("objects", joined("/objects", rest))),
            },
            _ => None,
        }
    }
}

fn redirect(
    method: &Method,
    uri: &Uri,
    successor: &SuccessorPath,
    sequence: u64,
) -> ApiResult<HttpReply> {
    let SuccessorPath { path, hint, .. } = successor;
    let mut location = path.clone();
    if let Some(query) = uri.query() {
        location.push('?');
        location.push_str(query);
    }
    let location = HeaderValue::from_bytes(location.as_bytes()).map_err(|_| {
        ApiError::new(
            Code::ValidationError,
            "the query holds a byte that a header cannot carry; percent-encode it",
        )
    })?;
    let message = format!("moved to {method} {path}{hint}");
    let status = StatusCode::MOVED_PERMANENTLY;
    let mut reply = HttpReply::json(status, sequence, &json!({ "message": message }))?
        .deprecated(path)
        .with(SUNSET_HEADER, SUNSET);
    reply.headers.insert(LOCATION, location);
    Ok(reply)
}

fn gone(method: &Method, successor: &SuccessorPath) -> ApiError {
    let SuccessorPath { path, hint, .. } = successor;
    let message = format!("v2 is gone; use {method} {path}{hint}");
    ApiError::new(Code::Gone, message)
        .with_header(DEPRECATION, DEPRECATED_SINCE.to_owned())
        .with_header(SUNSET_HEADER, SUNSET.to_owned())
        .with_header(LINK, successor_link(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(mode: V2Mode) -> LegacyLayer {
        LegacyLayer {
            mode,
            legacy_segment: "cards".to_owned(),
        }
    }

    fn location(path: &str) -> Result<String, Code> {
        let uri = Uri::try_from(path).unwrap();
        let reply = layer(V2Mode::Redirect).answer(&Method::GET, &uri, 0);
        let reply = reply.map_err(|error| error.code)?;
        Ok(reply.headers[LOCATION].to_str().unwrap().to_owned())
    }

    #[test]
    fn renames_and_areas() {
        let cases = [
            ("/v2/user/profile", "/wallets/me"),
            ("/v2/user/profile/", ""),
            ("/v2/user/profile/x", "/wallets/profile/x"),
            ("/v2/user/token/refresh", "/wallets/token/refresh"),
            ("/v2/cards", "/objects"),
            (
                "/v2/cards?limit=2&cursor=a%2Fb+c",
                "/objects?limit=2&cursor=a%2Fb+c",
            ),
            ("/v2/cards?", "/objects?"),
            ("/v2/cards/obj_1", "/objects/obj_1"),
            ("/v2/cards/obj_1/actions", "/ebus/actions"),
            ("/v2/cards/obj_1/transfer", "/objects/obj_1/transfer"),
            ("/v2/cards/actions", "/objects/actions"),
            (
                "/v2/templates/tpl_1/variations",
                "/templates/tpl_1/variations",
            ),
            ("/v2/activity", "/ebus/events"),
            ("/v2/activity/1", ""),
            ("/v2/assets/obj_1", ""),
            ("/v2/user", ""),
            ("/v2/", ""),
            ("/v2", ""),
        ];
        for (path, expected) in cases {
            let found = location(path).unwrap_or_default();
            assert_eq!(found, expected, "{path}");
        }
    }

    // Holds invariant 35.
    #[test]
    fn nothing_leads_off_the_server() {
        for path in [
            "/v2//evil.example",
            "/v2/cards//evil.example",
            "/v2/cards/%2F%2Fevil.example",
            "/v2/cards/..",
            "/v2/cards/../../evil",
            "/v2/cards/%2e%2e/x",
            "/v2/cards/./x",
            "/v2/cards/@evil.example",
            "/v2/cards/a:b",
            "/v2/cards/",
        ] {
            assert_eq!(location(path), Err(Code::ValidationError), "{path}");
        }
        assert!(!covers("/v2x/cards") && !covers("//v2/cards") && covers("/v2"));
    }

    #[test]
    fn an_operator_hears_of_the_date() {
        for (mode, now_s, reported) in [
            (V2Mode::Redirect, SUNSET_S, false),
            (V2Mode::Redirect, SUNSET_S + 1, true),
            (V2Mode::Gone, SUNSET_S + 1, true),
            (V2Mode::Off, SUNSET_S + 1, false),
        ] {
            assert_eq!(
                layer(mode).overdue(now_s).is_some(),
                reported,
                "{mode:?} {now_s}"
            );
        }
    }
}
