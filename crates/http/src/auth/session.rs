//! Refresh tokens: 32 random bytes, stored as a hash, for one use each. A second use ends all tokens of the login,
//! because one of the two users stole the token.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_actors::Engine;
use kedge_config::secrets;
use kedge_protocol::Code;
use kedge_protocol::Id;
use kedge_protocol::hash::{keccak, sha256};
use kedge_storage::{SessionRow, SideWrite};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;

use super::bearer::AccessTokens;
use super::pending_writes::PendingSessions;
use crate::clock::now_s;
use crate::error::{ApiError, ApiResult};

/// The answer to a login, a registration and a refresh.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tokens")]
pub struct TokensView {
    /// Shown with each request: `Authorization: Bearer <access_token>`.
    pub access_token: String,
    /// Exchanged for new tokens, once.
    pub refresh_token: String,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// Seconds that the access token is good for.
    pub expires_in: u64,
}

pub struct RefreshSessions {
    lifetime_s: u64,
    /// Hashes of the tokens being exchanged: two exchanges of one token must not both find it unused.
    exchanging: Mutex<HashSet<[u8; 32]>>,
    /// Writes kept in memory while the store accepts none.
    unstored: PendingSessions,
}

/// Claim on a token being exchanged, released on drop.
struct TokenExchange<'a> {
    sessions: &'a RefreshSessions,
    hash: [u8; 32],
}

impl Drop for TokenExchange<'_> {
    fn drop(&mut self) {
        self.sessions.exchanging().remove(&self.hash);
    }
}

/// Random bytes of a family; the rest identifies the login's password.
const FAMILY_RANDOM_BYTES: usize = 8;

/// Identifies the password of a login within a family. Setting a password makes a new salt, so the commit of the new
/// hash invalidates all earlier families.
fn password_mark(phc: &str) -> [u8; 8] {
    let hash = keccak(phc.as_bytes());
    std::array::from_fn(|i| hash.0[i])
}

fn family_of(phc: &str) -> Result<[u8; 16], secrets::SecretError> {
    let mut family: [u8; 16] = secrets::random()?;
    family[FAMILY_RANDOM_BYTES..].copy_from_slice(&password_mark(phc));
    Ok(family)
}

fn invalid(message: &'static str) -> ApiError {
    ApiError::new(Code::CredentialsInvalid, message)
}

impl RefreshSessions {
    /// Tokens are valid for `lifetime_s`.
    pub fn new(lifetime_s: u64) -> Self {
        Self {
            lifetime_s,
            exchanging: Mutex::new(HashSet::new()),
            unstored: PendingSessions::default(),
        }
    }

    fn exchanging(&self) -> parking_lot::MutexGuard<'_, HashSet<[u8; 32]>> {
        self.exchanging.lock()
    }

    /// Tokens of a new login with the password of this hash.
    pub async fn begin(
        &self,
        engine: &Engine,
        access: &AccessTokens,
        (wallet_id, organization_id): (Id, Id),
        phc: &str,
    ) -> ApiResult<TokensView> {
        let family = family_of(phc).map_err(|error| ApiError::internal(&error))?;
        let (tokens, write) = self.issue(access, wallet_id, organization_id, family)?;
        self.unstored.write(engine, vec![write]).await?;
        Ok(tokens)
    }

    /// Ends the login of a refresh token; an unknown token is ignored.
    pub async fn end(&self, engine: &Engine, refresh_token: &str) -> ApiResult<()> {
        let token_hash = sha256(refresh_token.as_bytes()).0;
        let published = engine.published();
        if let Some(row) = self.unstored.session(&published.snapshot, token_hash)? {
            let family = row.family;
            let until_s = now_s() + self.lifetime_s;
            let ended = SideWrite::RevokeFamily { family, until_s };
            self.unstored.write(engine, vec![ended]).await?;
        }
        Ok(())
    }

    /// New tokens, and the writes to be stored before they are sent.
    fn issue(
        &self,
        access: &AccessTokens,
        wallet_id: Id,
        organization_id: Id,
        family: [u8; 16],
    ) -> ApiResult<(TokensView, SideWrite)> {
        let token: [u8; 32] = secrets::random().map_err(|error| ApiError::internal(&error))?;
        let refresh_token = URL_SAFE_NO_PAD.encode(token);
        let now_s = now_s();
        let write = SideWrite::Session {
            token_hash: sha256(refresh_token.as_bytes()).0,
            row: SessionRow {
                wallet_id,
                family,
                expires_at_s: now_s + self.lifetime_s,
                used: false,
            },
        };
        let access_token = access
            .issue(wallet_id, organization_id, now_s)
            .map_err(|error| ApiError::internal(&error))?;
        let tokens = TokensView {
            access_token,
            refresh_token,
            token_type: "Bearer",
            expires_in: access.lifetime_s(),
        };
        Ok((tokens, write))
    }

    /// Exchanges a refresh token; returns the wallet with the new tokens.
    pub async fn refresh(
        &self,
        engine: &Engine,
        access: &AccessTokens,
        refresh_token: &str,
    ) -> ApiResult<(Id, TokensView)> {
        let token_hash = sha256(refresh_token.as_bytes()).0;
        // The lock is released first, because dropping the claim takes it again. Only the exchange that made the claim
        // drops it.
        let fresh = self.exchanging().insert(token_hash);
        let exchange = fresh.then(|| TokenExchange {
            sessions: self,
            hash: token_hash,
        });
        let snapshot = &engine.published().snapshot;
        let row = self
            .unstored
            .session(snapshot, token_hash)?
            .ok_or_else(|| invalid("the refresh token is not known; log in again"))?;
        if row.used || exchange.is_none() {
            let family = row.family;
            // All outstanding tokens of the login expire by then.
            let until_s = now_s() + self.lifetime_s;
            let ended = SideWrite::RevokeFamily { family, until_s };
            self.unstored.write(engine, vec![ended]).await?;
            return Err(invalid(
                "the refresh token was used before, so all tokens of its login were revoked; log in again",
            ));
        }
        if self.unstored.is_ended(snapshot, row.family)? {
            return Err(invalid(
                "the tokens of this login were revoked; log in again",
            ));
        }
        if row.expires_at_s <= now_s() {
            let message = "the refresh token has expired; log in again";
            return Err(ApiError::new(Code::TokenExpired, message));
        }
        let wallet = snapshot
            .wallet(row.wallet_id)
            .map_err(|error| ApiError::internal(&error))?
            .filter(|wallet| !wallet.is_removed())
            .ok_or_else(|| invalid("the wallet was removed from its organization"))?;
        let phc = snapshot
            .password_hash(wallet.id)
            .map_err(|error| ApiError::internal(&error))?;
        if phc.is_none_or(|phc| row.family[FAMILY_RANDOM_BYTES..] != password_mark(&phc)) {
            return Err(invalid(
                "the password was changed since this login; log in again",
            ));
        }
        let used = SideWrite::Session {
            token_hash,
            row: SessionRow { used: true, ..row },
        };
        let (tokens, fresh) = self.issue(access, wallet.id, wallet.organization_id, row.family)?;
        self.unstored.write(engine, vec![used, fresh]).await?;
        Ok((wallet.id, tokens))
    }
}
