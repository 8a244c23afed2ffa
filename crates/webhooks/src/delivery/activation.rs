//! Activation of a webhook: the log has all actions on it, each with the sequence of the previous one.

use kedge_protocol::resource::Webhook;
use kedge_rules::resources::webhook;
use kedge_storage::{StoreReadError, StoreSnapshot};

/// Activation of a webhook that is on, by the actions on it after a sequence.
pub(super) struct WebhookActivation {
    /// Sequence of the action that switched it on. If that is archived, the first sequence that is not.
    pub(super) since: Option<u64>,
    /// Whether it was off before that, and after the sequence.
    pub(super) was_off: bool,
}

/// Searches the actions after sequence `after` for the one that switched on a webhook that is on. It need not be the
/// last one on the webhook.
///
/// # Errors
/// [`StoreReadError`] if the log cannot be read, or does not fit the webhook.
pub(super) fn switched_on(
    snapshot: &StoreSnapshot,
    webhook: &Webhook,
    after: u64,
) -> Result<WebhookActivation, StoreReadError> {
    let mut found = WebhookActivation {
        since: None,
        was_off: false,
    };
    let mut reader = snapshot.log_reader();
    let mut at = webhook.trace.sequence;
    while at > after {
        let placed = match reader.action_on(webhook.id, at) {
            Ok(placed) => placed.ok_or_else(|| not_of(webhook, at))?,
            Err(StoreReadError::Archived { last_sequence, .. }) => {
                found.since.get_or_insert(last_sequence + 1);
                break;
            }
            Err(error) => return Err(error),
        };
        let action = placed.action;
        match webhook::switches(&action.kind, &action.payload) {
            Some(true) => found.since = Some(at),
            Some(false) => {
                found.was_off = true;
                break;
            }
            None => {}
        }
        at = action.previous_sequence;
    }
    Ok(found)
}

fn not_of(webhook: &Webhook, at: u64) -> StoreReadError {
    let id = webhook.id;
    StoreReadError::Log(format!("sequence {at} is no action on webhook {id}"))
}
