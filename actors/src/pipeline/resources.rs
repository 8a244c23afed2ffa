//! Decisions of an organization's actor: actions on everything but objects (wallets, members, keys, templates,
//! webhooks, files, the operator's tiers), each on top of the pending ones.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_replay::resource_rows::read_image;
use kedge_rules::resource_state::ResourceState;
use kedge_rules::resources::{self, RuleDecision};
use kedge_rules::{ActionInput, Refusal, StepAllowance, registration};

use super::effect::{ActionEffect, DecisionBase, NameClaims};
use super::proposal::Proposal;
use super::published_state::{StateReader, unavailable};
use super::refusal::ActionRefusal;
use crate::api::ExpectedVersion;
use crate::overlay::{Overlay, StateVersion};

/// Entries that an actor's caches may hold before settled ones are dropped.
pub(crate) const CACHE_MAX: usize = 10_000;

/// Recently used resources, each with its pending decisions.
#[derive(Default)]
pub(crate) struct ResourceOverlays {
    overlays: HashMap<Id, Overlay<Vec<ResourceState>>>,
}

impl ResourceOverlays {
    /// Decides a proposal's only action.
    pub(crate) fn decide(
        &mut self,
        unit: &Proposal,
        ticket: u64,
        committed_ticket: u64,
        reader: &StateReader,
    ) -> Result<ActionEffect, ActionRefusal> {
        let action = unit
            .submission
            .actions
            .first()
            .ok_or(Refusal::Unavailable)?;
        let allowance = StepAllowance::default();
        let input = ActionInput {
            allowance: Some(&allowance),
            ..unit.input(action)
        };
        if action.kind == Kind::WalletRegister {
            let signer = &unit.submission.head.signer;
            return Ok(decided(None, registration::register(reader, signer, &input)?).0);
        }
        let caller = unit.caller.ok_or(Refusal::Unavailable)?;
        let Some(id) = resources::base_id(&action.kind, input.target)? else {
            return Ok(decided(None, resources::decide(reader, &caller, None, &input)?).0);
        };
        let overlay = self.overlay(id, committed_ticket, reader)?;
        let overlay = overlay.ok_or_else(|| Refusal::not_found(id.prefix.noun(), input.target))?;
        let images = Arc::clone(overlay.top());
        let before = images.first().ok_or(Refusal::Unavailable)?;
        let trace = before.trace().ok_or(Refusal::Unavailable)?;
        let expected = unit.submission.expected.as_deref();
        let expected = ExpectedVersion::check(expected, id.prefix.noun(), trace);
        let decision = match resources::decide(reader, &caller, Some(before), &input) {
            // Only a caller who would change the address learns that it is taken.
            Err(Refusal::EmailTaken) => Err(expected.err().unwrap_or(Refusal::EmailTaken)),
            Ok(decision) => expected.map(|()| decision),
            refused => refused,
        };
        let decision = decision.map_err(|refusal| ActionRefusal::on_resource(refusal, &images))?;
        let base = DecisionBase {
            version: trace.version,
            integrity: trace.integrity,
            images: Arc::clone(&images),
        };
        let (decided, next) = decided(Some(base), decision);
        overlay.push(ticket, next);
        Ok(decided)
    }

    fn overlay(
        &mut self,
        id: Id,
        committed_ticket: u64,
        reader: &StateReader,
    ) -> Result<Option<&mut Overlay<Vec<ResourceState>>>, Refusal> {
        if self.overlays.len() >= CACHE_MAX {
            self.overlays.retain(|_, overlay| !overlay.is_settled());
        }
        let overlay = match self.overlays.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let Some(image) = load(id, reader)? else {
                    return Ok(None);
                };
                let sequence = image.trace().map_or(0, |trace| trace.sequence);
                let images = StateVersion::placed(vec![image], sequence);
                entry.insert(Overlay::new(Arc::new(images)))
            }
        };
        overlay.settle(committed_ticket);
        Ok(Some(overlay))
    }

    /// Drops a refused proposal's decisions, and everything that depends on them.
    pub(crate) fn drop_unit(&mut self, ticket: u64) {
        for overlay in self.overlays.values_mut() {
            overlay.drop_unit(ticket);
        }
    }

    /// Drops a resource that changed together with another one; it has no pending decision.
    pub(crate) fn forget(&mut self, id: Id) {
        self.overlays.remove(&id);
    }

    /// True if no decision is pending.
    pub(crate) fn is_settled(&mut self, committed_ticket: u64) -> bool {
        self.overlays.values_mut().all(|overlay| {
            overlay.settle(committed_ticket);
            overlay.is_settled()
        })
    }
}

/// A resource in its committed state.
fn load(id: Id, reader: &StateReader) -> Result<Option<ResourceState>, Refusal> {
    let found = read_image(&reader.published().snapshot, id);
    Ok(found.map_err(unavailable)?)
}

fn decided(
    base: Option<DecisionBase>,
    decision: RuleDecision,
) -> (ActionEffect, Arc<StateVersion<Vec<ResourceState>>>) {
    let next = Arc::new(StateVersion::decided(decision.images));
    let decided = ActionEffect::Resources {
        base: base.map(Box::new),
        next: Arc::clone(&next),
        names: Box::new(NameClaims {
            claims: decision.claims,
            releases: decision.releases,
            reads: decision.reads,
        }),
    };
    (decided, next)
}
