//! The operator names the key that signs batches from a number on. The action is exclusive, so the batch that will hold
//! it is known.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::SEQUENCER_KEYS_MAX;
use kedge_protocol::resource::{ResourceTrace, SequencerKey};
use kedge_protocol::sequencer_keys::{SequencerKeyPayload, key_named};
use kedge_protocol::{Id, KeyActivation, Prefix};

use crate::refusal::Refusal;
use crate::rule::{RuleContext, RuleDecision};
use crate::text;
use crate::world::{ActionInput, World};

/// Decides the naming of a sequencer key.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    match context.input.kind {
        Kind::SystemSequencerKey => name(context.world, context.input).map(RuleDecision::one),
        other => Err(Refusal::wrong_way(other)),
    }
}

/// The largest batch number that every reader of JSON reads exactly.
const BATCH_MAX: u64 = (1 << 53) - 1;

/// The key in the target. Its first batch must not be signed yet: the number must be above that of the batch with this
/// action, and above every number named before.
fn name<W: World>(world: &W, input: &ActionInput<'_>) -> Result<SequencerKey, Refusal> {
    let key = key_named(input.target);
    let key = key.ok_or_else(|| Refusal::not_found("sequencer_key", input.target))?;
    let SequencerKeyPayload { from_batch } = text::read(input.payload)?;
    let range = |message| Refusal::field("/from_batch", "range", message);
    if from_batch > BATCH_MAX {
        return Err(range(format!("must be at most {BATCH_MAX}")));
    }
    let place = world.key_place()?;
    if place.named + 1 >= SEQUENCER_KEYS_MAX {
        let message = format!("a log has at most {SEQUENCER_KEYS_MAX} sequencer keys");
        return Err(Refusal::State(message.into()));
    }
    if from_batch <= place.batch {
        return Err(range(format!(
            "must be above {}, the number of the batch that holds this action",
            place.batch
        )));
    }
    if from_batch <= place.last_from_batch {
        return Err(range(format!(
            "must be above {}, from which the previous key is valid",
            place.last_from_batch
        )));
    }
    Ok(SequencerKey {
        id: Id::of_hash(Prefix::Action, input.content),
        entry: KeyActivation { key, from_batch },
        trace: ResourceTrace::NEW.next(input.content),
    })
}
