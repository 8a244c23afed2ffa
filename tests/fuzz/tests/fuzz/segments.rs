//! Segments: a log with a changed segment opens with the frames before the change, or not at all. It never shows other
//! frames than the written ones.

use std::sync::Arc;

use kedge_log::env::RealEnv;
use kedge_log::verify::{LogVerifyPlan, verify};
use kedge_log::{LogReader, SegmentHeader, SegmentName};

use crate::frames::{domain, stored, testdata};
use crate::fuzz;

/// Names and contents of the log's segments, in order.
fn segments() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(testdata())
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// The first byte chooses the segment, the others replace its contents.
#[test]
fn a_changed_segment_shows_no_other_frames() {
    let good = segments();
    let frames = stored();
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in &good {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    let seeds = good.iter().enumerate().map(|(place, (_, bytes))| {
        let mut input = vec![place as u8];
        input.extend_from_slice(bytes);
        input
    });
    fuzz("segments").seeds(seeds).run(|input| {
        let Some((place, bytes)) = input.split_first() else {
            return "empty".to_owned();
        };
        let (name, whole) = &good[usize::from(*place) % good.len()];
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let outcome = outcome(directory.path(), &frames);
        std::fs::write(&path, whole).unwrap();
        if let Ok(header) = SegmentHeader::read(bytes) {
            let own = header.name().file_name(header.kind);
            let read = SegmentName::of_file(&own);
            assert_eq!(read, Some((header.name(), header.kind)));
        }
        outcome
    });
}

fn outcome(folder: &std::path::Path, good: &[kedge_log::StoredFrame]) -> String {
    let identity = Some(domain().separator());
    let opened = LogReader::open(Arc::new(RealEnv), folder, identity, 1 << 20);
    let (reader, recovery) = match opened {
        Ok(opened) => opened,
        Err(error) => return without_paths(&error.to_string()),
    };
    let mut shown = 0;
    let mut broken = None;
    for frame in reader.frames(reader.first_frame()) {
        match frame {
            Ok(frame) => {
                let number = usize::try_from(frame.header().number).unwrap();
                let written = &good[number - 1];
                assert_eq!(frame.header().hash(), written.header().hash());
                if frame.check_digests().is_ok() {
                    assert_eq!(frame.leaves().unwrap(), written.leaves().unwrap());
                }
                shown += 1;
            }
            Err(error) => {
                broken = Some(without_paths(&error.to_string()));
                break;
            }
        }
    }
    let verified = verify(&reader, &LogVerifyPlan::default(), |_| ());
    assert!(
        broken.is_none() || verified.is_err(),
        "a log that cannot be read verifies"
    );
    format!(
        "{shown} frames, torn {}, {broken:?}, {:?}",
        recovery.torn.is_some(),
        verified
            .err()
            .map(|error| without_paths(&error.to_string()))
    )
}

fn without_paths(text: &str) -> String {
    let words = text.split(' ').filter(|word| !word.contains('/'));
    words.collect::<Vec<_>>().join(" ")
}
