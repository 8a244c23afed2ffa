//! Damage while a segment is sealed, to the raw file before it is read and to the sealed one before it is read back: it
//! is named, and the raw segment stays until a sealing has succeeded.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::sample::{Writer, appended_frames, dir, open, open_at};
use super::watched::{Happened, Watched};
use crate::env::simulated::SimulatedEnv;
use crate::frame::header::sha256;
use crate::frame::{FrameHeader, FrameSection, SectionKind};
use crate::segment::{HEADER_BYTES, PAGE_BYTES, Segment};
use crate::{FileLog, Log, ReleaseMark};

/// A log with closed segments, all raw, whose writer is this process.
fn written(env: &SimulatedEnv) -> FileLog {
    let (mut log, _) = open(env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    for round in 0..24 {
        log.append(&writer.frame(1 + round % 2, 12, round % 2))
            .unwrap();
    }
    log.durability().sync().unwrap();
    log
}

/// A raw segment's file, its frames' numbers, and their bytes in the file.
struct RawFile {
    path: PathBuf,
    frames: Vec<(u64, Range<usize>)>,
}

/// The closed segments, in order.
fn raw_files(log: &FileLog) -> Vec<RawFile> {
    let reader = log.reader();
    let segments = reader.segments();
    let numbers = |segment: &Segment| segment.header().first_frame;
    let closed = segments.windows(2).map(|pair| {
        let mut end = 1_usize;
        let frames = (numbers(&pair[0])..numbers(&pair[1])).map(|number| {
            let start = end.next_multiple_of(PAGE_BYTES as usize);
            end = start + reader.frame(number).unwrap().unwrap().bytes().len();
            (number, start..end)
        });
        RawFile {
            frames: frames.collect(),
            path: pair[0].path().to_owned(),
        }
    });
    closed.collect()
}

/// Changes bytes of a file on the disk, also for processes that have it open.
fn overwrite(env: &SimulatedEnv, path: &Path, start: usize, bytes: &[u8]) {
    let before = env.contents(path).unwrap();
    for (at, byte) in bytes.iter().enumerate() {
        env.damage(path, start + at, before[start + at] ^ byte);
    }
}

/// Changes bytes without changing their CRC32C, using the polynomial in the checksum's bit order.
fn keep_crc(bytes: &mut [u8]) {
    const POLYNOMIAL: u64 = 0x1_1edc_6f41;
    for bit in 0..33 {
        bytes[bit / 8] ^= ((POLYNOMIAL >> (32 - bit)) as u8 & 1) << (bit % 8);
    }
}

/// Seals the next segment, which must fail and name the file; returns the error's text. The unfinished file must be
/// gone.
fn refused(env: &SimulatedEnv, log: &FileLog, named: &Path, what: &str) -> String {
    let before = files(env);
    let error = log.maintenance().seal_next().err();
    let error = error.unwrap_or_else(|| panic!("{what} is not noticed"));
    let error = error.to_string();
    let name = named.file_name().unwrap().to_str().unwrap();
    assert!(error.contains(name), "{what}: {error}");
    assert_eq!(files(env), before, "{what}");
    error
}

fn files(env: &SimulatedEnv) -> Vec<String> {
    use crate::env::Env as _;
    let mut names = env.list(&dir()).unwrap();
    names.sort();
    names
}

/// Damaged versions of a sealed file, each with a description.
fn changes_of(whole: &[u8]) -> Vec<(String, Vec<u8>)> {
    let changed = |what: String, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.to_vec();
        change(&mut bytes);
        (what, bytes)
    };
    let flips = (0..whole.len())
        .map(|at| changed(format!("byte {at}"), &|bytes| bytes[at] ^= 1 << (at % 8)));
    let cuts = (0..whole.len())
        .step_by(97)
        .map(|at| changed(format!("a cut at {at}"), &|bytes| bytes.truncate(at)));
    let lost = (0..whole.len() - 512).step_by(512).map(|at| {
        let lose = |bytes: &mut Vec<u8>| bytes[at..at + 512].fill(0);
        changed(format!("a lost sector at {at}"), &lose)
    });
    let trailer = whole.len() - 16;
    let length: [u8; 4] = whole[trailer..trailer + 4].try_into().unwrap();
    let footer = trailer - u32::from_be_bytes(length) as usize;
    // Changes that no checksum notices: of blocks, and of the hash in the footer.
    let blocks = (HEADER_BYTES..footer - 5).step_by(61).map(|at| {
        let change = |bytes: &mut Vec<u8>| keep_crc(&mut bytes[at..at + 5]);
        changed(format!("a block with its checksum, byte {at}"), &change)
    });
    let hashes = (footer + 24..footer + 56).map(|at| {
        let change = |bytes: &mut Vec<u8>| {
            bytes[at] ^= 1;
            let crc = crc32c::crc32c(&bytes[footer..trailer]);
            bytes[trailer + 4..trailer + 8].copy_from_slice(&crc.to_be_bytes());
        };
        changed(format!("a footer with its checksum, byte {at}"), &change)
    });
    let longer = changed("a longer file".to_owned(), &|bytes| bytes.push(0));
    let changes = flips.chain(cuts).chain(lost).chain(blocks).chain(hashes);
    changes.chain([longer]).collect()
}

// Holds invariant 216.
#[test]
fn a_sealed_file_that_does_not_read_back_as_it_was_written_is_named_and_the_raw_one_stays() {
    let start = SimulatedEnv::new();
    let log = written(&start);
    let (expected, raw) = (appended_frames(&log), raw_files(&log).remove(0).path);
    drop(log);
    let sealed = raw.with_extension("seg");
    let unfinished = raw.with_extension("tmp");
    let whole = {
        let env = start.copy();
        let (log, _) = open(&env, ReleaseMark::default()).unwrap();
        log.maintenance().seal_next().unwrap().unwrap();
        env.contents(&sealed).unwrap()
    };
    let other = {
        let env = SimulatedEnv::new();
        let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
        let mut writer = Writer::new();
        for _ in 0..12 {
            log.append(&writer.frame(1, 11, 0)).unwrap();
        }
        log.durability().sync().unwrap();
        log.maintenance().seal_next().unwrap().unwrap();
        env.contents(&sealed).unwrap()
    };
    let mut changes = changes_of(&whole);
    changes.push(("a segment of another log".to_owned(), other));
    changes.par_iter().for_each(|(what, bytes)| {
        let env = start.copy();
        let is_done = AtomicBool::new(false);
        let (disk, bytes) = (env.clone(), bytes.clone());
        let path_of_it = unfinished.clone();
        let damaging = Watched::new(&env, move |path, happened| {
            let is_it = matches!(happened, Happened::Synced) && path == path_of_it;
            if is_it && !is_done.swap(true, Ordering::Relaxed) {
                disk.put(path, bytes.clone());
            }
        });
        let (log, _) = open_at(Arc::new(damaging), &dir(), ReleaseMark::default()).unwrap();
        refused(&env, &log, &unfinished, what);
        assert_eq!(appended_frames(&log), expected, "{what}");
        // The next attempt succeeds.
        log.maintenance().seal_next().unwrap().unwrap();
        assert_eq!(env.contents(&sealed).as_ref(), Some(&whole), "{what}");
        assert_eq!(appended_frames(&log), expected, "{what}");
    });
}

// Holds invariant 216.
#[test]
fn a_raw_segment_that_was_damaged_before_its_sealing_is_named_and_stays() {
    let env = SimulatedEnv::new();
    let log = written(&env);
    let expected = appended_frames(&log);
    for file in raw_files(&log) {
        for (number, range) in &file.frames {
            // Every byte of the header, and some of the body.
            for at in range.clone().take(264).chain(range.clone().step_by(41)) {
                let what = format!("byte {at} in frame {number}");
                env.damage(&file.path, at, 1 << (at % 8));
                let error = refused(&env, &log, &file.path, &what);
                let place = format!("is damaged at byte {}", range.start);
                assert!(error.contains(&place), "{what}: {error}");
                env.damage(&file.path, at, 1 << (at % 8));
            }
        }
        log.maintenance().seal_next().unwrap().unwrap();
    }
    assert_eq!(appended_frames(&log), expected);
}

/// A frame with another payload and valid checksums; with `digests`, the digests are recomputed too.
fn forged(frame: &[u8], digests: bool) -> Vec<u8> {
    let mut header = FrameHeader::read(frame).unwrap();
    let mut frame = frame.to_vec();
    let last = frame.len() - 3;
    frame[last] ^= 1;
    if digests {
        let section = &frame[header.section_range(SectionKind::Requests).unwrap()];
        let (length, digest) = (Some(section.len() as u32), sha256(section));
        header.set_section(SectionKind::Requests, FrameSection { length, digest });
    }
    let body = &frame[header.header_bytes()..];
    header.body_crc = crc32c::crc32c(body);
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    bytes.extend_from_slice(body);
    bytes
}

/// Forges each frame of the closed segments in turn, which must be detected. With `digests`, the forged frame's digest
/// is valid, and the next frame or segment detects that it continues another one.
fn forge_each(env: &SimulatedEnv, log: &FileLog, digests: bool, says: impl Fn(&str) -> bool) {
    let expected = appended_frames(log);
    for file in raw_files(log) {
        for (number, range) in &file.frames {
            let whole = env.contents(&file.path).unwrap()[range.clone()].to_vec();
            overwrite(env, &file.path, range.start, &forged(&whole, digests));
            let what = format!("another frame {number}, digests made again: {digests}");
            let error = refused(env, log, &file.path, &what);
            assert!(says(&error), "{what}: {error}");
            overwrite(env, &file.path, range.start, &whole);
        }
        log.maintenance().seal_next().unwrap().unwrap();
    }
    assert_eq!(appended_frames(log), expected);
}

// Holds invariant 216.
#[test]
fn a_whole_frame_that_is_not_the_one_that_this_process_wrote_is_named() {
    for digests in [false, true] {
        let env = SimulatedEnv::new();
        let log = written(&env);
        forge_each(&env, &log, digests, |error| {
            error.contains("is not the one that was written")
        });
    }
}

// Holds invariant 216.
#[test]
fn a_whole_frame_that_is_not_the_one_that_was_found_is_named() {
    let found = || {
        let env = SimulatedEnv::new();
        drop(written(&env));
        let (log, _) = open(&env, ReleaseMark::default()).unwrap();
        (env, log)
    };
    let (env, log) = found();
    forge_each(&env, &log, false, |error| {
        error.contains("does not match the digest")
    });
    let (env, log) = found();
    forge_each(&env, &log, true, |error| {
        error.contains("does not continue the previous one")
            || error.contains("is not the one that the next segment continues")
    });
}

// Holds invariant 216.
/// A digest detects what a checksum cannot: in one frame of 16 of this process, and in each frame found on the disk.
#[test]
fn digests_are_checked_of_one_written_frame_in_sixteen_and_of_each_found_one() {
    let files = raw_files(&written(&SimulatedEnv::new()));
    let frames: Vec<_> = files
        .iter()
        .flat_map(|file| file.frames.iter().map(|frame| (&file.path, frame)))
        .collect();
    for is_found in [false, true] {
        let noticed = frames.par_iter().filter(|(path, (_, range))| {
            let env = SimulatedEnv::new();
            let mut log = written(&env);
            if is_found {
                drop(log);
                (log, _) = open(&env, ReleaseMark::default()).unwrap();
            }
            let place = range.end - 40..range.end;
            let before = env.contents(path).unwrap()[place.clone()].to_vec();
            let mut after = before.clone();
            keep_crc(&mut after);
            assert_eq!(crc32c::crc32c(&after), crc32c::crc32c(&before));
            assert_ne!(after, before);
            overwrite(&env, path, place.start, &after);
            loop {
                match log.maintenance().seal_next() {
                    Ok(Some(_)) => {}
                    Ok(None) => break false,
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("does not match the digest"), "{error}");
                        break true;
                    }
                }
            }
        });
        let noticed: Vec<u64> = noticed.map(|(_, (number, _))| *number).collect();
        let all: Vec<u64> = frames.iter().map(|(_, (number, _))| *number).collect();
        let expected = if is_found { all } else { vec![16] };
        assert_eq!(noticed, expected, "found: {is_found}");
    }
}
