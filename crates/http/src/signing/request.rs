//! The signed texts of a request, by kind of endpoint.

use kedge_actors::api::Principal;
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_rules::json;
use serde::Deserialize;

use super::bus::{self, JsonString};
use super::{
    SignedActionText, SignedTexts, SigningScheme, TargetSource, file, registration, wallet,
};
use crate::auth::CallerSession;
use crate::auth::code::InvitationCodes;
use crate::body;
use crate::error::{ApiError, ApiResult};

#[derive(Deserialize)]
struct MintTarget<'a> {
    #[serde(borrow)]
    template_id: Option<JsonString<'a>>,
}

/// Context that determines the signed texts besides the body.
pub struct SigningContext<'a> {
    pub session: Option<CallerSession>,
    pub path_id: &'a str,
    pub invitations: &'a InvitationCodes,
}

impl SigningContext<'_> {
    fn session(&self) -> ApiResult<CallerSession> {
        self.session
            .ok_or_else(|| ApiError::new(Code::Unauthenticated, "this endpoint needs credentials"))
    }

    /// The principal for whom the engine checks the signer: the token's wallet or, for an API key alone, any wallet of
    /// the organization.
    fn asker(&self, signs: &SigningScheme) -> ApiResult<Principal> {
        if *signs == SigningScheme::Registration {
            return Ok(Principal::Registration);
        }
        let CallerSession {
            organization_id,
            wallet_id,
            ..
        } = self.session()?;
        Ok(match wallet_id {
            Some(wallet_id) => Principal::Wallet {
                wallet_id,
                organization_id,
            },
            None => Principal::Organization { organization_id },
        })
    }
}

/// Reads the signed texts and their principal. Moves the text out of `body`, unless it holds a secret and is not itself
/// signed.
pub fn read(
    signs: &SigningScheme,
    circumstances: &SigningContext<'_>,
    body: &mut body::BodyText,
) -> ApiResult<Option<(Principal, SignedTexts)>> {
    let signed = texts(signs, circumstances, body)?;
    let asker = |signed| Ok((circumstances.asker(signs)?, signed));
    signed.map(asker).transpose()
}

/// Like [`read`], without the principal.
pub fn texts(
    signs: &SigningScheme,
    circumstances: &SigningContext<'_>,
    body: &mut body::BodyText,
) -> ApiResult<Option<SignedTexts>> {
    let signed = match signs {
        SigningScheme::Nothing => return Ok(None),
        SigningScheme::Registration => {
            registration::read(&body.text, circumstances.invitations)?.into()
        }
        SigningScheme::WalletUpdate => {
            let target = circumstances.session()?.wallet()?.to_string();
            wallet::read(body, &target)?.into()
        }
        SigningScheme::Body(kind, target) => {
            let text = std::mem::take(&mut body.text);
            body::check(&text)?;
            resource(kind, *target, circumstances, text)?.into()
        }
        SigningScheme::NoBody(kind, target) => {
            resource(kind, *target, circumstances, String::new())?.into()
        }
        SigningScheme::PathMember(kind, target, member) => {
            let path = circumstances.path_id;
            if !member.fits(path) {
                return Err(ApiError::not_found(member.resource(), path));
            }
            let text = format!(r#"{{"{}":"{path}"}}"#, member.name());
            resource(kind, *target, circumstances, text)?.into()
        }
        SigningScheme::File => {
            let upload = body.upload.as_deref();
            let upload = upload.ok_or_else(|| ApiError::internal(&"an upload without its file"))?;
            file::read(upload)?.into()
        }
        SigningScheme::Action => bus::single(std::mem::take(&mut body.text))?,
        SigningScheme::Batch => bus::batch(std::mem::take(&mut body.text))?,
    };
    Ok(Some(signed))
}

/// One action whose payload is the whole text.
fn resource(
    kind: &Kind,
    target: TargetSource,
    circumstances: &SigningContext<'_>,
    text: String,
) -> ApiResult<(String, SignedActionText)> {
    let target_text = match target {
        TargetSource::Empty => String::new(),
        TargetSource::Path => circumstances.path_id.to_owned(),
        TargetSource::Wallet => circumstances.session()?.wallet()?.to_string(),
        TargetSource::Organization => circumstances.session()?.organization_id.to_string(),
        TargetSource::TemplateMember => {
            let target: MintTarget<'_> = json::read_accepted(&text)?;
            let value = target
                .template_id
                .ok_or_else(|| ApiError::field("/template_id", "required", "is required"))?;
            value.0.into_owned()
        }
    };
    Ok(action(kind, &target_text, text))
}

/// An action whose payload is the text so far; the target is appended to it.
pub(super) fn action(kind: &Kind, target: &str, mut text: String) -> (String, SignedActionText) {
    let payload = 0..text.len();
    text.push_str(target);
    let action = SignedActionText {
        kind: kind.clone(),
        target: payload.end..text.len(),
        payload,
        disclosed: None,
    };
    (text, action)
}
