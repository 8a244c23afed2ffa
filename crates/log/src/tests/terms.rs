//! Frames that several nodes share: terms, and frames encoded by another node.

use super::sample::{Writer, appended_frames, keys, open, open_at, start};
use crate::env::simulated::{CrashLoss, SimulatedEnv};
use crate::frame::header::FIRST_FORMAT;
use crate::frame::{FrameHeader, HeaderError, SectionKind};
use crate::verify::{LogVerifyPlan, verify};
use crate::{
    AppendError, CutPoint, FileLog, Frame, Log, LogFloor, LogPosition, LogReader, ReleaseMark,
    StoredFrame, cut, encode_empty,
};
use std::path::Path;
use std::sync::Arc;

fn of(term: u64) -> LogFloor {
    LogFloor {
        term,
        ..LogFloor::START
    }
}

/// A frame that only opens a term.
fn empty(after: &LogPosition, term: u64) -> Vec<u8> {
    encode_empty(after, of(term)).1
}

fn new_log(env: &SimulatedEnv) -> FileLog {
    open(env, ReleaseMark::default()).unwrap().0
}

/// A log that one node encodes and another one stores: terms 1 and 3, with frames in between; returns the bytes.
fn shared(leader: &mut FileLog, follower: &mut FileLog, writer: &mut Writer) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut at = leader.position();
    for (term, frames) in [(1, 3), (3, 2), (4, 0)] {
        let (position, bytes) = encode_empty(&at, of(term));
        at = position;
        all.push(bytes);
        for _ in 0..frames {
            let frame = writer.frame(1, 9, 1);
            let (position, bytes) = leader.encode(&frame, &at, of(term)).unwrap();
            at = position;
            all.push(bytes);
        }
    }
    for bytes in &all {
        let one = leader.append_stored(bytes).unwrap();
        let other = follower.append_stored(bytes).unwrap();
        assert_eq!(one, other);
    }
    assert_eq!(leader.position(), at);
    all
}

#[test]
fn what_one_node_encodes_another_stores_byte_for_byte() {
    let (one, other) = (SimulatedEnv::new(), SimulatedEnv::new());
    let (mut leader, mut follower) = (new_log(&one), new_log(&other));
    let all = shared(&mut leader, &mut follower, &mut Writer::new());
    for log in [&leader, &follower] {
        log.durability().sync().unwrap();
        for (frame, bytes) in log.reader().frames(1).zip(&all) {
            let frame = frame.unwrap();
            assert_eq!(frame.bytes(), bytes);
            assert_eq!(frame.header().durable, 0);
        }
        let summary = verify(&log.reader(), &LogVerifyPlan::default(), |_| {}).unwrap();
        assert_eq!((summary.frames, summary.batches), (8, 5));
    }
    let header = follower
        .reader()
        .frame(8)
        .unwrap()
        .unwrap()
        .header()
        .clone();
    assert!(header.is_empty() && header.section(SectionKind::Batches).is_none());
    assert_eq!((header.term, follower.reached().unwrap().term), (4, 4));
    // The follower may become leader: it can open side entries that the leader sealed.
    let identity = super::sample::domain().separator();
    let frame = follower.reader().frame(2).unwrap().unwrap();
    assert_eq!(frame.side(&identity, &keys()).unwrap().len(), 1);
}

#[test]
fn frames_that_open_a_term_survive_starts_sealing_copies_and_cuts() {
    let env = SimulatedEnv::new();
    let mut log = new_log(&env);
    let mut writer = Writer::new();
    for term in 1..=40 {
        log.append(&Frame::opens_term(term)).unwrap();
        let mut frame = writer.frame(1, 20, 0);
        frame.set_term(term);
        log.append(&frame).unwrap();
    }
    log.append(&Frame::opens_term(41)).unwrap();
    log.durability().sync().unwrap();
    let written = appended_frames(&log);
    assert_eq!(written.len(), 81);
    while log.maintenance().seal_next().unwrap().is_some() {}
    assert_eq!(appended_frames(&log), written);
    verify(&log.reader(), &LogVerifyPlan::default(), |_| {}).unwrap();
    for sequence in 1..log.position().next_sequence {
        assert!(log.reader().action_at(sequence).unwrap().is_some());
    }
    let to = Path::new("/copy");
    log.reader().copy_to(to, None).unwrap();
    drop(log);
    let mut log = new_log(&env);
    assert_eq!(appended_frames(&log), written);
    assert_eq!(log.reached().unwrap().term, 41);

    // The cut falls after an empty frame, which belongs to the frames after it.
    let env: Arc<dyn crate::env::Env> = Arc::new(env);
    let done = cut(&env, to, CutPoint::Sequence(21)).unwrap();
    assert_eq!(done.position.frame, 3);
    let (mut log, recovery) = open_at(env, to, ReleaseMark::default()).unwrap();
    assert_eq!(recovery.torn, None);
    assert_eq!(appended_frames(&log), written[..3]);
    assert_eq!(log.reached().unwrap().term, 2);
    // A frame without a term takes the term of the one before it.
    log.append(&Frame::opens_term(2)).unwrap_err();
    let mut writer = Writer::new();
    writer.frame(1, 20, 0);
    log.append(&writer.frame(1, 1, 0)).unwrap();
    log.durability().sync().unwrap();
    let last = log.reader().frame(4).unwrap().unwrap();
    assert_eq!(last.header().term, 2);
}

// Holds invariant 179.
/// A follower's frames name no durable frame. So leftovers of a crash after its last sync are torn, never damage, and
/// the log continues from there.
#[test]
fn a_crash_leaves_a_prefix_of_a_shared_log() {
    let env = SimulatedEnv::new();
    let all = shared(
        &mut new_log(&env),
        &mut new_log(&SimulatedEnv::new()),
        &mut Writer::new(),
    );
    for seed in 0..60 {
        let env = SimulatedEnv::new();
        let mut log = new_log(&env);
        for bytes in &all[..3] {
            log.append_stored(bytes).unwrap();
        }
        log.durability().sync().unwrap();
        for bytes in &all[3..] {
            log.append_stored(bytes).unwrap();
        }
        drop(log);
        env.crash(CrashLoss::Some(seed));
        let mut log = new_log(&env);
        let kept = log.position().frame as usize;
        assert!(kept >= 3, "seed {seed}: {kept}");
        for bytes in &all[kept..] {
            log.append_stored(bytes).unwrap();
        }
        log.durability().sync().unwrap();
        let read: Vec<Vec<u8>> = log
            .reader()
            .frames(1)
            .map(|frame| frame.unwrap().bytes().to_vec())
            .collect();
        assert!(read == all, "seed {seed}");
    }
}

/// Appends `bytes` to a log that holds the first three shared frames.
fn refused(bytes: &[u8]) -> String {
    let (one, other) = (SimulatedEnv::new(), SimulatedEnv::new());
    let mut writer = Writer::new();
    let all = shared(&mut new_log(&one), &mut new_log(&other), &mut writer);
    let mut log = new_log(&SimulatedEnv::new());
    for bytes in &all[..3] {
        log.append_stored(bytes).unwrap();
    }
    let before = log.position();
    let error = log.append_stored(bytes).unwrap_err();
    assert!(
        matches!(error, AppendError::NotNext(_) | AppendError::Stored(_)),
        "{error:?}"
    );
    assert_eq!(log.position(), before);
    log.append_stored(&all[3]).unwrap();
    error.to_string()
}

// Holds invariant 181.
#[test]
fn a_frame_that_does_not_continue_the_log_is_refused_with_both_sides() {
    let (one, other) = (SimulatedEnv::new(), SimulatedEnv::new());
    let mut leader = new_log(&one);
    let all = shared(&mut leader, &mut new_log(&other), &mut Writer::new());
    let has = |error: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    // Frames twice, and a gap.
    has(
        refused(&all[2]),
        &["frame 3", "number is 3", "continues with 4"],
    );
    has(
        refused(&all[4]),
        &["frame 5", "number is 5", "continues with 4"],
    );
    let header = FrameHeader::read(&all[2]).unwrap();
    let after = LogPosition::after(&header);
    let elsewhere = LogPosition {
        hash: start().hash,
        ..after
    };
    let forged = empty(&elsewhere, 9);
    let both = [start().hash.to_string(), after.hash.to_string()];
    has(refused(&forged), &["hash", &both[0], &both[1]]);
    let shifted = LogPosition {
        next_sequence: 1,
        ..after
    };
    has(refused(&empty(&shifted, 9)), &["first sequence is 1"]);
    let shifted = LogPosition {
        next_batch: 9,
        ..after
    };
    has(refused(&empty(&shifted, 9)), &["first batch is 9"]);
    // An empty frame opens a higher term, and terms never fall.
    has(refused(&empty(&after, 1)), &["term is 1", "2 or more"]);
    let (_, zero) = leader
        .encode(&Writer::new().frame(0, 0, 1), &after, of(0))
        .unwrap();
    has(refused(&zero), &["term is 0", "1 or more"]);
    // Damage.
    let mut damaged = all[3].clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    has(refused(&damaged), &["body"]);
    has(refused(&all[3][..last]), &["cut off"]);
    // A frame of a single node's log describes that node's disk.
    let env = SimulatedEnv::new();
    let mut single = new_log(&env);
    let mut writer = Writer::new();
    for _ in 0..2 {
        single.append(&writer.frame(1, 2, 0)).unwrap();
        single.durability().sync().unwrap();
    }
    let frames: Vec<StoredFrame> = single.reader().frames(1).map(Result::unwrap).collect();
    assert_eq!(frames[1].header().durable, 1);
    let mut log = new_log(&SimulatedEnv::new());
    log.append_stored(frames[0].bytes()).unwrap();
    let error = log.append_stored(frames[1].bytes()).unwrap_err();
    has(error.to_string(), &["durable frame is 1"]);
    let same = log.append_stored(&frames[1].for_others()).unwrap();
    assert_eq!(same, single.position());
}

/// A single node's log can be shared: durable frames, sealed segments, dropped leaves.
#[test]
fn a_single_nodes_log_can_be_shared() {
    let mut single = new_log(&SimulatedEnv::new());
    let mut writer = Writer::new();
    for _ in 0..60 {
        single.append(&writer.frame(1, 20, 1)).unwrap();
        single.durability().sync().unwrap();
    }
    while single.maintenance().seal_next().unwrap().is_some() {}
    let mut other = new_log(&SimulatedEnv::new());
    let mut dropped = 0;
    for frame in single.reader().frames(1) {
        let frame = frame.unwrap();
        dropped += usize::from(frame.section(SectionKind::Leaves).is_none());
        other.append_stored(&frame.for_others()).unwrap();
    }
    assert!(dropped > 20, "{dropped}");
    assert_eq!(other.position(), single.position());
    other.durability().sync().unwrap();
    while other.maintenance().seal_next().unwrap().is_some() {}
    let [one, two] = [&single, &other]
        .map(|log| verify(&log.reader(), &LogVerifyPlan::default(), |_| {}).unwrap());
    assert_eq!(one, two);
    for batch in 0..60 {
        let [one, two] =
            [&single, &other].map(|log| log.reader().batch_with_leaves(batch).unwrap());
        assert_eq!(one, two);
    }
}

#[test]
fn a_digest_that_does_not_hold_is_refused() {
    let (one, other) = (SimulatedEnv::new(), SimulatedEnv::new());
    let all = shared(&mut new_log(&one), &mut new_log(&other), &mut Writer::new());
    // A different leaf under valid checksums.
    let frame = StoredFrame::read(all[3].clone()).unwrap();
    let leaves = frame.header().section_range(SectionKind::Leaves).unwrap();
    let mut forged = all[3].clone();
    forged[leaves.start] ^= 1;
    let crc = crc32c::crc32c(&forged[frame.header().header_bytes()..]);
    forged[20..24].copy_from_slice(&crc.to_be_bytes());
    let length = frame.header().header_bytes();
    let crc = crate::bytes::crc_around(&forged[..length], 12);
    forged[12..16].copy_from_slice(&crc.to_be_bytes());
    assert!(refused(&forged).contains("digest"));
}

#[test]
fn an_empty_frame_opens_a_term() {
    let mut log = new_log(&SimulatedEnv::new());
    let error = log.append(&Frame::new()).unwrap_err();
    assert!(error.to_string().contains("empty"), "{error}");
    let error = log.append(&Frame::opens_term(0)).unwrap_err();
    assert!(error.to_string().contains("term"), "{error}");
    log.append(&Frame::opens_term(7)).unwrap();
    for term in [6, 7] {
        log.append(&Frame::opens_term(term)).unwrap_err();
    }
    log.append(&Frame::opens_term(8)).unwrap();
    let (_, bytes) = encode_empty(
        &start(),
        LogFloor {
            format: FIRST_FORMAT,
            ..of(0)
        },
    );
    let error = FrameHeader::read(&bytes).unwrap_err();
    assert!(matches!(error, HeaderError::Contents(_)), "{error}");
}

/// Verification of a log with wrong terms, although its frames continue each other.
fn faulty(terms: [u64; 3]) -> String {
    let env = SimulatedEnv::new();
    let mut log = new_log(&env);
    let mut writer = Writer::new();
    log.append(&Frame::opens_term(terms[0])).unwrap();
    let mut frame = writer.frame(1, 2, 0);
    frame.set_term(terms[1]);
    log.forget(of(0));
    log.append(&frame).unwrap();
    log.forget(of(0));
    log.append(&Frame::opens_term(terms[2])).unwrap();
    log.durability().sync().unwrap();
    let reader: LogReader = log.reader();
    match verify(&reader, &LogVerifyPlan::default(), |_| {}) {
        Ok(_) => String::new(),
        Err(fault) => fault.to_string(),
    }
}

// Holds invariant 185.
#[test]
fn the_check_of_a_log_names_a_term_that_falls_or_is_opened_twice() {
    assert_eq!(faulty([1, 1, 2]), "");
    let text = faulty([5, 4, 6]);
    assert!(
        text.contains("frame 2") && text.contains("term is 4"),
        "{text}"
    );
    let text = faulty([5, 5, 5]);
    assert!(
        text.contains("frame 3") && text.contains("opened"),
        "{text}"
    );
    let text = faulty([5, 6, 3]);
    assert!(
        text.contains("frame 3") && text.contains("term is 3"),
        "{text}"
    );
}
