//! The older backup on which a new one builds: immutable files are linked from it instead of copied from the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kedge_protocol::batch::SignedBatch;
use kedge_storage::StoreReadError;

use super::{BackupError, BackupFile, BackupManifest, BackupSource, at, copy_file, data, list};

/// An older backup of the same log, and the files reused from it.
pub(super) struct BaseBackup {
    path: PathBuf,
    list: BackupManifest,
    taken: BTreeMap<String, BackupFile>,
}

impl BaseBackup {
    /// Reads the manifest of the backup in `path`, which must be of the same log.
    pub(super) fn open(path: &Path, source: &BackupSource<'_>) -> Result<Self, BackupError> {
        let list = list(path)?;
        let other = |what: String| {
            Err(BackupError::OtherLog {
                path: path.to_owned(),
                what,
            })
        };
        if list.domain != source.domain {
            let (theirs, ours) = (list.domain, source.domain);
            return other(format!(
                "it is of chain {} and contract {}, and this server's is of chain {} and contract {}",
                theirs.chain_id, theirs.verifying_contract, ours.chain_id, ours.verifying_contract
            ));
        }
        let snapshot = source.store.snapshot();
        if let Some(last) = list.batches.checked_sub(1) {
            let batch = match snapshot.batch(last) {
                // Linked segments are still compared one by one.
                Err(StoreReadError::Archived { .. }) => None,
                batch => Some(batch?),
            };
            let is_other = |batch: Option<SignedBatch>| {
                batch.is_none_or(|batch| batch.header.head != list.head)
            };
            if batch.is_some_and(is_other) {
                return other(format!(
                    "its batch {last} has the head {}, and this log has no such batch",
                    list.head
                ));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            list,
            taken: BTreeMap::new(),
        })
    }

    /// A folder of the backup's data directory.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        data(&self.path).join(name)
    }

    /// Records a reused file.
    pub(super) fn took(&mut self, folder: &str, name: &str) {
        let inside = format!("{folder}/{name}");
        if let Some(listed) = self.list.files.get(&inside) {
            self.taken.insert(inside, listed.clone());
        }
    }

    /// Reuses an immutable file if it exists; returns whether it does.
    pub(super) fn take(
        &mut self,
        folder: &str,
        name: &str,
        to: &Path,
    ) -> Result<bool, BackupError> {
        let from = self.folder(folder).join(name);
        if !self.list.files.contains_key(&format!("{folder}/{name}")) || !from.is_file() {
            return Ok(false);
        }
        if std::fs::hard_link(&from, to).is_err() {
            // Linking fails, for instance, across file systems.
            copy_file(&from, to)?;
        }
        let is_there = to.try_exists().map_err(at(to))?;
        if is_there {
            self.took(folder, name);
        }
        Ok(is_there)
    }

    /// The reused files with the older manifest's digests.
    pub(super) fn taken(self) -> BTreeMap<String, BackupFile> {
        self.taken
    }
}
