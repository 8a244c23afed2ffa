//! Raw and sealed copies of one segment: if a stop left both, the valid one is used. A start reads only metadata of
//! sealed segments, not their content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kedge_protocol::hash::keccak;

use super::sample::{Writer, appended_frames, dir, domain, keys, open, open_at, options};
use super::watched::{Happened, Watched};
use crate::env::Env as _;
use crate::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};
use crate::frame::Frame;
use crate::{
    FileLog, Log, LogOpenError, LogOptions, LogReader, ReleaseMark, SegmentCompression,
    SegmentName, SegmentUsage,
};

/// A disk with closed segments, all raw; and the released position.
fn closed(frames: usize) -> (SimulatedEnv, ReleaseMark) {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    for round in 0..frames {
        log.append(&writer.frame(1 + round % 2, 12, round % 2))
            .unwrap();
    }
    let position = log.durability().sync().unwrap();
    let released = ReleaseMark {
        frame: position.frame,
        sequence: position.next_sequence - 1,
    };
    (env, released)
}

/// The log's frames after a start, with the bytes of every request.
fn everything(env: &SimulatedEnv, released: ReleaseMark) -> Vec<(u64, u64, Vec<Vec<u8>>)> {
    let (log, _) = open(env, released).unwrap();
    let frames = log.reader().frames(1).map(|frame| {
        let frame = frame.unwrap();
        let packed = frame.packed().unwrap();
        let packed = packed.into_iter().map(<[u8]>::to_vec).collect();
        (frame.header().number, frame.header().first_sequence, packed)
    });
    frames.collect()
}

/// The first segment's raw file, and its sealed one.
fn first_segment() -> (PathBuf, PathBuf) {
    let raw = dir().join(format!("{:020}-{:020}.log", 1, 1));
    let sealed = raw.with_extension("seg");
    (raw, sealed)
}

fn has(env: &SimulatedEnv, path: &Path) -> bool {
    env.contents(path).is_some()
}

/// A disk with the first segment both raw and sealed, as after a stop just before the raw one was removed.
fn both() -> (SimulatedEnv, ReleaseMark) {
    let (env, released) = closed(10);
    let (raw, sealed) = first_segment();
    let bytes = env.contents(&raw).unwrap();
    let (log, _) = open(&env, released).unwrap();
    assert!(log.maintenance().seal_next().unwrap().is_some());
    drop(log);
    assert!(has(&env, &sealed) && !has(&env, &raw));
    env.put(&raw, bytes);
    (env, released)
}

// Holds invariant 202.
#[test]
fn what_the_log_holds_is_counted_by_the_form_of_its_files() {
    let (env, released) = closed(10);
    let (log, _) = open(&env, released).unwrap();
    let reader = log.reader();
    let before = reader.held();
    assert_eq!(before.sealed, SegmentUsage::default());
    assert!(log.maintenance().seal_next().unwrap().is_some());
    let held = reader.held();
    let counts = [held.sealed.segments, held.raw.segments];
    assert_eq!(counts, [1, before.raw.segments - 1]);
    let bytes = |ending: &str| {
        let segments = reader.segments();
        let paths = segments.iter().map(|segment| segment.path());
        let of_form = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
        of_form
            .map(|path| env.contents(path).unwrap().len() as u64)
            .sum::<u64>()
    };
    assert_eq!(
        [held.sealed.bytes, held.raw.bytes],
        [bytes("seg"), bytes("log")]
    );
    assert!(held.sealed.frames_bytes > 0);
}

#[test]
fn the_raw_segment_is_taken_where_the_sealed_one_is_damaged() {
    let (env, released) = both();
    let (raw, sealed) = first_segment();
    let whole = env.contents(&sealed).unwrap();
    let expected = {
        let env = env.copy();
        env.remove(&sealed).unwrap();
        everything(&env, released)
    };
    let flips = (0..whole.len()).step_by(37).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        (format!("byte {at}"), bytes)
    });
    let cuts = (0..whole.len()).step_by(211).map(|at| {
        let cut = whole[..at].to_vec();
        (format!("cut at {at}"), cut)
    });
    for (what, bytes) in flips.chain(cuts) {
        let env = env.copy();
        env.put(&sealed, bytes.clone());
        // A read-only open changes nothing, and reads the good one.
        let reader = LogReader::open(Arc::new(env.clone()), &dir(), None, 1 << 20);
        let (reader, _) = reader.unwrap_or_else(|error| panic!("{what}: {error}"));
        let read: Vec<_> = reader.frames(1).map(Result::unwrap).collect();
        assert_eq!(read.len(), expected.len(), "{what}");
        assert_eq!(env.contents(&sealed), Some(bytes), "{what}");

        let (log, recovery) = open(&env, released).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(recovery.removed, std::slice::from_ref(&sealed), "{what}");
        assert!(!has(&env, &sealed) && has(&env, &raw), "{what}");
        // The next sealing replaces it with a good one.
        assert!(log.maintenance().seal_next().unwrap().is_some());
        drop(log);
        assert_eq!(env.contents(&sealed).as_ref(), Some(&whole), "{what}");
        assert_eq!(everything(&env, released), expected, "{what}");
    }
}

#[test]
fn the_sealed_segment_is_taken_where_it_is_whole() {
    let (env, released) = both();
    let (raw, sealed) = first_segment();
    let expected = everything(&env.copy(), released);
    for at in [0, 20, 4096, 4100, 4300, 9000] {
        let env = env.copy();
        env.damage(&raw, at, 1);
        let (_, recovery) = open(&env, released).unwrap();
        assert_eq!(recovery.removed, std::slice::from_ref(&raw), "byte {at}");
        assert!(has(&env, &sealed) && !has(&env, &raw), "byte {at}");
        assert_eq!(everything(&env, released), expected, "byte {at}");
    }
}

#[test]
fn where_both_are_damaged_nothing_is_removed_and_the_place_is_named() {
    let (env, released) = both();
    let (raw, sealed) = first_segment();
    env.damage(&sealed, 400, 1);
    env.damage(&raw, 4096 + 30, 1);
    let error = open(&env, released).err().unwrap();
    assert!(matches!(error, LogOpenError::Damaged(_)), "{error}");
    let name = raw.file_name().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(name), "{error}");
    assert!(has(&env, &sealed) && has(&env, &raw));
}

/// Whether a segment exists both raw and sealed.
fn is_with_both(env: &SimulatedEnv) -> bool {
    let names = env.list(&dir()).unwrap();
    let sealed = names.iter().filter_map(|name| name.strip_suffix(".seg"));
    let mut raw = sealed.map(|stem| format!("{stem}.log"));
    raw.any(|raw| names.contains(&raw))
}

#[test]
fn a_stop_at_every_operation_of_a_sealing_leaves_one_good_copy() {
    let (start, released) = closed(10);
    let expected = everything(&start.copy(), released);
    let (mut stops, mut both) = (0, 0);
    for at in 1.. {
        let losses = [
            CrashLoss::All,
            CrashLoss::None,
            CrashLoss::Some(at),
            CrashLoss::Some(at + 1000),
        ];
        let mut is_over = false;
        for loss in losses {
            let env = start.copy();
            let (log, _) = open(&env, released).unwrap();
            env.fail(at, DiskFault::Stop);
            let sealing = log.maintenance().seal_next();
            drop(log);
            if !env.stopped() {
                assert!(sealing.unwrap().is_some());
                is_over = true;
                break;
            }
            stops += 1;
            env.crash(loss);
            let left_both = is_with_both(&env);
            both += usize::from(left_both);
            // If both are left, the start itself is also stopped at each of its operations.
            for second in (1..12).take_while(|_| left_both) {
                let env = env.copy();
                env.fail(second, DiskFault::Stop);
                drop(open(&env, released));
                env.crash(CrashLoss::Some(second));
                assert_eq!(
                    everything(&env, released),
                    expected,
                    "{at}, {second}, {loss:?}"
                );
                assert!(!is_with_both(&env), "{at}, {second}, {loss:?}");
            }
            assert_eq!(everything(&env, released), expected, "{at}, {loss:?}");
            assert!(!is_with_both(&env), "{at}, {loss:?}");
            let left = env.list(&dir()).unwrap();
            let is_ours = |name: &String| SegmentName::of_file(name).is_some();
            assert!(left.iter().all(is_ours), "{left:?}");
        }
        if is_over {
            break;
        }
    }
    assert!(
        stops > 30 && both > 4,
        "{stops} stops, {both} with both copies"
    );
}

/// The bytes that a start reads: of each sealed segment, and of all other files together.
fn read_by_a_start(env: &SimulatedEnv, released: ReleaseMark) -> (BTreeMap<PathBuf, u64>, u64) {
    let read: Arc<Mutex<BTreeMap<PathBuf, u64>>> = Arc::default();
    let counts = Arc::clone(&read);
    let counted = Watched::new(env, move |path, happened| {
        if let Happened::Read(bytes) = happened {
            *counts.lock().unwrap().entry(path.to_owned()).or_default() += bytes;
        }
    });
    let (log, _) = open_at(Arc::new(counted), &dir(), released).unwrap();
    assert!(log.position().frame >= released.frame);
    let (sealed, raw): (BTreeMap<_, _>, BTreeMap<_, _>) = read
        .lock()
        .unwrap()
        .clone()
        .into_iter()
        .partition(|(path, _): &(PathBuf, u64)| path.extension().is_some_and(|e| e == "seg"));
    (sealed, raw.into_values().sum())
}

#[test]
fn a_start_reads_headers_and_footers_of_sealed_segments_and_the_open_one() {
    let mut open_ones = Vec::new();
    for frames in [12, 120] {
        let (env, released) = closed(frames);
        let (log, _) = open(&env, released).unwrap();
        while log.maintenance().seal_next().unwrap().is_some() {}
        assert!(appended_frames(&log).len() == frames);
        drop(log);
        let (sealed, raw) = read_by_a_start(&env, released);
        assert!(sealed.len() >= frames / 12, "{} segments", sealed.len());
        for (path, read) in sealed {
            let bytes = env.contents(&path).unwrap();
            let trailer = bytes.len() - 16;
            let footer: [u8; 4] = bytes[trailer..trailer + 4].try_into().unwrap();
            let needed = 128 + 16 + u64::from(u32::from_be_bytes(footer));
            assert_eq!(read, needed, "{} of {} bytes", path.display(), bytes.len());
            assert!(read < bytes.len() as u64 / 2);
        }
        open_ones.push(raw);
    }
    // The tests' segments have 32 KiB. A start walks the open one and checks the rest of it for zeros.
    for read in open_ones {
        assert!(read < 3 * 32 * 1024, "{read} bytes of the open segment");
    }
}

#[test]
fn a_sealing_lets_its_caller_give_way_after_each_frame_and_block() {
    let (env, released) = closed(10);
    let (log, _) = open(&env, released).unwrap();
    let mut waiting = Vec::new();
    let sealed = log
        .maintenance()
        .seal_next_in_parts(&mut |count| waiting.push(count));
    let frames = sealed.unwrap().unwrap().frames as usize;
    let closed = waiting[0];
    // Each frame is written, and each block read back.
    assert!(waiting.len() > frames, "{} of {frames}", waiting.len());
    assert_eq!(waiting, vec![closed; waiting.len()]);
    assert!(closed > 1, "{closed}");
    log.maintenance()
        .seal_next_in_parts(&mut |count| assert_eq!(count, closed - 1))
        .unwrap()
        .unwrap();
}

#[test]
fn where_the_leaves_are_said_to_follow_one_frame_in_sixteen_is_proved() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    let mut expected = Vec::new();
    for number in 1..=40 {
        let mut frame = Frame::new();
        let request = writer.request(20, r##"{"n":"#"}"##, 0);
        let (batch, mut leaves) = writer.batch(std::slice::from_ref(&request));
        if number == 16 {
            leaves[0].0[0] ^= 1;
        }
        frame.push_request(&request).unwrap();
        frame.push_batch(&batch, &leaves).unwrap();
        frame.set_leaves_follow();
        log.append(&frame).unwrap();
        expected.push(leaves);
    }
    log.durability().sync().unwrap();
    let (mut frames, mut kept) = (0, 0);
    while let Some(sealed) = log.maintenance().seal_next().unwrap() {
        frames += sealed.frames;
        kept += sealed.leaves_kept;
    }
    assert!(frames >= 16, "{frames} frames");
    // Leaves that do not follow from the requests were found and kept; readers recompute the rest.
    assert_eq!(kept, 1);
    let read = log.reader().frames(1);
    let read: Vec<_> = read.map(|frame| frame.unwrap().leaves().unwrap()).collect();
    assert_eq!(read, expected);
}

/// The bytes of the sealed segments of a log whose payloads `text` gives.
fn sealed_bytes(text: &dyn Fn(usize) -> String, compression: SegmentCompression) -> u64 {
    let (env, options) = (SimulatedEnv::new(), options());
    let options = LogOptions {
        compression,
        ..options
    };
    let identity = domain().separator();
    let opened = FileLog::open(
        Arc::new(env),
        &dir(),
        identity,
        &keys(),
        ReleaseMark::default(),
        options,
    );
    let (mut log, mut writer) = (opened.unwrap().0, Writer::new());
    let mut expected = Vec::new();
    for number in 0..40 {
        let mut frame = Frame::new();
        let request = writer.request(1, &text(number), 0);
        let (batch, leaves) = writer.batch(std::slice::from_ref(&request));
        frame.push_request(&request).unwrap();
        frame.push_batch(&batch, &leaves).unwrap();
        log.append(&frame).unwrap();
        expected.push(request);
    }
    log.durability().sync().unwrap();
    let mut bytes = 0;
    while let Some(sealed) = log.maintenance().seal_next().unwrap() {
        bytes += sealed.sealed_bytes;
    }
    for (frame, expected) in log.reader().frames(1).zip(expected) {
        let frame = frame.unwrap();
        let record = frame.requests().unwrap().remove(0).into_record().unwrap();
        assert_eq!(record, expected);
    }
    bytes
}

#[test]
fn the_fast_level_is_used_where_it_costs_little_room() {
    let one = |level| SegmentCompression {
        level,
        fast_level: level,
        block_bytes: 4096,
    };
    let both = SegmentCompression {
        fast_level: -7,
        ..one(1)
    };
    let repeats = |_| format!(r#"{{"note":"{}"}}"#, "note ".repeat(150));
    let digits = |number: usize| {
        let hashes = (0..24).map(|i| keccak(&[number as u8, i]).to_string());
        format!(r#"{{"note":"{}"}}"#, hashes.collect::<String>())
    };
    let [fast, other] = [both, one(1)].map(|levels| sealed_bytes(&repeats, levels));
    assert!(
        fast != other && fast * 8 < other * 9,
        "{fast} and {other} bytes"
    );
    // Texts that only Huffman codes compress are left to the other level.
    assert_eq!(sealed_bytes(&digits, both), sealed_bytes(&digits, one(1)));
    assert!(sealed_bytes(&digits, one(-7)) * 8 > sealed_bytes(&digits, one(1)) * 9);
}
