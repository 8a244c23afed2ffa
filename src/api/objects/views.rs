//! Answers that show objects.

use kedge_http::scalars::{AddressText, HashText, RawJsonObject, ResourceIdText, TimeText};
use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_storage::{StoreReadError, StoreSnapshot};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::state::views::StateProofView;

/// An object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ObjectView {
    /// Its id.
    pub id: ResourceIdText,
    /// The organization that issued it.
    pub organization_id: ResourceIdText,
    /// The template that it was made from.
    pub template_id: ResourceIdText,
    /// The variation, if one was named.
    pub variation_id: Option<ResourceIdText>,
    /// Its number among the objects of its template, from 1, in the order in which they were minted.
    pub serial: u64,
    /// The wallet that owns it.
    pub owner_id: ResourceIdText,
    /// That wallet's address.
    pub owner_address: AddressText,
    /// Its properties.
    pub properties: RawJsonObject<'static>,
    /// Which actions it allows.
    pub status: ObjectStatus,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was minted.
    pub created_at: TimeText,
    /// When it was last changed.
    pub updated_at: TimeText,
    /// The proof of this state, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_proof: Option<Box<StateProofView>>,
}

impl ObjectView {
    /// An object whose serial a snapshot has.
    ///
    /// # Errors
    /// [`StoreReadError`] if the snapshot does not have it.
    pub fn read(object: Object, snapshot: &StoreSnapshot) -> Result<Self, StoreReadError> {
        let serial = snapshot.serial(&object)?;
        Ok(Self {
            id: ResourceIdText(object.id),
            organization_id: ResourceIdText(object.organization_id),
            template_id: ResourceIdText(object.template_id),
            variation_id: object.variation_id.map(ResourceIdText),
            serial,
            owner_id: ResourceIdText(object.owner_id),
            owner_address: AddressText(object.owner_address),
            properties: object.properties.into(),
            status: object.status,
            version: object.trace.version,
            integrity_hash: HashText(object.trace.integrity),
            sequence: object.trace.sequence,
            created_at: TimeText(object.trace.created_at_ms),
            updated_at: TimeText(object.trace.updated_at_ms),
            state_proof: None,
        })
    }
}
