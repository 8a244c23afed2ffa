//! The API reference (`/docs`): a page with its style sheet and script. The script renders the document by creating
//! elements, never markup, and loads nothing from elsewhere. It sends a request when the reader presses a button, to this
//! server, and only reads.

use std::sync::LazyLock;

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderName};
use kedge_http::error::ApiResult;
use kedge_http::fixed_body::FixedBody;
use kedge_http::reply::HttpReply;

use crate::api::call::HandlerCall;
use crate::api::row::PUBLIC;

pub const PAGE_TYPE: &str = "text/html; charset=utf-8";
pub const STYLE_TYPE: &str = "text/css; charset=utf-8";
pub const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// Style, script and document come from this server, and requests go to it alone. The icon is embedded in the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

static PAGE: LazyLock<FixedBody> =
    LazyLock::new(|| FixedBody::new(PAGE_TYPE, include_str!("reference/page.html")));
static STYLE: LazyLock<FixedBody> =
    LazyLock::new(|| FixedBody::new(STYLE_TYPE, include_str!("reference/reference.css")));
/// One script of several files, because each address is an operation of the document.
static SCRIPT: LazyLock<FixedBody> = LazyLock::new(|| {
    let files = concat!(
        include_str!("reference/document.js"),
        include_str!("reference/code.js"),
        include_str!("reference/snippets.js"),
        include_str!("reference/quickstart.js"),
        include_str!("reference/trial.js"),
        include_str!("reference/pages.js"),
    );
    FixedBody::new(SCRIPT_TYPE, files)
});

fn file(call: &HandlerCall, file: &FixedBody) -> HttpReply {
    let sequence = call.published().head.sequence;
    file.reply(&call.headers, sequence, PUBLIC)
        .with(CONTENT_SECURITY_POLICY, POLICY)
        .with(OPENER_POLICY, "same-origin")
}

/// `GET /docs`
pub async fn page(call: HandlerCall) -> ApiResult<HttpReply> {
    Ok(file(&call, &PAGE))
}

/// `GET /docs/reference.css`
pub async fn style(call: HandlerCall) -> ApiResult<HttpReply> {
    Ok(file(&call, &STYLE))
}

/// `GET /docs/reference.js`
pub async fn script(call: HandlerCall) -> ApiResult<HttpReply> {
    Ok(file(&call, &SCRIPT))
}
