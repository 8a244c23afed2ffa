//! The web console (`dashboards/console`) under `/console`, embedded in the program as Vite and `vite.config.ts` wrote
//! it, compressed forms included. A program built without it answers 404 and says how to get it. The console uses the
//! API like any other client, so the table of endpoints has nothing about it.
//!
//! Also the transports of operator commands: `socket`, and `operator`, a page.

pub mod operator;
pub mod socket;

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ALLOW, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, LOCATION, VARY,
};
use hyper::{HeaderMap, Method, StatusCode};
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::fixed_body::FixedBody;
use kedge_http::reply::HttpReply;
use kedge_protocol::Code;
use rust_embed::Embed;

/// Output of `npm run build`; empty if that did not run before compilation.
#[derive(Embed)]
#[folder = "dashboards/console/dist"]
#[allow_missing = true]
struct EmbeddedFiles;

pub const PATH: &str = "/console";

/// The page, which names all other files.
const PAGE: &str = "index.html";

/// Compressed forms, best first: file ending and coding.
const FORMS: [(&str, &str); 2] = [("br", "br"), ("gz", "gzip")];

/// Media types by file ending. Files with other endings are not served.
const MEDIA_TYPES: [(&str, &str); 4] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
];

/// Scripts and styles come from this server alone, inline ones do not run, and no site may frame the page, change its
/// base or receive its forms. `connect-src` is wider, because "Check it yourself" asks an Ethereum node of the user's
/// choice: over TLS, or on the user's own machine. The check itself runs in a worker.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; worker-src 'self'; \
    connect-src 'self' https: http://127.0.0.1:* http://localhost:*; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The page is revalidated each time, with a 304 while it is unchanged.
const REVALIDATED: &str = "no-cache";
/// Files under `assets/` have a content hash in their names.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

pub fn covers(path: &str) -> bool {
    path.strip_prefix(PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The line about the console that a started server prints.
pub fn announcement(is_on: bool, url: &str) -> String {
    announced(is_on, EmbeddedFiles::get(PAGE).is_some(), url)
}

fn announced(is_on: bool, is_built: bool, url: &str) -> String {
    match (is_on, is_built) {
        (true, true) => format!("{url}{PATH}"),
        (true, false) => "without console: the program was built without node".to_owned(),
        (false, _) => "without console: it is switched off".to_owned(),
    }
}

/// The console's files, prepared as answers.
pub struct ConsoleFiles {
    is_on: bool,
    files: BTreeMap<String, FixedBody>,
}

fn bytes_of(name: &str) -> Option<Bytes> {
    EmbeddedFiles::get(name).map(|file| match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    })
}

fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let found = MEDIA_TYPES.iter().find(|(known, _)| *known == ending);
    found.map(|(_, media_type)| *media_type)
}

impl ConsoleFiles {
    /// `is_on` false: nothing is served.
    pub fn new(is_on: bool) -> Self {
        let named = EmbeddedFiles::iter().filter_map(|name| Some((media_type(&name)?, name)));
        let file = |(media_type, name): (_, Cow<'_, str>)| {
            let forms = FORMS.into_iter().filter_map(|(ending, coding)| {
                Some((coding, bytes_of(&format!("{name}.{ending}"))?))
            });
            let fixed = FixedBody::with_forms(media_type, bytes_of(&name)?, forms);
            Some((name.into_owned(), fixed))
        };
        Self {
            is_on,
            files: named.filter_map(file).collect(),
        }
    }

    /// Leads a browser that opens the server's address to the console. Others learn that there is nothing.
    pub fn lead_in(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        sequence: u64,
    ) -> Option<HttpReply> {
        // Every request of the API comes by here.
        if path != "/" {
            return None;
        }
        let accepted = headers
            .get(ACCEPT)
            .and_then(|accepted| accepted.to_str().ok());
        let is_browser = accepted.is_some_and(|accepted| accepted.contains("text/html"));
        let is_here = self.is_on && self.files.contains_key(PAGE);
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        if !is_here || !is_browser || !is_read {
            return None;
        }
        let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
        let text = Bytes::from_static(b"The console is at /console.\n");
        let reply = HttpReply::bytes(StatusCode::SEE_OTHER, sequence, media_type, text);
        Some(reply.with(LOCATION, PATH).with(VARY, ACCEPT.as_str()))
    }

    /// Answers a request for a path under [`PATH`].
    pub fn answer(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        sequence: u64,
    ) -> ApiResult<HttpReply> {
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
