//! History of each webhook, from the actions of the log alone.

use std::collections::BTreeMap;

use kedge_protocol::Id;
use kedge_protocol::event::EventType;
use kedge_protocol::record::ActionRecord;
use serde_json::Value;

/// State of a webhook from an action on.
#[derive(Clone, Debug)]
struct WebhookEpoch {
    sequence: u64,
    active: bool,
    deleted: bool,
    events: Vec<String>,
}

#[derive(Default, Debug)]
pub(crate) struct WebhookHistories(BTreeMap<Id, Vec<WebhookEpoch>>);

impl WebhookHistories {
    /// Applies an action of the log; false if it does not concern a webhook.
    pub(crate) fn apply(
        &mut self,
        sequence: u64,
        action: &ActionRecord<'_>,
        payload: &Value,
    ) -> bool {
        let before = match action.kind.text() {
            "webhook.create" => WebhookEpoch {
                sequence,
                active: true,
                deleted: false,
                events: Vec::new(),
            },
            "webhook.update" | "webhook.delete" => {
                let history = self.0.get(&action.resource);
                match history.and_then(|history| history.last()) {
                    Some(last) => last.clone(),
                    None => return false,
                }
            }
            _ => return false,
        };
        self.push(action, payload, WebhookEpoch { sequence, ..before });
        true
    }

    fn push(&mut self, action: &ActionRecord<'_>, payload: &Value, mut state: WebhookEpoch) {
        state.deleted |= action.kind.text() == "webhook.delete";
        if let Some(active) = payload["active"].as_bool() {
            state.active = active;
        }
        if let Some(events) = payload["events"].as_array() {
            let names = events.iter().filter_map(Value::as_str);
            state.events = names.map(str::to_owned).collect();
        }
        self.0.entry(action.resource).or_default().push(state);
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = Id> {
        self.0.keys().copied()
    }

    /// Whether a webhook was never switched off or deleted.
    pub(super) fn was_always_on(&self, webhook: Id) -> bool {
        let mut states = self.0.get(&webhook).into_iter().flatten();
        states.all(|state| state.active && !state.deleted)
    }

    /// The action since which a webhook has continuously been on and subscribed to a type; `None` if it is not.
    pub(super) fn wants_since(&self, webhook: Id, of: EventType) -> Option<u64> {
        let wants = |state: &&WebhookEpoch| {
            let mut names = state.events.iter();
            let is_on = state.active && !state.deleted;
            is_on && names.any(|name| name == "*" || name == of.text())
        };
        let states = self.0.get(&webhook)?;
        let since = states.iter().rev().take_while(wants).last()?;
        Some(since.sequence)
    }
}
