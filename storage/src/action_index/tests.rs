//! The index compared with a map in memory, with files on a disk that fails, fills up and forgets.

use std::collections::BTreeMap;
use std::path::Path;

use kedge_protocol::hash::keccak;
use kedge_runtime::env::RealEnv;
use kedge_runtime::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};

use super::file::{BLOCK_BYTES, BLOCK_ENTRIES};
use super::*;

const DIR: &str = "/store/action-ids";

fn open(env: &SimulatedEnv) -> ActionIndex {
    ActionIndex::open(Arc::new(env.clone()), DIR.into(), true).unwrap()
}

/// The id of the action with this sequence.
fn id(sequence: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id.copy_from_slice(&keccak(&sequence.to_be_bytes()).0[..16]);
    id
}

fn add(index: &ActionIndex, sequences: std::ops::RangeInclusive<u64>) {
    let actions: Vec<ActionIndexEntry> =
        sequences.map(|sequence| (id(sequence), sequence)).collect();
    index.add(&actions);
}

#[track_caller]
fn finds(index: &ActionIndex, last: u64) {
    for sequence in 1..=last {
        assert_eq!(index.sequence(id(sequence)).unwrap(), Some(sequence));
    }
    assert_eq!(index.sequence(id(last + 1)).unwrap(), None);
}

fn names(env: &SimulatedEnv) -> Vec<String> {
    let mut names = env.list(Path::new(DIR)).unwrap();
    names.sort();
    names
}

#[test]
fn ids_lead_to_sequences_in_memory_in_files_and_after_merges() {
    let env = SimulatedEnv::new();
    let index = open(&env);
    let sizes = [
        1,
        BLOCK_ENTRIES as u64,
        BLOCK_ENTRIES as u64 + 1,
        3,
        700,
        2,
        9,
        11,
        64 * 170,
    ];
    let mut last = 0;
    for size in sizes {
        add(&index, last + 1..=last + size);
        last += size;
        finds(&index, last);
        index.write(0);
        finds(&index, last);
        while index.merge(&mut |_| {}) {}
    }
    assert!(index.files().len() < 4);
    finds(&index, last);
    assert_eq!(index.in_files(), last);
    // After the next opening nothing is read from the log, and known actions are not added twice.
    let index = open(&env);
    assert_eq!(index.in_files(), last);
    add(&index, 1..=last + 5);
    assert_eq!(
        index.take(0).map(|(first, taken)| (first, taken.len())),
        Some((last + 1, 5))
    );
    finds(&index, last + 5);
    let walked: u64 = index.files().iter().map(|file| file.count).sum();
    assert_eq!(walked, last);
}

/// Ids with the same beginning, also at the start of a block: grinding such ids costs little.
#[test]
fn ids_that_begin_alike_are_distinguished() {
    let env = SimulatedEnv::new();
    let index = open(&env);
    let alike = |number: u64| {
        let mut id = [7; 16];
        id[8..].copy_from_slice(&number.to_be_bytes());
        id
    };
    let all: Vec<ActionIndexEntry> = (1..=600).map(|number| (alike(number), number)).collect();
    index.add(&all);
    index.write(0);
    for (id, sequence) in all {
        assert_eq!(index.sequence(id).unwrap(), Some(sequence));
    }
    for absent in [[7; 16], [6; 16], [8; 16], alike(601), [0; 16], [0xff; 16]] {
        assert_eq!(index.sequence(absent).unwrap(), None);
    }
}

#[test]
fn a_file_that_was_not_written_is_tried_again_after_as_many_actions_or_when_all_are_wanted() {
    let index = open(&SimulatedEnv::new());
    let taken = |count_min| {
        index
            .take(count_min)
            .map(|(first, taken)| (first, taken.len()))
    };
    assert!(taken(0).is_none());
    add(&index, 1..=3);
    assert_eq!(taken(3), Some((1, 3)));
    // These are not reported as written.
    add(&index, 4..=5);
    assert!(taken(3).is_none());
    assert_eq!(taken(0), Some((1, 5)));
    add(&index, 6..=8);
    assert_eq!(taken(3), Some((1, 8)));
    finds(&index, 8);
}

#[test]
fn a_full_disk_costs_nothing() {
    let env = SimulatedEnv::new();
    let index = open(&env);
    for last in 1..=4 {
        add(&index, last * 1_000 - 999..=last * 1_000);
        index.write(0);
    }
    env.set_room(Some(env.used() + BLOCK_BYTES));
    assert!(!index.merge(&mut |_| {}), "there is no room");
    add(&index, 4_001..=5_000);
    index.write(0);
    finds(&index, 5_000);
    assert_eq!(index.in_files(), 4_000);
    env.set_room(None);
    index.write(0);
    assert_eq!(index.in_files(), 5_000);
    assert!(index.merge(&mut |_| {}));
    assert_eq!(
        names(&env),
        ["00000000000000000001-00000000000000005000.ids"]
    );
    finds(&index, 5_000);
}

// Holds invariant 84.
/// A crash at any operation of a write and a merge, in which unsynced data is lost: every id is in a file or after the
/// last one, where the log has it.
#[test]
fn a_crash_at_any_moment_loses_no_file_that_others_were_merged_into() {
    let begun = SimulatedEnv::new();
    let index = open(&begun);
    for last in 1..=3 {
        add(&index, last * 300 - 299..=last * 300);
        index.write(0);
    }
    for loss in [
        CrashLoss::All,
        CrashLoss::None,
        CrashLoss::Some(1),
        CrashLoss::Some(2),
    ] {
        let mut crashed = 0;
        loop {
            let env = begun.copy();
            let index = open(&env);
            env.fail(1 + crashed, DiskFault::Stop);
            add(&index, 901..=1_200);
            index.write(0);
            let is_over = index.merge(&mut |_| {}) && !env.stopped();
            env.crash(loss);
            let index = open(&env);
            let reached = index.in_files();
            assert!([900, 1_200].contains(&reached), "{reached}");
            assert!(
                names(&env)
                    .iter()
                    .all(|name| file::sequences_of(name).is_some())
            );
            add(&index, 1..=1_200);
            finds(&index, 1_200);
            if is_over {
                assert_eq!(names(&env).len(), 1);
                break;
            }
            crashed += 1;
        }
        assert!(crashed > 8, "{crashed} operations");
    }
}

// Holds invariant 166.
#[test]
fn damage_is_named_and_a_missing_file_too() {
    let env = SimulatedEnv::new();
    let index = open(&env);
    for last in 1..=3 {
        add(&index, last * 400 - 399..=last * 400);
        index.write(0);
    }
    let all = names(&env);
    let opened = |env: &SimulatedEnv| ActionIndex::open(Arc::new(env.clone()), DIR.into(), true);
    let middle = Path::new(DIR).join(&all[1]);
    let bytes = env.contents(&middle).unwrap().len();
    let blocks = 3 * BLOCK_BYTES;
    for offset in [
        0,
        23,
        170 * 24,
        BLOCK_BYTES - 1,
        BLOCK_BYTES,
        blocks - 1,
        blocks,
        bytes - 1,
        bytes - 41,
    ] {
        let env = env.copy();
        env.damage(&middle, offset, 4);
        let found = opened(&env).and_then(|index| {
            for sequence in 1..=1_200 {
                index.sequence(id(sequence))?;
            }
            Ok(())
        });
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with(&all[1]), "{offset}: {error}");
        if let Ok(index) = opened(&env) {
            add(&index, 1_201..=1_300);
            index.write(0);
            assert!(!index.merge(&mut |_| {}), "damage is not copied");
            assert_eq!(names(&env).len(), 4);
        }
    }
    env.remove(&middle).unwrap();
    let error = opened(&env).err().unwrap().to_string();
    assert!(error.contains("from sequence 401 on is missing"), "{error}");
}

// Holds invariant 166.
#[test]
fn look_ups_find_everything_while_files_are_written_and_merged() {
    let directory = tempfile::tempdir().unwrap();
    let index = ActionIndex::open(Arc::new(RealEnv), directory.path().join("ids"), true).unwrap();
    let added = std::sync::atomic::AtomicU64::new(0);
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let (index, added, over) = (&index, &added, &over);
        threads.spawn(move || {
            for group in 0..400 {
                let last = (group + 1) * 50;
                add(index, group * 50 + 1..=last);
                added.store(last, Ordering::Release);
                index.write(200);
            }
            over.store(true, Ordering::Release);
        });
        threads.spawn(move || {
            while !over.load(Ordering::Acquire) || index.merge(&mut |_| {}) {
                index.merge(&mut |_| {});
            }
        });
        let mut looked = 0u64;
        while !over.load(Ordering::Acquire) {
            let last = added.load(Ordering::Acquire);
            if last == 0 {
                continue;
            }
            let sequence = 1 + looked.wrapping_mul(0x9e37_79b9_7f4a_7c15) % last;
            assert_eq!(index.sequence(id(sequence)).unwrap(), Some(sequence));
            looked += 1;
        }
        assert!(looked > 0);
    });
    finds(&index, 20_000);
    assert!(index.files().len() < 8);
    let found: BTreeMap<[u8; 16], u64> = index
        .files()
        .iter()
        .flat_map(|file| {
            (0..3)
                .flat_map(|part| file.part(part, 3))
                .map(Result::unwrap)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(found.len() as u64, index.in_files());
}
