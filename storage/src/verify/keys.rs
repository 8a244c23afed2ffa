//! Check of the sequencer keys: the store's list must be the one that its log names.

use kedge_protocol::action::Kind;
use kedge_protocol::{KeyActivation, SequencerKeys};

use crate::check::StoreFault;
use crate::snapshot::StoreSnapshot;
use crate::tables::Table;

/// The keys for checking headers: the store's list if it begins with the trusted one, otherwise the trusted one. The
/// first header of another key then contradicts it.
pub(super) fn to_check_with(
    snapshot: &StoreSnapshot,
    trusted: &SequencerKeys,
) -> Result<SequencerKeys, StoreFault> {
    let stored = snapshot.sequencer_keys()?;
    // Keys planned elsewhere for later batches contradict nothing yet.
    let begun = trusted.begun(snapshot.head()?.batches);
    Ok(if stored.extends(&begun) {
        stored
    } else {
        trusted.clone()
    })
}

/// Checks that the used list is the store's, and that an action of the log names each key after the first before its
/// first batch.
pub(super) fn check(snapshot: &StoreSnapshot, checked: &SequencerKeys) -> Result<(), StoreFault> {
    let rows = |what| StoreFault::Rows {
        table: Table::SequencerKeys,
        what,
    };
    if snapshot.sequencer_keys()? != *checked {
        let what = "the keys that the store names are not the trusted ones";
        return Err(rows(what.to_owned()));
    }
    for named in snapshot.named_sequencer_keys()? {
        let KeyActivation { key, from_batch } = named.entry;
        let action = snapshot.action_at(named.trace.sequence)?;
        let names = action.is_some_and(|placed| {
            let action = &placed.action;
            action.kind == Kind::SystemSequencerKey
                && KeyActivation::named_by(&action.target, &action.payload) == Some(named.entry)
                && placed.batch_number < from_batch
        });
        if !names {
            return Err(rows(format!(
                "no action of the log names {key} as the key from batch {from_batch} on"
            )));
        }
    }
    Ok(())
}
