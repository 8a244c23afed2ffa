//! API keys, webhooks, files, disputes and invitations, and the secrets that are kept outside the log.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{
    ApiKey, Area, Crud, Dispute, DisputeMatter, File, Invitation, Permission, Webhook,
};
use kedge_protocol::{Hash, Id, Prefix};

use super::accounts::{role_number, role_of_number};
use super::id;
use super::objects::TraceRow;
use crate::codec::CodecError;

/// The permanent number of an area.
fn area_number(area: Area) -> u8 {
    match area {
        Area::Wallets => 1,
        Area::ApiKeys => 2,
        Area::Objects => 3,
        Area::Templates => 4,
        Area::Actions => 5,
        Area::Events => 6,
        Area::Files => 7,
        Area::Webhooks => 8,
        Area::Batches => 9,
    }
}

fn area_of_number(number: u8) -> Result<Area, CodecError> {
    Ok(match number {
        1 => Area::Wallets,
        2 => Area::ApiKeys,
        3 => Area::Objects,
        4 => Area::Templates,
        5 => Area::Actions,
        6 => Area::Events,
        7 => Area::Files,
        8 => Area::Webhooks,
        9 => Area::Batches,
        other => return Err(CodecError::Number(other, "area of a permission")),
    })
}

/// An area and the bits of its rights: create 1, read 2, update 4, delete 8.
type PermissionRow = (u8, u8);

fn permission_row(permission: Permission) -> PermissionRow {
    let crud = permission.crud;
    let bits = u8::from(crud.create)
        | u8::from(crud.read) << 1
        | u8::from(crud.update) << 2
        | u8::from(crud.delete) << 3;
    (area_number(permission.resource), bits)
}

fn permission((area, bits): PermissionRow) -> Result<Permission, CodecError> {
    Ok(Permission {
        resource: area_of_number(area)?,
        crud: Crud {
            create: bits & 1 != 0,
            read: bits & 2 != 0,
            update: bits & 4 != 0,
            delete: bits & 8 != 0,
        },
    })
}

/// [`ApiKey`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct ApiKeyRow<'a> {
    organization_id: [u8; 16],
    wallet_id: [u8; 16],
    name: &'a str,
    permissions: Vec<PermissionRow>,
    expires_at_ms: Option<u64>,
    rotations: u64,
    overlap_s: u64,
    deleted: bool,
    trace: TraceRow,
}

impl<'a> From<&'a ApiKey> for ApiKeyRow<'a> {
    fn from(key: &'a ApiKey) -> Self {
        Self {
            organization_id: key.organization_id.bytes,
            wallet_id: key.wallet_id.bytes,
            name: &key.name,
            permissions: key
                .permissions
                .iter()
                .copied()
                .map(permission_row)
                .collect(),
            expires_at_ms: key.expires_at_ms,
            rotations: key.rotations,
            overlap_s: key.overlap_s,
            deleted: key.deleted,
            trace: TraceRow::from(&key.trace),
        }
    }
}

impl ApiKeyRow<'_> {
    pub(crate) fn into_key(self, key: [u8; 16]) -> Result<ApiKey, CodecError> {
        let permissions = self.permissions.into_iter().map(permission);
        Ok(ApiKey {
            id: id(Prefix::Key, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            wallet_id: id(Prefix::Wallet, self.wallet_id),
            name: self.name.to_owned(),
            permissions: permissions.collect::<Result<_, _>>()?,
            expires_at_ms: self.expires_at_ms,
            rotations: self.rotations,
            overlap_s: self.overlap_s,
            deleted: self.deleted,
            trace: self.trace.into(),
        })
    }
}

/// [`Webhook`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct WebhookRow<'a> {
    organization_id: [u8; 16],
    url: &'a str,
    events: Vec<&'a str>,
    active: bool,
    description: &'a str,
    rotations: u64,
    overlap_s: u64,
    deleted: bool,
    trace: TraceRow,
}

impl<'a> From<&'a Webhook> for WebhookRow<'a> {
    fn from(webhook: &'a Webhook) -> Self {
        Self {
            organization_id: webhook.organization_id.bytes,
            url: &webhook.url,
            events: webhook.events.iter().map(String::as_str).collect(),
            active: webhook.active,
            description: &webhook.description,
            rotations: webhook.rotations,
            overlap_s: webhook.overlap_s,
            deleted: webhook.deleted,
            trace: TraceRow::from(&webhook.trace),
        }
    }
}

impl WebhookRow<'_> {
    pub(crate) fn into_webhook(self, key: [u8; 16]) -> Webhook {
        Webhook {
            id: id(Prefix::Webhook, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            url: self.url.to_owned(),
            events: self.events.into_iter().map(str::to_owned).collect(),
            active: self.active,
            description: self.description.to_owned(),
            rotations: self.rotations,
            overlap_s: self.overlap_s,
            deleted: self.deleted,
            trace: self.trace.into(),
        }
    }
}

/// [`File`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct FileRow<'a> {
    organization_id: [u8; 16],
    wallet_id: [u8; 16],
    name: &'a str,
    sha256: [u8; 32],
    size_bytes: u64,
    media_type: &'a str,
    trace: TraceRow,
}

impl<'a> From<&'a File> for FileRow<'a> {
    fn from(file: &'a File) -> Self {
        Self {
            organization_id: file.organization_id.bytes,
            wallet_id: file.wallet_id.bytes,
            name: &file.name,
            sha256: file.sha256.0,
            size_bytes: file.size_bytes,
            media_type: &file.media_type,
            trace: TraceRow::from(&file.trace),
        }
    }
}

impl FileRow<'_> {
    pub(crate) fn into_file(self, key: [u8; 16]) -> File {
        File {
            id: id(Prefix::File, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            wallet_id: id(Prefix::Wallet, self.wallet_id),
            name: self.name.to_owned(),
            sha256: Hash(self.sha256),
            size_bytes: self.size_bytes,
            media_type: self.media_type.to_owned(),
            trace: self.trace.into(),
        }
    }
}

fn subject(text: &str) -> Result<Id, CodecError> {
    text.parse()
        .map_err(|_| CodecError::bytes("the subject of a dispute is not an id"))
}

/// [`Dispute`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct DisputeRow<'a> {
    organization_id: [u8; 16],
    /// Its prefix determines what the next field is: for an action, a claim's.
    subject_id: &'a str,
    digest_or_context: [u8; 32],
    verdict: &'a str,
    trace: TraceRow,
}

impl<'a> DisputeRow<'a> {
    /// `subject_id` is the text of the dispute's subject.
    pub(crate) fn of(dispute: &'a Dispute, subject_id: &'a str) -> Self {
        let found_by = match dispute.matter {
            DisputeMatter::Fault { evidence_digest } => evidence_digest,
            DisputeMatter::Claim { context } => context,
        };
        Self {
            organization_id: dispute.organization_id.bytes,
            subject_id,
            digest_or_context: found_by.0,
            verdict: &dispute.verdict,
            trace: TraceRow::from(&dispute.trace),
        }
    }

    pub(crate) fn into_dispute(self, key: [u8; 16]) -> Result<Dispute, CodecError> {
        let subject_id = subject(self.subject_id)?;
        let found_by = Hash(self.digest_or_context);
        let matter = match subject_id.prefix {
            Prefix::Action => DisputeMatter::Claim { context: found_by },
            _ => DisputeMatter::Fault {
                evidence_digest: found_by,
            },
        };
        Ok(Dispute {
            id: id(Prefix::Dispute, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            subject_id,
            matter,
            verdict: self.verdict.to_owned(),
            trace: self.trace.into(),
        })
    }
}

/// [`Invitation`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct InvitationRow<'a> {
    organization_id: [u8; 16],
    invited_by: [u8; 16],
    role: u8,
    email: Option<&'a str>,
    lifetime_s: u64,
    used_by: Option<[u8; 16]>,
    revoked: bool,
    created_sequence: u64,
    created_at_ms: u64,
}

impl<'a> From<&'a Invitation> for InvitationRow<'a> {
    fn from(invitation: &'a Invitation) -> Self {
        Self {
            organization_id: invitation.organization_id.bytes,
            invited_by: invitation.invited_by.bytes,
            role: role_number(invitation.role),
            email: invitation.email.as_deref(),
            lifetime_s: invitation.lifetime_s,
            used_by: invitation.used_by.map(|wallet| wallet.bytes),
            revoked: invitation.revoked,
            created_sequence: invitation.created_sequence,
            created_at_ms: invitation.created_at_ms,
        }
    }
}

impl InvitationRow<'_> {
    pub(crate) fn into_invitation(self, key: [u8; 16]) -> Result<Invitation, CodecError> {
        Ok(Invitation {
            id: id(Prefix::Action, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            invited_by: id(Prefix::Wallet, self.invited_by),
            role: role_of_number(self.role)?,
            email: self.email.map(str::to_owned),
            lifetime_s: self.lifetime_s,
            used_by: self.used_by.map(|wallet| id(Prefix::Wallet, wallet)),
            revoked: self.revoked,
            created_sequence: self.created_sequence,
            created_at_ms: self.created_at_ms,
        })
    }
}

/// The secret of an API key (a keyed hash of it) or of a webhook (the secret itself, which signs),
/// and the one before it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct SecretRow {
    /// The secret in force.
    pub current: Vec<u8>,
    /// The one before it, and until when it is valid: Unix milliseconds.
    pub previous: Option<(Vec<u8>, u64)>,
}

/// What a request with an idempotency key did: enough to answer it again from the log.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct IdempotencyRow {
    /// Until when it is remembered, Unix seconds.
    pub until_s: u64,
    /// Hash of the request's content.
    pub request: [u8; 32],
    /// The sequence of its first action that was done.
    pub first_sequence: u64,
    /// What its answer needs besides the log: of a signed request a [`Residue`](super::residue::Residue), of another
    /// the answer itself. Never a secret.
    pub residue: Vec<u8>,
}

/// Prefix number ‖ id: keys and webhooks share the table.
pub(crate) fn secret_key(of: &Id) -> Vec<u8> {
    super::kind_key(of.prefix as u8, &of.bytes)
}
