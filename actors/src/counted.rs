//! What the committer counts in the commit itself: objects minted of each template, and the bytes that
//! each organization's requests add.

use std::collections::hash_map::Entry;

use kedge_machine::image::Image;
use kedge_protocol::Id;
use kedge_storage::Group;

use crate::committer::{Committer, CommitterError};
use crate::unit::Decided;

impl Committer {
    /// How many objects the template has made with this and earlier groups.
    pub(crate) fn minted(&mut self, template: Id) -> Result<&mut u64, CommitterError> {
        Ok(match self.minted.entry(template) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.published.load().snapshot.minted(template)?),
        })
    }

    /// Counts what a request has added to the log and to what it makes on its organization.
    pub(crate) fn count_bytes(
        &mut self,
        group: &mut Group,
        organization: Id,
        added: i64,
    ) -> Result<(), CommitterError> {
        let bytes = match self.log_bytes.entry(organization) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let published = self.published.load();
                entry.insert(published.snapshot.log_bytes(organization)?)
            }
        };
        *bytes = bytes.saturating_add_signed(added);
        group.put_log_bytes(organization, *bytes);
        Ok(())
    }
}

/// How many bytes more there are after an action, for which the group took `written` bytes of rows. What
/// is new stays; a row that takes the place of another one counts by what its properties grow.
pub(crate) fn growth(decided: &Decided, written: usize) -> i64 {
    match decided {
        Decided::Object { base: None, .. } | Decided::Resources { base: None, .. } => {
            signed(written)
        }
        Decided::Object {
            base: Some(base),
            next,
            ..
        } => signed(next.properties.len()) - signed(base.properties.len()),
        Decided::Resources { next, .. } => {
            let made = next.iter().skip(1).map(|image| match image {
                Image::Variation(variation) => signed(variation.properties.len()),
                _ => 0,
            });
            made.sum()
        }
    }
}

/// A number of bytes, to add and to take away.
pub(crate) fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
