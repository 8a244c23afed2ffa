//! Damage: a torn end is cut off and reported, all other damage is named, and no byte causes a panic or a wrong answer.

use std::path::{Path, PathBuf};

use kedge_protocol::Hash;
use proptest::prelude::*;
use rayon::prelude::*;

use super::sample::{Writer, dir, keys, open, start};
use crate::env::simulated::{CrashLoss, SimulatedEnv};
use crate::env::{Env as _, OpenMode};
use crate::frame::{FrameHeader, FrameSection, SectionKind};
use crate::segment::{HEADER_BYTES, PAGE_BYTES};
use crate::{FrameError, Log, LogOpenError, LogReadError, ReleaseMark, StoredFrame};

/// A header may state any number of actions with dropped leaves. No memory is allocated for them.
#[test]
fn a_frame_with_many_actions_and_no_leaves_is_damaged() {
    let section = |length| FrameSection {
        length,
        digest: Hash::ZERO,
    };
    let mut header = FrameHeader::new(1, 0, 1, 0);
    header.actions = u32::MAX;
    header.set_section(SectionKind::Leaves, section(None));
    header.set_section(SectionKind::Requests, section(Some(4)));
    header.body_crc = crc32c::crc32c(&[0; 4]);
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    bytes.extend_from_slice(&[0; 4]);
    let frame = StoredFrame::read(bytes).unwrap();
    assert!(matches!(
        frame.leaves(),
        Err(FrameError::Section(SectionKind::Requests, _))
    ));
}

/// A log of some frames, all durable; `seal` closes and compresses as much as possible.
fn written(frames: usize, seal: bool) -> (SimulatedEnv, u64) {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    for round in 0..frames {
        log.append(&writer.frame(round % 3, 4, round % 2))
            .unwrap_or_else(|_| log.position());
        log.durability().sync().unwrap();
    }
    while seal && log.maintenance().seal_next().unwrap().is_some() {}
    (env, log.position().frame)
}

fn only(env: &SimulatedEnv, ending: &str) -> PathBuf {
    let names = env.list(&dir()).unwrap();
    dir().join(names.iter().rfind(|name| name.ends_with(ending)).unwrap())
}

/// Every frame's bytes, and every request and batch, as a reader returns them.
fn everything(env: &SimulatedEnv, released: ReleaseMark) -> Result<Vec<Vec<u8>>, String> {
    let (log, _) = open(env, released).map_err(|error| error.to_string())?;
    let reader = log.reader();
    let text = |error: LogReadError| error.to_string();
    let mut all = Vec::new();
    for frame in reader.frames(1) {
        let frame = frame.map_err(text)?;
        frame.check_digests().map_err(|error| error.to_string())?;
        let side = frame
            .side(&reader.identity(), &keys())
            .map_err(|error| error.to_string())?;
        all.push(frame.bytes().to_vec());
        all.push(format!("{side:?}").into_bytes());
    }
    for sequence in 1..log.position().next_sequence {
        let alone = reader.action_at(sequence).map_err(text)?.unwrap();
        let record = alone.record().map_err(|error| error.to_string())?;
        all.push(format!("{:?} {record:?}", alone.request).into_bytes());
        all.push(reader.request_at(sequence).map_err(text)?.unwrap().bytes);
    }
    for batch in 0..log.position().next_batch {
        let (batch, leaves) = reader.batch_with_leaves(batch).map_err(text)?.unwrap();
        all.push(format!("{batch:?} {leaves:?}").into_bytes());
    }
    Ok(all)
}

#[test]
fn every_cut_of_the_last_frame_leaves_the_one_before() {
    let (env, last) = written(5, false);
    let path = only(&env, ".log");
    let whole = env.contents(&path).unwrap();
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    let before = log
        .reader()
        .frame(last - 1)
        .unwrap()
        .unwrap()
        .header()
        .hash();
    let length = log.reader().frame(last).unwrap().unwrap().bytes().len();
    drop(log);
    let start = (0..whole.len())
        .step_by(4096)
        .rfind(|at| whole[at + 1..].starts_with(b"KFRAME"))
        .unwrap();
    for cut in 0..length {
        let mut torn = whole.clone();
        torn[start + cut..].fill(0);
        let left = torn[start..]
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at as u64 + 1);
        let env = SimulatedEnv::new();
        env.put(&path, torn);
        let (log, recovery) = open(&env, ReleaseMark::default()).unwrap();
        if left == length as u64 {
            // The cut bytes were zero anyway.
            continue;
        }
        assert_eq!(log.position().frame, last - 1, "cut at {cut}");
        assert_eq!(log.position().hash, before);
        match recovery.torn {
            None => assert_eq!(left, 0),
            Some(torn) => assert_eq!(
                (torn.frame, torn.bytes, torn.offset),
                (last, left, start as u64)
            ),
        }
        drop(log);
        let released = ReleaseMark {
            frame: last,
            sequence: 0,
        };
        assert!(matches!(
            open(&env, released),
            Err(LogOpenError::Released { .. })
        ));
    }
}

#[test]
fn a_bad_frame_before_a_durable_one_is_damage_and_named() {
    let (env, last) = written(6, false);
    let path = only(&env, ".log");
    let whole = env.contents(&path).unwrap();
    let frames: Vec<usize> = (0..whole.len())
        .step_by(4096)
        .filter(|at| whole[at + 1..].starts_with(b"KFRAME"))
        .collect();
    assert_eq!(frames.len() as u64, last);
    for (index, at) in frames.iter().enumerate() {
        // No frame after the last one shows that it was durable, so it counts as torn.
        let is_last = index + 1 == frames.len();
        for place in [0, 30, 70, 150, 250] {
            let copy = env.copy();
            copy.damage(&path, at + place, 1);
            match open(&copy, ReleaseMark::default()) {
                // A short frame ends before this place, so the byte is padding.
                Ok((log, recovery)) if recovery.torn.is_none() => {
                    assert_eq!(log.position().frame, last);
                }
                Ok((log, recovery)) => {
                    assert!(is_last, "frame {} was cut off, at {place}", index + 1);
                    assert_eq!(recovery.torn.unwrap().frame, last);
                    assert_eq!(log.position().frame, last - 1);
                }
                Err(LogOpenError::Damaged(damage)) => {
                    assert!(!is_last);
                    assert_eq!((damage.segment, damage.offset), (path.clone(), *at as u64));
                    assert_eq!(damage.frame, Some(index as u64 + 1));
                    assert!(damage.first_sequence > 0);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn frames_that_were_never_synced_may_arrive_in_any_order() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    log.append(&writer.frame(1, 3, 0)).unwrap();
    log.durability().sync().unwrap();
    let second = log.append(&writer.frame(1, 3, 0)).unwrap();
    log.append(&writer.frame(1, 3, 0)).unwrap();
    let path = only(&env, ".log");
    drop(log);
    // The second is damaged and the third is whole: neither was ever durable.
    env.crash(CrashLoss::None);
    env.put(&path, env.contents(&path).unwrap());
    env.damage(&path, 3 * 4096 - 4096 + 40, 1);
    let (log, recovery) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!(
        (log.position().frame, recovery.torn.unwrap().frame),
        (1, second.frame)
    );
    drop(log);
    let (log, recovery) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!(
        (log.position().frame, recovery.torn),
        (1, None),
        "both are gone"
    );
}

#[test]
fn a_whole_frame_that_does_not_continue_the_log_is_damage() {
    let (env, _) = written(3, false);
    let path = only(&env, ".log");
    let mut bytes = env.contents(&path).unwrap();
    bytes.copy_within(4096..8192, 12288 + 4096);
    let end = bytes.len() - 4096;
    bytes.copy_within(4096..8192, end);
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    let pages = log
        .reader()
        .frames(1)
        .map(|frame| frame.unwrap().bytes().len().div_ceil(4096))
        .sum::<usize>();
    drop(log);
    let mut bytes = env.contents(&path).unwrap();
    bytes.copy_within(4096..8192, (1 + pages) * 4096);
    env.put(&path, bytes);
    assert!(matches!(
        open(&env, ReleaseMark::default()),
        Err(LogOpenError::Damaged(_))
    ));
}

#[test]
fn a_missing_segment_is_named() {
    let (env, _) = written(30, true);
    let mut names = env.list(&dir()).unwrap();
    names.sort();
    assert!(names.len() >= 3, "{names:?}");
    for (index, name) in names.iter().enumerate() {
        let copy = env.copy();
        copy.remove(&dir().join(name)).unwrap();
        let opened = open(&copy, ReleaseMark::default());
        if index == 0 {
            // Older segments may be archived.
            let (log, _) = opened.unwrap();
            assert!(log.reader().first_frame() > 1);
            assert!(matches!(
                log.reader().frame(1),
                Err(LogReadError::Missing { .. })
            ));
        } else if index + 1 == names.len() {
            opened.unwrap();
        } else {
            let error = opened.err().unwrap().to_string();
            assert!(error.contains("are missing"), "{error}");
        }
    }
}

#[test]
fn a_flip_of_any_byte_of_a_raw_segment_is_named_or_harmless() {
    let (env, last) = written(4, false);
    let path = only(&env, ".log");
    let released = ReleaseMark {
        frame: last,
        sequence: 0,
    };
    let (log, _) = open(&env, released).unwrap();
    let mut at = PAGE_BYTES as usize;
    let frames = log.reader().frames(1).map(|frame| {
        let start = at;
        let end = start + frame.unwrap().bytes().len();
        at = end.next_multiple_of(PAGE_BYTES as usize);
        start..end
    });
    let header = std::iter::once(0..HEADER_BYTES);
    let written: Vec<_> = header.chain(frames).collect();
    drop(log);
    // Every byte of the header and of frames; of the zeros between them, those near each, and some of every page.
    let is_near = |at: &usize| {
        let mut near = written
            .iter()
            .map(|range| range.start.saturating_sub(8)..range.end + 8);
        near.any(|range| range.contains(at))
    };
    let length = env.contents(&path).unwrap().len();
    let places: Vec<usize> = (0..length)
        .filter(|at| is_near(at) || at % 61 == 0)
        .collect();
    flips(&env, &path, released, &places, |at| {
        // No written byte may change unnoticed: only the padding may.
        written.iter().any(|range| range.contains(&at))
    });
}

#[test]
fn a_flip_of_any_byte_of_a_sealed_segment_is_named() {
    let (env, last) = written(14, true);
    let path = only(&env, ".seg");
    let released = ReleaseMark {
        frame: last,
        sequence: 0,
    };
    let length = env.contents(&path).unwrap().len();
    let places: Vec<usize> = (0..length).collect();
    flips(&env, &path, released, &places, |_| true);
}

/// Flips a bit at each place. If `must_be_named` returns true, reading must fail and name the segment. Otherwise,
/// undetected damage must leave every read unchanged.
fn flips(
    env: &SimulatedEnv,
    path: &Path,
    released: ReleaseMark,
    places: &[usize],
    must_be_named: impl Fn(usize) -> bool + Sync,
) {
    let expected = everything(env, released).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    places.par_iter().for_each(|&at| {
        let copy = env.copy();
        copy.damage(path, at, 1 << (at % 8));
        match everything(&copy, released) {
            Ok(found) => {
                assert!(found == expected, "byte {at} gives another answer");
                assert!(!must_be_named(at), "byte {at} is not noticed");
            }
            Err(text) => assert!(
                text.contains(name) || text.contains("released"),
                "byte {at}: {text}"
            ),
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn noise_is_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..9000), sealed: bool, cut in 0..9000usize) {
        let (env, _) = written(12, true);
        let path = only(&env, if sealed { ".seg" } else { ".log" });
        let mut contents = env.contents(&path).unwrap();
        contents.truncate(cut.max(bytes.len() % 200));
        let at = contents.len() / 2;
        contents.truncate(at);
        contents.extend_from_slice(&bytes);
        env.put(&path, contents);
        let _ = everything(&env, ReleaseMark::default());
        env.put(&path, bytes);
        let _ = everything(&env, ReleaseMark::default());
    }
}

#[test]
fn an_empty_directory_is_an_empty_log() {
    let env = SimulatedEnv::new();
    let (log, recovery) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!(
        (log.position(), recovery),
        (start(), crate::LogRecovery::default())
    );
    assert_ne!(start().hash, Hash::ZERO);
    let released = ReleaseMark {
        frame: 0,
        sequence: 1,
    };
    assert!(matches!(
        open(&env, released),
        Err(LogOpenError::Released { .. })
    ));
    assert!(env.open(&only(&env, ".log"), OpenMode::Read).is_ok());
}
