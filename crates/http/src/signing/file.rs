//! Signed texts of an upload: the digest of its bytes, and its name.

use kedge_protocol::action::Kind;
use kedge_protocol::payload::digest_text;

use crate::error::{ApiError, ApiResult};
use crate::files::FileUpload;

use super::SignedActionText;

/// The text and action of an upload: digest and description of the received bytes.
pub(super) fn read(upload: &FileUpload) -> ApiResult<(String, SignedActionText)> {
    let mut text = digest_text(&upload.stored.sha256);
    let payload = 0..text.len();
    text.push_str(&upload.name);
    let target = payload.end..text.len();
    let disclosed = serde_json::to_string(&upload.stored);
    text.push_str(&disclosed.map_err(|error| ApiError::internal(&error))?);
    let action = SignedActionText {
        kind: Kind::FileCreate,
        disclosed: Some(target.end..text.len()),
        target,
        payload,
    };
    Ok((text, action))
}

/// Adds the received name and digest to an error, in case something else was signed.
pub(super) fn explain(error: ApiError, name: &str, digest: &str) -> ApiError {
    let message = format!(
        "{}; the file that arrived is named {name:?} and its bytes have the digest {digest}",
        error.message
    );
    ApiError {
        message: message.into(),
        ..error
    }
}
