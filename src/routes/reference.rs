//! The reference for people (`/docs`): a page with its style sheet and its script. The script shows the document by
//! creating elements, never markup, and loads nothing from anywhere else.

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue};
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;

use super::PUBLIC;
use crate::call::Call;

/// The page's media type.
pub const PAGE_TYPE: &str = "text/html; charset=utf-8";
/// The media type of the style sheet.
pub const STYLE_TYPE: &str = "text/css; charset=utf-8";
/// The media type of the script.
pub const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// Style, script and document come from this server, nothing comes from elsewhere, and nothing is
/// sent anywhere. The icon is embedded in the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

fn file(call: &Call, media_type: &'static str, text: &'static str) -> Reply {
    let sequence = call.published().head.sequence;
    let media_type = HeaderValue::from_static(media_type);
    Reply::bytes(StatusCode::OK, sequence, media_type, text.as_bytes())
        .with(CONTENT_SECURITY_POLICY, POLICY)
        .with(OPENER_POLICY, "same-origin")
        .etagged(&call.headers, PUBLIC)
}

/// `GET /docs`
pub async fn page(call: Call) -> Result<Reply, ApiError> {
    let text = include_str!("../reference/page.html");
    Ok(file(&call, PAGE_TYPE, text))
}

/// `GET /docs/reference.css`
pub async fn style(call: Call) -> Result<Reply, ApiError> {
    let text = include_str!("../reference/reference.css");
    Ok(file(&call, STYLE_TYPE, text))
}

/// `GET /docs/reference.js`
pub async fn script(call: Call) -> Result<Reply, ApiError> {
    let text = include_str!("../reference/reference.js");
    Ok(file(&call, SCRIPT_TYPE, text))
}
