//! A resource as the rules see it, and as the store has it: the one place that maps each type to its rows.

use kedge_protocol::{Id, Prefix};
use kedge_rules::image::Image;
use kedge_storage::{CodecError, Group, ReadError, ResourceRow, Snapshot};

/// Writes a resource; `before` is the earlier state of the one acted on, for the names that it gives up.
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

/// Reads a resource, if a later action can change it or a rule looks it up.
///
/// # Errors
/// [`ReadError`] where its row cannot be read.
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
        // Made once and never changed, or not a resource.
        Prefix::Variation
        | Prefix::File
        | Prefix::Dispute
        | Prefix::Batch
        | Prefix::Anchor
        | Prefix::Event
        | Prefix::Delivery => None,
    })
}

/// A resource in its stored form; none for what no answer to a signed request shows.
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

/// Reads what [`row`] made.
///
/// # Errors
/// [`CodecError`] where it cannot be read.
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
