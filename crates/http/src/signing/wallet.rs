//! Signed texts of a wallet change. With a new password the body holds secrets: its digest is signed, the record keeps
//! the members that are not secret, and the body is dropped.

use kedge_protocol::action::Kind;
use kedge_protocol::hash::sha256;
use kedge_protocol::limits::{EMAIL_BYTES_MAX, PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};
use kedge_protocol::payload::digest_text;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::registration::BLIND_PATTERN;
use super::{SignedActionText, registration, request};
use crate::auth::password;
use crate::body;
use crate::error::{ApiError, ApiResult};
use crate::scalars::NameInput;

/// The body of `PATCH /wallets/me`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WalletBody {
    /// The new e-mail address for logging in.
    #[schemars(extend("format" = "email"), length(max = EMAIL_BYTES_MAX))]
    pub email: Option<String>,
    /// The new name to show; `null` removes it.
    #[schemars(with = "Option<NameInput>")]
    pub nickname: Option<String>,
    /// A new password: at least 15 characters, at most 1,024 bytes.
    #[schemars(length(min = PASSWORD_CHARS_MIN, max = PASSWORD_BYTES_MAX))]
    pub password: Option<String>,
    /// The current password; with `password`.
    pub current_password: Option<String>,
    /// Base64 of at least 16 random bytes; with `password`.
    #[schemars(regex(pattern = BLIND_PATTERN))]
    pub blind: Option<String>,
}

const SECRETS: [&str; 3] = ["password", "current_password", "blind"];

/// The text and action of a change of the wallet `target`. A body without secrets is moved out.
pub(super) fn read(
    body: &mut body::BodyText,
    target: &str,
) -> ApiResult<(String, SignedActionText)> {
    let patch: WalletBody = body::parse(&body.text)?;
    let mut members: Map<String, Value> = body::parse(&body.text)?;
    if !SECRETS.iter().any(|name| members.contains_key(*name)) {
        let text = std::mem::take(&mut body.text);
        return Ok(request::action(&Kind::WalletUpdate, target, text));
    }
    let required = |pointer: &str| ApiError::field(pointer, "required", "is required");
    let password = patch.password.ok_or_else(|| required("/password"))?;
    if patch.current_password.is_none() {
        return Err(required("/current_password"));
    }
    registration::check_blind(patch.blind.as_deref())?;
    password::check_length(&password)?;
    for name in SECRETS {
        members.remove(name);
    }
    let disclosed = Value::Object(members).to_string();
    let payload = digest_text(&sha256(body.text.as_bytes()));
    let (mut text, mut action) = request::action(&Kind::WalletUpdate, target, payload);
    let end = text.len();
    text.push_str(&disclosed);
    action.disclosed = Some(end..text.len());
    Ok((text, action))
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorDetail;

    use super::*;

    fn read_text(text: &str) -> ApiResult<(String, SignedActionText)> {
        let mut body = body::BodyText::default();
        body.text = text.to_owned();
        read(&mut body, "wal_1")
    }

    #[test]
    fn a_password_stays_out_of_what_is_signed_and_kept() {
        let raw = r#"{"nickname": null, "password": "a long enough secret",
            "current_password": "another of the secrets", "blind": "MDEyMzQ1Njc4OWFiY2RlZg=="}"#;
        let (text, action) = read_text(raw).unwrap();
        assert_eq!(&text[action.payload], digest_text(&sha256(raw.as_bytes())));
        assert_eq!(&text[action.target], "wal_1");
        assert_eq!(&text[action.disclosed.unwrap()], r#"{"nickname":null}"#);
        assert!(!text.contains("secret"));
    }

    #[test]
    fn a_body_without_secrets_is_signed_as_it_is() {
        let raw = r#"{ "nickname": "ann" }"#;
        let (text, action) = read_text(raw).unwrap();
        assert_eq!(&text[action.payload], raw);
        assert_eq!(action.disclosed, None);
    }

    #[test]
    fn secrets_come_together_or_not_at_all() {
        let cases = [
            (r#"{"blind": "MDEyMzQ1Njc4OWFiY2RlZg=="}"#, "/password"),
            (
                r#"{"password": "a long enough secret"}"#,
                "/current_password",
            ),
            (
                r#"{"password": "a long enough secret", "current_password": "x"}"#,
                "/blind",
            ),
            (
                r#"{"password": "short", "current_password": "x", "blind": "MDEyMzQ1Njc4OWFiY2RlZg=="}"#,
                "/password",
            ),
            (r#"{"role": "owner"}"#, "/role"),
        ];
        for (raw, pointer) in cases {
            let error = read_text(raw).unwrap_err();
            let ErrorDetail::Fields(fields) = &error.detail else {
                panic!("{error:?}")
            };
            assert_eq!(fields[0].pointer, pointer, "{raw}");
        }
    }
}
