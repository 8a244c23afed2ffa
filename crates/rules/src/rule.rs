//! What a rule about a resource decides on, and its decision.

use crate::refusal::Refusal;
use crate::resource_state::ResourceState;
use crate::sequencer::VersionKey;
use crate::world::{ActionInput, Caller, CountedResource, World};

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
    pub(crate) fn of(images: Vec<ResourceState>) -> Self {
        Self {
            images,
            claims: Vec::new(),
            releases: Vec::new(),
            reads: Vec::new(),
        }
    }

    pub(crate) fn one(image: impl Into<ResourceState>) -> Self {
        Self::of(vec![image.into()])
    }

    pub(crate) fn claiming(self, claims: impl IntoIterator<Item = VersionKey>) -> Self {
        Self {
            claims: claims.into_iter().collect(),
            ..self
        }
    }

    pub(crate) fn releasing(self, releases: impl IntoIterator<Item = VersionKey>) -> Self {
        Self {
            releases: releases.into_iter().collect(),
            ..self
        }
    }
}

/// An action, and the state on which its rule decides.
pub(crate) struct RuleContext<'a, W> {
    pub(crate) world: &'a W,
    pub(crate) caller: &'a Caller,
    pub(crate) base: Option<&'a ResourceState>,
    pub(crate) input: &'a ActionInput<'a>,
}

impl<'a, W: World> RuleContext<'a, W> {
    /// The world, the caller and the action.
    pub(crate) fn parts(&self) -> (&'a W, &'a Caller, &'a ActionInput<'a>) {
        (self.world, self.caller, self.input)
    }

    /// The resource that the action changes.
    pub(crate) fn base<T>(&self) -> Result<&'a T, Refusal>
    where
        &'a T: TryFrom<&'a ResourceState>,
    {
        self.base
            .and_then(|base| base.try_into().ok())
            .ok_or_else(|| Refusal::wrong_way(self.input.kind))
    }

    /// The new resource, of a limited type, if the organization may have one more. Ended ones stay in its list and do
    /// not count.
    pub(crate) fn one_more(
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
