//! Authentication: passwords, access tokens, refresh tokens, API keys, invitations. Callers are identified by an access
//! token, an API key or both. A removed wallet's access tokens, and the API keys it made, are refused from the commit
//! on (`PublishedState::keys_changed_at`).

pub mod api_key;
pub mod bearer;
pub mod code;
mod hashing_queue;
pub mod key_uses;
pub mod keys;
pub mod one_time_secrets;
pub mod password;
mod pending_writes;
pub mod rights;
pub mod session;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use kedge_actors::PublishedState;
use kedge_protocol::Code;
use kedge_protocol::Id;
use kedge_protocol::event::EventType;

use crate::error::{ApiError, ApiResult};
use api_key::ApiKeys;
use bearer::AccessTokens;
use rights::{EndpointRight, READS_ACTIONS, Rights, reads_event};

/// A caller identified by an access token, an API key, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallerSession {
    pub organization_id: Id,
    /// The wallet; `None` for an API key alone.
    pub wallet_id: Option<Id>,
    pub key_id: Option<Id>,
    /// Rights of the API key. A token alone has all rights.
    pub rights: Option<Rights>,
    /// Expiry of the access token, Unix seconds. An API key alone is checked at each request.
    pub expires_at_s: Option<u64>,
}

impl CallerSession {
    pub fn wallet(&self) -> ApiResult<Id> {
        self.wallet_id.ok_or_else(|| {
            ApiError::new(
                Code::Forbidden,
                "this endpoint acts for one wallet, and an API key belongs to none: log in and send \
                 the access token, with the key or without it",
            )
        })
    }

    /// The caller as one id: the wallet, or the organization for an API key alone.
    pub fn subject(&self) -> Id {
        self.wallet_id.unwrap_or(self.organization_id)
    }

    /// The owner of a stored answer: the wallet or, without an access token, the API key.
    pub fn asker(&self) -> Id {
        self.wallet_id
            .or(self.key_id)
            .unwrap_or(self.organization_id)
    }

    /// Checks that the API key, if there is one, grants this right. With a token too, the key's narrower rights hold.
    pub fn check(&self, right: Option<EndpointRight>) -> ApiResult<()> {
        let Some(rights) = self.rights else {
            return Ok(());
        };
        let message = match right {
            Some(right) if rights.allow(right) => return Ok(()),
            Some(right) => format!(
                "the API key does not have the right {right}; make one whose permissions grant it"
            ),
            None => "this endpoint does not accept API keys; send only an access token".to_owned(),
        };
        Err(ApiError::new(Code::Forbidden, message))
    }

    /// Checks that the API key, if there is one, may read what events of these types show.
    pub fn check_events(&self, types: &[EventType]) -> ApiResult<()> {
        let Some(rights) = self.rights else {
            return Ok(());
        };
        let unseen = types.iter().filter(|event_type| !rights.see(**event_type));
        let mut missing: Vec<String> = unseen
            .filter_map(|event_type| reads_event(*event_type))
            .map(|right| right.to_string())
            .collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "events show what their actions contain, and the API key does not have {}, nor {READS_ACTIONS}; leave these \
             types out, or use a key with these rights",
            missing.join(", ")
        );
        Err(ApiError::new(Code::Forbidden, message))
    }

    /// Checks that the API key, if there is one, has all rights that the caller grants to another key or whose new
    /// secret it requests. Otherwise a key that may only make keys would be as good as one with every right.
    pub fn check_grant(&self, granted: Rights) -> ApiResult<()> {
        let Some(own) = self.rights else {
            return Ok(());
        };
        let beyond: Vec<String> = granted
            .without(own)
            .map(|right| right.to_string())
            .collect();
        if beyond.is_empty() {
            return Ok(());
        }
        let message = format!(
            "an API key grants only rights that it has, and this one does not have {}; leave them out, or send only \
             an access token",
            beyond.join(", ")
        );
        Err(ApiError::new(Code::Forbidden, message))
    }
}

/// Identifies the caller by these headers. A token and a key must be of the same organization.
pub fn authenticate(
    tokens: &AccessTokens,
    keys: &ApiKeys,
    published: &PublishedState,
    headers: &HeaderMap,
    now_s: u64,
) -> ApiResult<CallerSession> {
    let key = keys.authenticate(headers, published, now_s.saturating_mul(1_000))?;
    let token = headers
        .contains_key(AUTHORIZATION)
        .then(|| tokens.authenticate_member(headers, published, now_s))
        .transpose()?;
    let (key_id, rights) = (key.map(|key| key.id), key.map(|key| key.rights));
    match (token, key) {
        (Some(token), Some(key)) if token.organization_id != key.organization_id => {
            Err(ApiError::new(
                Code::Forbidden,
                "the access token and the API key belong to different organizations; send one of them",
            ))
        }
        (Some(token), _) => Ok(CallerSession {
            organization_id: token.organization_id,
            wallet_id: Some(token.wallet_id),
            key_id,
            rights,
            expires_at_s: Some(token.expires_at_s),
        }),
        (None, Some(key)) => Ok(CallerSession {
            organization_id: key.organization_id,
            wallet_id: None,
            key_id,
            rights,
            expires_at_s: None,
        }),
        (None, None) => Err(ApiError::new(
            Code::Unauthenticated,
            "this endpoint needs credentials: Authorization: Bearer <access_token>, or x-api-key: \
             <key>, or both",
        )),
    }
}
