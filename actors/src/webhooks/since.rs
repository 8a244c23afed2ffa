//! Since when a webhook is on: the log has all that was done to it, each action with the place of the one before.

use kedge_machine::resources::webhook;
use kedge_protocol::resource::Webhook;
use kedge_storage::{ReadError, Snapshot};

/// The action that switched on a webhook that is on; at most down to `floor`, a sequence. Others may have changed it since.
pub(super) fn on_since(
    snapshot: &Snapshot,
    webhook: &Webhook,
    floor: u64,
) -> Result<u64, ReadError> {
    let mut since = webhook.trace.sequence;
    let mut at = since;
    while at > floor {
        let request = match snapshot.logged_request(at) {
            Ok(Some(request)) => request,
            // Older than everything that can still be sent.
            Ok(None) | Err(ReadError::Archived { .. }) => break,
            Err(error) => return Err(error),
        };
        let action = request.action(at)?.action;
        match webhook::switches(&action.kind, &action.payload) {
            Some(true) => since = at,
            Some(false) => break,
            None => {}
        }
        at = action.previous_sequence;
    }
    Ok(since)
}
