//! Check of a store against the mark of released headers, before it accepts commits.

use std::path::Path;

use kedge_protocol::Hash;
use kedge_runtime::env::Env;

use crate::high_water::{HighWater, HighWaterError, HighWaterMark, ReleasedHead};
use crate::tables::meta::LogHead;

/// The mark's default name inside the data directory.
pub(crate) const MARK_FILE: &str = "RELEASED";

/// Treatment of a store that has batches but no readable high-water mark of released headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingMark {
    /// Opens it read-only.
    ReadOnly,
    /// Creates a new mark, because the operator has confirmed that it is the newest copy.
    Accepted,
}

impl MissingMark {
    /// Why a store with such a mark accepts no commits; `None` if it does.
    pub(crate) fn refuses(self, mark: &HighWaterMark, batches: u64, path: &Path) -> Option<String> {
        let what = match mark {
            // A new log: nothing can have been released.
            HighWaterMark::Missing if batches == 0 => return None,
            HighWaterMark::Released(_) => return None,
            HighWaterMark::Missing => "is missing".to_owned(),
            HighWaterMark::Unreadable(what) => format!("is unreadable ({what})"),
        };
        (self == Self::ReadOnly).then(|| {
            format!(
                "it holds {batches} batches, but the high-water mark {} {what}: headers beyond them may have been released, and signing those numbers again with other actions would be equivocation. Restore the mark that belongs to this data directory. Only if you are sure that this is the newest copy, start once with --accept-missing-high-water-mark",
                path.display(),
            )
        })
    }
}

/// Why a log of `batches` batches that lacks released ones, or has others in their place, accepts no commits. `stored`
/// returns the hash chain's head after a batch.
pub(crate) fn equivocation(
    batches: u64,
    stored: impl FnOnce(u64) -> Option<Hash>,
    released: ReleasedHead,
    mark_path: &Path,
) -> Option<String> {
    let mark = mark_path.display();
    if batches < released.batches {
        return Some(format!(
            "it holds {batches} batches, but the headers of {} were signed and released ({mark}): signing those numbers again with other actions would be equivocation, which the contract punishes. Restore the newest copy of the data directory; reads continue meanwhile. Only if you are sure that no header beyond the first {batches} was ever released, remove the mark and start once with --accept-missing-high-water-mark",
            released.batches,
        ));
    }
    let number = released.batches.checked_sub(1)?;
    (stored(number)? != released.head).then(|| {
        format!(
            "its batch {number} differs from the batch {number} whose header was released ({mark}): continuing would be equivocation. Restore the data directory that belongs to the mark"
        )
    })
}

/// Opens the mark of a store that does not end before it. A mark that a crash of the machine set back is advanced to
/// the head; a missing one is created.
pub(crate) fn open_mark(
    env: &dyn Env,
    path: &Path,
    head: &LogHead,
    mark: &HighWaterMark,
) -> Result<HighWater, HighWaterError> {
    match mark {
        HighWaterMark::Released(released) if released.batches >= head.batches => {
            HighWater::open(env, path, *released)
        }
        _ => HighWater::put(
            env,
            path,
            ReleasedHead {
                batches: head.batches,
                head: head.head,
            },
        ),
    }
}
