//! Merges of id files: four files of about one size become one, so that there are few files to search, and an id is
//! written once for each quadrupling of the log.

use std::sync::Arc;

use super::FILE_ACTIONS;
use super::file::{ActionIndexEntry, IdFile, IdFileError};

/// Number of neighbouring files of one size that become one.
const MERGED_AT_ONCE: usize = 4;
/// Bound on the files of one merge. There are more than [`MERGED_AT_ONCE`] only if merging was late.
const MERGED_MAX: usize = 16;

/// How often a file of this many ids was merged: its size as a power of [`MERGED_AT_ONCE`].
fn tier(count: u64) -> u32 {
    (count / FILE_ACTIONS as u64)
        .checked_ilog(MERGED_AT_ONCE as u64)
        .unwrap_or(0)
}

/// The next files to merge, in the order of their sequences; none if there are few enough.
pub(super) fn next(files: &[Arc<IdFile>]) -> Option<&[Arc<IdFile>]> {
    let tiers: Vec<u32> = files.iter().map(|file| tier(file.count)).collect();
    let chosen = choose(&tiers)?;
    files.get(chosen)
}

/// The oldest files of the newest run of one tier or smaller; the smallest tier with a long enough run wins.
fn choose(tiers: &[u32]) -> Option<std::ops::Range<usize>> {
    let largest = tiers.iter().copied().max()?;
    (0..=largest).find_map(|tier| {
        let newest = tiers.iter().rev().take_while(|of| **of <= tier).count();
        let from = tiers.len() - newest;
        (newest >= MERGED_AT_ONCE).then(|| from..tiers.len().min(from + MERGED_MAX))
    })
}

/// The entries of all files, sorted. Of equal ids the one in the newest file wins.
pub(super) fn entries(
    files: &[Arc<IdFile>],
) -> impl Iterator<Item = Result<ActionIndexEntry, IdFileError>> {
    let mut walks: Vec<_> = files.iter().map(|file| file.part(0, 1)).collect();
    let mut heads: Vec<Option<Result<ActionIndexEntry, IdFileError>>> =
        walks.iter_mut().map(Iterator::next).collect();
    // Errors sort before all entries.
    let key = |head: &Option<Result<ActionIndexEntry, IdFileError>>| match head {
        None => None,
        Some(Err(_)) => Some(0),
        Some(Ok((id, _))) => Some(u128::from_be_bytes(*id)),
    };
    std::iter::from_fn(move || {
        let mut least: Option<(usize, u128)> = None;
        for (number, head) in heads.iter().enumerate() {
            let Some(key) = key(head) else { continue };
            if least.is_none_or(|(_, least)| key <= least) {
                least = Some((number, key));
            }
        }
        let (chosen, least) = least?;
        let taken = std::mem::replace(&mut heads[chosen], walks[chosen].next());
        for number in 0..chosen {
            let is_same =
                matches!(&heads[number], Some(Ok((id, _))) if u128::from_be_bytes(*id) == least);
            if is_same {
                heads[number] = walks[number].next();
            }
        }
        taken
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_size_are_merged_once_there_are_four() {
        let size = |files: u64| tier(files * FILE_ACTIONS as u64);
        assert_eq!([0, 1, 3, 4, 15, 16, 64].map(size), [0, 0, 0, 1, 1, 2, 3]);
        for (tiers, merged) in [
            (&[][..], None),
            (&[0, 0, 0], None),
            (&[0, 0, 0, 0], Some(0..4)),
            (&[1, 0, 0, 0, 0], Some(1..5)),
            (&[1, 1, 1, 0, 0, 0, 0], Some(3..7)),
            // Small files of orderly stops are merged with their neighbours.
            (&[1, 1, 1, 1], Some(0..4)),
            (&[2, 1, 1, 1, 1, 0], Some(1..6)),
            (&[2, 0, 1, 0, 1], Some(1..5)),
        ] {
            assert_eq!(choose(tiers), merged, "{tiers:?}");
        }
        assert_eq!(choose(&[0; 40]), Some(0..16));
    }

    #[test]
    fn there_are_never_many_files() {
        let mut tiers: Vec<u32> = Vec::new();
        let mut counts: Vec<u64> = Vec::new();
        for _ in 0..5_000 {
            counts.push(FILE_ACTIONS as u64);
            loop {
                tiers = counts.iter().map(|count| tier(*count)).collect();
                let Some(chosen) = choose(&tiers) else { break };
                let sum = counts[chosen.clone()].iter().sum();
                counts.splice(chosen, [sum]);
            }
            assert!(counts.len() <= 3 * 7, "{counts:?}");
        }
        assert!(tiers.iter().is_sorted_by(|left, right| left >= right));
    }
}
