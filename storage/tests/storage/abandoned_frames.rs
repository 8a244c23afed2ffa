//! A shared log gives up frames when a leadership ends: appended frames are not durable then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kedge_log::{AppendError, Durability, Frame, IoError, KeyId, LogFloor, LogPosition, SideKeys};
use kedge_storage::{CommitError, LogReplicator, Store, StoreOptions};

use crate::support::{Log, options};

/// A log whose leadership may end between an append and its sync.
struct EndsEarly {
    file: kedge_log::FileLog,
    has_ended: Arc<AtomicBool>,
}

impl kedge_log::Log for EndsEarly {
    fn append(&mut self, frame: &Frame) -> Result<LogPosition, AppendError> {
        if !self.has_ended.load(Ordering::Relaxed) {
            return self.file.append(frame);
        }
        // The frames that a leader would have published; the file has none of them.
        let after = self.file.position();
        let reached = LogFloor {
            term: 1,
            ..LogFloor::START
        };
        let (position, _) = self.file.encode(frame, &after, reached)?;
        Ok(position)
    }

    fn append_stored(&mut self, frame: &[u8]) -> Result<LogPosition, AppendError> {
        self.file.append_stored(frame)
    }

    fn position(&self) -> LogPosition {
        self.file.position()
    }

    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError> {
        self.file.seal_with(keys)
    }

    fn durability(&self) -> Arc<dyn Durability> {
        self.file.durability()
    }
}

// Holds invariant 187.
#[test]
fn what_the_log_gave_up_is_never_durable() {
    let place = tempfile::tempdir().unwrap();
    let has_ended = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&has_ended);
    let replicate = LogReplicator(Arc::new(move |file| {
        Box::new(EndsEarly {
            file,
            has_ended: Arc::clone(&ends),
        })
    }));
    let store = Store::open(StoreOptions {
        replicate: Some(replicate),
        ..options(place.path())
    });
    let store = store.unwrap();
    let mut log = Log::default();
    log.commit_many(&store, 2);
    let before = store.log_position().unwrap();
    let head = store.snapshot().head().unwrap();

    has_ended.store(true, Ordering::Relaxed);
    let requests = log.two_requests();
    let (group, _) = log.batch(&requests);
    let position = store.append(&group).unwrap();
    assert_eq!(position.frame, before.frame + 1);
    let error = store.sync_through(&position).unwrap_err();
    assert!(matches!(error, CommitError::Fenced(_)), "{error}");
    let error = store.commit(group).unwrap_err();
    assert!(matches!(error, CommitError::Fenced(_)), "{error}");
    // Nothing of them was applied, and durable frames stay.
    assert_eq!(store.log_position(), Some(before));
    assert_eq!(store.snapshot().head().unwrap(), head);
    store.sync_through(&before).unwrap();
    // The same place with other contents is another frame.
    let other = LogPosition {
        hash: position.hash,
        ..before
    };
    let error = store.sync_through(&other).unwrap_err();
    assert!(matches!(error, CommitError::Fenced(_)), "{error}");
}
