//! Access tokens: JWTs (RFC 7519) signed with Ed25519. Checked tokens are cached by their SHA-256, since a signature
//! check on every request would cost more than a read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, Header, Validation};
use kedge_actors::PublishedState;
use kedge_config::secrets::{self, SecretError};
use kedge_protocol::Code;
use kedge_protocol::hash::sha256;
use kedge_protocol::{Hash, Id, Prefix};
use kedge_storage::StoreSnapshot;
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};

use super::code::is_key;
use super::keys::{KeysError, TokenKeys};
use crate::error::{ApiError, ApiResult};

/// The tokens' `aud` claim.
const AUDIENCE: &str = "kedge";
/// Our tokens are far shorter; longer ones are refused unread.
const TOKEN_BYTES_MAX: usize = 2_048;

#[derive(Serialize, Deserialize)]
struct TokenClaims {
    iss: String,
    aud: String,
    sub: Id,
    org: Id,
    iat: u64,
    exp: u64,
    jti: String,
}

/// Bearer according to a token. Wallets never change their organization, so the token names both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenHolder {
    pub wallet_id: Id,
    pub organization_id: Id,
    /// Unix seconds.
    pub expires_at_s: u64,
}

pub struct AccessTokens {
    dir: PathBuf,
    issuer: String,
    lifetime_s: u64,
    cache_entries: usize,
    in_use: ArcSwap<TokenVerifier>,
    /// Wallets known to be members of their organizations, with the sequence of that read.
    members: Cache<Id, u64>,
}

/// The keys, and the tokens checked with them. Both are replaced together, so a check that began with a key retired
/// meanwhile is cached in the discarded set.
struct TokenVerifier {
    keys: TokenKeys,
    checked: Cache<Hash, TokenHolder>,
}

impl TokenVerifier {
    fn load(dir: &Path, cache_entries: usize) -> Result<Self, KeysError> {
        Ok(Self {
            keys: TokenKeys::load(dir)?,
            checked: Cache::new(cache_entries),
        })
    }
}

impl AccessTokens {
    /// Reads the keys of `dir`, which must exist.
    pub fn open(
        dir: PathBuf,
        issuer: String,
        lifetime_s: u64,
        cache_entries: usize,
    ) -> Result<Self, KeysError> {
        Ok(Self {
            in_use: ArcSwap::from_pointee(TokenVerifier::load(&dir, cache_entries)?),
            cache_entries,
            members: Cache::new(cache_entries),
            dir,
            issuer,
            lifetime_s,
        })
    }

    /// Reads the keys again: added keys are published and sign when their time has come, removed keys lose their
    /// validity.
    pub fn reload(&self) -> Result<(), KeysError> {
        let in_use = TokenVerifier::load(&self.dir, self.cache_entries)?;
        self.in_use.store(Arc::new(in_use));
        Ok(())
    }

    /// Retires the key with this id, or all keys: tokens they signed become invalid. Returns the retired ids.
    pub fn retire(&self, id: Option<&str>) -> Result<Vec<String>, KeysError> {
        let retired = super::keys::retire(&self.dir, id);
        // Needed even if only some of them were removed.
        self.reload()?;
        retired
    }

    /// Makes a key, published now and signing from `from_s` on (Unix seconds).
    pub fn rotate(&self, from_s: u64) -> Result<PathBuf, KeysError> {
        let path = super::keys::add(&self.dir, from_s)?;
        self.reload()?;
        Ok(path)
    }

    pub fn public_keys(&self) -> JwkSet {
        self.in_use.load().keys.public.clone()
    }

    pub fn lifetime_s(&self) -> u64 {
        self.lifetime_s
    }

    pub fn issue(
        &self,
        wallet_id: Id,
        organization_id: Id,
        now_s: u64,
    ) -> Result<String, IssueError> {
        let in_use = self.in_use.load();
        let signing = in_use.keys.signing_at(now_s).ok_or(IssueError::NoKey)?;
        let claims = TokenClaims {
            iss: self.issuer.clone(),
            aud: AUDIENCE.to_owned(),
            sub: wallet_id,
            org: organization_id,
            iat: now_s,
            exp: now_s + self.lifetime_s,
            jti: const_hex::encode(secrets::random::<16>()?),
        };
        let header = Header {
            kid: Some(signing.id.clone()),
            ..Header::new(Algorithm::EdDSA)
        };
        Ok(jsonwebtoken::encode(&header, &claims, &signing.key)?)
    }

    /// Checks the `Authorization` header.
    pub fn authenticate(&self, headers: &HeaderMap, now_s: u64) -> ApiResult<TokenHolder> {
        let value = headers.get(AUTHORIZATION).ok_or_else(|| {
            unauthenticated("this endpoint needs a token: Authorization: Bearer <access_token>")
        })?;
        let token = value
            .to_str()
            .ok()
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or_else(|| unauthenticated("Authorization must be: Bearer <access_token>"))?;
        self.holder(token, now_s)
    }

    /// [`Self::authenticate`], for a wallet that has not been removed from its organization since. The store is read
    /// once for each wallet, and again after any wallet's removal.
    pub fn authenticate_member(
        &self,
        headers: &HeaderMap,
        published: &PublishedState,
        now_s: u64,
    ) -> ApiResult<TokenHolder> {
        let holder = self.authenticate(headers, now_s)?;
        let id = holder.wallet_id;
        let known = self.members.get(&id);
        if known.is_none_or(|sequence| sequence < published.keys_changed_at) {
            if is_removed(&published.snapshot, id)? {
                self.members.remove(&id);
                return Err(unauthenticated(
                    "the token's wallet was removed from its organization",
                ));
            }
            self.members.insert(id, published.head.sequence);
        }
        Ok(holder)
    }

    fn holder(&self, token: &str, now_s: u64) -> ApiResult<TokenHolder> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(unauthenticated(
                "the access token was not issued by this service",
            ));
        }
        let hash = sha256(token.as_bytes());
        let in_use = self.in_use.load();
        if let Some(holder) = in_use.checked.get(&hash) {
            if holder.expires_at_s > now_s {
                return Ok(holder);
            }
            in_use.checked.remove(&hash);
            return Err(expired());
        }
        let holder = self.check(&in_use.keys, token, now_s)?;
        in_use.checked.insert(hash, holder);
        Ok(holder)
    }

    fn check(&self, keys: &TokenKeys, token: &str, now_s: u64) -> ApiResult<TokenHolder> {
        if is_key(token) {
            return Err(unauthenticated(
                "this is an API key, not an access token: send it as x-api-key: <key>",
            ));
        }
        let foreign = || unauthenticated("the access token was not issued by this service");
        let header = jsonwebtoken::decode_header(token).map_err(|_| foreign())?;
        let key = header.kid.and_then(|id| keys.verifying.get(&id));
        let key = key.ok_or_else(foreign)?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_audience(&[AUDIENCE]);
        validation.set_issuer(&[&self.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.leeway = 0;
        // The library would use the system's clock, which may be wrong; expiry is checked below.
        validation.validate_exp = false;
        let claims = jsonwebtoken::decode::<TokenClaims>(token, key, &validation)
            .map_err(|_| foreign())?
            .claims;
        if claims.sub.prefix != Prefix::Wallet || claims.org.prefix != Prefix::Organization {
            return Err(foreign());
        }
        if claims.exp <= now_s {
            return Err(expired());
        }
        Ok(TokenHolder {
            wallet_id: claims.sub,
            organization_id: claims.org,
            expires_at_s: claims.exp,
        })
    }
}

pub fn is_removed(snapshot: &StoreSnapshot, wallet: Id) -> ApiResult<bool> {
    let wallet = snapshot.wallet(wallet)?;
    Ok(wallet.is_none_or(|wallet| wallet.is_removed()))
}

fn unauthenticated(message: &'static str) -> ApiError {
    ApiError::new(Code::Unauthenticated, message)
}

/// Error of an expired token (RFC 6750, 3.1).
fn expired() -> ApiError {
    ApiError::new(
        Code::TokenExpired,
        "the access token has expired; get a new one at POST /wallets/token/refresh",
    )
    .with_header(
        WWW_AUTHENTICATE,
        "Bearer error=\"invalid_token\"".to_owned(),
    )
}

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// No key signs at this time.
    #[error("there is no token key to sign with")]
    NoKey,
    #[error(transparent)]
    Random(#[from] SecretError),
    #[error("an access token: {0}")]
    Jwt(#[from] jsonwebtoken::errors::Error),
}

#[cfg(test)]
mod tests {
    use crate::auth::keys::SIGNS_AFTER_S;
    use crate::clock::now_s;
    use hyper::header::HeaderValue;

    use super::*;

    fn id(prefix: Prefix) -> Id {
        Id {
            prefix,
            bytes: [3; 16],
        }
    }

    fn headers(token: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        headers.insert(AUTHORIZATION, value);
        headers
    }

    fn open(dir: &tempfile::TempDir, issuer: &str) -> AccessTokens {
        AccessTokens::open(dir.path().to_owned(), issuer.to_owned(), 900, 10).unwrap()
    }

    #[test]
    fn tokens_are_good_until_they_end() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = open(&dir, "https://a");
        let now = now_s();
        let token = tokens
            .issue(id(Prefix::Wallet), id(Prefix::Organization), now)
            .unwrap();
        for _ in 0..2 {
            let holder = tokens.authenticate(&headers(&token), now).unwrap();
            assert_eq!(holder.wallet_id, id(Prefix::Wallet));
        }
        let late = tokens
            .authenticate(&headers(&token), now + 900)
            .unwrap_err();
        assert_eq!(late.code, Code::TokenExpired);
        let old = tokens
            .issue(id(Prefix::Wallet), id(Prefix::Organization), now - 901)
            .unwrap();
        let late = tokens.authenticate(&headers(&old), now).unwrap_err();
        assert_eq!(late.code, Code::TokenExpired);
    }

    #[test]
    fn foreign_tokens_are_refused() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let tokens = open(&dir, "https://a");
        let now = now_s();
        let issue = |tokens: &AccessTokens| {
            tokens
                .issue(id(Prefix::Wallet), id(Prefix::Organization), now)
                .unwrap()
        };
        let good = issue(&tokens);
        let mut changed = good.clone().into_bytes();
        let middle = good.find('.').unwrap() + 20;
        changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
        let bad = [
            issue(&open(&other, "https://a")),
            issue(&open(&dir, "https://b")),
            String::from_utf8(changed).unwrap(),
            "eyJhbGciOiJub25lIn0.e30.".to_owned(),
            String::new(),
        ];
        for token in bad {
            let error = tokens.authenticate(&headers(&token), now).unwrap_err();
            assert_eq!(error.code, Code::Unauthenticated, "{token}");
        }
        assert_eq!(
            tokens
                .authenticate(&HeaderMap::new(), now)
                .unwrap_err()
                .code,
            Code::Unauthenticated
        );
    }

    #[test]
    fn a_new_key_signs_and_the_old_one_still_counts() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = open(&dir, "https://a");
        let now = now_s();
        let old = tokens
            .issue(id(Prefix::Wallet), id(Prefix::Organization), now)
            .unwrap();
        tokens.rotate(0).unwrap();
        let new = tokens
            .issue(id(Prefix::Wallet), id(Prefix::Organization), now)
            .unwrap();
        let kid = |token: &str| jsonwebtoken::decode_header(token).unwrap().kid;
        assert_ne!(kid(&old), kid(&new));
        assert_eq!(tokens.public_keys().keys.len(), 2);
        for token in [old, new] {
            assert!(tokens.authenticate(&headers(&token), now).is_ok());
        }
    }

    // Holds invariant 229.
    #[test]
    fn a_key_is_published_before_it_signs() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = open(&dir, "https://a");
        let now = now_s();
        let kid = |tokens: &AccessTokens, at| {
            let token = tokens.issue(id(Prefix::Wallet), id(Prefix::Organization), at);
            jsonwebtoken::decode_header(token.unwrap())
                .unwrap()
                .kid
                .unwrap()
        };
        let old = kid(&tokens, now);
        let begins = now + SIGNS_AFTER_S;
        tokens.rotate(begins).unwrap();
        assert_eq!(tokens.public_keys().keys.len(), 2);
        // A restart, or another node with the same files, uses the same time.
        for tokens in [&tokens, &open(&dir, "https://a")] {
            assert_eq!(kid(tokens, now), old);
            assert_eq!(kid(tokens, begins - 1), old);
            assert_ne!(kid(tokens, begins), old);
        }
        // A key needed before its time signs early.
        tokens.retire(Some(&old)).unwrap();
        assert_ne!(kid(&tokens, now), old);
        assert_eq!(tokens.public_keys().keys.len(), 1);
    }

    // Holds invariant 92.
    #[test]
    fn what_a_retired_key_signed_counts_no_longer() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = open(&dir, "https://a");
        let now = now_s();
        let issue = || {
            tokens
                .issue(id(Prefix::Wallet), id(Prefix::Organization), now)
                .unwrap()
        };
        let kid = |token: &str| jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
        let counts = |token: &str| tokens.authenticate(&headers(token), now).is_ok();
        let old = issue();
        tokens.rotate(0).unwrap();
        let new = issue();
        // Both are cached as valid.
        assert!(counts(&old) && counts(&new));
        let (stolen, other) = (kid(&old), kid(&new));
        let retired = tokens.retire(Some(&stolen)).unwrap();
        assert_eq!(retired, std::slice::from_ref(&stolen));
        assert!(!counts(&old) && counts(&new));
        let error = tokens.retire(Some(&stolen)).unwrap_err().to_string();
        assert!(error.contains(&stolen), "{error}");

        // Without an id, all keys are retired and a new one signs.
        assert_eq!(tokens.retire(None).unwrap(), [other]);
        assert!(!counts(&new) && counts(&issue()));
        assert_eq!(tokens.public_keys().keys.len(), 1);
        // After a restart the keys are the same.
        let again = open(&dir, "https://a");
        assert!(again.authenticate(&headers(&new), now).is_err());
        assert!(again.authenticate(&headers(&issue()), now).is_ok());
    }
}
