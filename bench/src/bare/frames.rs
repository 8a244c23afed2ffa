//! Storage in the server's own log files: packed requests, one batch per request, leaves; one sync per group. Segments
//! are not compressed afterwards.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use kedge_log::env::RealEnv;
use kedge_log::{Durability, FileLog, Frame, Log, LogOptions, ReleaseMark, SideKeys};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id, Prefix};

use super::log::{BareStorage, ChainedRequest};
use crate::error::BenchResult;

/// Interval of checks for the next segment's file.
const LOOK: Duration = Duration::from_millis(5);

pub(super) struct FrameStorage {
    log: FileLog,
    durability: Arc<dyn Durability>,
    frame: Frame,
    next_batch: u64,
    next_files: Option<JoinHandle<()>>,
    is_ending: Arc<AtomicBool>,
}

impl FrameStorage {
    /// Opens an empty log, and starts the thread that creates its segment files ahead of time.
    pub(super) fn open(path: &Path, identity: Hash) -> BenchResult<Self> {
        let (log, _) = FileLog::open(
            Arc::new(RealEnv),
            path,
            identity,
            &SideKeys::none(),
            ReleaseMark::default(),
            LogOptions::default(),
        )?;
        let maintenance = log.maintenance();
        let is_ending = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&is_ending);
        let next_files = std::thread::Builder::new()
            .name("segments".to_owned())
            .spawn(move || {
                while !ending.load(Ordering::Relaxed) {
                    // The append that needs the file creates it, or fails.
                    let _later = maintenance.prepare();
                    std::thread::sleep(LOOK);
                }
            })?;
        Ok(Self {
            durability: log.durability(),
            log,
            frame: Frame::new(),
            next_batch: 0,
            next_files: Some(next_files),
            is_ending,
        })
    }
}

impl Drop for FrameStorage {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.next_files.take() {
            // A panic was printed already.
            let _panicked = thread.join();
        }
    }
}

impl BareStorage for FrameStorage {
    fn add(&mut self, request: &ChainedRequest<'_>) -> BenchResult<()> {
        let entry = request.entry;
        let body = std::str::from_utf8(&entry.body)?;
        let nobody = Id::made_by(Prefix::Object, &Hash::ZERO, 0);
        let action = |(index, texts): (u16, &super::log::BareTextRanges)| {
            let target = &body[texts.target.clone()];
            Ok(ActionRecord {
                index,
                kind: texts.kind.clone(),
                target: Cow::Borrowed(target),
                payload: Cow::Borrowed(&body[texts.payload.clone()]),
                disclosed: None,
                resource: target.parse()?,
                version: 1,
                previous_integrity: Hash::ZERO,
                previous_sequence: 0,
            })
        };
        let actions: BenchResult<Vec<_>> = (0..).zip(&entry.texts).map(action).collect();
        let batch_number = self.next_batch;
        self.frame.push_request(&RequestRecord {
            batch_number,
            first_sequence: request.first_sequence,
            first_leaf_index: 0,
            timestamp_ms: request.timestamp_ms,
            organization_id: nobody,
            wallet_id: nobody,
            head: entry.head,
            signature: entry.signature,
            salt_seed: entry.salt_seed,
            actions: actions?,
            failed: Vec::new(),
        })?;
        let (before, after) = (request.heads.first(), request.heads.last());
        let (Some(&previous_head), Some(&head)) = (before, after) else {
            return Err("a request without heads".into());
        };
        // The bare pipeline signs nothing and has no trees.
        let batch = SignedBatch {
            header: BatchHeader {
                number: batch_number,
                first_sequence: request.first_sequence,
                count: entry.texts.len() as u32,
                previous_head,
                head,
                root: Hash::ZERO,
                history: Hash::ZERO,
                state: Hash::ZERO,
                sealed_at_ms: request.timestamp_ms,
            },
            signature: Signature([0; 65]),
        };
        self.next_batch += 1;
        Ok(self.frame.push_batch(&batch, request.leaves)?)
    }

    fn sync(&mut self) -> BenchResult<()> {
        self.log.append(&self.frame)?;
        self.frame.clear();
        self.durability.sync()?;
        Ok(())
    }
}
