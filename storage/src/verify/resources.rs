//! Every resource's own chain: each of its actions extends the one before.

use std::collections::hash_map::Entry;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::{Leaf, first_integrity};
use kedge_protocol::ids::IdMap;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::{Hash, Id, Prefix};

use crate::check::Fault;

/// A resource's state after its last action.
#[derive(Clone, Copy)]
struct Standing {
    version: u64,
    integrity: Hash,
    sequence: u64,
}

const NOTHING: Standing = Standing {
    version: 0,
    integrity: Hash::ZERO,
    sequence: 0,
};

#[derive(Default)]
pub(super) struct Resources {
    standing: IdMap<Id, Standing>,
    /// Organizations that a registration may have made with its wallet.
    secondary: IdMap<Id, Standing>,
}

impl Resources {
    /// How many resources actions acted on.
    pub(super) fn acted_on(&self) -> u64 {
        self.standing.len() as u64
    }

    pub(super) fn extend(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[Leaf],
    ) -> Result<(), Fault> {
        for (action, leaf) in record.actions.iter().zip(leaves) {
            self.action(action, leaf)?;
        }
        Ok(())
    }

    /// The leaf's integrity is the previous one, as the action names it, combined with the action's content: it is the
    /// resource's own if that one is.
    fn action(&mut self, action: &ActionRecord<'_>, leaf: &Leaf) -> Result<(), Fault> {
        let known = self.standing.entry(action.resource);
        let before = match &known {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) => *self.secondary.get(&action.resource).unwrap_or(&NOTHING),
        };
        let extends = action.version == before.version + 1
            && action.previous_integrity == before.integrity
            && action.previous_sequence == before.sequence;
        if !extends {
            let what = format!(
                "the action does not extend the previous state of {}",
                action.resource
            );
            return Err(Fault::wrong(leaf.sequence, what));
        }
        known.insert_entry(Standing {
            version: action.version,
            integrity: leaf.integrity,
            sequence: leaf.sequence,
        });
        if action.kind == Kind::WalletRegister {
            let organization = Id::made_by(Prefix::Organization, &leaf.content, 1);
            let made = Standing {
                version: 1,
                integrity: first_integrity(&leaf.content, 1),
                sequence: leaf.sequence,
            };
            self.secondary.insert(organization, made);
        }
        Ok(())
    }
}
