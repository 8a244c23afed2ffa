//! What a decision leaves behind: the resources as they are after it.

use kedge_protocol::Id;
use kedge_protocol::resource::{Object, Organization, Template, Trace, Variation, Wallet};

/// A resource after an action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Image {
    /// An object.
    Object(Object),
    /// A wallet.
    Wallet(Wallet),
    /// An organization.
    Organization(Organization),
    /// A template.
    Template(Template),
    /// A variation.
    Variation(Variation),
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
        }
    }

    /// The resource's place in its own history; variations have none, they never change.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Object(object) => Some(&object.trace),
            Self::Wallet(wallet) => Some(&wallet.trace),
            Self::Organization(organization) => Some(&organization.trace),
            Self::Template(template) => Some(&template.trace),
            Self::Variation(_) => None,
        }
    }

    /// Writes down the place in the log that the action was given.
    pub fn place(&mut self, sequence: u64, timestamp_ms: u64) {
        match self {
            Self::Object(object) => object.trace.place(sequence, timestamp_ms),
            Self::Wallet(wallet) => wallet.trace.place(sequence, timestamp_ms),
            Self::Organization(organization) => organization.trace.place(sequence, timestamp_ms),
            Self::Template(template) => template.trace.place(sequence, timestamp_ms),
            Self::Variation(variation) => {
                variation.created_sequence = sequence;
                variation.created_at_ms = timestamp_ms;
            }
        }
    }
}
