//! Check of every resource's chain: each of its actions extends the previous one.

use std::path::PathBuf;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::{LogLeaf, first_integrity};
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::{Id, Prefix};

use super::resource_heads::{NOTHING, ResourceHead, ResourceHeads};
use crate::check::StoreFault;

pub(super) struct ResourceCheck<'a> {
    standings: ResourceHeads<'a>,
    acted_on: u64,
}

impl<'a> ResourceCheck<'a> {
    /// As [`ResourceHeads::new`].
    pub(super) fn new(bounds: Option<&'a (usize, PathBuf)>) -> Self {
        Self {
            standings: ResourceHeads::new(bounds),
            acted_on: 0,
        }
    }

    /// Number of resources with actions.
    pub(super) fn acted_on(&self) -> u64 {
        self.acted_on
    }

    pub(super) fn extend(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[LogLeaf],
    ) -> Result<(), StoreFault> {
        for (action, leaf) in record.actions.iter().zip(leaves) {
            self.action(action, leaf)?;
        }
        Ok(())
    }

    /// Checks an action's leaf. Its integrity combines the previous one, as the action names it, with the action's
    /// content: it is right if the previous one is the resource's.
    fn action(&mut self, action: &ActionRecord<'_>, leaf: &LogLeaf) -> Result<(), StoreFault> {
        let before = self.standings.get(action.resource)?.unwrap_or(NOTHING);
        let extends = action.version == before.version + 1
            && action.previous_integrity == before.integrity
            && action.previous_sequence == before.sequence;
        if !extends {
            let what = format!(
                "the action does not extend the previous state of {}",
                action.resource
            );
            return Err(StoreFault::wrong(leaf.sequence, what));
        }
        self.acted_on += u64::from(!before.is_acted_on);
        let now = ResourceHead {
            version: action.version,
            integrity: leaf.integrity,
            sequence: leaf.sequence,
            is_acted_on: true,
        };
        self.standings.put(action.resource, now)?;
        if action.kind == Kind::WalletRegister {
            let organization = Id::made_by(Prefix::Organization, &leaf.content, 1);
            if self.standings.get(organization)?.is_none() {
                let made = ResourceHead {
                    version: 1,
                    integrity: first_integrity(&leaf.content, 1),
                    sequence: leaf.sequence,
                    is_acted_on: false,
                };
                self.standings.put(organization, made)?;
            }
        }
        Ok(())
    }
}
