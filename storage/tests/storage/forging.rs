//! Forged log: an attacker who knows its format rewrote it with a change. Every checksum and every hash of a frame
//! holds; only the sequencer's signatures contradict it.

use std::path::Path;
use std::sync::Arc;

use kedge_log::env::RealEnv;
use kedge_log::packed::owned_record;
use kedge_log::{FileLog, Frame, Log as _, LogPosition, LogReader, ReleaseMark};
use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::record::RequestRecord;

use crate::support::{log_path, options, tamper};

/// Parts of a frame.
pub(crate) struct Parts {
    pub(crate) requests: Vec<RequestRecord<'static>>,
    pub(crate) batches: Vec<SignedBatch>,
    pub(crate) leaves: Vec<Hash>,
}

/// A change to a frame.
pub(crate) type Change = fn(&mut Parts);

/// The number of the frame with this batch, if every batch has a separate frame and only the first key comes before
/// them.
pub(crate) fn frame_of(batch: u64) -> u64 {
    batch + 2
}

/// Rewrites the log of a closed store, with the frame of a batch changed. The rows claim to follow from it.
pub(crate) fn forge(data: &Path, batch: u64, change: impl FnOnce(&mut Parts)) {
    let options = options(data);
    let identity = options.domain.separator();
    let (path, forged) = (log_path(data), data.join("forged"));
    let read = LogReader::open(Arc::new(RealEnv), &path, None, 1 << 20);
    let (reader, _) = read.unwrap();
    let (mut log, _) = FileLog::open(
        Arc::new(RealEnv),
        &forged,
        identity,
        &options.side_keys,
        ReleaseMark::default(),
        options.segments,
    )
    .unwrap();
    let mut change = Some(change);
    let mut hashes = vec![LogPosition::start(&identity).hash];
    for stored in reader.frames(1) {
        let stored = stored.unwrap();
        let requests = stored.requests().unwrap().into_iter();
        let mut parts = Parts {
            requests: requests
                .map(|request| owned_record(request.into_record().unwrap()))
                .collect(),
            batches: stored.batches().unwrap(),
            leaves: stored.leaves().unwrap(),
        };
        if stored.header().number == frame_of(batch) {
            change.take().unwrap()(&mut parts);
        }
        let mut frame = Frame::new();
        for request in &parts.requests {
            frame.push_request(request).unwrap();
        }
        let mut leaves = parts.leaves.as_slice();
        for batch in &parts.batches {
            let own = leaves.split_off(..batch.header.count as usize).unwrap();
            frame.push_batch(batch, own).unwrap();
        }
        for entry in stored.side(&identity, &options.side_keys).unwrap() {
            frame.push_side(entry);
        }
        hashes.push(log.append(&frame).unwrap().hash);
    }
    assert!(change.is_none(), "there is no batch {batch}");
    log.durability().sync().unwrap();
    drop((log, reader));
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::rename(forged, path).unwrap();
    tamper(data, "meta", b"applied", |row| {
        let frame = u64::from_be_bytes(*row.first_chunk().unwrap());
        row.truncate(8);
        row.extend_from_slice(&hashes[frame as usize].0);
    });
}
