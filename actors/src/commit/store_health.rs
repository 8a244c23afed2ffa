//! Detection of store failures that no commit has met yet: RocksDB writes table files in the background, long after the
//! commit that filled them, and without traffic such a failure would go unnoticed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use kedge_storage::Store;
use tokio::sync::{mpsc, oneshot};

use crate::pipeline::sequenced_proposal::CommitterMessage;

/// Time between checks.
const INTERVAL: Duration = Duration::from_millis(250);

/// Checks until the committer or its store is gone. After a failure in the background it makes an empty commit, and the
/// store reports whether it still accepts writes.
pub(crate) fn watch(store: &Arc<Store>, committer: &mpsc::Sender<CommitterMessage>) {
    let (store, committer): (Weak<Store>, _) = (Arc::downgrade(store), committer.downgrade());
    tokio::spawn(async move {
        let mut known = 0;
        loop {
            tokio::time::sleep(INTERVAL).await;
            if committer.strong_count() == 0 {
                return;
            }
            let Some(failures) = store.upgrade().map(|store| store.observe()) else {
                return;
            };
            if failures <= known {
                continue;
            }
            known = failures;
            let Some(committer) = committer.upgrade() else {
                return;
            };
            let (done, _acknowledged) = oneshot::channel();
            let attempt = CommitterMessage::Side {
                writes: Vec::new(),
                events: Vec::new(),
                done,
            };
            // Without a committer the engine has already failed.
            let _ = committer.send(attempt).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use kedge_runtime::env::simulated::SimulatedEnv;

    use super::*;
    use crate::commit::writer::tests::bench::Bench;

    #[tokio::test]
    async fn a_store_without_failures_is_not_tried() {
        let place = tempfile::tempdir().unwrap();
        let store = Bench::new(place.path(), &SimulatedEnv::new(), 0).store;
        let (committer, mut attempts) = mpsc::channel(1);
        watch(&store, &committer);
        tokio::time::sleep(INTERVAL * 3).await;
        assert!(attempts.try_recv().is_err());
    }

    #[tokio::test]
    async fn after_a_failure_in_the_background_an_empty_commit_is_tried() {
        let place = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
        let (formed, _reply) = bench.group(1);
        bench.store.commit(formed.group).unwrap();
        // In one step: the store's background work may make files meanwhile.
        let folder = place.path().join("store");
        std::fs::rename(&folder, place.path().join("elsewhere")).unwrap();
        assert!(bench.store.flush().is_err());
        let (committer, mut attempts) = mpsc::channel(1);
        watch(&bench.store, &committer);
        let attempt = tokio::time::timeout(Duration::from_secs(20), attempts.recv());
        let Ok(Some(CommitterMessage::Side { writes, events, .. })) = attempt.await else {
            panic!("there is an attempt")
        };
        assert!(writes.is_empty() && events.is_empty());
    }
}
