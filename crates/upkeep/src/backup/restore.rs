//! Restoration of a backup, in full or up to an earlier moment.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_config::secrets::make_private_dir;
use kedge_config::state_file;
use kedge_log::env::{Env, RealEnv};
use kedge_log::{CutError, CutPoint, cut};
use kedge_protocol::time::rfc3339;

use super::{BackupError, BackupManifest, LOG, at, data, listed, must_be_free, read_through, same};

/// End of the restored log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestorePoint {
    /// The last commit group that ends at or before this sequence.
    Sequence(u64),
    /// The last commit group whose batches were sealed at or before this time, Unix milliseconds.
    Time(u64),
}

impl BackupManifest {
    /// Cuts the log of the restored data directory `made` and updates the manifest. Returns the number of dropped
    /// actions.
    ///
    /// # Errors
    /// [`BackupError::Cut`] if the log does not reach that far, or nothing would be left.
    pub fn cut(&mut self, made: &Path, to: RestorePoint) -> Result<u64, BackupError> {
        let at = match to {
            RestorePoint::Sequence(sequence) => CutPoint::Sequence(sequence),
            RestorePoint::Time(time_ms) if time_ms > self.made_at_ms => {
                return Err(BackupError::Cut(format!(
                    "the backup was made at {} and holds nothing later: name that time or an earlier one, or a newer backup",
                    rfc3339(self.made_at_ms)
                )));
            }
            RestorePoint::Time(time_ms) => CutPoint::Time(time_ms),
        };
        let env: Arc<dyn Env> = Arc::new(RealEnv);
        let cut = cut(&env, &made.join(LOG), at).map_err(|error| {
            BackupError::Cut(match error {
                CutError::Before {
                    sequence,
                    sealed_at_ms,
                } => format!(
                    "the backup's first commit group with actions ends at sequence {sequence} and was sealed at {}: name that or a later one",
                    rfc3339(sealed_at_ms)
                ),
                CutError::Beyond { sequence } => format!(
                    "the backup ends at sequence {sequence}: name that or an earlier one, or a newer backup"
                ),
                other => format!("the log cannot be cut: {other}"),
            })
        })?;
        self.batches = cut.position.next_batch;
        self.sequence = cut.last.header.last_sequence();
        self.head = cut.last.header.head;
        Ok(cut.actions_left_out)
    }
}

/// Copies a backup's data to the directory `to`, which must be missing or empty. The directory gets this name only
/// after it is complete and `accept` has approved it.
///
/// # Errors
/// [`BackupError`], or the error of `accept`.
/// [`BackupError`], or what `accept` returns.
pub fn restore<E: From<BackupError>>(
    from: &Path,
    list: &BackupManifest,
    to: &Path,
    accept: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    must_be_free(to)?;
    let mut making = to.components().as_path().as_os_str().to_owned();
    making.push(".restoring");
    let making = PathBuf::from(making);
    copy_back(from, list, &making)?;
    accept(&making)?;
    let put = || {
        std::fs::rename(&making, to)?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        state_file::sync_directory(parent.unwrap_or(Path::new(".")))
    };
    put().map_err(at(to))?;
    Ok(())
}

fn copy_back(from: &Path, list: &BackupManifest, making: &Path) -> Result<(), BackupError> {
    // Left by an interrupted restore; nothing else uses this name.
    match std::fs::remove_dir_all(making) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(making)(error)),
        _ => {}
    }
    make_private_dir(making)?;
    for (name, expected) in &list.files {
        let (source, target) = (data(from).join(name), making.join(name));
        make_private_dir(target.parent().unwrap_or(making))?;
        let file = std::fs::File::create_new(&target).map_err(at(&target))?;
        let found = read_through(&source, file)?;
        same(&source, expected, &found)?;
    }
    // Everything is durable before the directory gets its name.
    listed(making, &BTreeMap::new()).map(|_| ())
}
