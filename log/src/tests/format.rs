//! The format of released logs stays readable: `testdata/format-1` was written once and is never rewritten.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sample::{Writer, domain, keys, options};
use crate::env::RealEnv;
use crate::frame::FrameHeader;
use crate::frame::header::{FIXED_BYTES, FORMAT};
use crate::{FileLog, Log, LogOptions, LogReader, Released};

/// The hash of the last frame in `testdata/format-1`.
const HASH: &str = "0xfa65979d1c55effd6b8f0504277fa90a9aeb1145721316065f210bc281a37f3b";

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/format-1")
}

#[test]
fn format_1_is_read() {
    let identity = domain().separator();
    let (reader, recovery) =
        LogReader::open(Arc::new(RealEnv), &testdata(), Some(identity), 1 << 20).unwrap();
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

/// Writes the directory of [`format_1_is_read`], for a new format: `cargo test -p kedge-log -- --ignored`.
#[test]
#[ignore = "writes test data, which is done once a format"]
fn write_testdata() {
    let options = LogOptions {
        segment_bytes: 6 * 4096,
        ..options()
    };
    let identity = domain().separator();
    let env = Arc::new(RealEnv);
    let opened = FileLog::open(
        env,
        &testdata(),
        identity,
        &keys(),
        Released::default(),
        options,
    );
    let (mut log, _) = opened.unwrap();
    let mut writer = Writer::new();
    for round in 0..8 {
        log.append(&writer.frame(round % 3, 4, round % 2 + 1))
            .unwrap();
    }
    log.durability().sync().unwrap();
    log.maintenance().seal_next().unwrap().unwrap();
    assert_eq!(
        log.position().hash.to_string(),
        HASH,
        "put the new hash into the test"
    );
}

#[test]
fn a_newer_format_is_named_and_not_called_damage() {
    let (reader, _) = LogReader::open(Arc::new(RealEnv), &testdata(), None, 1 << 20).unwrap();
    let frame = reader.frame(1).unwrap().unwrap();
    let mut bytes = frame.bytes()[..frame.header().header_bytes()].to_vec();
    bytes[9] = 2;
    bytes[12..16].fill(0);
    let crc = crc32c::crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    let error = FrameHeader::read(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("format 2 is not known") && FORMAT == 1,
        "{error}"
    );
    for end in 0..bytes.len() {
        assert!(FrameHeader::read(&bytes[..end]).is_err());
    }
    assert!(bytes.len() > FIXED_BYTES);
}
