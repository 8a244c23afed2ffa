//! Answers that show objects.

use kedge_http::scalars::{AddressText, HashText, IdText, RawObject, Time};
use kedge_protocol::resource::{Object, ObjectStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// An object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ObjectView {
    /// Its id.
    pub id: IdText,
    /// The organization that issued it.
    pub organization_id: IdText,
    /// The template that it was made from.
    pub template_id: IdText,
    /// The variation, if one was named.
    pub variation_id: Option<IdText>,
    /// The wallet that owns it.
    pub owner_id: IdText,
    /// That wallet's address.
    pub owner_address: AddressText,
    /// Its properties.
    pub properties: RawObject<'static>,
    /// Which actions it allows.
    pub status: ObjectStatus,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was minted.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

impl From<Object> for ObjectView {
    fn from(object: Object) -> Self {
        Self {
            id: IdText(object.id),
            organization_id: IdText(object.organization_id),
            template_id: IdText(object.template_id),
            variation_id: object.variation_id.map(IdText),
            owner_id: IdText(object.owner_id),
            owner_address: AddressText(object.owner_address),
            properties: object.properties.into(),
            status: object.status,
            version: object.trace.version,
            integrity_hash: HashText(object.trace.integrity),
            sequence: object.trace.sequence,
            created_at: Time(object.trace.created_at_ms),
            updated_at: Time(object.trace.updated_at_ms),
        }
    }
}
