//! What a decision leaves: the resources as they are after it.

use kedge_protocol::Id;
use kedge_protocol::resource::{
    ApiKey, Dispute, File, Invitation, Object, Organization, SequencerKey, Template, Trace,
    Variation, Wallet, Webhook,
};

macro_rules! images {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A resource after an action.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Image {
            $($(#[$doc])* $name($name),)*
        }

        $(
            impl From<$name> for Image {
                fn from(resource: $name) -> Self {
                    Self::$name(resource)
                }
            }

            impl TryFrom<Image> for $name {
                type Error = ();

                fn try_from(image: Image) -> Result<Self, ()> {
                    match image {
                        Image::$name(resource) => Ok(resource),
                        _ => Err(()),
                    }
                }
            }

            impl<'a> TryFrom<&'a Image> for &'a $name {
                type Error = ();

                fn try_from(image: &'a Image) -> Result<Self, ()> {
                    match image {
                        Image::$name(resource) => Ok(resource),
                        _ => Err(()),
                    }
                }
            }
        )*
    };
}

images! {
    /// An object.
    Object,
    /// A wallet.
    Wallet,
    /// An organization.
    Organization,
    /// A template.
    Template,
    /// A variation.
    Variation,
    /// An API key.
    ApiKey,
    /// A webhook.
    Webhook,
    /// A file's description.
    File,
    /// An invitation.
    Invitation,
    /// A dispute.
    Dispute,
    /// A key of the sequencer.
    SequencerKey,
}

impl Image {
    /// The resource's identifier.
    pub fn id(&self) -> Id {
        match self {
            Self::Object(object) => object.id,
            Self::Wallet(wallet) => wallet.id,
            Self::Organization(organization) => organization.id,
            Self::Template(template) => template.id,
            Self::Variation(variation) => variation.id,
            Self::ApiKey(key) => key.id,
            Self::Webhook(webhook) => webhook.id,
            Self::File(file) => file.id,
            Self::Invitation(invitation) => invitation.id,
            Self::Dispute(dispute) => dispute.id,
            Self::SequencerKey(key) => key.id,
        }
    }

    /// The resource's place in its own history. Variations have none because they never change, and invitations have
    /// none because they are used once.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Object(object) => Some(&object.trace),
            Self::Wallet(wallet) => Some(&wallet.trace),
            Self::Organization(organization) => Some(&organization.trace),
            Self::Template(template) => Some(&template.trace),
            Self::ApiKey(key) => Some(&key.trace),
            Self::Webhook(webhook) => Some(&webhook.trace),
            Self::File(file) => Some(&file.trace),
            Self::Dispute(dispute) => Some(&dispute.trace),
            Self::SequencerKey(key) => Some(&key.trace),
            Self::Variation(_) | Self::Invitation(_) => None,
        }
    }

    /// As [`Self::trace`], to be changed.
    pub fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            Self::Object(object) => Some(&mut object.trace),
            Self::Wallet(wallet) => Some(&mut wallet.trace),
            Self::Organization(organization) => Some(&mut organization.trace),
            Self::Template(template) => Some(&mut template.trace),
            Self::ApiKey(key) => Some(&mut key.trace),
            Self::Webhook(webhook) => Some(&mut webhook.trace),
            Self::File(file) => Some(&mut file.trace),
            Self::Dispute(dispute) => Some(&mut dispute.trace),
            Self::SequencerKey(key) => Some(&mut key.trace),
            Self::Variation(_) | Self::Invitation(_) => None,
        }
    }

    /// Sets the place in the log that the action was given. Not for a resource that existed before and changes only
    /// along with the one acted on: its own history does not grow.
    pub fn place(&mut self, sequence: u64, timestamp_ms: u64) {
        match self {
            Self::Variation(variation) => {
                variation.created_sequence = sequence;
                variation.created_at_ms = timestamp_ms;
            }
            Self::Invitation(invitation) => {
                invitation.created_sequence = sequence;
                invitation.created_at_ms = timestamp_ms;
            }
            _ => {
                if let Some(trace) = self.trace_mut() {
                    trace.place(sequence, timestamp_ms);
                }
            }
        }
    }

    /// Places an action's images: the first one, and the new ones made with it.
    pub fn place_all(images: &mut [Self], sequence: u64, timestamp_ms: u64) {
        for (i, image) in images.iter_mut().enumerate() {
            let keeps_place = match image {
                Self::Wallet(wallet) => i > 0 && wallet.trace.created_sequence != 0,
                Self::Invitation(invitation) => invitation.used_by.is_some() || invitation.revoked,
                _ => false,
            };
            if !keeps_place {
                image.place(sequence, timestamp_ms);
            }
        }
    }
}
