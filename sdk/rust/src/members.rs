//! Wallets, signing keys, members, invitations and API keys of an organization.

use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::possession;
use kedge_protocol::resource::{Permission, Role};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::account::Account;
use crate::error::ClientResult;
use crate::page::{ListQuery, Pages};
use crate::types::{ChangedResource, WalletResource};

/// A new API key.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewApiKey {
    /// Display name; not unique.
    pub name: String,
    /// Permissions; each area at most once.
    pub permissions: Vec<Permission>,
    /// Expiry, RFC 3339; `None` for no expiry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// An API key, without its secret.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ApiKeyResource {
    /// Its identifier.
    pub id: Id,
    /// The organization that the key acts for.
    pub organization_id: Id,
    /// The wallet that created the key.
    pub wallet_id: Id,
    /// Its name.
    pub name: String,
    /// Permissions.
    pub permissions: Vec<Permission>,
    /// Expiry, RFC 3339.
    pub expires_at: Option<String>,
    /// Last use, RFC 3339, to the minute.
    pub last_used_at: Option<String>,
    /// Number of times the secret was replaced.
    pub rotations: u64,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
}

/// An API key with its new secret. The server shows the secret only once.
#[derive(Clone, PartialEq, Deserialize)]
pub struct CreatedApiKey {
    /// The secret, for [`crate::ClientBuilder::api_key`].
    pub key: String,
    /// When the previous secret stops working, RFC 3339.
    pub previous_until: Option<String>,
    /// The key itself.
    #[serde(flatten)]
    pub api_key: ApiKeyResource,
}

impl std::fmt::Debug for CreatedApiKey {
    /// Omits the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ShownApiKey({:?})", self.api_key)
    }
}

/// A new invitation.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewInvitation {
    /// The only e-mail address that may use the invitation; any address if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Role of the wallet that joins; member if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Lifetime in seconds; a week if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

/// An invitation to an organization.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct InvitationResource {
    /// Its identifier.
    pub id: Id,
    /// The organization to join.
    pub organization_id: Id,
    /// The inviting wallet.
    pub invited_by: Id,
    /// Role of the wallet that joins.
    pub role: Role,
    /// The only e-mail address that may use the invitation.
    pub email: Option<String>,
    /// Expiry, RFC 3339.
    pub expires_at: String,
    /// The wallet that joined with the invitation.
    pub used_by: Option<Id>,
    /// Whether the invitation was revoked.
    pub revoked: bool,
}

/// An invitation with its code. The server shows the code only once.
#[derive(Clone, PartialEq, Deserialize)]
pub struct CreatedInvitation {
    /// The code, for [`Account::join`].
    pub code: String,
    /// The invitation itself.
    #[serde(flatten)]
    pub invitation: InvitationResource,
}

impl std::fmt::Debug for CreatedInvitation {
    /// Omits the code.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ShownInvitation({:?})", self.invitation)
    }
}

/// A change of a wallet; `None` keeps the current value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WalletChange {
    /// New e-mail address for logging in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// New display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
}

impl Account {
    /// Creates an API key for the account's organization. Requires the role owner or admin.
    pub async fn create_api_key(
        &self,
        key: &NewApiKey,
    ) -> ClientResult<ChangedResource<CreatedApiKey>> {
        let made = |made: &CreatedApiKey| Some((Prefix::Key, made.api_key.id));
        self.create("/api-keys", Kind::KeyCreate, "", key, made)
            .await
    }

    /// Lists the organization's API keys.
    pub fn api_keys(&self, query: &ListQuery) -> Pages<ApiKeyResource> {
        self.list("/api-keys".to_owned(), query)
    }

    /// Reads an API key.
    pub async fn api_key(&self, id: Id) -> ClientResult<ApiKeyResource> {
        self.get(&format!("/api-keys/{id}"), "an API key").await
    }

    /// Replaces an API key's secret. The previous secret works for `overlap_s` more seconds; for a day if `None`.
    pub async fn rotate_api_key(
        &self,
        id: Id,
        overlap_s: Option<u64>,
    ) -> ClientResult<ChangedResource<CreatedApiKey>> {
        let path = format!("/api-keys/{id}/rotate");
        let body = overlap_s.map_or_else(|| json!({}), |seconds| json!({ "overlap_s": seconds }));
        self.change(Method::POST, &path, Kind::KeyRotate, id, &body)
            .await
    }

    /// Deletes an API key. It stops working immediately.
    pub async fn delete_api_key(&self, id: Id) -> ClientResult<ChangedResource<ApiKeyResource>> {
        let path = format!("/api-keys/{id}");
        self.delete(&path, Kind::KeyDelete, id, String::new()).await
    }

    /// Changes the account's wallet.
    pub async fn update_wallet(
        &self,
        change: &WalletChange,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let (wallet, kind) = (self.me().await?.id, Kind::WalletUpdate);
        self.change(Method::PATCH, "/wallets/me", kind, wallet, change)
            .await
    }

    /// Adds a signing key to the account's wallet. The new key signs its consent.
    pub async fn add_signer(
        &self,
        key: &SigningKey,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let wallet = self.me().await?.id;
        let separator = self.client().domain().separator();
        let consent = possession::consent(key, &separator, &wallet.to_string());
        self.add_consenting(wallet, key.address(), consent).await
    }

    /// Like [`Self::add_signer`], for a key held elsewhere: `consent` is its signature of
    /// [`kedge_protocol::possession::digest`] for the account's wallet.
    pub async fn add_signer_with(
        &self,
        address: Address,
        consent: Signature,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let wallet = self.me().await?.id;
        self.add_consenting(wallet, address, consent).await
    }

    async fn add_consenting(
        &self,
        wallet: Id,
        address: Address,
        consent: Signature,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let kind = Kind::WalletKeyAdd;
        let body = json!({ "address": address, "possession": consent });
        self.change(Method::POST, "/wallets/me/keys", kind, wallet, &body)
            .await
    }

    /// Removes a signing key from the account's wallet.
    pub async fn remove_signer(
        &self,
        address: Address,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let wallet = self.me().await?.id;
        let path = format!("/wallets/me/keys/{address}");
        // The signed payload repeats the address in the path.
        let payload = format!(r#"{{"address":"{address}"}}"#);
        self.delete(&path, Kind::WalletKeyRemove, wallet, payload)
            .await
    }

    /// Lists the wallets of the organization.
    pub fn members(&self, query: &ListQuery) -> Pages<WalletResource> {
        self.list("/organizations/me/members".to_owned(), query)
    }

    /// Sets the role of a member.
    pub async fn set_role(
        &self,
        organization_id: Id,
        wallet_id: Id,
        role: Role,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let path = format!("/organizations/me/members/{wallet_id}");
        let body = json!({ "wallet_id": wallet_id, "role": role });
        self.change(Method::PATCH, &path, Kind::OrgRole, organization_id, &body)
            .await
    }

    /// Invites someone to the account's organization.
    pub async fn invite(
        &self,
        organization_id: Id,
        invitation: &NewInvitation,
    ) -> ClientResult<ChangedResource<CreatedInvitation>> {
        let path = "/organizations/me/invitations";
        let kind = Kind::OrgInvite;
        self.change(Method::POST, path, kind, organization_id, invitation)
            .await
    }

    /// Removes a member's wallet from the organization, together with its keys, logins and API keys.
    pub async fn remove_member(
        &self,
        organization_id: Id,
        wallet_id: Id,
    ) -> ClientResult<ChangedResource<WalletResource>> {
        let path = format!("/organizations/me/members/{wallet_id}");
        // The signed payload repeats the wallet in the path.
        let payload = format!(r#"{{"wallet_id":"{wallet_id}"}}"#);
        self.delete(&path, Kind::OrgMemberRemove, organization_id, payload)
            .await
    }

    /// Revokes an unused invitation.
    pub async fn revoke_invitation(
        &self,
        organization_id: Id,
        invitation_id: Id,
    ) -> ClientResult<ChangedResource<InvitationResource>> {
        let path = format!("/organizations/me/invitations/{invitation_id}");
        let payload = format!(r#"{{"invitation_id":"{invitation_id}"}}"#);
        self.delete(&path, Kind::OrgInvitationRevoke, organization_id, payload)
            .await
    }

    /// Lists the organization's invitations.
    pub fn invitations(&self, query: &ListQuery) -> Pages<InvitationResource> {
        self.list("/organizations/me/invitations".to_owned(), query)
    }
}
