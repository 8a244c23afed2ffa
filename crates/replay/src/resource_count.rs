//! Counts an organization's resources of a limited type.

use kedge_protocol::limits::PAGE_ITEMS_MAX;
use kedge_protocol::{Id, for_each_resource, resource};
use kedge_rules::{CountedResource, ResourceCount};
use kedge_storage::{RowPage, StoreReadError, StoreSnapshot, StoredResource};

macro_rules! counts {
    ($($type:ident, $prefix:ident, $history:ident, $count:ident $(($of:ident))?, $read:ident, $answer:ident, $secret:ident, $named:ident;)*) => {
        /// Number of resources of a type that an organization has in a store.
        ///
        /// # Errors
        /// [`StoreReadError`] if a row cannot be read.
        pub fn held(
            snapshot: &StoreSnapshot,
            organization: Id,
            of: CountedResource,
        ) -> Result<ResourceCount, StoreReadError> {
            match of {
                $($(CountedResource::$of => tally(snapshot, organization, |counted: &resource::$type| !counted.deleted),)?)*
            }
        }
    };
}

for_each_resource!(counts);

fn tally<T: StoredResource>(
    snapshot: &StoreSnapshot,
    organization: Id,
    is_live: impl Fn(&T) -> bool,
) -> Result<ResourceCount, StoreReadError> {
    let (mut held, mut after) = (ResourceCount::default(), None);
    loop {
        let page = RowPage {
            after,
            descending: false,
            limit: PAGE_ITEMS_MAX,
        };
        let listed = snapshot.listed::<T>(organization, page)?;
        held.made += listed.len() as u64;
        held.live += listed.iter().filter(|item| is_live(item)).count();
        match listed.last().and_then(T::list_place) {
            Some((_, last)) if listed.len() == PAGE_ITEMS_MAX => after = Some(last),
            _ => return Ok(held),
        }
    }
}
