//! The supply of an organization's bounded templates: what was minted, and what is reserved for
//! requests under way. A mint that meets reserved supply waits instead of failing.

use std::collections::{HashMap, VecDeque};

use kedge_machine::World;
use kedge_protocol::action::Kind;
use kedge_protocol::{Id, Prefix};

use crate::api::SubmitError;
use crate::organization::gone;
use crate::unit::{Grant, Settlement, Unit};
use crate::world::Reader;

/// A bounded template's supply.
struct Supply {
    max: u64,
    minted: u64,
    reserved: u64,
}

/// What an organization's actor knows of its templates' supply.
#[derive(Default)]
pub(crate) struct Supplies {
    supplies: HashMap<Id, Supply>,
    /// Requests that wait for reserved supply to be used or given back.
    waiting: VecDeque<Box<Unit>>,
}

/// Where a unit goes after reserving.
pub(crate) enum Reserved {
    /// Nowhere yet: it waits here, or was answered.
    Waits,
    /// To another organization, whose templates it mints of too.
    Elsewhere(Id, Box<Unit>),
    /// To be decided.
    Done(Box<Unit>),
}

impl Supplies {
    /// Reserves supply for the unit's mints of the templates of `own`.
    pub(crate) fn reserve(
        &mut self,
        mut unit: Box<Unit>,
        own: Option<Id>,
        reader: &Reader,
    ) -> Reserved {
        let wanted = match self.wanted(&unit, own, reader) {
            Ok(wanted) => wanted,
            Err(error) => {
                unit.complete(Err(error));
                return Reserved::Waits;
            }
        };
        // Supply that is reserved may come back: a mint waits for it rather than fail.
        let must_wait = wanted.iter().any(|(organization, grant)| {
            let supply = self.supplies.get(&grant.template);
            Some(*organization) == own
                && supply.is_some_and(|supply| {
                    supply.reserved > 0
                        && supply.max - supply.minted < supply.reserved + grant.count
                })
        });
        if must_wait {
            self.waiting.push_back(unit);
            return Reserved::Waits;
        }
        let mut next = None;
        for (organization, grant) in wanted {
            if Some(organization) != own {
                next = Some(organization);
            } else if let Some(supply) = self.supplies.get_mut(&grant.template) {
                let free = supply.max - supply.minted - supply.reserved;
                let count = grant.count.min(free);
                supply.reserved += count;
                unit.grants.push(Grant { count, ..grant });
            }
        }
        match next {
            Some(organization) => Reserved::Elsewhere(organization, unit),
            None => Reserved::Done(unit),
        }
    }

    /// The bounded templates that the unit mints of and has no grant for yet, with how many mints
    /// each, and the organization that each belongs to.
    fn wanted(
        &mut self,
        unit: &Unit,
        own: Option<Id>,
        reader: &Reader,
    ) -> Result<Vec<(Id, Grant)>, SubmitError> {
        let mut wanted: Vec<(Id, Grant)> = Vec::new();
        for action in &unit.submission.actions {
            if action.kind != Kind::Mint {
                continue;
            }
            let target = unit.submission.text(&action.target);
            let Ok(id) = Id::parse_as(Prefix::Template, target) else {
                continue;
            };
            if unit.grants.iter().any(|grant| grant.template == id) {
                continue;
            }
            if let Some((_, grant)) = wanted.iter_mut().find(|(_, grant)| grant.template == id) {
                grant.count += 1;
                continue;
            }
            let template = reader.template(id).map_err(|_| SubmitError::Unavailable)?;
            let Some(template) = template else { continue };
            let Some(max) = template.max_supply else {
                continue;
            };
            if Some(template.organization_id) == own && !self.supplies.contains_key(&id) {
                let minted = reader.published().snapshot.minted(id);
                let supply = Supply {
                    max,
                    minted: minted.map_err(|error| gone(&error))?,
                    reserved: 0,
                };
                self.supplies.insert(id, supply);
            }
            let grant = Grant {
                template: id,
                count: 1,
            };
            wanted.push((template.organization_id, grant));
        }
        Ok(wanted)
    }

    /// Takes back what a unit that has ended had reserved, and counts what it minted. Gives the
    /// units that waited for that.
    pub(crate) fn settle(&mut self, settlement: &Settlement) -> VecDeque<Box<Unit>> {
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

    /// True when nothing is reserved and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.supplies.values().all(|supply| supply.reserved == 0)
    }
}
