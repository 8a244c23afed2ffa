//! Maps each type of resource to its rows in the store.

use kedge_protocol::{Id, Prefix};
use kedge_rules::resource_state::ResourceState;
use kedge_storage::{CodecError, ResourceRow, StoreReadError, StoreSnapshot, WriteGroup};

/// Writes a resource. `before` is its earlier state, whose names become free.
pub fn put_image(group: &mut WriteGroup, image: &ResourceState, before: Option<&ResourceState>) {
    match image {
        ResourceState::Object(object) => group.put_object(object, None),
        ResourceState::Wallet(wallet) => {
            let email = match before {
                Some(ResourceState::Wallet(before)) => Some(before.email.as_str()),
                _ => None,
            };
            group.put_wallet(wallet, email);
        }
        ResourceState::Organization(organization) => group.put_resource(organization),
        ResourceState::Template(template) => {
            let name = match before {
                Some(ResourceState::Template(before)) => Some(before.name.as_str()),
                _ => None,
            };
            group.put_template(template, name);
        }
        ResourceState::Variation(variation) => group.put_variation(variation),
        ResourceState::ApiKey(key) => group.put_resource(key),
        ResourceState::Webhook(webhook) => group.put_resource(webhook),
        ResourceState::FileRecord(file) => group.put_resource(file),
        ResourceState::Dispute(dispute) => group.put_dispute(dispute),
        ResourceState::SequencerKey(key) => group.put_sequencer_key(key),
        ResourceState::Invitation(invitation) => group.put_resource(invitation),
    }
}

/// Reads a resource that later actions can change or rules look up.
///
/// # Errors
/// [`StoreReadError`] if its row cannot be read.
pub fn read_image(
    snapshot: &StoreSnapshot,
    id: Id,
) -> Result<Option<ResourceState>, StoreReadError> {
    Ok(match id.prefix {
        Prefix::Object => snapshot.object(id)?.map(ResourceState::Object),
        Prefix::Wallet => snapshot.wallet(id)?.map(ResourceState::Wallet),
        Prefix::Organization => snapshot.organization(id)?.map(ResourceState::Organization),
        Prefix::Template => snapshot.template(id)?.map(ResourceState::Template),
        Prefix::Key => snapshot.resource(id)?.map(ResourceState::ApiKey),
        Prefix::Webhook => snapshot.resource(id)?.map(ResourceState::Webhook),
        // An invitation has the id of the action that made it.
        Prefix::Action => snapshot.resource(id)?.map(ResourceState::Invitation),
        // Immutable, or not a resource.
        Prefix::Variation
        | Prefix::File
        | Prefix::Dispute
        | Prefix::Batch
        | Prefix::Anchor
        | Prefix::Event
        | Prefix::Delivery => None,
    })
}

/// A resource in its stored form; `None` for types that no answer to a signed request shows.
pub fn row(image: &ResourceState) -> Option<ResourceRow<'_>> {
    Some(match image {
        ResourceState::Object(object) => object.into(),
        ResourceState::Wallet(wallet) => wallet.into(),
        ResourceState::Template(template) => template.into(),
        ResourceState::Variation(variation) => variation.into(),
        ResourceState::ApiKey(key) => key.into(),
        ResourceState::Webhook(webhook) => webhook.into(),
        ResourceState::FileRecord(file) => file.into(),
        ResourceState::Invitation(invitation) => invitation.into(),
        ResourceState::Organization(organization) => organization.into(),
        ResourceState::Dispute(_) | ResourceState::SequencerKey(_) => return None,
    })
}

/// Reads the result of [`row`].
///
/// # Errors
/// [`CodecError`] if it cannot be read.
pub fn read_row(row: &ResourceRow<'_>) -> Result<ResourceState, CodecError> {
    Ok(match row.prefix()? {
        Prefix::Object => ResourceState::Object(row.object()?),
        Prefix::Wallet => ResourceState::Wallet(row.read()?),
        Prefix::Template => ResourceState::Template(row.read()?),
        Prefix::Variation => ResourceState::Variation(row.read()?),
        Prefix::Key => ResourceState::ApiKey(row.read()?),
        Prefix::Webhook => ResourceState::Webhook(row.read()?),
        Prefix::File => ResourceState::FileRecord(row.read()?),
        Prefix::Action => ResourceState::Invitation(row.read()?),
        Prefix::Organization => ResourceState::Organization(row.read()?),
        Prefix::Dispute | Prefix::Batch | Prefix::Anchor | Prefix::Event | Prefix::Delivery => {
            return Err(row.unknown());
        }
    })
}
