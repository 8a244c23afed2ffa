//! Frames and packed requests: reading and writing gives the same bytes again, and a changed frame never reads as the
//! stored one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_log::env::RealEnv;
use kedge_log::frame::SectionKind;
use kedge_log::packed::{PackedRequest, pack};
use kedge_log::{LogReader, StoredFrame};
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;

use crate::fuzz;

/// A log of format 1, kept as test data.
pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/log/testdata/format-1")
}

pub(crate) fn domain() -> Domain {
    Domain {
        chain_id: 31337,
        verifying_contract: Address([7; 20]),
    }
}

/// Frames of that log.
pub(crate) fn stored() -> Vec<StoredFrame> {
    let identity = Some(domain().separator());
    let (reader, _) = LogReader::open(Arc::new(RealEnv), &testdata(), identity, 1 << 20).unwrap();
    reader.frames(1).map(Result::unwrap).collect()
}

/// Fixes the checksums of header and body, so that parsing reaches the fields after them.
fn with_checksums(input: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = input.to_vec();
    let count = usize::from(u16::from_be_bytes(*bytes.get(10..)?.first_chunk()?));
    let header_bytes = 104 + 40 * count;
    let body = crc32c::crc32c(bytes.get(header_bytes..)?);
    bytes[20..24].copy_from_slice(&body.to_be_bytes());
    let before = crc32c::crc32c(&bytes[..12]);
    let before = crc32c::crc32c_append(before, &[0; 4]);
    let crc = crc32c::crc32c_append(before, &bytes[16..header_bytes]);
    bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    Some(bytes)
}

fn sections(frame: &StoredFrame) -> String {
    let mut found = Vec::new();
    let mut note = |what: &str, error: Option<String>| {
        found.push(format!("{what}: {}", error.unwrap_or_default()));
    };
    note(
        "digests",
        frame.check_digests().err().map(|e| e.to_string()),
    );
    note("batches", frame.batches().err().map(|e| e.to_string()));
    note("leaves", frame.leaves().err().map(|e| e.to_string()));
    note("requests", frame.requests().err().map(|e| e.to_string()));
    note("side", frame.side_keys().err().map(|e| e.to_string()));
    let for_others = StoredFrame::read(frame.for_others()).unwrap();
    assert_eq!(for_others.header().hash(), frame.header().hash());
    for kind in SectionKind::ALL {
        assert_eq!(for_others.section(kind), frame.section(kind));
    }
    found.join("; ")
}

#[test]
fn a_changed_frame_never_reads_as_the_stored_one() {
    let stored = stored();
    assert!(stored.len() > 5, "the log has frames");
    let seeds: Vec<Vec<u8>> = stored.iter().map(|frame| frame.bytes().to_vec()).collect();
    fuzz("frames").seeds(seeds.clone()).run(|input| {
        // Unfixed: the checksums detect every change.
        if let Ok(frame) = StoredFrame::read(input.to_vec()) {
            let hash = frame.header().hash();
            let same = stored.iter().any(|good| {
                good.header().hash() == hash
                    && good.bytes() == input
                    && good.check_digests().is_ok()
            });
            assert!(
                same || !seeds
                    .iter()
                    .any(|seed| seed.len() == input.len() && near(seed, input))
            );
        }
        // With valid checksums: the fields are checked, and digests detect changes of hashed bytes.
        let Some(bytes) = with_checksums(input) else {
            return "too short".to_owned();
        };
        let frame = match StoredFrame::read(bytes.clone()) {
            Ok(frame) => frame,
            Err(error) => return error.to_string(),
        };
        assert_eq!(frame.bytes(), bytes);
        let known = stored
            .iter()
            .find(|good| good.header().hash() == frame.header().hash());
        if let Some(good) = known
            && frame.check_digests().is_ok()
        {
            for kind in SectionKind::ALL {
                let (one, other) = (good.section(kind), frame.section(kind));
                assert!(
                    one == other || one.is_none() || other.is_none(),
                    "{kind:?} differs under one hash"
                );
            }
        }
        sections(&frame)
    });
}

/// Whether the two differ in at most a few bits, which a checksum of 32 bits always detects.
fn near(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    let bits: u32 = pairs.map(|(one, other)| (one ^ other).count_ones()).sum();
    bits > 0 && bits < 4
}

#[test]
fn packed_requests_have_one_form() {
    let stored = stored();
    let seeds = stored.iter().flat_map(|frame| {
        let packed = frame.packed().unwrap().into_iter();
        packed.map(<[u8]>::to_vec).collect::<Vec<_>>()
    });
    fuzz("requests").seeds(seeds).run(|input| {
        let packed = match PackedRequest::read(input) {
            Ok(packed) => packed,
            Err(error) => return error.to_string(),
        };
        // Each action is read by itself; a damaged one is an error there and in the whole.
        let single: Vec<Option<String>> = (0..packed.count())
            .map(|position| packed.action(position).err().map(|error| error.to_string()))
            .collect();
        assert!(packed.action(packed.count()).is_err());
        let record = match packed.into_record() {
            Ok(record) => record,
            Err(error) => {
                assert!(single.iter().any(Option::is_some));
                return error.to_string();
            }
        };
        assert!(single.iter().all(Option::is_none));
        let mut written = Vec::new();
        pack(&mut written, &record);
        let again = PackedRequest::read(&written)
            .unwrap()
            .into_record()
            .unwrap();
        assert_eq!(again, record, "packed and read again");
        let mut twice = Vec::new();
        pack(&mut twice, &again);
        assert_eq!(twice, written);
        // Any content has hashes, and its signature can be checked.
        let hashes = record.hashes();
        assert_eq!(record.leaves(&hashes).len(), record.actions.len());
        let signed = record.verify_signature(&domain());
        format!(
            "{} actions, {} failed, one form {}, {:?}",
            record.actions.len().min(3),
            record.failed.len().min(3),
            written == input,
            signed.err().map(|error| error.to_string())
        )
    });
}
