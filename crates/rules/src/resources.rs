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
use crate::sequencer::VersionKey;
use crate::text;
use crate::world::{ActionInput, Caller, CountedResource, OPERATOR, World};

/// Effects of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleDecision {
    /// The resources after it, its own first.
    pub images: Vec<ResourceState>,
    /// Names that must not exist yet.
    pub claims: Vec<VersionKey>,
    /// Names that become free.
    pub releases: Vec<VersionKey>,
    /// Keys that it read without owning them, with the versions seen.
    pub reads: Vec<(VersionKey, u64)>,
}

impl RuleDecision {
    fn of(images: Vec<ResourceState>) -> Self {
        Self {
            images,
            claims: Vec::new(),
            releases: Vec::new(),
            reads: Vec::new(),
        }
    }

    fn one(image: impl Into<ResourceState>) -> Self {
        Self::of(vec![image.into()])
    }

    fn claiming(self, claims: impl IntoIterator<Item = VersionKey>) -> Self {
        Self {
            claims: claims.into_iter().collect(),
            ..self
        }
    }

    fn releasing(self, releases: impl IntoIterator<Item = VersionKey>) -> Self {
        Self {
            releases: releases.into_iter().collect(),
            ..self
        }
    }
}

/// An action, and the state on which its rule decides.
struct RuleContext<'a, W> {
    world: &'a W,
    caller: &'a Caller,
    base: Option<&'a ResourceState>,
    input: &'a ActionInput<'a>,
}

impl<'a, W: World> RuleContext<'a, W> {
    /// The resource that the action changes.
    fn base<T>(&self) -> Result<&'a T, Refusal>
    where
        &'a T: TryFrom<&'a ResourceState>,
    {
        self.base
            .and_then(|base| base.try_into().ok())
            .ok_or_else(|| Refusal::wrong_way(self.input.kind))
    }

    /// The new resource, of a limited type, if the organization may have one more. Ended ones stay in its list and do
    /// not count.
    fn one_more(
        &self,
        made: impl Into<ResourceState>,
        of: CountedResource,
        most: usize,
        called: &str,
    ) -> Result<RuleDecision, Refusal> {
        let organization = self.caller.organization_id;
        let held = self.world.held(organization, of)?;
        if held.live >= most {
            let message = format!("the organization has {most} {called}; end one first");
            return Err(Refusal::State(message.into()));
        }
        let place = VersionKey::place(organization, of, held.made);
        Ok(RuleDecision::one(made).claiming([place]))
    }
}

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
