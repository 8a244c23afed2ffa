//! A template from its actions, and the variations that they make.

use kedge_protocol::history::ResourceHistory;
use kedge_protocol::resource::{Role, Template};
use kedge_protocol::state::entry::{EntryFields, TemplateEntry, VariationEntry};
use kedge_protocol::state::{StateEntry, StateTexts};
use kedge_protocol::{Address, Id, Prefix};

use super::nearby_resources::{NearbyResources, organization_of, recorded};
use super::object_history::known_template;
use super::replayed_resource::{
    HistoryReplayError, ProvenResource, ReplayResult, ReplayedResource, UnshownField,
};
use crate::fold::FoldError;
use crate::replay::TemplateReplay;
use crate::resources::template::add_variations;
use crate::world::{ActionInput, Caller};

pub(super) fn replay(
    subject: &ProvenResource<'_>,
    history: &ResourceHistory<'_>,
    known: &NearbyResources<'_>,
) -> ReplayResult<ReplayedResource> {
    let other = || HistoryReplayError::OtherResource(subject.id);
    let EntryFields::Template(shown) = &subject.entry.fields else {
        return Err(other());
    };
    let why = "follows from the actions on its objects".to_owned();
    let mut unshown = vec![
        UnshownField {
            name: "minted_count",
            why: why.clone(),
        },
        UnshownField {
            name: "burned_count",
            why,
        },
    ];
    let organization = organization_of(shown.organization_id, history, known, &mut unshown);
    let template = before(history, organization, u64::MAX, known)?.ok_or_else(other)?;
    let fields = TemplateEntry::of(&template, shown.minted_count, shown.burned_count);
    Ok(ReplayedResource {
        entry: StateEntry::of_trace(&template.trace, EntryFields::Template(fields)),
        texts: StateTexts::of_template(&template),
        unshown,
    })
}

/// A template before a sequence; `None` before its creation.
pub(super) fn before(
    history: &ResourceHistory<'_>,
    organization: Id,
    sequence: u64,
    known: &NearbyResources<'_>,
) -> ReplayResult<Option<Template>> {
    let mut replay = TemplateReplay::default();
    for action in recorded(history, known)? {
        if action.placed.sequence() >= sequence {
            break;
        }
        replay.apply(organization, &action.past())?;
    }
    Ok(replay.into_template())
}

/// A variation, which one action on its template makes.
pub(super) fn replay_variation(
    subject: &ProvenResource<'_>,
    history: &ResourceHistory<'_>,
    known: &NearbyResources<'_>,
) -> ReplayResult<ReplayedResource> {
    let other = || HistoryReplayError::OtherResource(subject.id);
    let EntryFields::Variation(shown) = &subject.entry.fields else {
        return Err(other());
    };
    let mut unshown = Vec::new();
    let organization = organization_of(shown.organization_id, history, known, &mut unshown);
    let actions = recorded(history, known)?;
    let action = actions.first().ok_or_else(other)?;
    let target = &action.record.target;
    let template = Id::parse_as(Prefix::Template, target).map_err(|_| other())?;
    let sequence = action.placed.sequence();
    let of_template = known.get(template).and_then(|known| known.history);
    let before = match of_template {
        Some(history) => before(history, organization, sequence, known)?,
        None => None,
    };
    let is_counted = before.is_some();
    let before = before.unwrap_or_else(|| known_template(template, organization, String::new()));
    let input = ActionInput {
        link: None,
        allowance: None,
        kind: &action.record.kind,
        target,
        payload: &action.record.payload,
        signed: &action.record.payload,
        content: &action.content,
    };
    // Who asked was checked when the action was placed.
    let caller = Caller {
        wallet_id: action.wallet_id,
        organization_id: organization,
        role: Role::Owner,
        address: Address::ZERO,
    };
    let (_, variations) = add_variations(&caller, &before, &input)
        .map_err(|refusal| FoldError::Refused { sequence, refusal })?;
    let made = variations.into_iter().find(|made| made.id == subject.id);
    let made = made.ok_or_else(other)?;
    let mut fields = VariationEntry::of(&made);
    if !is_counted {
        fields.index = shown.index;
        unshown.push(UnshownField {
            name: "index",
            why: format!("needs the state proof and the actions of {template}"),
        });
    }
    Ok(ReplayedResource {
        // The chain of the history ends with this integrity: `ProvenActions::history` compared both.
        entry: StateEntry {
            version: 1,
            sequence,
            integrity: subject.entry.integrity,
            fields: EntryFields::Variation(fields),
        },
        texts: StateTexts::of_variation(&made),
        unshown,
    })
}
