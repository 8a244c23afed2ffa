//! Supply of an organization's bounded templates: minted objects, and reservations of requests in flight. A mint that
//! meets reserved supply waits instead of failing.
//!
//! All requests reserve in one order: organizations by their ids, and everything of one organization together. So a
//! request that waits at one organization holds only supply of earlier ones, and no two requests wait for each other.

use std::collections::{HashMap, VecDeque};

use kedge_protocol::action::Kind;
use kedge_protocol::{Id, Prefix};
use kedge_rules::World;
use ractor::ActorRef;

use super::messages::{OrganizationMessage, ProposalSettlement};
use super::proposal::{MintGrant, MintNeed, Proposal};
use super::published_state::{StateReader, gone};
use crate::api::SubmissionError;

/// The supply that the proposal's mints need, in the order of reservation.
pub(crate) fn needs(
    unit: &Proposal,
    reader: &StateReader,
) -> Result<VecDeque<MintNeed>, SubmissionError> {
    let mut counts: HashMap<Id, u64> = HashMap::new();
    for action in &unit.submission.actions {
        if action.kind == Kind::Mint
            && let target = unit.submission.text(&action.target)
            && let Ok(id) = Id::parse_as(Prefix::Template, target)
        {
            *counts.entry(id).or_default() += 1;
        }
    }
    let mut needs = Vec::new();
    for (id, count) in counts {
        let template = reader
            .template(id)
            .map_err(|_| SubmissionError::Unavailable)?;
        if let Some(template) = template.filter(|template| template.max_supply.is_some()) {
            needs.push(MintNeed {
                organization: template.organization_id,
                template: id,
                count,
            });
        }
    }
    needs.sort_unstable();
    Ok(needs.into())
}

/// A bounded template's supply.
struct TemplateSupply {
    max: u64,
    minted: u64,
    reserved: u64,
}

impl TemplateSupply {
    fn left(&self) -> u64 {
        self.max.saturating_sub(self.minted)
    }
}

/// Supply of an organization's templates, as its actor knows it.
#[derive(Default)]
pub(crate) struct SupplyLedger {
    supplies: HashMap<Id, TemplateSupply>,
    /// Requests that wait for reserved supply to be used or returned.
    waiting: VecDeque<Box<Proposal>>,
}

impl SupplyLedger {
    /// Reserves all of the proposal's next need, which is supply of the organization of `myself`, or nothing. Returns
    /// the proposal unless it waits here or has ended.
    pub(crate) fn reserve(
        &mut self,
        mut unit: Box<Proposal>,
        reader: &StateReader,
        myself: &ActorRef<OrganizationMessage>,
    ) -> Option<Box<Proposal>> {
        let Some(own) = unit.needs.front().map(|need| need.organization) else {
            return Some(unit);
        };
        let count = unit
            .needs
            .iter()
            .take_while(|need| need.organization == own)
            .count();
        let wanted: Vec<MintNeed> = unit.needs.iter().take(count).copied().collect();
        for need in &wanted {
            if let Err(error) = self.load(need.template, reader) {
                unit.complete(Err(error));
                return None;
            }
        }
        // Reserved supply may come back, so a mint waits for it.
        let must_wait = |need: &MintNeed| {
            let supply = self.supplies.get(&need.template);
            supply.is_some_and(|supply| {
                supply.reserved > 0 && supply.left() < supply.reserved + need.count
            })
        };
        if wanted.iter().any(must_wait) {
            if unit.wait_at(myself) {
                self.waiting.push_back(unit);
            }
            return None;
        }
        let granted = |need: &MintNeed| {
            let supply = self.supplies.get(&need.template);
            let free = supply.map_or(0, |supply| supply.left().saturating_sub(supply.reserved));
            MintGrant {
                template: need.template,
                count: need.count.min(free),
            }
        };
        let grants: Vec<MintGrant> = wanted.iter().map(granted).collect();
        if !unit.grant(&grants, myself) {
            return None;
        }
        for grant in grants {
            if let Some(supply) = self.supplies.get_mut(&grant.template) {
                supply.reserved += grant.count;
            }
        }
        unit.needs.drain(..count);
        Some(unit)
    }

    /// Loads a template's supply, or refreshes its bound, which may change before the first mint.
    fn load(&mut self, template: Id, reader: &StateReader) -> Result<(), SubmissionError> {
        let rules = reader.template(template);
        let rules = rules.map_err(|_| SubmissionError::Unavailable)?;
        let max = rules.and_then(|rules| rules.max_supply).unwrap_or(u64::MAX);
        if let Some(supply) = self.supplies.get_mut(&template) {
            supply.max = max;
            return Ok(());
        }
        let minted = reader.published().snapshot.minted(template);
        let supply = TemplateSupply {
            max,
            minted: minted.map_err(gone)?,
            reserved: 0,
        };
        self.supplies.insert(template, supply);
        Ok(())
    }

    /// Returns the reservations of a finished proposal, and counts its mints. Returns the proposals that waited for
    /// supply.
    pub(crate) fn settle(&mut self, settlement: &ProposalSettlement) -> VecDeque<Box<Proposal>> {
        for grant in &settlement.grants {
            if let Some(supply) = self.supplies.get_mut(&grant.template) {
                supply.reserved -= grant.count;
            }
        }
        for made in &settlement.minted {
            if let Some(supply) = self.supplies.get_mut(&made.template) {
                supply.minted += made.count;
            }
        }
        if settlement.grants.is_empty() {
            return VecDeque::new();
        }
        std::mem::take(&mut self.waiting)
    }

    /// Drops waiting proposals that have ended.
    pub(crate) fn sweep(&mut self) {
        self.waiting.retain(|unit| !unit.is_ended());
    }

    /// True if nothing is reserved and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.supplies.values().all(|supply| supply.reserved == 0)
    }
}
