//! How many things of a kind an organization has.

use kedge_machine::{Counted, Held};
use kedge_protocol::Id;
use kedge_protocol::limits::PAGE_ITEMS_MAX;
use kedge_protocol::resource::{ApiKey, Webhook};
use kedge_storage::{Page, ReadError, Snapshot};

/// How many things of a kind an organization has in a store.
///
/// # Errors
/// [`ReadError`] where a row cannot be read.
pub fn held(snapshot: &Snapshot, organization: Id, of: Counted) -> Result<Held, ReadError> {
    let (mut held, mut after) = (Held::default(), None);
    loop {
        let page = Page {
            after,
            descending: false,
            limit: PAGE_ITEMS_MAX,
        };
        // For each: when it was made, and whether it was ended.
        let rows: Vec<(u64, bool)> = match of {
            Counted::ApiKeys => {
                let row = |key: &ApiKey| (key.trace.created_sequence, key.deleted);
                let keys = snapshot.api_keys(organization, page)?;
                keys.iter().map(row).collect()
            }
            Counted::Webhooks => {
                let row = |webhook: &Webhook| (webhook.trace.created_sequence, webhook.deleted);
                let webhooks = snapshot.webhooks(organization, page)?;
                webhooks.iter().map(row).collect()
            }
        };
        held.made += rows.len() as u64;
        held.live += rows.iter().filter(|(_, ended)| !ended).count();
        match rows.last() {
            Some((created, _)) if rows.len() == PAGE_ITEMS_MAX => after = Some(*created),
            _ => return Ok(held),
        }
    }
}
