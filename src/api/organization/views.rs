//! Answers that show invitations.

use kedge_http::scalars::{ResourceIdText, TimeText};
use kedge_protocol::resource::{Invitation, Role};
use schemars::JsonSchema;
use serde::Serialize;

/// An invitation; never its code.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InvitationView {
    /// Its id.
    pub id: ResourceIdText,
    /// The organization.
    pub organization_id: ResourceIdText,
    /// The wallet that invites: the invitation is valid only while that wallet may invite.
    pub invited_by: ResourceIdText,
    /// The role of the wallet that joins.
    pub role: Role,
    /// The only e-mail address that may use it; `null` for any.
    pub email: Option<String>,
    /// When it expires.
    pub expires_at: TimeText,
    /// The wallet that used it.
    pub used_by: Option<ResourceIdText>,
    /// It was revoked.
    pub revoked: bool,
    /// When it was created.
    pub created_at: TimeText,
}

impl From<Invitation> for InvitationView {
    fn from(invitation: Invitation) -> Self {
        Self {
            id: ResourceIdText(invitation.id),
            organization_id: ResourceIdText(invitation.organization_id),
            invited_by: ResourceIdText(invitation.invited_by),
            role: invitation.role,
            expires_at: TimeText(invitation.expires_at_ms()),
            email: invitation.email,
            used_by: invitation.used_by.map(ResourceIdText),
            revoked: invitation.revoked,
            created_at: TimeText(invitation.created_at_ms),
        }
    }
}

/// An invitation with its code.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShownInvitation")]
pub struct NewInvitationView {
    /// The code for registering: shown only in this answer, and in a replay.
    pub code: String,
    /// The invitation's public data.
    #[serde(flatten)]
    pub invitation: InvitationView,
}
