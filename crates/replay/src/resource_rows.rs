//! Maps each type of resource to its rows in the store.

use kedge_protocol::{Id, Prefix, for_each_resource, resource};
use kedge_rules::resource_state::ResourceState;
use kedge_storage::{
    CodecError, NamedResource, ResourceRow, StoreReadError, StoreSnapshot, WriteGroup,
};

macro_rules! resource_rows {
    ($($type:ident, $prefix:ident, $history:ident, $count:ident $(($of:ident))?, $read:ident, $answer:ident, $secret:ident, $named:ident;)*) => {
        /// Writes a resource. `before` is its earlier state, whose names become free.
        pub fn put_image(group: &mut WriteGroup, image: &ResourceState, before: Option<&ResourceState>) {
            match image {
                $(ResourceState::$type(resource) => {
                    resource_rows!(@put $named, resource, group, before);
                })*
            }
        }

        /// Reads a resource that later actions can change or rules look up.
        ///
        /// # Errors
        /// [`StoreReadError`] if its row cannot be read.
        pub fn read_image(snapshot: &StoreSnapshot, id: Id) -> Result<Option<ResourceState>, StoreReadError> {
            $(resource_rows!(@read $read, $type, $prefix, snapshot, id);)*
            Ok(None)
        }

        /// Whether [`read_image`] reads resources of this type.
        pub fn is_read_back(image: &ResourceState) -> bool {
            match image { $(ResourceState::$type(_) => resource_rows!(@is $read),)* }
        }

        /// A resource in its stored form; `None` for types that no answer to a signed request shows.
        pub fn row(image: &ResourceState) -> Option<ResourceRow<'_>> {
            match image {
                $(ResourceState::$type(_resource) => resource_rows!(@row $answer, _resource),)*
            }
        }

        /// Reads the result of [`row`].
        ///
        /// # Errors
        /// [`CodecError`] if it cannot be read.
        pub fn read_row(row: &ResourceRow<'_>) -> Result<ResourceState, CodecError> {
            let prefix = row.prefix()?;
            $(resource_rows!(@read_row $answer, $type, $prefix, row, prefix);)*
            Err(row.unknown())
        }
    };
    (@put named, $resource:ident, $group:ident, $before:ident) => {
        $resource.put_into($group, $before.and_then(|before| before.try_into().ok()))
    };
    (@put unnamed, $resource:ident, $group:ident, $before:ident) => { $group.put_resource($resource) };
    (@read by_id, $type:ident, $prefix:ident, $snapshot:ident, $id:ident) => {
        if $id.prefix == Prefix::$prefix {
            return Ok($snapshot.resource::<resource::$type>($id)?.map(ResourceState::$type));
        }
    };
    (@read never, $type:ident, $prefix:ident, $snapshot:ident, $id:ident) => {};
    (@is by_id) => { true };
    (@is never) => { false };
    (@row shown, $resource:ident) => { Some($resource.into()) };
    (@row hidden, $resource:ident) => { None };
    (@read_row shown, $type:ident, $prefix:ident, $row:ident, $found:ident) => {
        if $found == Prefix::$prefix {
            return $row.read::<resource::$type>().map(ResourceState::$type);
        }
    };
    (@read_row hidden, $type:ident, $prefix:ident, $row:ident, $found:ident) => {};
}

for_each_resource!(resource_rows);
