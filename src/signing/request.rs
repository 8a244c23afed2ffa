//! What a request of each kind of endpoint signs.

use kedge_actors::api::Asker;
use kedge_protocol::action::Kind;
use serde::Deserialize;

use super::bus::{self, Text};
use super::{ActionText, Request, SignatureHeaders, file, registration};
use crate::auth::Session;
use crate::body::{self, Object};
use crate::endpoint::{Signs, Target};
use crate::error::{ApiError, Code};

#[derive(Deserialize)]
struct MintTarget<'a> {
    #[serde(borrow)]
    template_id: Option<Text<'a>>,
}

/// Reads what a request signs. The text is taken out of `body`, except that of a registration,
/// whose body is not what is signed.
pub fn read(
    signs: &Signs,
    headers: SignatureHeaders,
    session: Option<Session>,
    path_id: &str,
    body: &mut body::Text,
) -> Result<Option<Request>, ApiError> {
    let (text, actions, atomic) = match signs {
        Signs::Nothing => return Ok(None),
        Signs::Registration => {
            let (text, action) = registration::read(&body.text)?;
            (text, vec![action], false)
        }
        Signs::Body(kind, target) => {
            let text = std::mem::take(&mut body.text);
            let (text, action) = resource(kind, *target, path_id, text)?;
            (text, vec![action], false)
        }
        Signs::File => {
            let upload = body.upload.as_deref();
            let upload = upload.ok_or_else(|| ApiError::internal(&"an upload without its file"))?;
            let (text, action) = file::read(upload)?;
            (text, vec![action], false)
        }
        Signs::Action => {
            let read = bus::single(std::mem::take(&mut body.text))?;
            (read.text, read.actions, read.atomic)
        }
        Signs::Batch => {
            let read = bus::batch(std::mem::take(&mut body.text))?;
            (read.text, read.actions, read.atomic)
        }
    };
    let asker = match (signs, session) {
        (Signs::Registration, _) => Asker::Registration,
        (_, Some(session)) => Asker::Wallet {
            wallet_id: session.wallet_id,
            organization_id: session.organization_id,
        },
        (_, None) => {
            let message = "this endpoint needs an access token";
            return Err(ApiError::new(Code::Unauthenticated, message));
        }
    };
    Ok(Some(Request {
        asker,
        headers,
        text,
        actions,
        atomic,
    }))
}

/// One action whose payload is the whole body.
fn resource(
    kind: &Kind,
    target: Target,
    path_id: &str,
    mut text: String,
) -> Result<(String, ActionText), ApiError> {
    body::check(&text)?;
    let target_text = match target {
        Target::Empty => String::new(),
        Target::Path => path_id.to_owned(),
        Target::TemplateMember => {
            let Object(target): Object<MintTarget<'_>> =
                serde_json::from_str(&text).map_err(|error| body::of_serde(&text, &error))?;
            let value = target
                .template_id
                .ok_or_else(|| ApiError::field("/template_id", "required", "is required"))?;
            value.0.into_owned()
        }
    };
    let payload = 0..text.len();
    text.push_str(&target_text);
    let action = ActionText {
        kind: kind.clone(),
        target: payload.end..text.len(),
        payload,
        disclosed: None,
    };
    Ok((text, action))
}
