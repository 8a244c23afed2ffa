//! The formats of released logs stay readable: `testdata/format-1` and `testdata/format-2` were written once and are
//! never rewritten. A log keeps its format until a frame needs a higher one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::possession;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::signature::SigningKey;

use super::sample::{Writer, domain, key, keys, open, options, start};
use crate::env::RealEnv;
use crate::env::simulated::SimulatedEnv;
use crate::frame::FrameHeader;
use crate::frame::header::{CONSENT_FORMAT, FIRST_FORMAT, FIXED_BYTES, FORMAT, ROOTS_FORMAT};
use crate::verify::{LogVerifyPlan, verify};
use crate::{FileLog, Frame, Log, LogFloor, LogOptions, LogReader, ReleaseMark, encode_empty};

/// The hash of the last frame in `testdata/format-1`.
const HASH: &str = "0xfa65979d1c55effd6b8f0504277fa90a9aeb1145721316065f210bc281a37f3b";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

// Holds invariant 219.
#[test]
fn format_1_is_read() {
    let identity = domain().separator();
    let (reader, recovery) = LogReader::open(
        Arc::new(RealEnv),
        &testdata("format-1"),
        Some(identity),
        1 << 20,
    )
    .unwrap();
    assert_eq!(recovery.torn, None);
    let position = reader.position();
    assert_eq!(position.hash.to_string(), HASH);
    let mut writer = Writer::new();
    let mut side = 0;
    for (round, frame) in reader.frames(1).enumerate() {
        let frame = frame.unwrap();
        frame.check_digests().unwrap();
        let made = writer.frame(round % 3, 4, round % 2 + 1);
        assert_eq!(
            frame.leaves().unwrap().len(),
            frame.header().actions as usize
        );
        side += frame.side(&identity, &keys()).unwrap().len();
        assert!(made.bytes_max() > 0);
        assert_eq!(frame.header().next_sequence(), writer.next_sequence);
    }
    assert_eq!(side, 12);
    for sequence in 1..position.next_sequence {
        let found = reader.request_at(sequence).unwrap().unwrap();
        let record = found.packed().unwrap().into_record().unwrap();
        let action = &record.actions[(sequence - record.first_sequence) as usize];
        assert!(action.payload.contains(&format!("\"n\":\"{sequence}\"")));
    }
}

/// The frames of `testdata/format-1`.
fn first_frames(writer: &mut Writer) -> Vec<Frame> {
    (0..8)
        .map(|round| writer.frame(round % 3, 4, round % 2 + 1))
        .collect()
}

/// A frame with one request, which adds a key to a wallet.
fn adding(writer: &mut Writer, payload: &str) -> Frame {
    let mut record = writer.request(1, "", 0);
    let action = &mut record.actions[0];
    action.kind = Kind::WalletKeyAdd;
    action.target = WALLET.into();
    action.payload = payload.to_owned().into();
    sealed(writer, record)
}

fn sealed(writer: &mut Writer, mut record: RequestRecord<'static>) -> Frame {
    let hashes = record.action_hashes().unwrap();
    record.signature = key().sign(&record.head.digest(&domain().separator(), &hashes));
    let mut frame = Frame::new();
    frame.push_request(&record).unwrap();
    let (batch, leaves) = writer.batch(&[record]);
    frame.push_batch(&batch, &leaves).unwrap();
    frame
}

const WALLET: &str = "wal_7h8rh8fgrh07gkqn56z16p8nc6";

fn consenting(wallet: &str) -> String {
    let new = SigningKey::from_bytes(&[0x77; 32]).unwrap();
    let consent = possession::consent(&new, &domain().separator(), wallet);
    let address = new.address();
    format!(r#"{{"address":"{address}","possession":"{consent}"}}"#)
}

/// A key addition from before consents existed.
fn bare() -> String {
    format!(r#"{{"address":"{}"}}"#, key().address())
}

fn at(dir: &Path) -> FileLog {
    let options = LogOptions {
        segment_bytes: 6 * 4096,
        ..options()
    };
    let identity = domain().separator();
    let env = Arc::new(RealEnv);
    let opened = FileLog::open(env, dir, identity, &keys(), ReleaseMark::default(), options);
    opened.unwrap().0
}

/// Copies the format 1 test data to a directory and opens the log.
fn first_log(dir: &Path) -> (FileLog, Writer) {
    for file in std::fs::read_dir(testdata("format-1")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), dir.join(file.file_name())).unwrap();
    }
    let mut writer = Writer::new();
    first_frames(&mut writer);
    (at(dir), writer)
}

/// Appends and syncs the frames that `testdata/format-2` has beyond `testdata/format-1`.
fn raise(log: &mut FileLog, writer: &mut Writer) {
    for frame in [
        writer.frame(1, 4, 0),
        adding(writer, &bare()),
        adding(writer, &consenting(WALLET)),
        writer.frame(1, 4, 1),
    ] {
        log.append(&frame).unwrap();
    }
    log.durability().sync().unwrap();
}

/// Formats of the frames from the ninth on, and whether each is empty.
fn formats(reader: &LogReader) -> Vec<(u16, bool)> {
    let frames = reader.frames(9).map(|frame| {
        let frame = frame.unwrap();
        (frame.header().format, frame.header().is_empty())
    });
    frames.collect()
}

const RAISED: [(u16, bool); 5] = [(1, false), (1, false), (2, true), (2, false), (2, false)];

// Holds invariant 219.
#[test]
fn a_log_of_the_first_format_is_raised_before_the_first_consent() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, mut writer) = first_log(dir.path());
    assert_eq!(log.reached().unwrap().format, FIRST_FORMAT);
    raise(&mut log, &mut writer);
    assert_eq!(formats(&log.reader()), RAISED);
    // A program that knows only the first format refuses the new segment by its header. The segments before it are
    // unchanged.
    let segments: Vec<(u16, u64)> = (log.reader().segments().iter())
        .map(|segment| (segment.header().format, segment.header().first_frame))
        .collect();
    assert_eq!(segments.last(), Some(&(2, 11)));
    assert!(
        segments
            .iter()
            .rev()
            .skip(1)
            .all(|(format, _)| *format == 1)
    );

    while log.maintenance().seal_next().unwrap().is_some() {}
    log.append(&writer.frame(2, 9, 0)).unwrap();
    log.durability().sync().unwrap();
    drop(log);
    let mut log = at(dir.path());
    assert_eq!(log.reached().unwrap().format, CONSENT_FORMAT);
    log.append(&writer.frame(1, 1, 0)).unwrap();
    log.durability().sync().unwrap();
    let summary = verify(&log.reader(), &LogVerifyPlan::default(), |_| {}).unwrap();
    assert_eq!(summary.additions_without_consent, 1);

    // A node that stores the same frames raises its files' format with them.
    let follower = tempfile::tempdir().unwrap();
    let mut following = at(follower.path());
    for frame in log.reader().frames(1) {
        following
            .append_stored(&frame.unwrap().for_others())
            .unwrap();
    }
    following.durability().sync().unwrap();
    assert_eq!(following.position(), log.position());
}

/// A frame whose side entry says from when on checkpoints have roots.
fn naming_roots(writer: &mut Writer) -> Frame {
    let mut frame = writer.frame(1, 4, 1);
    frame.names_roots();
    frame
}

// Holds invariant 219.
#[test]
fn a_log_of_an_earlier_format_is_raised_before_it_names_roots() {
    for is_raised in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, mut writer) = first_log(dir.path());
        let before = if is_raised {
            raise(&mut log, &mut writer);
            RAISED.to_vec()
        } else {
            Vec::new()
        };
        log.append(&naming_roots(&mut writer)).unwrap();
        // A format never falls, whatever a frame needs.
        log.append(&adding(&mut writer, &consenting(WALLET)))
            .unwrap();
        log.append(&writer.frame(1, 4, 1)).unwrap();
        log.durability().sync().unwrap();
        let named = [(3, true), (3, false), (3, false), (3, false)];
        let expected = [before, named.to_vec()].concat();
        assert_eq!(formats(&log.reader()), expected);
        let segments = log.reader().segments();
        let last = segments.last().unwrap().header();
        assert_eq!(last.format, ROOTS_FORMAT);
        drop(log);
        let mut log = at(dir.path());
        assert_eq!(log.reached().unwrap().format, ROOTS_FORMAT);
        assert_eq!(formats(&log.reader()), expected);
        let summary = verify(&log.reader(), &LogVerifyPlan::default(), |_| {}).unwrap();
        assert_eq!(summary.frames as usize, 8 + expected.len());
    }
}

// Holds invariant 218.
#[test]
fn format_2_is_read() {
    let (reader, _) =
        LogReader::open(Arc::new(RealEnv), &testdata("format-2"), None, 1 << 20).unwrap();
    assert_eq!(formats(&reader), RAISED);
    assert_eq!(reader.position().hash.to_string(), RAISED_HASH);
    let summary = verify(&reader, &LogVerifyPlan::default(), |_| {}).unwrap();
    assert_eq!((summary.frames, summary.additions_without_consent), (13, 1));
}

/// The hash of the last frame in `testdata/format-2`.
const RAISED_HASH: &str = "0xe79e9380a595dea3e35f472955a9795e3a3659ac61def97ea900e1f2782ab839";

/// Writes the directory of [`format_2_is_read`]: `cargo test -p kedge-log -- --ignored`.
#[test]
#[ignore = "writes test data, which is done once a format"]
fn write_testdata() {
    let dir = testdata("format-2");
    std::fs::create_dir_all(&dir).unwrap();
    let (mut log, mut writer) = first_log(&dir);
    raise(&mut log, &mut writer);
    assert_eq!(
        log.position().hash.to_string(),
        RAISED_HASH,
        "put the new hash into the test"
    );
}

// Holds invariant 219.
#[test]
fn a_new_log_begins_with_the_highest_format() {
    let (mut log, _) = open(&SimulatedEnv::new(), ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    log.append(&writer.frame(1, 1, 1)).unwrap();
    log.append(&adding(&mut writer, &consenting(WALLET)))
        .unwrap();
    log.durability().sync().unwrap();
    let formats: Vec<u16> = (log.reader().frames(1))
        .map(|frame| frame.unwrap().header().format)
        .collect();
    assert_eq!(formats, [FORMAT; 2]);
    let segments = log.reader().segments();
    assert!(
        segments
            .iter()
            .all(|segment| segment.header().format == FORMAT)
    );
}

// Holds invariant 219.
#[test]
fn a_format_never_falls() {
    let first = LogFloor {
        term: 3,
        format: FIRST_FORMAT,
    };
    let raised = LogFloor {
        format: FORMAT,
        ..first
    };
    let mut log = open(&SimulatedEnv::new(), ReleaseMark::default())
        .unwrap()
        .0;
    let mut writer = Writer::new();
    // Frames of another node, whose log began with the first format.
    let (after, opened) = encode_empty(&start(), first);
    log.append_stored(&opened).unwrap();
    let frame = adding(&mut writer, &consenting(WALLET));
    let error = log.encode(&frame, &after, first).unwrap_err().to_string();
    assert!(error.contains("higher format"), "{error}");
    let refused = |log: &mut FileLog, bytes: &[u8], what: &str| {
        let error = log.append_stored(bytes).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    // An empty frame raises the format or opens a term.
    refused(&mut log, &encode_empty(&after, first).1, "term is 3");
    let (after, mark) = encode_empty(&after, raised);
    log.append_stored(&mark).unwrap();
    refused(&mut log, &encode_empty(&after, raised).1, "term is 3");
    let fallen = LogFloor { term: 4, ..first };
    refused(&mut log, &encode_empty(&after, fallen).1, "format is 1");
    let (_, bytes) = log.encode(&frame, &after, raised).unwrap();
    log.append_stored(&bytes).unwrap();
}

// Holds invariant 219.
#[test]
fn a_frame_says_which_format_it_needs() {
    let mut writer = Writer::new();
    let mut frame = writer.frame(1, 1, 1);
    assert_eq!(frame.format(), FIRST_FORMAT);
    let consent = adding(&mut writer, &consenting(WALLET));
    assert_eq!(consent.format(), CONSENT_FORMAT);
    frame.names_roots();
    assert_eq!(frame.format(), ROOTS_FORMAT);
    let mut log = open(&SimulatedEnv::new(), ReleaseMark::default())
        .unwrap()
        .0;
    let reached = LogFloor {
        term: 3,
        format: CONSENT_FORMAT,
    };
    let error = log.encode(&frame, &start(), reached).unwrap_err();
    assert!(error.to_string().contains("higher format"), "{error}");
    // The buffers of a frame serve the next group.
    frame.clear();
    assert_eq!(frame.format(), FIRST_FORMAT);
}

/// The fault that verification reports.
fn faulty(frames: impl FnOnce(&mut FileLog, &mut Writer)) -> String {
    let (mut log, _) = open(&SimulatedEnv::new(), ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    log.append(&writer.frame(1, 2, 0)).unwrap();
    frames(&mut log, &mut writer);
    log.durability().sync().unwrap();
    let checked = verify(&log.reader(), &LogVerifyPlan::default(), |_| {});
    checked.map_or_else(|fault| fault.to_string(), |_| String::new())
}

// Holds invariant 218.
#[test]
fn the_check_of_a_log_names_a_wrong_consent_and_a_format_that_falls() {
    let text = faulty(|log, writer| {
        let other = consenting("wal_00000000000000000000000000");
        log.append(&adding(writer, &other)).unwrap();
    });
    assert!(
        text.contains("frame 2, sequence 4: the possession of key 0x"),
        "{text}"
    );
    let first = LogFloor {
        term: 0,
        format: FIRST_FORMAT,
    };
    let text = faulty(|log, writer| {
        log.forget(first);
        log.append(&writer.frame(1, 2, 0)).unwrap();
    });
    assert!(
        text.contains("frame 2") && text.contains("its format is 1"),
        "{text}"
    );
}

// Holds invariant 219.
#[test]
fn a_newer_format_is_named_and_not_called_damage() {
    let (reader, _) =
        LogReader::open(Arc::new(RealEnv), &testdata("format-1"), None, 1 << 20).unwrap();
    let frame = reader.frame(1).unwrap().unwrap();
    let mut bytes = frame.bytes()[..frame.header().header_bytes()].to_vec();
    bytes[9] = 4;
    bytes[12..16].fill(0);
    let crc = crc32c::crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    let error = FrameHeader::read(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("format 4 is not known") && FORMAT == 3,
        "{error}"
    );
    for end in 0..bytes.len() {
        assert!(FrameHeader::read(&bytes[..end]).is_err());
    }
    assert!(bytes.len() > FIXED_BYTES);
}
