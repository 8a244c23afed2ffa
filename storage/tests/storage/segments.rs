//! Segments of the log: frames cut off by a crash, damage, missing segments, logs that belong to other rows.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use kedge_storage::verify::verify;
use kedge_storage::{CommitError, Store, StoreMode, StoreOpenError};
use tempfile::TempDir;

use crate::corruption::{is_found, killed};
use crate::support::{
    Log, Step, contents, copy, files, kill, log_path, open, open_with, options, plan, rows_path,
};

/// Frames begin at pages; the first one of a segment is its header's.
pub(crate) const PAGE_BYTES: usize = 4096;
/// The bytes of a segment's header.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 128;
/// The bytes of a frame's header without its sections, and of each section.
const FRAME_HEADER_BYTES: usize = 104;
const SECTION_BYTES: usize = 40;
const FRAME_MAGIC: &[u8] = b"\xffKFRAME\n";

/// The positions of the frames of a raw segment.
pub(crate) fn frames_of(segment: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let pages = (PAGE_BYTES..segment.len()).step_by(PAGE_BYTES);
    let frames = pages.filter(|page| segment[*page..].starts_with(FRAME_MAGIC));
    frames.map(|start| {
        let length = *segment[start + 16..].first_chunk().unwrap();
        start..start + u32::from_be_bytes(length) as usize
    })
}

/// The log's segments, in order.
fn segments(data: &Path) -> Vec<PathBuf> {
    let files = files(&log_path(data)).into_iter();
    files.map(|(path, _)| log_path(data).join(path)).collect()
}

/// The segment that is written to.
fn open_segment(data: &Path) -> PathBuf {
    let last = segments(data).pop().unwrap();
    assert!(last.extension().is_some_and(|end| end == "log"));
    last
}

fn last_frame(segment: &Path) -> Range<usize> {
    let bytes = fs::read(segment).unwrap();
    frames_of(&bytes).last().unwrap()
}

/// Every field of every header in the open segment, not a sample: a recovery could mistake these for a cut-off end.
#[test]
fn damage_inside_a_segment_is_never_a_silent_end() {
    let place = tempfile::tempdir().unwrap();
    let (original, damaged) = (place.path().join("original"), place.path().join("damaged"));
    let log = killed(&original, 2, 4);
    let reference = place.path().join("reference");
    copy(&original, &reference);
    let whole = open(&reference).unwrap();
    let file = open_segment(&original);
    let name = file.file_name().unwrap();
    let bytes = fs::read(&file).unwrap();
    let of_segment = [0, 8, 10, 12, 16, 48, 80, 88, 96, 104];
    let mut places: Vec<usize> = of_segment.to_vec();
    let frames: Vec<_> = frames_of(&bytes).collect();
    assert_eq!(frames.len(), 7, "the first key and the batches");
    for frame in frames {
        let of_frame = [0, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56, 60, 64, 72, 103];
        places.extend(of_frame.map(|field| frame.start + field));
        let sections = usize::from(bytes[frame.start + 11]);
        let tables = (0..sections).map(|i| frame.start + FRAME_HEADER_BYTES + i * SECTION_BYTES);
        places.extend(tables.flat_map(|table| [0, 2, 4, 8].map(|field| table + field)));
    }
    for place in places {
        copy(&original, &damaged);
        let mut changed = bytes.clone();
        changed[place] ^= 0x40;
        fs::write(log_path(&damaged).join(name), changed).unwrap();
        assert!(is_found(&damaged, &log, &whole), "byte {place}");
        fs::remove_dir_all(&damaged).unwrap();
    }
}

/// A crash in the middle of a write: unacknowledged data is lost, the rest stays, and the store accepts commits again.
#[test]
fn a_frame_cut_off_before_its_release_is_dropped() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let before = killed(&data, 2, 3).head;
    let store = open(&data).unwrap();
    let mut log = Log::of(&store.snapshot()).unwrap();
    log.payload_bytes = 400;
    let (group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 40]]);
    // Not released: the process died between the write and the answer.
    store.append(&group).unwrap();
    kill(store, &data);
    let file = open_segment(&data);
    let frame = last_frame(&file);
    assert!(frame.len() > 3 * PAGE_BYTES, "{frame:?}");
    let pages: Vec<_> = frame.clone().step_by(PAGE_BYTES).collect();
    // Pages reach the disk in any order: the first, a middle one, the last, all but the first are missing.
    let page = |page: usize| page..(page + PAGE_BYTES).min(frame.end);
    let cuts = [
        page(pages[0]),
        page(pages[1]),
        page(pages[pages.len() - 1]),
        pages[1]..frame.end,
        frame.end - 1..frame.end,
    ];
    for cut in cuts {
        let torn = tempfile::tempdir().unwrap();
        copy(&data, torn.path());
        let segment = log_path(torn.path()).join(file.file_name().unwrap());
        let mut bytes = fs::read(&segment).unwrap();
        bytes[cut.clone()].fill(0);
        fs::write(&segment, bytes).unwrap();
        let store = open(torn.path()).unwrap();
        assert_eq!(store.mode(), StoreMode::ReadWrite, "{cut:?}");
        assert_eq!(store.snapshot().head().unwrap(), before);
        let bytes = fs::read(&segment).unwrap();
        assert!(
            bytes[frame.start..].iter().all(|byte| *byte == 0),
            "{cut:?}: something of it is left"
        );
        let mut log = Log::of(&store.snapshot()).unwrap();
        log.commit_many(&store, 2);
        let snapshot = store.snapshot();
        let walked = verify(&snapshot, &plan(), |_| (), |_, _| Ok(()));
        assert_eq!(walked.unwrap().batches, before.batches + 2);
    }
    // Whole on the disk, it stays: no caller got another answer.
    let store = open(&data).unwrap();
    assert_eq!(store.snapshot().head().unwrap(), log.head);
}

/// The same after the headers were released: that is a loss, and the store reports it, signs nothing and keeps the
/// evidence.
#[test]
fn a_frame_cut_off_after_its_release_makes_the_store_read_only() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let log = killed(&data, 2, 3);
    let file = open_segment(&data);
    let frame = last_frame(&file);
    let mut bytes = fs::read(&file).unwrap();
    bytes[frame.end - 10..frame.end].fill(0);
    fs::write(&file, bytes).unwrap();
    let before = contents(&log_path(&data));
    for _ in 0..2 {
        let store = open(&data).unwrap();
        let StoreMode::ReadOnly(why) = store.mode() else {
            panic!("released batches are gone and the store takes commits")
        };
        assert!(why.contains("equivocation"), "{why}");
        let head = store.snapshot().head().unwrap();
        assert_eq!(head.batches, log.head.batches - 1);
        let (group, _) = Log::of(&store.snapshot())
            .unwrap()
            .batch(&[vec![Step::Mint { owner: 1 }]]);
        let refused = store.commit(group).unwrap_err();
        assert!(matches!(refused, CommitError::ReadOnly(_)), "{refused}");
        store.close().unwrap();
        assert!(contents(&log_path(&data)) == before, "the log changed");
    }
}

/// Rows on the disk show that a frame was durable, even if nothing was released with it.
#[test]
fn a_frame_that_was_applied_is_never_taken_for_a_cut_off_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let store = open(data).unwrap();
    Log::default().commit_many(&store, 3);
    let mut side = kedge_storage::WriteGroup::new();
    side.put_side(kedge_storage::SideWrite::Operators(Vec::new()));
    store.commit(side).unwrap();
    store.close().unwrap();
    let file = open_segment(data);
    let frame = last_frame(&file);
    let mut bytes = fs::read(&file).unwrap();
    bytes[frame.end - 1] ^= 1;
    fs::write(&file, bytes).unwrap();
    let before = contents(data);
    let error = open(data).unwrap_err();
    let StoreOpenError::LogEndsEarly { last, applied, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((last, applied), (4, 5));
    assert!(contents(data) == before);
}

/// Damage in a segment outside the last frame names the segment, the frame and the sequences.
#[test]
fn damage_in_the_log_is_named() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let log = killed(&data, 40, 8);
    let raw = open_segment(&data);
    let sealed = segments(&data).remove(0);
    assert!(sealed.extension().is_some_and(|end| end == "seg"));
    let flip = |segment: &Path, at: usize| {
        let damaged = tempfile::tempdir().unwrap();
        copy(&data, damaged.path());
        let path = log_path(damaged.path()).join(segment.file_name().unwrap());
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        damaged
    };

    let bytes = fs::read(&raw).unwrap();
    let frame = frames_of(&bytes).nth(1).unwrap();
    let number = u64::from_be_bytes(*bytes[frame.start + 24..].first_chunk().unwrap());
    let sequence = u64::from_be_bytes(*bytes[frame.start + 40..].first_chunk().unwrap());
    let damaged = flip(&raw, frame.end - 1);
    let before = contents(damaged.path());
    let error = open(damaged.path()).unwrap_err();
    assert!(matches!(error, StoreOpenError::Log { .. }), "{error}");
    let text = error.to_string();
    for part in [
        raw.file_name().unwrap().to_str().unwrap(),
        &format!("frame {number}"),
        &format!("sequence {sequence}"),
        "Nothing was changed",
    ] {
        let named = text.replace("sequences", "sequence");
        assert!(named.contains(part), "{part}: {text}");
    }
    assert!(contents(damaged.path()) == before);

    // A start does not read a sealed one: `verify` finds it, and so does a read there.
    let damaged = flip(&sealed, 1_000);
    let store = open(damaged.path()).unwrap();
    let snapshot = store.snapshot();
    let fault = verify(&snapshot, &plan(), |_| (), |_, _| Ok(()));
    let text = fault.unwrap_err().to_string();
    assert!(
        text.contains(sealed.file_name().unwrap().to_str().unwrap()),
        "{text}"
    );
    assert!(text.starts_with("sequences 1 to"), "{text}");
    assert_eq!(snapshot.head().unwrap(), log.head);
    let StoreMode::ReadOnly(why) = store.mode() else {
        panic!("the log is damaged and the store takes requests")
    };
    for part in ["the log cannot be read", "newest backup"] {
        assert!(why.contains(part), "{part}: {why}");
    }
}

/// Makes a store whose log is in several segments.
fn in_segments(data: &Path) -> Log {
    let mut log = Log::default();
    let store = open(data).unwrap();
    log.commit_many(&store, 60);
    store.close().unwrap();
    let count = segments(data).len();
    assert!(count > 3, "{count}");
    log
}

/// A copy that lacks one segment, and all the segments that it had.
fn without(data: &Path, index: usize) -> (TempDir, Vec<PathBuf>) {
    let damaged = tempfile::tempdir().unwrap();
    copy(data, damaged.path());
    let all = segments(damaged.path());
    fs::remove_file(&all[index]).unwrap();
    (damaged, all)
}

fn first_frame(segment: &Path) -> u64 {
    let name = segment.file_stem().unwrap().to_str().unwrap();
    name.split_once('-').unwrap().1.parse().unwrap()
}

#[test]
fn segments_that_are_missing_are_named() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path();
    in_segments(data);

    // In the middle.
    let (damaged, all) = without(data, 1);
    let before = contents(damaged.path());
    let error = open(damaged.path()).unwrap_err();
    assert!(matches!(error, StoreOpenError::Log { .. }), "{error}");
    let (from, to) = (first_frame(&all[1]), first_frame(&all[2]) - 1);
    let what = format!("frames {from} to {to} are missing");
    assert!(error.to_string().contains(&what), "{error}");
    assert!(contents(damaged.path()) == before);

    // At the end.
    let last_index = segments(data).len() - 1;
    let (damaged, all) = without(data, last_index);
    let before = contents(damaged.path());
    let error = open(damaged.path()).unwrap_err();
    let StoreOpenError::LogEndsEarly { last, applied, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((*last, *applied), (first_frame(&all[last_index]) - 1, 61));
    assert!(
        error.to_string().contains("newest copy of the log"),
        "{error}"
    );
    assert!(contents(damaged.path()) == before);

    // All of them, or the whole directory.
    for whole in [false, true] {
        let (damaged, all) = without(data, 0);
        for segment in &all[1..] {
            fs::remove_file(segment).unwrap();
        }
        if whole {
            fs::remove_dir_all(log_path(damaged.path())).unwrap();
        }
        let before = contents(damaged.path());
        let error = open(damaged.path()).unwrap_err();
        let missing = matches!(error, StoreOpenError::LogMissing { applied: 61, .. });
        assert!(missing, "{error}");
        assert!(contents(damaged.path()) == before);
        assert_eq!(log_path(damaged.path()).exists(), !whole);
    }
}

/// Older segments may be kept elsewhere. The store continues, and reports what is missing.
#[test]
fn a_log_without_its_first_segment_continues() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path();
    let mut log = in_segments(data);
    let (damaged, all) = without(data, 0);
    let store = open(damaged.path()).unwrap();
    let snapshot = store.snapshot();
    let batch = first_frame(&all[1]) - 2;
    let sequence = 4 * batch + 1;
    let archived = format!("sequences up to {} are archived", sequence - 1);
    assert_eq!(snapshot.batch(0).unwrap_err().to_string(), archived);
    assert_eq!(snapshot.action_at(1).unwrap_err().to_string(), archived);
    assert!(snapshot.batch(batch).unwrap().is_some());
    assert!(snapshot.action_at(sequence).unwrap().is_some());
    let fault = verify(&snapshot, &plan(), |_| (), |_, _| Ok(()));
    assert!(fault.unwrap_err().to_string().contains(&archived));
    log.commit_many(&store, 1);
    drop((snapshot, store));
    // Without its rows it cannot be followed from the beginning.
    fs::remove_dir_all(rows_path(damaged.path())).unwrap();
    let error = open(damaged.path()).unwrap_err().to_string();
    assert!(error.contains("begins with frame"), "{error}");
}

/// Rows and a log that do not belong together, whichever is longer.
#[test]
fn the_rows_of_another_log_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let made = |name: &str, payload_bytes: usize, batches: u64| {
        let data = place.path().join(name);
        let store = open(&data).unwrap();
        let mut log = Log {
            payload_bytes,
            ..Log::default()
        };
        log.commit_many(&store, batches);
        store.close().unwrap();
        data
    };
    let one = made("one", 40, 3);
    for (name, batches) in [("shorter", 2), ("as-long", 3), ("longer", 9)] {
        let other = made(name, 80, batches);
        let mixed = place.path().join(format!("mixed-{name}"));
        copy(&rows_path(&one), &rows_path(&mixed));
        copy(&log_path(&other), &log_path(&mixed));
        let before = contents(&mixed);
        let error = open(&mixed).unwrap_err();
        let is_named = match &error {
            StoreOpenError::LogEndsEarly { last, applied, .. } => {
                name == "shorter" && (*last, *applied) == (3, 4)
            }
            StoreOpenError::OtherLog { applied, .. } => name != "shorter" && *applied == 4,
            _ => false,
        };
        assert!(is_named, "{name}: {error}");
        assert!(contents(&mixed) == before, "{name}");
    }
    // Not even the frames of another chain's log are read.
    let mut foreign = options(&place.path().join("foreign"));
    foreign.domain.chain_id = 1;
    Store::open(foreign).unwrap().close().unwrap();
    let mixed = place.path().join("mixed");
    copy(&log_path(&place.path().join("foreign")), &log_path(&mixed));
    let error = open_with(options(&mixed)).unwrap_err();
    assert!(matches!(error, StoreOpenError::Log { .. }), "{error}");
    assert!(!rows_path(&mixed).exists(), "rows were made");
}

/// If the mark is ahead, the log accepts nothing and keeps every byte, even what a repair would remove.
#[test]
fn a_log_behind_the_mark_keeps_every_byte() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let log = killed(&data, 40, 3);
    let file = open_segment(&data);
    let mut bytes = fs::read(&file).unwrap();
    let frames: Vec<_> = frames_of(&bytes).collect();
    // The last two are gone except for some bytes, and there are leftovers of a seal and of a spare.
    let [.., second, last] = frames.as_slice() else {
        panic!("{frames:?}")
    };
    bytes[second.start + 200..last.end].fill(0);
    fs::write(&file, bytes).unwrap();
    for leftover in [
        "spare-7.new",
        "00000000000000000001-00000000000000000001.tmp",
    ] {
        fs::write(log_path(&data).join(leftover), "half of it").unwrap();
    }
    let before = contents(&log_path(&data));
    let store = open(&data).unwrap();
    assert!(matches!(store.mode(), StoreMode::ReadOnly(_)));
    let head = store.snapshot().head().unwrap();
    assert_eq!(head.batches, log.head.batches - 2);
    store.prepare().unwrap();
    while store.maintain(&mut |_| {}).unwrap() {}
    store.close().unwrap();
    assert!(contents(&log_path(&data)) == before, "the log changed");
}
