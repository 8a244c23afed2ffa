//! Resources as they are after an action: the result of a decision.

use kedge_protocol::Id;
use kedge_protocol::resource::{
    ApiKey, Dispute, FileRecord, Invitation, Object, Organization, ResourceTrace, SequencerKey,
    Template, Variation, Wallet, Webhook,
};

macro_rules! images {
    (
        traced { $($(#[$traced_doc:meta])* $traced:ident,)* }
        made_once { $($(#[$once_doc:meta])* $once:ident,)* }
    ) => {
        /// A resource after an action.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum ResourceState {
            $($(#[$traced_doc])* $traced($traced),)*
            $($(#[$once_doc])* $once($once),)*
        }

        impl ResourceState {
            pub fn id(&self) -> Id {
                match self {
                    $(Self::$traced(resource) => resource.id,)*
                    $(Self::$once(resource) => resource.id,)*
                }
            }

            /// The resource's trace, if it has one.
            pub fn trace(&self) -> Option<&ResourceTrace> {
                match self {
                    $(Self::$traced(resource) => Some(&resource.trace),)*
                    $(Self::$once(_))|* => None,
                }
            }

            /// [`Self::trace`], mutable.
            pub fn trace_mut(&mut self) -> Option<&mut ResourceTrace> {
                match self {
                    $(Self::$traced(resource) => Some(&mut resource.trace),)*
                    $(Self::$once(_))|* => None,
                }
            }

            /// Sets the action's place in the log. Not for a resource that existed before and changes only along with
            /// the action's own: its history does not grow.
            pub fn place(&mut self, sequence: u64, timestamp_ms: u64) {
                match self {
                    $(Self::$traced(resource) => resource.trace.place(sequence, timestamp_ms),)*
                    $(Self::$once(resource) => {
                        resource.created_sequence = sequence;
                        resource.created_at_ms = timestamp_ms;
                    })*
                }
            }
        }

        $(images!(@conversions $traced);)*
        $(images!(@conversions $once);)*
    };
    (@conversions $name:ident) => {
        impl From<$name> for ResourceState {
            fn from(resource: $name) -> Self {
                Self::$name(resource)
            }
        }

        impl TryFrom<ResourceState> for $name {
            type Error = ();

            fn try_from(image: ResourceState) -> Result<Self, ()> {
                match image {
                    ResourceState::$name(resource) => Ok(resource),
                    _ => Err(()),
                }
            }
        }

        impl<'a> TryFrom<&'a ResourceState> for &'a $name {
            type Error = ();

            fn try_from(image: &'a ResourceState) -> Result<Self, ()> {
                match image {
                    ResourceState::$name(resource) => Ok(resource),
                    _ => Err(()),
                }
            }
        }
    };
}

// Variations have no trace because they never change, and invitations have none because they are used once.
images! {
    traced {
        Object,
        Wallet,
        Organization,
        Template,
        /// An API key.
        ApiKey,
        Webhook,
        FileRecord,
        Dispute,
        SequencerKey,
    }
    made_once {
        Variation,
        Invitation,
    }
}

impl ResourceState {
    /// Places an action's resource states: the first one, and the new ones made with it.
    pub fn place_all(images: &mut [Self], sequence: u64, timestamp_ms: u64) {
        for (i, image) in images.iter_mut().enumerate() {
            let keeps_place = match image {
                Self::Wallet(wallet) => i > 0 && wallet.trace.created_sequence != 0,
                Self::Invitation(invitation) => invitation.used_by.is_some() || invitation.revoked,
                // These change only by actions on themselves.
                Self::Object(_)
                | Self::Organization(_)
                | Self::Template(_)
                | Self::Variation(_)
                | Self::ApiKey(_)
                | Self::Webhook(_)
                | Self::FileRecord(_)
                | Self::Dispute(_)
                | Self::SequencerKey(_) => false,
            };
            if !keeps_place {
                image.place(sequence, timestamp_ms);
            }
        }
    }
}
