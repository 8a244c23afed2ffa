//! A template as it was at an earlier sequence, from its own actions.

use kedge_http::error::{ApiError, ApiResult};
use kedge_protocol::resource::Template;
use kedge_rules::replay::{PastAction, TemplateReplay};
use kedge_storage::StoreSnapshot;

/// Bytes of a template's actions that are read for it, at most.
const ACTION_BYTES_MAX: usize = 64 << 20;
/// Cost of an action in addition to its payload.
const ACTION_BYTES: usize = 1 << 10;

/// The template at `sequence`, at or after its creation; `template` is a later state of it. `None` if its history is too
/// long to be read for it.
pub(super) fn template_at(
    snapshot: &StoreSnapshot,
    template: &Template,
    sequence: u64,
) -> ApiResult<Option<Template>> {
    let missing = || ApiError::internal(&format_args!("an action of {} is missing", template.id));
    let mut reader = snapshot.log_reader();
    let mut sequences = Vec::new();
    let mut here = template.trace.sequence;
    let mut bytes = 0;
    while here > 0 {
        if bytes > ACTION_BYTES_MAX {
            return Ok(None);
        }
        let placed = reader.action_on(template.id, here)?.ok_or_else(missing)?;
        bytes += placed.action.payload.len() + ACTION_BYTES;
        sequences.push(here);
        here = placed.action.previous_sequence;
    }
    let mut replay = TemplateReplay::default();
    for here in sequences.into_iter().rev().filter(|here| *here <= sequence) {
        let placed = reader.action_on(template.id, here)?.ok_or_else(missing)?;
        let past = PastAction {
            action: &placed.action,
            content: &placed.content(),
            wallet_id: placed.wallet_id,
            sequence: placed.sequence,
            timestamp_ms: placed.timestamp_ms,
        };
        let applied = replay.apply(template.organization_id, &past);
        applied.map_err(|error| ApiError::internal(&error))?;
    }
    replay.into_template().map(Some).ok_or_else(missing)
}
