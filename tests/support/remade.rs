//! The log alone yields the store: an ended server's store is rebuilt from its log, elsewhere, and must be the same to
//! the byte.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

use std::path::Path;

use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_replay::catch_up::open_store;
use kedge_storage::verify::compare_remade;
use kedge_storage::{Store, StoreAccess, StoreOpenError, StoreOptions};

/// Checks the data directory of a server that was stopped or killed. After a kill, the log's entries that the store
/// lacks are first applied to a copy.
#[track_caller]
pub(crate) fn check(data: &Path) {
    let path = data.join("store");
    let nobodys = Domain {
        chain_id: 0,
        verifying_contract: Address::ZERO,
    };
    let asked = Store::open_to_verify(StoreOptions::of_store(&path, nobodys, Address::ZERO));
    let domain = match asked {
        Err(StoreOpenError::OtherDomain { stored, .. }) => stored,
        other => panic!("{other:?}"),
    };
    let scratch = tempfile::tempdir().unwrap();
    let options = options(data, &path, domain);
    let made = store(data, &scratch.path().join("made"), domain);
    let live = match Store::open_to_verify(options.clone()) {
        Err(StoreOpenError::Behind { .. }) => {
            let copied = scratch.path().join("copied");
            copy(&path, &copied);
            open_store(StoreOptions {
                path: copied,
                ..options
            })
        }
        live => live,
    };
    let live = live.unwrap();
    compare_remade(&live.snapshot(), &made.snapshot())
        .unwrap_or_else(|difference| panic!("made again from the log: {difference}"));
}

fn options(data: &Path, path: &Path, domain: Domain) -> StoreOptions {
    StoreOptions {
        log_path: data.join("log"),
        side_keys: kedge_upkeep::side_keys::read(&data.join("keys")).unwrap(),
        access: StoreAccess::Derive,
        ..StoreOptions::of_store(path, domain, Address::ZERO)
    }
}

/// Builds a store at `path` from the log of a data directory.
#[track_caller]
pub(crate) fn store(data: &Path, path: &Path, domain: Domain) -> Store {
    open_store(options(data, path, domain)).unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_name() != "LOCK" {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
