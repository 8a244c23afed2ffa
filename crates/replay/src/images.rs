//! Maps each type of resource to its rows in the store.

use kedge_protocol::{Id, Prefix};
use kedge_rules::image::Image;
use kedge_storage::{CodecError, Group, ReadError, ResourceRow, Snapshot};

/// Writes a resource. `before` is its earlier state, whose names become free.
pub fn put_image(group: &mut Group, image: &Image, before: Option<&Image>) {
    match image {
        Image::Object(object) => group.put_object(object, None),
        Image::Wallet(wallet) => {
            let email = match before {
                Some(Image::Wallet(before)) => Some(before.email.as_str()),
                _ => None,
            };
            group.put_wallet(wallet, email);
        }
        Image::Organization(organization) => group.put_resource(organization),
        Image::Template(template) => {
            let name = match before {
                Some(Image::Template(before)) => Some(before.name.as_str()),
                _ => None,
            };
            group.put_template(template, name);
        }
        Image::Variation(variation) => group.put_variation(variation),
        Image::ApiKey(key) => group.put_resource(key),
        Image::Webhook(webhook) => group.put_resource(webhook),
        Image::File(file) => group.put_resource(file),
        Image::Dispute(dispute) => group.put_dispute(dispute),
        Image::SequencerKey(key) => group.put_sequencer_key(key),
        Image::Invitation(invitation) => group.put_resource(invitation),
    }
}

/// Reads a resource that later actions can change or rules look up.
///
/// # Errors
/// [`ReadError`] if its row cannot be read.
pub fn read_image(snapshot: &Snapshot, id: Id) -> Result<Option<Image>, ReadError> {
    Ok(match id.prefix {
        Prefix::Object => snapshot.object(id)?.map(Image::Object),
        Prefix::Wallet => snapshot.wallet(id)?.map(Image::Wallet),
        Prefix::Organization => snapshot.organization(id)?.map(Image::Organization),
        Prefix::Template => snapshot.template(id)?.map(Image::Template),
        Prefix::Key => snapshot.resource(id)?.map(Image::ApiKey),
        Prefix::Webhook => snapshot.resource(id)?.map(Image::Webhook),
        // An invitation has the id of the action that made it.
        Prefix::Action => snapshot.resource(id)?.map(Image::Invitation),
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
pub fn row(image: &Image) -> Option<ResourceRow<'_>> {
    Some(match image {
        Image::Object(object) => object.into(),
        Image::Wallet(wallet) => wallet.into(),
        Image::Template(template) => template.into(),
        Image::Variation(variation) => variation.into(),
        Image::ApiKey(key) => key.into(),
        Image::Webhook(webhook) => webhook.into(),
        Image::File(file) => file.into(),
        Image::Invitation(invitation) => invitation.into(),
        Image::Organization(organization) => organization.into(),
        Image::Dispute(_) | Image::SequencerKey(_) => return None,
    })
}

/// Reads the result of [`row`].
///
/// # Errors
/// [`CodecError`] if it cannot be read.
pub fn read_row(row: &ResourceRow<'_>) -> Result<Image, CodecError> {
    Ok(match row.prefix()? {
        Prefix::Object => Image::Object(row.object()?),
        Prefix::Wallet => Image::Wallet(row.read()?),
        Prefix::Template => Image::Template(row.read()?),
        Prefix::Variation => Image::Variation(row.read()?),
        Prefix::Key => Image::ApiKey(row.read()?),
        Prefix::Webhook => Image::Webhook(row.read()?),
        Prefix::File => Image::File(row.read()?),
        Prefix::Action => Image::Invitation(row.read()?),
        Prefix::Organization => Image::Organization(row.read()?),
        Prefix::Dispute | Prefix::Batch | Prefix::Anchor | Prefix::Event | Prefix::Delivery => {
            return Err(row.unknown());
        }
    })
}
