//! An object from its actions, and the template and variation of its mint.

use std::sync::Arc;

use kedge_protocol::history::ResourceHistory;
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Template};
use kedge_protocol::state::entry::{EntryFields, ObjectEntry};
use kedge_protocol::state::{StateEntry, StateTexts};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use super::known_world::{KnownWorld, STRANGER};
use super::nearby_resources::{NearbyResources, recorded};
use super::replayed_resource::{
    HistoryReplayError, ProvenResource, ReplayResult, ReplayedResource, UnshownField,
};
use super::template_history;
use crate::replay::ObjectReplay;

pub(super) fn replay(
    subject: &ProvenResource<'_>,
    history: &ResourceHistory<'_>,
    known: &NearbyResources<'_>,
) -> ReplayResult<ReplayedResource> {
    let other = || HistoryReplayError::OtherResource(subject.id);
    let EntryFields::Object(shown) = &subject.entry.fields else {
        return Err(other());
    };
    let actions = recorded(history, known)?;
    let mint = actions.first().ok_or_else(other)?;
    let template = Id::parse_as(Prefix::Template, &mint.record.target).map_err(|_| other())?;
    let template = template_at_mint(template, mint.placed.sequence(), shown, known)?;
    let mut world = KnownWorld::new(known, template.organization_id).minting(template);
    if let Some(id) = variation_of(&mint.record.payload) {
        let variation = known.variation(id)?;
        world.variation = variation.map(Arc::new);
    }
    let mut replay = ObjectReplay::default();
    for action in &actions {
        let applied = replay.apply(&world, &action.past());
        if let Some(id) = world.missing.borrow_mut().pop() {
            return Err(HistoryReplayError::NeedsProof(id));
        }
        applied?;
    }
    let object = replay.into_object().ok_or_else(other)?;
    Ok(replayed(&object, shown))
}

fn replayed(object: &Object, shown: &ObjectEntry) -> ReplayedResource {
    let mut entry = ObjectEntry::of(object, shown.serial, object.owner_address);
    let mut unshown = vec![UnshownField {
        name: "serial",
        why: "follows from the other mints of its template".to_owned(),
    }];
    if entry.owner_id == STRANGER.wallet_id {
        entry.owner_id = shown.owner_id;
        unshown.push(UnshownField {
            name: "owner_id",
            why: "needs the state proof of the wallet of the address that got it".to_owned(),
        });
    }
    if entry.owner_address == STRANGER.address {
        entry.owner_address = shown.owner_address;
        unshown.push(UnshownField {
            name: "owner_address",
            why: "needs the state proof of the owner's wallet".to_owned(),
        });
    }
    ReplayedResource {
        entry: StateEntry::of_trace(&object.trace, EntryFields::Object(entry)),
        texts: StateTexts::of_object(object),
        unshown,
    }
}

/// The variation that a mint's payload names.
fn variation_of(payload: &str) -> Option<Id> {
    #[derive(Deserialize)]
    struct MintedVariation {
        variation_id: Option<Id>,
    }

    let named: Option<MintedVariation> = serde_json::from_str(payload).ok();
    named.and_then(|named| named.variation_id)
}

/// The template as it was at a mint: from its own history; or from its proof, if no action has changed it since. While
/// an object of it lives, only variations may be added to it.
fn template_at_mint(
    id: Id,
    mint: u64,
    object: &ObjectEntry,
    known: &NearbyResources<'_>,
) -> ReplayResult<Template> {
    let template = known.get(id).ok_or(HistoryReplayError::NeedsProof(id))?;
    let EntryFields::Template(fields) = &template.entry.fields else {
        return Err(HistoryReplayError::NeedsProof(id));
    };
    if let Some(history) = template.history {
        let before = template_history::before(history, fields.organization_id, mint, known)?;
        return before.ok_or(HistoryReplayError::OtherResource(id));
    }
    let may_differ = object.status == ObjectStatus::Burned && template.entry.sequence > mint;
    if may_differ {
        return Err(HistoryReplayError::NeedsHistory(id));
    }
    let properties = template.texts.properties.clone();
    let properties = properties.ok_or(HistoryReplayError::NeedsText(id))?;
    Ok(known_template(id, fields.organization_id, properties))
}

/// A template as far as a mint or a variation reads it.
pub(super) fn known_template(id: Id, organization_id: Id, properties: String) -> Template {
    Template {
        id,
        organization_id,
        name: String::new(),
        description: String::new(),
        properties,
        schema: None,
        max_supply: None,
        actions: Vec::new(),
        public_access: false,
        variation_count: 0,
        trace: ResourceTrace::NEW,
    }
}
