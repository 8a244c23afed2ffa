//! Obstacles to anchoring.

use kedge_chain::sender::AnchorSenderHealth;

/// Obstacles to anchoring, as the sender last reported them.
#[derive(Clone, Default, Debug)]
pub(crate) struct AnchorObstacles {
    /// The anchor that failed last, by its batches, with the reason.
    pub(super) failed: Option<(u64, String)>,
    /// A waiting anchor, with the reason.
    pub(super) held: Option<(u64, String)>,
    /// Why the last step failed.
    pub(super) step: Option<String>,
}

impl AnchorObstacles {
    /// The obstacles after a step; `failed` is the anchor that the sender gave up.
    pub(super) fn after(
        before: Option<&Self>,
        health: &AnchorSenderHealth,
        failed: Option<(u64, String)>,
    ) -> Self {
        let held = health.open.iter().find_map(|open| {
            let note = open.note.clone().filter(|note| note.starts_with("held"))?;
            Some((open.batches, note))
        });
        Self {
            failed: failed.or_else(|| before.and_then(|before| before.failed.clone())),
            held,
            step: health.last_error.clone(),
        }
    }

    pub(super) fn of(trouble: Option<&(u64, String)>, batches: u64) -> Option<String> {
        let (of, why) = trouble?;
        (*of == batches).then(|| why.clone())
    }
}
