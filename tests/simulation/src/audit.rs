//! Audit after each start, of the whole log: the ledger, the model, and the core's own verification.

use std::collections::BTreeMap;
use std::path::Path;

use kedge_protocol::signature::SigningKey;
use kedge_replay::apply::{ApplyError, LogApplier};
use kedge_storage::verify::{self, StoreVerifyPlan};
use kedge_storage::{Store, StoreOptions, StoreSnapshot, WriteGroup};

use crate::client::DOMAIN;
use crate::ledger::{Ledger, LedgerExtent};
use crate::model::LogModel;
use crate::plan::Violation;

fn unread(error: impl std::fmt::Display) -> Violation {
    Violation::new("the store cannot be read", error)
}

/// Checks the log against answers and reads, and the rows against the model. Returns the model.
pub(crate) fn audit(snapshot: &StoreSnapshot, ledger: &Ledger) -> Result<LogModel, Violation> {
    audit_to(snapshot, ledger, LedgerExtent::Whole)
}

/// Like [`audit`], for a log that may be only a part of other nodes' logs.
pub(crate) fn audit_to(
    snapshot: &StoreSnapshot,
    ledger: &Ledger,
    extent: LedgerExtent,
) -> Result<LogModel, Violation> {
    let mut model = LogModel::default();
    let (mut contents, mut nonces) = (Vec::new(), BTreeMap::new());
    let mut last_ms = 0;
    for record in snapshot.requests_from(1) {
        let record = record.map_err(unread)?;
        if record.first_sequence != contents.len() as u64 + 1 {
            return Err(Violation::new(
                "a sequence is missing before",
                record.first_sequence,
            ));
        }
        if record.timestamp_ms < last_ms {
            return Err(Violation::new(
                "the time goes back at",
                record.first_sequence,
            ));
        }
        last_ms = record.timestamp_ms;
        let only_if = ledger.logged(&record)?;
        model.apply(&record, only_if)?;
        let of = (record.head.signer, record.head.nonce);
        nonces.insert(of, record.first_sequence);
        let actions = record.actions.iter();
        contents.extend(actions.map(|action| record.content(action)));
    }
    let mut batches = Vec::new();
    for batch in snapshot.batches_from(0) {
        let header = batch.map_err(unread)?.header;
        if header.number != batches.len() as u64 {
            return Err(Violation::new(
                "a batch number is missing before",
                header.number,
            ));
        }
        batches.push((header.hash(), header.head));
    }
    let head = snapshot.head().map_err(unread)?;
    let ends = (contents.len() as u64, batches.len() as u64);
    if (head.sequence, head.batches) != ends {
        return Err(Violation::new(
            "the head is not the log's end",
            head.sequence,
        ));
    }
    for signed in snapshot.checkpoints_from(0) {
        ledger.note_state(&signed.map_err(unread)?.checkpoint)?;
    }
    ledger.check(&contents, &batches, &nonces, extent)?;
    model.compare(snapshot)?;
    Ok(model)
}

/// Runs the core's verification of the whole store. With a folder, also rebuilds the rows from the log and compares
/// them.
pub(crate) fn verify(
    snapshot: &StoreSnapshot,
    key: &SigningKey,
    place: Option<&Path>,
) -> Result<(), Violation> {
    let failed = |error: &dyn std::fmt::Display| Violation::new("the store does not verify", error);
    let plan = StoreVerifyPlan {
        threads: 1,
        ..StoreVerifyPlan::new(DOMAIN, key.address())
    };
    let Some(place) = place else {
        let checked = verify::verify(snapshot, &plan, |_| {}, |_, _| Ok(()));
        return checked.map(|_| ()).map_err(|fault| failed(&fault));
    };
    let made = StoreOptions::of_store(place, DOMAIN, key.address());
    let made = Store::scratch(made).map_err(unread)?;
    let operators = snapshot.operators().map_err(unread)?;
    let mut replay = LogApplier::from_nothing(operators).state_alone();
    let checked = verify::verify(
        snapshot,
        &plan,
        |_| {},
        |record, leaves| {
            let applied = replay.request(record, leaves);
            applied.map_err(|error| error.to_string())
        },
    );
    checked.map_err(|fault| failed(&fault))?;
    let mut put = Ok(());
    let finished = replay.finish(usize::MAX, |group: WriteGroup| -> Result<(), ApplyError> {
        put = made.put_rows(&group).map(|_| ()).map_err(unread);
        Ok(())
    });
    finished.map_err(|error| failed(&error))?;
    put?;
    verify::compare_state(snapshot, &made.snapshot()).map_err(|difference| failed(&difference))?;
    compare_root(snapshot, &made)
}

/// Compares the root of the newest state with that of the rows that the log gives.
fn compare_root(snapshot: &StoreSnapshot, made: &Store) -> Result<(), Violation> {
    let batches = snapshot.head().map_err(unread)?.batches;
    let expected = made.make_scratch_state(batches, snapshot).map_err(unread)?;
    let own = snapshot.root_at(batches).map_err(unread)?;
    let signed = snapshot.checkpoint(batches).map_err(unread)?;
    let roots = [
        own.map(|own| own.root),
        signed.map(|signed| signed.checkpoint.state),
    ];
    if roots
        .into_iter()
        .flatten()
        .all(|root| root == expected.root)
    {
        return Ok(());
    }
    Err(Violation::new(
        "the log gives another root of the state after its batch",
        batches,
    ))
}
