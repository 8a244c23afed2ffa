//! Resources as they are after an action: the result of a decision.

use kedge_protocol::registry::CountedResource;
use kedge_protocol::resource::{self, ResourceTrace};
use kedge_protocol::{Id, for_each_resource};

macro_rules! resource_states {
    ($($type:ident, $prefix:ident, $history:ident, $count:ident $(($of:ident))?, $read:ident, $answer:ident, $secret:ident, $named:ident;)*) => {
        /// A resource after an action.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum ResourceState { $($type(resource::$type),)* }

        impl ResourceState {
            pub fn id(&self) -> Id {
                match self { $(Self::$type(resource) => resource.id,)* }
            }

            /// The resource's trace, if it has one.
            pub fn trace(&self) -> Option<&ResourceTrace> {
                match self { $(Self::$type(resource) => resource_states!(@trace $history, &resource),)* }
            }

            /// [`Self::trace`], mutable.
            pub fn trace_mut(&mut self) -> Option<&mut ResourceTrace> {
                match self { $(Self::$type(resource) => resource_states!(@trace $history, &mut resource),)* }
            }

            /// Sequence of the action that made it; 0 until that action has its place in the log.
            fn created_sequence(&self) -> u64 {
                match self { $(Self::$type(resource) => resource_states!(@created $history, resource),)* }
            }

            /// Sets the action's place in the log. Not for a resource that existed before and changes only along with
            /// the action's own: its history does not grow.
            pub fn place(&mut self, sequence: u64, timestamp_ms: u64) {
                match self {
                    $(Self::$type(resource) => {
                        resource_states!(@place $history, resource, sequence, timestamp_ms)
                    })*
                }
            }

            /// For a resource whose number per organization is limited: its organization, its type, and whether it is
            /// live.
            pub(crate) fn counted(&self) -> Option<(Id, CountedResource, bool)> {
                match self {
                    $(Self::$type(_resource) => resource_states!(@count $count _resource $($of)?),)*
                }
            }

            /// Seconds for which the previous secret stays valid after this change; 0 for a resource without a secret.
            pub fn overlap_s(&self) -> u64 {
                match self {
                    $(Self::$type(_resource) => resource_states!(@overlap $secret _resource),)*
                }
            }
        }

        $(
            impl From<resource::$type> for ResourceState {
                fn from(resource: resource::$type) -> Self {
                    Self::$type(resource)
                }
            }

            impl TryFrom<ResourceState> for resource::$type {
                type Error = ();

                fn try_from(image: ResourceState) -> Result<Self, ()> {
                    match image {
                        ResourceState::$type(resource) => Ok(resource),
                        _ => Err(()),
                    }
                }
            }

            impl<'a> TryFrom<&'a ResourceState> for &'a resource::$type {
                type Error = ();

                fn try_from(image: &'a ResourceState) -> Result<Self, ()> {
                    match image {
                        ResourceState::$type(resource) => Ok(resource),
                        _ => Err(()),
                    }
                }
            }
        )*
    };
    (@trace traced, & $resource:ident) => { Some(&$resource.trace) };
    (@trace traced, &mut $resource:ident) => { Some(&mut $resource.trace) };
    (@trace once, & $resource:ident) => {{ let _ = $resource; None }};
    (@trace once, &mut $resource:ident) => {{ let _ = $resource; None }};
    (@created traced, $resource:ident) => { $resource.trace.created_sequence };
    (@created once, $resource:ident) => { $resource.created_sequence };
    (@place traced, $resource:ident, $sequence:ident, $time:ident) => { $resource.trace.place($sequence, $time) };
    (@place once, $resource:ident, $sequence:ident, $time:ident) => {{
        $resource.created_sequence = $sequence;
        $resource.created_at_ms = $time;
    }};
    (@overlap secret $resource:ident) => { $resource.overlap_s };
    (@overlap plain $resource:ident) => { 0 };
    (@count uncounted $resource:ident) => { None };
    (@count counted $resource:ident $of:ident) => {
        Some(($resource.organization_id, CountedResource::$of, !$resource.deleted))
    };
}

for_each_resource!(resource_states);

impl ResourceState {
    /// Places an action's resource states: the first one, and the new ones made with it.
    pub fn place_all(images: &mut [Self], sequence: u64, timestamp_ms: u64) {
        for (i, image) in images.iter_mut().enumerate() {
            if i == 0 || image.created_sequence() == 0 {
                image.place(sequence, timestamp_ms);
            }
        }
    }
}
