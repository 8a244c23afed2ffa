//! Counts an organization's resources of a limited type.

use kedge_protocol::Id;
use kedge_protocol::limits::PAGE_ITEMS_MAX;
use kedge_protocol::resource::{ApiKey, Webhook};
use kedge_rules::{Counted, Held};
use kedge_storage::{Page, ReadError, Resource, Snapshot};

/// Number of resources of a type that an organization has in a store.
///
/// # Errors
/// [`ReadError`] if a row cannot be read.
pub fn held(snapshot: &Snapshot, organization: Id, of: Counted) -> Result<Held, ReadError> {
    match of {
        Counted::ApiKeys => tally(snapshot, organization, |key: &ApiKey| !key.deleted),
        Counted::Webhooks => tally(snapshot, organization, |hook: &Webhook| !hook.deleted),
    }
}

fn tally<T: Resource>(
    snapshot: &Snapshot,
    organization: Id,
    is_live: impl Fn(&T) -> bool,
) -> Result<Held, ReadError> {
    let (mut held, mut after) = (Held::default(), None);
    loop {
        let page = Page {
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
