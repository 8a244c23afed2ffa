//! Round trip of rows, for fuzzing all formats. A row has one form only, so every readable row is written unchanged.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{
    ApiKey, Dispute, FileRecord, Invitation, Object, Organization, ResourceTrace, SequencerKey,
    Template, Variation, Wallet, Webhook,
};

use super::Table;
use super::accounts::{SessionRow, UsageRow};
use super::anchors::AnchorRow;
use super::deliveries::{DeliveryRow, OutboxRow};
use super::events::EventRow;
use super::records::{IdempotencyRow, SecretRow};
use super::residue::IdempotencyResidue;
use super::row::{BincodeRow, RowCodec};
use crate::codec::{CodecError, decode, encode_into};

fn plain<T: Encode + for<'a> BorrowDecode<'a, ()>>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    encode_into(&mut out, &decode::<T>(value)?);
    Ok(out)
}

fn row<T: RowCodec>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let BincodeRow(read) = decode::<BincodeRow<T>>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &BincodeRow(&read));
    Ok(out)
}

fn residue(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (residue, secret) = IdempotencyResidue::decode(value)?;
    Ok(residue.encode(secret))
}

fn object(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (BincodeRow(object), BincodeRow(trace)) =
        decode::<(BincodeRow<Object>, BincodeRow<ResourceTrace>)>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &(BincodeRow(&object), BincodeRow(&trace)));
    Ok(out)
}

/// The values of a table, read and written again in each of its forms; empty for tables whose values are numbers,
/// hashes, ids or nothing. The second form of the idempotency keys' rows is their residue.
#[doc(hidden)]
pub fn rewritten(table: Table, value: &[u8]) -> Vec<Result<Vec<u8>, CodecError>> {
    match table {
        Table::Objects | Table::Milestones => vec![object(value)],
        Table::Wallets => vec![row::<Wallet>(value)],
        Table::Organizations => vec![row::<Organization>(value)],
        Table::Templates => vec![row::<Template>(value)],
        Table::Variations => vec![row::<Variation>(value)],
        Table::ApiKeys => vec![row::<ApiKey>(value)],
        Table::Webhooks => vec![row::<Webhook>(value)],
        Table::Files => vec![row::<FileRecord>(value)],
        Table::Disputes => vec![row::<Dispute>(value)],
        Table::Invitations => vec![row::<Invitation>(value)],
        Table::SequencerKeys => vec![row::<SequencerKey>(value)],
        Table::Events => vec![row::<EventRow>(value)],
        Table::Anchors => vec![row::<AnchorRow>(value)],
        Table::Secrets => vec![plain::<SecretRow>(value)],
        Table::Idempotency => vec![plain::<IdempotencyRow>(value), residue(value)],
        Table::Deliveries => vec![row::<DeliveryRow>(value), row::<OutboxRow>(value)],
        Table::Sessions => vec![row::<SessionRow>(value)],
        Table::Usage => vec![plain::<UsageRow>(value)],
        Table::RequestsByOrganization
        | Table::BatchIds
        | Table::Tree
        | Table::ObjectIndex
        | Table::PropertyIndex
        | Table::Lookup
        | Table::Counters
        | Table::Nonces
        | Table::ForeignActions
        | Table::BondAnswers
        | Table::Refused
        | Table::Credentials
        | Table::KeyUses
        | Table::LogBytes
        | Table::Meta => Vec::new(),
    }
}
