//! One resource from its own history and the facts around it, to compare with its proven entry.
//!
//! Where another resource takes part, such as the template of a mint, its proof is a [`ProvenResource`] too. What the
//! history does not show is listed with the reason, and never compared.

mod comparison;
mod known_world;
mod nearby_resources;
mod object_history;
mod other_history;
mod replayed_resource;
mod template_history;

use kedge_protocol::Prefix;

use nearby_resources::NearbyResources;

pub use comparison::{FieldDifference, HistoryComparison};
pub use replayed_resource::{HistoryReplayError, ProvenResource, ReplayedResource, UnshownField};

/// Replays a resource's history by the rules. `around` are proofs of other resources at the same checkpoint.
///
/// # Errors
/// The rules refuse an action, or the proof of a resource that takes part is missing.
pub fn replay(
    subject: &ProvenResource<'_>,
    around: &[ProvenResource<'_>],
) -> Result<ReplayedResource, HistoryReplayError> {
    let history = subject
        .history
        .filter(|history| !history.actions.is_empty());
    let history = history.ok_or(HistoryReplayError::Empty(subject.id))?;
    let known = NearbyResources { around };
    match subject.id.prefix {
        Prefix::Object => object_history::replay(subject, history, &known),
        Prefix::Template => template_history::replay(subject, history, &known),
        Prefix::Variation => template_history::replay_variation(subject, history, &known),
        _ => other_history::replay(subject, history, &known),
    }
}
