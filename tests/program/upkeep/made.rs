//! A server's first life, and the real binary's other commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use kedge_client::{Account, BatchMode, Client, NewAction, NewObject};
use kedge_protocol::Id;
use kedge_replay::catch_up::open_store;
use kedge_storage::{Store, StoreOptions, Table};

use crate::support::ledger::Ledger;
use crate::support::server::Setup;
use crate::support::{Rng, connect, register, template};

/// A row's key and value.
type Row = (Vec<u8>, Vec<u8>);

pub(crate) struct Made {
    pub(crate) setup: Setup,
    pub(crate) client: Client,
    pub(crate) account: Account,
    pub(crate) template: Id,
    pub(crate) ledger: Ledger,
}

impl Made {
    /// A server with some data, stopped in order.
    pub(crate) async fn stopped(data: &Path, rng: &mut Rng) -> Self {
        let setup = Setup::development(data);
        let server = setup.start();
        let made = Self::running(setup, rng).await;
        server.stop();
        made
    }

    /// The same on a running server.
    pub(crate) async fn running(setup: Setup, rng: &mut Rng) -> Self {
        let client = connect(&setup.url()).await;
        let account = register(&client, rng.key()).await;
        let template = template(&account, "made").await;
        let made = Self {
            setup,
            client,
            account,
            template,
            ledger: Ledger::default(),
        };
        made.mint(5).await;
        made
    }

    /// Mints one by one, so that each has a separate batch, and then as many in one request.
    pub(crate) async fn mint(&self, count: usize) {
        for _ in 0..count {
            let object = NewObject::default();
            let minted = self.account.mint(self.template, &object).await;
            self.ledger.changed(&minted.unwrap());
        }
        let mint = NewAction::mint(self.template, &NewObject::default()).unwrap();
        let mints = vec![mint; count];
        let outcome = self.account.batch(&mints, BatchMode::Atomic).await;
        self.ledger.batch(&outcome.unwrap());
    }

    pub(crate) fn options(&self) -> StoreOptions {
        StoreOptions {
            high_water_path: Some(self.setup.high_water()),
            side_keys: kedge_upkeep::side_keys::read(&self.setup.data().join("keys")).unwrap(),
            ..StoreOptions::of_store(
                &self.setup.store(),
                self.client.domain(),
                self.client.sequencer(),
            )
        }
    }

    /// Writes everything to table files, like an orderly close.
    pub(crate) fn settle(&self) {
        open_store(self.options()).unwrap().close().unwrap();
    }

    pub(crate) fn rows(&self, tables: &[Table]) -> BTreeMap<&'static str, Vec<Row>> {
        let options = StoreOptions {
            access: kedge_storage::StoreAccess::Read,
            ..self.options()
        };
        let snapshot = Store::open(options).unwrap().snapshot();
        let rows = |table| {
            let rows = snapshot.raw_rows(table).map(|row| {
                let (key, value) = row.unwrap();
                (key.into_vec(), value.into_vec())
            });
            (table.name(), rows.collect())
        };
        tables.iter().copied().map(rows).collect()
    }

    pub(crate) fn verify(&self) -> kedge_upkeep::verify::StoreVerifySummary {
        let (domain, sequencer) = (self.client.domain(), self.client.sequencer());
        kedge_upkeep::verify::store(&self.setup.store(), domain, sequencer, |_| ()).unwrap()
    }
}

/// Runs the real binary.
pub(crate) fn kedge(arguments: &[&str], paths: &[&Path]) -> Output {
    crate::support::program::kedge()
        .args(arguments)
        .args(paths)
        .output()
        .unwrap()
}

#[track_caller]
pub(crate) fn done(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
pub(crate) fn refused(output: &Output) -> String {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    error
}

/// Every file below a directory, with its content.
pub(crate) fn every_file(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(every_file(&path));
        } else if path.is_file() {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    files
}
