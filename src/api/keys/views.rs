//! Answers that show API keys.

use kedge_http::scalars::{HashText, ResourceIdText, TimeText};
use kedge_protocol::resource::{ApiKey, Permission};
use schemars::JsonSchema;
use serde::Serialize;

/// An API key; never its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApiKeyView {
    /// Its id.
    pub id: ResourceIdText,
    /// The organization that it acts for.
    pub organization_id: ResourceIdText,
    /// The wallet that created it.
    pub wallet_id: ResourceIdText,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// When it expires.
    pub expires_at: Option<TimeText>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<TimeText>,
    /// How often its secret has been replaced.
    pub rotations: u64,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was created.
    pub created_at: TimeText,
    /// When it was last changed.
    pub updated_at: TimeText,
}

impl ApiKeyView {
    /// A key that was last used at this time, Unix milliseconds.
    pub fn of(key: ApiKey, last_used_ms: Option<u64>) -> Self {
        Self {
            id: ResourceIdText(key.id),
            organization_id: ResourceIdText(key.organization_id),
            wallet_id: ResourceIdText(key.wallet_id),
            name: key.name,
            permissions: key.permissions,
            expires_at: key.expires_at_ms.map(TimeText),
            last_used_at: last_used_ms.map(TimeText),
            rotations: key.rotations,
            version: key.trace.version,
            integrity_hash: HashText(key.trace.integrity),
            sequence: key.trace.sequence,
            created_at: TimeText(key.trace.created_at_ms),
            updated_at: TimeText(key.trace.updated_at_ms),
        }
    }
}

/// An API key with its new secret.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShownKey")]
pub struct NewApiKeyView {
    /// The key for the header `x-api-key`: shown only in this answer, and in a replay to the same signer.
    pub key: String,
    /// Until when the previous secret is still valid; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<TimeText>,
    /// The key's public data.
    #[serde(flatten)]
    pub api_key: ApiKeyView,
}
