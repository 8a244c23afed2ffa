//! Listeners for an organization's events and for changes of webhooks. The committer checks them after every commit:
//! one lookup a request while there are listeners, none otherwise.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use kedge_protocol::Id;
use kedge_runtime::executor::StepScheduler;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

type ListenerMap = HashMap<Id, ListenerChannel>;

/// Callback for a changed webhook.
pub(crate) type WebhookWatch = Box<dyn Fn(Id) + Send + Sync>;

#[derive(Clone)]
struct ListenerChannel {
    changes: watch::Sender<()>,
    listeners: usize,
}

/// All listeners. Changes take the lock; reads do not.
#[derive(Default)]
pub(crate) struct EventListeners {
    waiting: ArcSwap<ListenerMap>,
    changing: Mutex<()>,
    webhooks: ArcSwapOption<WebhookWatch>,
}

/// Listener for an organization's events.
pub struct EventListener {
    organization: Id,
    changes: watch::Receiver<()>,
    turns: StepScheduler,
    listeners: Arc<EventListeners>,
}

impl EventListeners {
    /// True if there are no listeners.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load().is_empty()
    }

    /// Starts to listen to an organization: every later commit is reported.
    pub(crate) fn join(self: &Arc<Self>, organization: Id, turns: StepScheduler) -> EventListener {
        let _changing = self.lock();
        let mut waiting = ListenerMap::clone(&self.waiting.load());
        let entry = waiting
            .entry(organization)
            .or_insert_with(|| ListenerChannel {
                changes: watch::Sender::new(()),
                listeners: 0,
            });
        entry.listeners += 1;
        let changes = entry.changes.subscribe();
        self.waiting.store(Arc::new(waiting));
        EventListener {
            organization,
            changes,
            turns,
            listeners: Arc::clone(self),
        }
    }

    fn leave(&self, organization: Id) {
        let _changing = self.lock();
        let mut waiting = ListenerMap::clone(&self.waiting.load());
        if let Some(entry) = waiting.get_mut(&organization) {
            entry.listeners -= 1;
            if entry.listeners == 0 {
                waiting.remove(&organization);
            }
        }
        self.waiting.store(Arc::new(waiting));
    }

    /// Sets the callback for every webhook that is created, changed or ended.
    pub(crate) fn watch_webhooks(&self, changed: WebhookWatch) {
        self.webhooks.store(Some(Arc::new(changed)));
    }

    /// Reports a webhook that was created, changed or ended.
    pub(crate) fn webhook_changed(&self, id: Id) {
        if let Some(changed) = self.webhooks.load().as_ref() {
            changed(id);
        }
    }

    /// Notifies the listeners of these organizations that there may be new events.
    pub(crate) fn notify(&self, organizations: &[Id]) {
        let waiting = self.waiting.load();
        for organization in organizations {
            if let Some(entry) = waiting.get(organization) {
                entry.changes.send_replace(());
            }
        }
    }

    pub(crate) fn notify_all(&self) {
        for entry in self.waiting.load().values() {
            entry.changes.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }
}

impl EventListener {
    /// Resolves when events may have been committed since the last call, or since the listener was created. The
    /// published snapshot already holds them.
    pub async fn changed(&mut self) {
        if !self.turns.changed(&mut self.changes).await {
            unreachable!("the sender is kept while a listener is there");
        }
    }
}

impl Drop for EventListener {
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
        let listeners = Arc::new(EventListeners::default());
        let mut one = listeners.join(id(1), StepScheduler::default());
        let mut again = listeners.join(id(1), StepScheduler::default());
        let mut other = listeners.join(id(2), StepScheduler::default());
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
