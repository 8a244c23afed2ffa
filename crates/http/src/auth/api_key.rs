//! API keys: creation, and the check on every request that shows one.
//!
//! The result of a check is cached until an API key changes or a wallet is removed (`PublishedState::keys_changed_at`). Keys
//! change only by actions, so the cache is exact: a revoked key is refused from the commit on, and a busy key costs two
//! reads after such a commit instead of two a request.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyper::HeaderMap;
use kedge_actors::{Engine, PublishedState};
use kedge_config::secrets::SecretError;
use kedge_protocol::Code;
use kedge_protocol::hash::sha256;
use kedge_protocol::resource::ApiKey;
use kedge_protocol::{Hash, Id};
use kedge_storage::StoreSnapshot;
use quick_cache::sync::Cache;

use super::bearer::is_removed;
use super::code::{self, MacKey};
use super::key_uses::KeyUses;
use super::rights::Rights;
use crate::clock::now_s;
use crate::error::{ApiError, ApiResult};

/// Header of an API key.
pub const API_KEY: &str = "x-api-key";

/// What a key grants its bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyHolder {
    pub id: Id,
    pub organization_id: Id,
    pub rights: Rights,
}

/// A cached result of the check.
#[derive(Clone)]
struct VerifiedKey {
    holder: KeyHolder,
    /// Expiry of the key or of the shown secret: Unix milliseconds.
    ends_at_ms: Option<u64>,
    /// Sequence of the log at the time of the check.
    sequence: u64,
    /// Time of the last noted use.
    used_ms: Arc<AtomicU64>,
}

impl VerifiedKey {
    fn is_over(&self, now_ms: u64) -> bool {
        self.ends_at_ms.is_some_and(|end| end <= now_ms)
    }
}

pub struct ApiKeys {
    mac_key: MacKey,
    checked: Cache<Hash, VerifiedKey>,
    uses: KeyUses,
}

fn unauthenticated(message: &'static str) -> ApiError {
    ApiError::new(Code::Unauthenticated, message)
}

fn unknown() -> ApiError {
    unauthenticated("x-api-key: the key is unknown, was deleted, or was replaced by a new one")
}

/// A presented key, for uses that outlast a request.
pub struct PresentedKey {
    keys: Arc<ApiKeys>,
    text: String,
}

impl PresentedKey {
    /// The key in these headers, which was checked already.
    pub fn of(keys: &Arc<ApiKeys>, headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(API_KEY)?.to_str().ok()?.trim().to_owned();
        let keys = Arc::clone(keys);
        Some(Self { keys, text })
    }

    pub fn is_valid(&self, published: &PublishedState) -> bool {
        let now_ms = now_s().saturating_mul(1_000);
        self.keys.check(&self.text, published, now_ms).is_ok()
    }
}

impl ApiKeys {
    /// Secrets are hashed with `mac_key`; `cache_entries` bounds the cached checks.
    pub fn new(mac_key: [u8; 32], cache_entries: usize, engine: Engine) -> Self {
        Self {
            mac_key: MacKey::new(mac_key),
            checked: Cache::new(cache_entries),
            uses: KeyUses::start(engine),
        }
    }

    /// Makes a new secret: its text, which is shown once, and its stored form.
    pub fn issue(&self, id: Id) -> Result<(String, Vec<u8>), SecretError> {
        let text = code::new_key(id)?;
        let hash = self.mac_key.hash(text.as_bytes());
        Ok((text, hash.to_vec()))
    }

    /// Checks the `x-api-key` header; `None` if there is none.
    pub fn authenticate(
        &self,
        headers: &HeaderMap,
        published: &PublishedState,
        now_ms: u64,
    ) -> ApiResult<Option<KeyHolder>> {
        let mut values = headers.get_all(API_KEY).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(unauthenticated("x-api-key appears twice"));
        }
        let text = value.to_str().unwrap_or_default().trim();
        self.check(text, published, now_ms).map(Some)
    }

    fn check(&self, text: &str, published: &PublishedState, now_ms: u64) -> ApiResult<KeyHolder> {
        let hash = sha256(text.as_bytes());
        let known = self.checked.get(&hash);
        let sequence = published.head.sequence;
        let checked = match known {
            Some(known) if known.sequence >= published.keys_changed_at => known,
            known => {
                let id = code::key_id(text).ok_or_else(|| {
                    unauthenticated(
                        "x-api-key: this is not an API key of this service; look for a missing or \
                         wrong character",
                    )
                })?;
                let used_ms = known.map(|known| known.used_ms);
                let checked = self.read(id, text, &published.snapshot, sequence, used_ms)?;
                self.checked.insert(hash, checked.clone());
                checked
            }
        };
        if checked.is_over(now_ms) {
            return Err(unauthenticated(
                "x-api-key: the key has expired; make a new one, or use the one that replaced it",
            ));
        }
        self.uses.note(checked.holder.id, &checked.used_ms, now_ms);
        Ok(checked.holder)
    }

    /// Reads a key's rows and compares its secret.
    fn read(
        &self,
        id: Id,
        text: &str,
        snapshot: &StoreSnapshot,
        sequence: u64,
        used_ms: Option<Arc<AtomicU64>>,
    ) -> ApiResult<VerifiedKey> {
        let key = snapshot.resource(id)?.filter(|key: &ApiKey| !key.deleted);
        let (Some(key), Some(secret)) = (key, snapshot.secret(id)?) else {
            return Err(unknown());
        };
        if is_removed(snapshot, key.wallet_id)? {
            return Err(unauthenticated(
                "x-api-key: the wallet that made the key was removed from its organization; make a new key",
            ));
        }
        let replaced_at_ms = match &secret.previous {
            _ if self.mac_key.is_hash_of(&secret.current, text.as_bytes()) => None,
            Some((hash, until_ms)) if self.mac_key.is_hash_of(hash, text.as_bytes()) => {
                Some(*until_ms)
            }
            _ => return Err(unknown()),
        };
        let used_ms = match used_ms {
            Some(used_ms) => used_ms,
            None => Arc::new(AtomicU64::new(self.last_used(snapshot, id)?.unwrap_or(0))),
        };
        Ok(VerifiedKey {
            holder: KeyHolder {
                id,
                organization_id: key.organization_id,
                rights: Rights::of(&key.permissions),
            },
            ends_at_ms: replaced_at_ms.into_iter().chain(key.expires_at_ms).min(),
            sequence,
            used_ms,
        })
    }

    /// Whether the shown key may be newer than this node's state: it has the form of a key, and the store holds no such
    /// key or only other secrets of it. Such a text proves nothing by itself.
    pub fn may_be_new(&self, headers: &HeaderMap, snapshot: &StoreSnapshot) -> ApiResult<bool> {
        let value = headers.get(API_KEY).and_then(|value| value.to_str().ok());
        let text = value.unwrap_or_default().trim();
        let Some(id) = code::key_id(text) else {
            return Ok(false);
        };
        let Some(key) = snapshot.resource::<ApiKey>(id)? else {
            return Ok(true);
        };
        let is_of = |hash: &[u8]| self.mac_key.is_hash_of(hash, text.as_bytes());
        let is_other = snapshot.secret(id)?.is_some_and(|secret| {
            let earlier = secret.previous.as_ref();
            !is_of(&secret.current) && !earlier.is_some_and(|(hash, _)| is_of(hash))
        });
        Ok(!key.deleted && is_other)
    }

    /// The last use, to the minute; Unix milliseconds.
    pub fn last_used(&self, snapshot: &StoreSnapshot, id: Id) -> ApiResult<Option<u64>> {
        let stored = snapshot.key_used(id)?;
        Ok(self.uses.noted(id).max(stored))
    }
}
