//! Who waits for an organization's events. The committer looks here after every commit: one lookup a request where
//! somebody listens, nothing where nobody does.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kedge_protocol::Id;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

type Waiting = HashMap<Id, Organization>;

#[derive(Clone)]
struct Organization {
    changes: watch::Sender<()>,
    listeners: usize,
}

/// All listeners. Changed under the lock, read without it.
#[derive(Default)]
pub(crate) struct Listeners {
    waiting: ArcSwap<Waiting>,
    changing: Mutex<()>,
}

/// Waits for an organization's events.
pub struct Listener {
    organization: Id,
    changes: watch::Receiver<()>,
    listeners: Arc<Listeners>,
}

impl Listeners {
    /// True while nobody listens.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load().is_empty()
    }

    /// Listens to an organization from now on: whatever is committed after this is reported.
    pub(crate) fn join(self: &Arc<Self>, organization: Id) -> Listener {
        let _changing = self.lock();
        let mut waiting = Waiting::clone(&self.waiting.load());
        let entry = waiting.entry(organization).or_insert_with(|| Organization {
            changes: watch::Sender::new(()),
            listeners: 0,
        });
        entry.listeners += 1;
        let changes = entry.changes.subscribe();
        self.waiting.store(Arc::new(waiting));
        Listener {
            organization,
            changes,
            listeners: Arc::clone(self),
        }
    }

    fn leave(&self, organization: Id) {
        let _changing = self.lock();
        let mut waiting = Waiting::clone(&self.waiting.load());
        if let Some(entry) = waiting.get_mut(&organization) {
            entry.listeners -= 1;
            if entry.listeners == 0 {
                waiting.remove(&organization);
            }
        }
        self.waiting.store(Arc::new(waiting));
    }

    /// Notifies the listeners of these organizations that there may be something new.
    pub(crate) fn notify(&self, organizations: &[Id]) {
        let waiting = self.waiting.load();
        for organization in organizations {
            if let Some(entry) = waiting.get(organization) {
                entry.changes.send_replace(());
            }
        }
    }

    /// Notifies all listeners.
    pub(crate) fn notify_all(&self) {
        for entry in self.waiting.load().values() {
            entry.changes.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }
}

impl Listener {
    /// Resolves when something may have been committed since the last call, or since the listener was made. By then the
    /// published snapshot holds what is new.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            unreachable!("the sender is kept while a listener is there");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.listeners.leave(self.organization);
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use super::*;

    fn id(byte: u8) -> Id {
        Id {
            prefix: Prefix::Organization,
            bytes: [byte; 16],
        }
    }

    #[tokio::test]
    async fn who_listens_is_told_and_who_left_is_forgotten() {
        let listeners = Arc::new(Listeners::default());
        let mut one = listeners.join(id(1));
        let mut again = listeners.join(id(1));
        let mut other = listeners.join(id(2));
        listeners.notify(&[id(1), id(3)]);
        one.changed().await;
        again.changed().await;
        assert!(!other.changes.has_changed().unwrap());
        drop(one);
        listeners.notify_all();
        again.changed().await;
        other.changed().await;
        drop((again, other));
        assert!(listeners.is_empty());
    }
}
