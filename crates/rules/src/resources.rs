//! Actions on resources other than objects: the decision shared by actors and fold.

mod api_key;
pub mod dispute;
mod email;
pub mod file;
mod organization;
pub mod registration;
mod sequencer_key;
pub mod template;
mod wallet;
pub mod webhook;

pub use wallet::key_addition;

use kedge_protocol::action::Kind;
use kedge_protocol::registry::{ActionIsolation, ActionSubject};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use crate::refusal::Refusal;
use crate::resource_state::ResourceState;
use crate::rule::RuleContext;
use crate::text;
use crate::world::{ActionInput, Caller, OPERATOR, World};

pub use crate::rule::RuleDecision;

/// Id of the resource that an action changes; `None` if it makes one.
pub fn base_id(kind: &Kind, target: &str) -> Result<Option<Id>, Refusal> {
    match kind.spec().acts_on {
        ActionSubject::Resource(prefix) => Id::parse_as(prefix, target)
            .map(Some)
            .map_err(|_| Refusal::not_found(prefix.noun(), target)),
        ActionSubject::New(_) | ActionSubject::Object(_) => Ok(None),
    }
}

/// The wallet whose rights an action changes.
pub fn rights_subject(kind: &Kind, caller: &Caller, payload: &str) -> Option<Id> {
    match kind.spec().isolation {
        ActionIsolation::Shared | ActionIsolation::Exclusive => None,
        ActionIsolation::Caller => Some(caller.wallet_id),
        ActionIsolation::Member => text::read(payload)
            .ok()
            .map(|MemberPayload { wallet_id }| wallet_id),
    }
}

/// Part of a payload about a member; its rule reads the rest.
#[derive(Deserialize)]
struct MemberPayload {
    wallet_id: Id,
}

/// Decides an action. `base` is the current version of the resource [`base_id`].
pub fn decide<W: World>(
    world: &W,
    caller: &Caller,
    base: Option<&ResourceState>,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    if input.kind.is_system() && caller.wallet_id != OPERATOR {
        return Err(Refusal::Forbidden(
            "only the operator's key may sign this".into(),
        ));
    }
    let context = RuleContext {
        world,
        caller,
        base,
        input,
    };
    let prefix = match input.kind.spec().acts_on {
        ActionSubject::New(prefix) | ActionSubject::Resource(prefix) => prefix,
        ActionSubject::Object(_) => Prefix::Object,
    };
    match prefix {
        Prefix::Wallet => wallet::decide(&context),
        Prefix::Organization => organization::decide(&context),
        Prefix::Key => api_key::decide(&context),
        Prefix::Template => template::decide(&context),
        Prefix::File => file::decide(&context),
        Prefix::Webhook => webhook::decide(&context),
        Prefix::Dispute => dispute::decide(&context),
        // A sequencer key has the id of the action that names it.
        Prefix::Action => sequencer_key::decide(&context),
        // Other functions decide objects, and no action is on one of the rest.
        Prefix::Object
        | Prefix::Variation
        | Prefix::Batch
        | Prefix::Anchor
        | Prefix::Event
        | Prefix::Delivery => Err(Refusal::wrong_way(input.kind)),
    }
}
