//! API keys and invitations.

use kedge_protocol::resource::{ApiKey, Invitation, Permission, Role};
use schemars::JsonSchema;
use serde::Serialize;

use super::scalars::{HashText, IdText, Time};

/// An API key; never its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApiKeyView {
    /// Its id.
    pub id: IdText,
    /// The organization that it acts for.
    pub organization_id: IdText,
    /// The wallet that made it.
    pub wallet_id: IdText,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// When it ends by itself.
    pub expires_at: Option<Time>,
    /// When it was used last, to the minute.
    pub last_used_at: Option<Time>,
    /// How often its secret was replaced.
    pub rotations: u64,
    /// How many actions made it what it is.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was made.
    pub created_at: Time,
    /// When it was changed last.
    pub updated_at: Time,
}

impl ApiKeyView {
    /// A key that was used last at this time, Unix milliseconds.
    pub fn of(key: ApiKey, last_used_ms: Option<u64>) -> Self {
        Self {
            id: IdText(key.id),
            organization_id: IdText(key.organization_id),
            wallet_id: IdText(key.wallet_id),
            name: key.name,
            permissions: key.permissions,
            expires_at: key.expires_at_ms.map(Time),
            last_used_at: last_used_ms.map(Time),
            rotations: key.rotations,
            version: key.trace.version,
            integrity_hash: HashText(key.trace.integrity),
            sequence: key.trace.sequence,
            created_at: Time(key.trace.created_at_ms),
            updated_at: Time(key.trace.updated_at_ms),
        }
    }
}

/// An API key with its new secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownKey {
    /// The key for the header `x-api-key`: shown this once, and nowhere kept.
    pub key: String,
    /// Until when the secret before it still counts; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Time>,
    /// What is known of it.
    #[serde(flatten)]
    pub api_key: ApiKeyView,
}

/// An invitation; never its code.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InvitationView {
    /// Its id.
    pub id: IdText,
    /// The organization.
    pub organization_id: IdText,
    /// The wallet that invites: the invitation is good while it may.
    pub invited_by: IdText,
    /// What the wallet that joins may do.
    pub role: Role,
    /// The only e-mail address that may use it; `null` for any.
    pub email: Option<String>,
    /// When it ends.
    pub expires_at: Time,
    /// The wallet that used it.
    pub used_by: Option<IdText>,
    /// It was taken back.
    pub revoked: bool,
    /// When it was made.
    pub created_at: Time,
}

impl From<Invitation> for InvitationView {
    fn from(invitation: Invitation) -> Self {
        Self {
            id: IdText(invitation.id),
            organization_id: IdText(invitation.organization_id),
            invited_by: IdText(invitation.invited_by),
            role: invitation.role,
            expires_at: Time(invitation.expires_at_ms()),
            email: invitation.email,
            used_by: invitation.used_by.map(IdText),
            revoked: invitation.revoked,
            created_at: Time(invitation.created_at_ms),
        }
    }
}

/// An invitation with its code.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownInvitation {
    /// What registers by it: shown this once.
    pub code: String,
    /// What is known of it.
    #[serde(flatten)]
    pub invitation: InvitationView,
}
