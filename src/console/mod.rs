//! The web console (`dashboards/console`) under `/console`, from the program itself. Its files are embedded as Vite and
//! `vite.config.ts` wrote them, compressed forms included. A program that was built without them answers 404 and says
//! how to get them. The console calls the API like any other client, so nothing of it is in the table of endpoints.
//!
//! Also what the operator's commands come over: `socket`, and `operator`, the page.

pub mod operator;
pub mod socket;

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_SECURITY_POLICY, HeaderName};
use hyper::{HeaderMap, Method};
use kedge_http::error::ApiError;
use kedge_http::fixed::Fixed;
use kedge_http::reply::Reply;
use kedge_protocol::Code;
use rust_embed::Embed;

/// What `npm run build` wrote; nothing, if it did not run before this program was compiled.
#[derive(Embed)]
#[folder = "dashboards/console/dist"]
#[allow_missing = true]
struct Built;

/// The path of the console.
pub const PATH: &str = "/console";

/// The page, which knows the names of all other files.
const PAGE: &str = "index.html";

/// Compressed forms: the ending of the file, and the coding, the best one first.
const FORMS: [(&str, &str); 2] = [("br", "br"), ("gz", "gzip")];

/// Media types by ending. Files with other endings are not served.
const MEDIA_TYPES: [(&str, &str); 4] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
];

/// Scripts and styles come from this server alone, inline ones do not run, and nothing frames the page, changes its base or
/// is sent by its forms. `connect-src` is wider: "Check it yourself" asks an Ethereum node of the user's choice, which
/// nobody can list here. It must speak TLS, or be on the user's own machine. The check itself runs in a worker.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; worker-src 'self'; \
    connect-src 'self' https: http://127.0.0.1:* http://localhost:*; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The page is asked for each time, and answered with a 304 while it is the same.
const REVALIDATED: &str = "no-cache";
/// Files under `assets/` have a hash of their content in their names.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Whether a path is the console's.
pub fn covers(path: &str) -> bool {
    path.strip_prefix(PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a server that has started prints about its console.
pub fn announcement(is_on: bool, url: &str) -> String {
    announced(is_on, Built::get(PAGE).is_some(), url)
}

fn announced(is_on: bool, is_built: bool, url: &str) -> String {
    match (is_on, is_built) {
        (true, true) => format!("{url}{PATH}"),
        (true, false) => "without console: the program was built without node".to_owned(),
        (false, _) => "without console: it is switched off".to_owned(),
    }
}

/// The console's files, ready to be sent.
pub struct Console {
    is_on: bool,
    files: BTreeMap<String, Fixed>,
}

fn bytes_of(name: &str) -> Option<Bytes> {
    Built::get(name).map(|file| match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    })
}

fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let found = MEDIA_TYPES.iter().find(|(known, _)| *known == ending);
    found.map(|(_, media_type)| *media_type)
}

impl Console {
    /// The console as it was built; one that is not `is_on` is not served.
    pub fn new(is_on: bool) -> Self {
        let named = Built::iter().filter_map(|name| Some((media_type(&name)?, name)));
        let file = |(media_type, name): (_, Cow<'_, str>)| {
            let forms = FORMS.into_iter().filter_map(|(ending, coding)| {
                Some((coding, bytes_of(&format!("{name}.{ending}"))?))
            });
            let fixed = Fixed::with_forms(media_type, bytes_of(&name)?, forms);
            Some((name.into_owned(), fixed))
        };
        Self {
            is_on,
            files: named.filter_map(file).collect(),
        }
    }

    /// The answer to a request for a path that it covers.
    pub fn answer(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        sequence: u64,
    ) -> Result<Reply, ApiError> {
        if !self.is_on {
            return Err(ApiError::no_path(path));
        }
        if !self.files.contains_key(PAGE) {
            let message = "this program was built without the console: install Node.js 20.19 or newer, then build \
                 it with `make run`";
            return Err(ApiError::new(Code::ResourceNotFound, message));
        }
        let name = path.strip_prefix(PATH).unwrap_or_default();
        let name = match name.trim_start_matches('/') {
            "" => PAGE,
            name => name,
        };
        let file = self.files.get(name);
        let file = file.ok_or_else(|| ApiError::no_path(path))?;
        if method != Method::GET && method != Method::HEAD {
            let message = format!("{method} is not for {path}; allowed: GET, HEAD");
            return Err(ApiError::new(Code::MethodNotAllowed, message)
                .with_header(ALLOW, "GET, HEAD".to_owned()));
        }
        let is_hashed = name.starts_with("assets/");
        let cache = if is_hashed { IMMUTABLE } else { REVALIDATED };
        Ok(file
            .reply(headers, sequence, cache)
            .with(CONTENT_SECURITY_POLICY, POLICY)
            .with(OPENER_POLICY, "same-origin"))
    }
}

#[cfg(test)]
mod tests;
