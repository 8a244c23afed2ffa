//! The rows of a resource.

use kedge_machine::image::Image;
use kedge_storage::Group;

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
        Image::Organization(organization) => group.put_organization(organization),
        Image::Template(template) => {
            let name = match before {
                Some(Image::Template(before)) => Some(before.name.as_str()),
                _ => None,
            };
            group.put_template(template, name);
        }
        Image::Variation(variation) => group.put_variation(variation),
        Image::ApiKey(key) => group.put_api_key(key),
        Image::Webhook(webhook) => group.put_webhook(webhook),
        Image::File(file) => group.put_file(file),
        Image::Dispute(dispute) => group.put_dispute(dispute),
        Image::SequencerKey(key) => group.put_sequencer_key(key),
        Image::Invitation(invitation) => group.put_invitation(invitation),
    }
}
