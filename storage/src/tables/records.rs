//! Rows of API keys, webhooks, files, disputes and invitations, and of the secrets kept outside the log.

use bincode::de::BorrowDecoder;
use bincode::enc::Encoder;
use bincode::error::{DecodeError, EncodeError};
use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{
    ApiKey, Area, Crud, Dispute, DisputeMatter, FileRecord, Invitation, Permission, Webhook,
};
use kedge_protocol::{Hash, Id, Prefix};

use super::id;
use super::row::{RowCodec, meaningless, numbered, resource, stored, stored_as};
use crate::codec::CodecError;

numbered! {
    Area, "area of a permission" {
        Wallets = 1,
        ApiKeys = 2,
        Objects = 3,
        Templates = 4,
        Actions = 5,
        Events = 6,
        Files = 7,
        Webhooks = 8,
        Batches = 9,
    }
}

// Bits of its rights: create 1, read 2, update 4, delete 8.
stored_as! {
    Crud as u8,
    |crud| {
        u8::from(crud.create)
            | u8::from(crud.read) << 1
            | u8::from(crud.update) << 2
            | u8::from(crud.delete) << 3
    },
    |bits| Ok(Crud {
        create: bits & 1 != 0,
        read: bits & 2 != 0,
        update: bits & 4 != 0,
        delete: bits & 8 != 0,
    }),
}

stored! { Permission { resource, crud } }

resource! {
    ApiKey in ApiKeys, Key, listed in KEYS_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        wallet_id: Wallet,
        name,
        permissions,
        expires_at_ms,
        rotations,
        overlap_s,
        deleted,
        trace,
    }
}

resource! {
    Webhook in Webhooks, Webhook, listed in WEBHOOKS_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        url,
        events,
        active,
        description,
        rotations,
        overlap_s,
        deleted,
        trace,
    }
}

resource! {
    FileRecord in Files, File, listed in FILES_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        wallet_id: Wallet,
        name,
        sha256,
        size_bytes,
        media_type,
        trace,
    }
}

resource! {
    Invitation in Invitations, Action, listed in INVITATIONS_OF_ORGANIZATION by organization_id, created_sequence {
        organization_id: Organization,
        invited_by: Wallet,
        role,
        email,
        lifetime_s,
        used_by: Wallet,
        revoked,
        created_sequence,
        created_at_ms,
    }
}

/// The prefix of the subject, stored as text, determines the next member: for an action, a claim's context.
impl RowCodec for Dispute {
    fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        let found_by = match self.matter {
            DisputeMatter::Fault { evidence_digest } => evidence_digest,
            DisputeMatter::Claim { context } => context,
        };
        self.organization_id.bytes.encode(encoder)?;
        self.subject_id.to_string().encode(encoder)?;
        found_by.put(encoder)?;
        self.verdict.encode(encoder)?;
        self.trace.put(encoder)
    }

    fn take<'a, D: BorrowDecoder<'a, Context = ()>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let organization_id = id(Prefix::Organization, BorrowDecode::borrow_decode(decoder)?);
        let subject_id = <&str>::borrow_decode(decoder)?.parse::<Id>().map_err(|_| {
            meaningless(&CodecError::bytes("the subject of a dispute is not an id"))
        })?;
        let found_by = Hash::take(decoder)?;
        let matter = match subject_id.prefix {
            Prefix::Action => DisputeMatter::Claim { context: found_by },
            _ => DisputeMatter::Fault {
                evidence_digest: found_by,
            },
        };
        Ok(Self {
            id: id(Prefix::Dispute, [0; 16]),
            organization_id,
            subject_id,
            matter,
            verdict: RowCodec::take(decoder)?,
            trace: RowCodec::take(decoder)?,
        })
    }
}

resource! {
    @row Dispute in Disputes, Dispute, listed in DISPUTES_OF_ORGANIZATION by organization_id, trace.created_sequence
}

/// Secret of an API key (a keyed hash of it) or of a webhook (the secret itself, which signs), and the previous one.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct SecretRow {
    /// The present secret.
    pub current: Vec<u8>,
    /// The previous secret and the end of its validity, Unix milliseconds.
    pub previous: Option<(Vec<u8>, u64)>,
}

/// Outcome of a request with an idempotency key: enough to answer it again from the log.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct IdempotencyRow {
    /// Expiry, Unix seconds.
    pub until_s: u64,
    /// Hash of the request's content.
    pub request: [u8; 32],
    /// The sequence of its first done action.
    pub first_sequence: u64,
    /// The part of its answer that is not in the log: for a signed request an
    /// [`IdempotencyResidue`](super::residue::IdempotencyResidue), otherwise the answer itself. Never a secret.
    pub residue: Vec<u8>,
}

/// Prefix number ‖ id: keys and webhooks share the table.
pub(crate) fn secret_key(of: &Id) -> Vec<u8> {
    super::kind_key(of.prefix as u8, &of.bytes)
}
