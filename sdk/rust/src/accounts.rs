//! Accounts: the wallet and its signing keys, the organization's members, API keys.

use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::possession;
use kedge_protocol::resource::{Permission, Role};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::account::Account;
use crate::error::Result;
use crate::page::{ListQuery, Pages};
use crate::types::{Changed, Wallet};

/// An API key to be created.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewApiKey {
    /// Its name; not unique.
    pub name: String,
    /// What it may do; each area once.
    pub permissions: Vec<Permission>,
    /// When it expires, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// An API key; never its secret.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ApiKey {
    /// Its identifier.
    pub id: Id,
    /// The organization that it acts for.
    pub organization_id: Id,
    /// The wallet that created it.
    pub wallet_id: Id,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// When it expires, RFC 3339.
    pub expires_at: Option<String>,
    /// When it was last used, to the minute, RFC 3339.
    pub last_used_at: Option<String>,
    /// How often its secret was replaced.
    pub rotations: u64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// An API key with its new secret, which is shown only once.
#[derive(Clone, PartialEq, Deserialize)]
pub struct ShownApiKey {
    /// For [`crate::Builder::api_key`].
    pub key: String,
    /// Until when the previous secret stays valid, RFC 3339.
    pub previous_until: Option<String>,
    /// Its other fields.
    #[serde(flatten)]
    pub api_key: ApiKey,
}

impl std::fmt::Debug for ShownApiKey {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ShownApiKey({:?})", self.api_key)
    }
}

/// An invitation to be created.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewInvitation {
    /// The only e-mail address that may use it; any by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The role of the wallet that joins; member by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// How long it stays open, in seconds; a week by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

/// An invitation.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Invitation {
    /// Its identifier.
    pub id: Id,
    /// The organization.
    pub organization_id: Id,
    /// The wallet that invites.
    pub invited_by: Id,
    /// The role of the wallet that joins.
    pub role: Role,
    /// The only e-mail address that may use it.
    pub email: Option<String>,
    /// When it expires, RFC 3339.
    pub expires_at: String,
    /// The wallet that used it.
    pub used_by: Option<Id>,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// An invitation with its code, which is shown only once.
#[derive(Clone, PartialEq, Deserialize)]
pub struct ShownInvitation {
    /// For [`Account::join`].
    pub code: String,
    /// Its other fields.
    #[serde(flatten)]
    pub invitation: Invitation,
}

impl std::fmt::Debug for ShownInvitation {
    /// Without the code.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ShownInvitation({:?})", self.invitation)
    }
}

/// A change of a wallet; `None` keeps the current value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WalletChange {
    /// The new e-mail address for logging in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The new display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
}

impl Account {
    /// Creates an API key of the account's organization; for owners and admins.
    pub async fn create_api_key(&self, key: &NewApiKey) -> Result<Changed<ShownApiKey>> {
        let made = |made: &ShownApiKey| Some((Prefix::Key, made.api_key.id));
        self.create("/api-keys", Kind::KeyCreate, "", key, made)
            .await
    }

    /// The organization's API keys.
    pub fn api_keys(&self, query: &ListQuery) -> Pages<ApiKey> {
        self.list("/api-keys".to_owned(), query)
    }

    /// An API key.
    pub async fn api_key(&self, id: Id) -> Result<ApiKey> {
        self.get(&format!("/api-keys/{id}"), "an API key").await
    }

    /// Replaces an API key's secret. The previous one stays valid for `overlap_s` more seconds; for a day if `None`.
    pub async fn rotate_api_key(
        &self,
        id: Id,
        overlap_s: Option<u64>,
    ) -> Result<Changed<ShownApiKey>> {
        let path = format!("/api-keys/{id}/rotate");
        let body = overlap_s.map_or_else(|| json!({}), |seconds| json!({ "overlap_s": seconds }));
        self.change(Method::POST, &path, Kind::KeyRotate, id, &body)
            .await
    }

    /// Deletes an API key at once.
    pub async fn delete_api_key(&self, id: Id) -> Result<Changed<ApiKey>> {
        let path = format!("/api-keys/{id}");
        self.delete(&path, Kind::KeyDelete, id, String::new()).await
    }

    /// Changes the account's wallet.
    pub async fn update_wallet(&self, change: &WalletChange) -> Result<Changed<Wallet>> {
        let (wallet, kind) = (self.me().await?.id, Kind::WalletUpdate);
        self.change(Method::PATCH, "/wallets/me", kind, wallet, change)
            .await
    }

    /// Lets another key sign for the account's wallet. The key signs its consent.
    pub async fn add_signer(&self, key: &SigningKey) -> Result<Changed<Wallet>> {
        let wallet = self.me().await?.id;
        let separator = self.client().domain().separator();
        let consent = possession::consent(key, &separator, &wallet.to_string());
        self.add_consenting(wallet, key.address(), consent).await
    }

    /// Like [`Self::add_signer`], for a key that is elsewhere: `consent` is its signature of
    /// [`kedge_protocol::possession::digest`] for the account's wallet.
    pub async fn add_signer_with(
        &self,
        address: Address,
        consent: Signature,
    ) -> Result<Changed<Wallet>> {
        let wallet = self.me().await?.id;
        self.add_consenting(wallet, address, consent).await
    }

    async fn add_consenting(
        &self,
        wallet: Id,
        address: Address,
        consent: Signature,
    ) -> Result<Changed<Wallet>> {
        let kind = Kind::WalletKeyAdd;
        let body = json!({ "address": address, "possession": consent });
        self.change(Method::POST, "/wallets/me/keys", kind, wallet, &body)
            .await
    }

    /// Removes a key's right to sign for the account's wallet.
    pub async fn remove_signer(&self, address: Address) -> Result<Changed<Wallet>> {
        let wallet = self.me().await?.id;
        let path = format!("/wallets/me/keys/{address}");
        // The signed payload repeats the path's address.
        let payload = format!(r#"{{"address":"{address}"}}"#);
        self.delete(&path, Kind::WalletKeyRemove, wallet, payload)
            .await
    }

    /// The organization's wallets.
    pub fn members(&self, query: &ListQuery) -> Pages<Wallet> {
        self.list("/organizations/me/members".to_owned(), query)
    }

    /// Sets what a member of the account's organization may do.
    pub async fn set_role(
        &self,
        organization_id: Id,
        wallet_id: Id,
        role: Role,
    ) -> Result<Changed<Wallet>> {
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
    ) -> Result<Changed<ShownInvitation>> {
        let path = "/organizations/me/invitations";
        let kind = Kind::OrgInvite;
        self.change(Method::POST, path, kind, organization_id, invitation)
            .await
    }

    /// Ends a wallet's membership of the account's organization, with its keys, logins and API keys.
    pub async fn remove_member(
        &self,
        organization_id: Id,
        wallet_id: Id,
    ) -> Result<Changed<Wallet>> {
        let path = format!("/organizations/me/members/{wallet_id}");
        // The signed payload repeats what the path names.
        let payload = format!(r#"{{"wallet_id":"{wallet_id}"}}"#);
        self.delete(&path, Kind::OrgMemberRemove, organization_id, payload)
            .await
    }

    /// Revokes an unused invitation.
    pub async fn revoke_invitation(
        &self,
        organization_id: Id,
        invitation_id: Id,
    ) -> Result<Changed<Invitation>> {
        let path = format!("/organizations/me/invitations/{invitation_id}");
        let payload = format!(r#"{{"invitation_id":"{invitation_id}"}}"#);
        self.delete(&path, Kind::OrgInvitationRevoke, organization_id, payload)
            .await
    }

    /// The organization's invitations.
    pub fn invitations(&self, query: &ListQuery) -> Pages<Invitation> {
        self.list("/organizations/me/invitations".to_owned(), query)
    }
}
