//! Restoring a backup, as a whole or up to an earlier moment.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_log::env::{Env, RealEnv};
use kedge_log::{CutAt, CutError, cut};
use kedge_protocol::time::rfc3339;

use super::{BackupError, LOG, List, at, data, listed, must_be_free, read_through, same};
use crate::config::secrets::make_private_dir;
use crate::durable;

/// Up to which moment a log is restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutTo {
    /// The last commit group that ends at this sequence or before it.
    Sequence(u64),
    /// The last commit group whose batches were sealed at this time or before it, Unix milliseconds.
    Time(u64),
}

impl List {
    /// Cuts the log of the restored data directory `made`, and makes the list say where it ends then. Gives how many
    /// actions were left out.
    ///
    /// # Errors
    /// [`BackupError::Cut`] where the log does not reach so far, or nothing would be left.
    pub fn cut(&mut self, made: &Path, to: CutTo) -> Result<u64, BackupError> {
        let at = match to {
            CutTo::Sequence(sequence) => CutAt::Sequence(sequence),
            CutTo::Time(time_ms) if time_ms > self.made_at_ms => {
                return Err(BackupError::Cut(format!(
                    "the backup was made at {} and holds nothing later: name that time or an earlier one, or a newer backup",
                    rfc3339(self.made_at_ms)
                )));
            }
            CutTo::Time(time_ms) => CutAt::Time(time_ms),
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

/// Copies what a backup holds to the directory `to`, which must not be there or be empty. It has this
/// name only when all of it is there and `accept` has found nothing wrong with it.
///
/// # Errors
/// [`BackupError`], or what `accept` gives.
pub fn restore<E: From<BackupError>>(
    from: &Path,
    list: &List,
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
        durable::sync_directory(parent.unwrap_or(Path::new(".")))
    };
    put().map_err(at(to))?;
    Ok(())
}

fn copy_back(from: &Path, list: &List, making: &Path) -> Result<(), BackupError> {
    // What an interrupted restore left; the name is nobody else's.
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
    // Everything is durable before it gets its name.
    listed(making, &BTreeMap::new()).map(|_| ())
}
