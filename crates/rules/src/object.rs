//! Actions on objects.

use std::borrow::Cow;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::OBJECT_PROPERTIES_BYTES_MAX;
use kedge_protocol::registry::{ActionSubject, ObjectChange};
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Template};
use kedge_protocol::{Address, Id, Prefix};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, JsonEdits, JsonMembers, NameIndex};
use crate::refusal::Refusal;
use crate::rights;
use crate::template_rules::TemplateRules;
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, Caller, RecipientWallet, World};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectMintPayload<'a> {
    template_id: Option<String>,
    variation_id: Option<String>,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
    to: Option<String>,
}

/// Mints an object of the template that the action targets. The template's supply is not checked here: the
/// organization's actor reserves it.
pub fn mint<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<Object, Refusal> {
    let payload: ObjectMintPayload<'_> = text::read(input.payload)?;
    if payload
        .template_id
        .as_deref()
        .is_some_and(|id| id != input.target)
    {
        return Err(Refusal::field(
            "/template_id",
            "range",
            "must be the action's target",
        ));
    }
    let template = Id::parse_as(Prefix::Template, input.target)
        .ok()
        .map(|id| world.template(id))
        .transpose()?
        .flatten()
        .filter(|template| rights::sees_template(template, caller))
        .ok_or_else(|| Refusal::not_found("template", input.target))?;
    rights::check(&Kind::Mint, &template, false, caller)?;
    let asker = RecipientWallet {
        wallet_id: caller.wallet_id,
        address: caller.address,
    };
    let object = minted(world, asker, &template, &payload, input)?;
    template.check_properties(&object.properties, input)?;
    Ok(object)
}

/// Builds the object of a mint that the caller may request.
fn minted<W: World>(
    world: &W,
    asker: RecipientWallet,
    template: &Template,
    payload: &ObjectMintPayload<'_>,
    input: &ActionInput<'_>,
) -> Result<Object, Refusal> {
    let mut problems = PayloadProblems::default();
    let own = problems.object("/properties", payload.properties);
    problems.finish()?;
    let variation = match &payload.variation_id {
        None => None,
        Some(text) => Some(
            Id::parse_as(Prefix::Variation, text)
                .ok()
                .map(|id| world.variation(id))
                .transpose()?
                .flatten()
                .filter(|variation| variation.template_id == template.id)
                .ok_or_else(|| Refusal::not_found("variation", text))?,
        ),
    };
    // A short payload, too, copies and merges this much.
    let begun = template.properties.len() + variation.as_ref().map_or(0, |v| v.properties.len());
    input.take(begun as u64)?;
    let mut properties = template.properties.clone();
    if let Some(variation) = &variation {
        properties = json::merge(&properties, &variation.properties);
    }
    if own != "{}" {
        properties = json::merge(&properties, &own);
    }
    check_size(&properties)?;
    input.take(properties.len().saturating_sub(begun) as u64)?;
    let owner = match &payload.to {
        None => asker,
        Some(to) => recipient(world, to)?,
    };
    Ok(Object {
        id: Id::made_by(Prefix::Object, input.content, 0),
        organization_id: template.organization_id,
        template_id: template.id,
        variation_id: variation.map(|variation| variation.id),
        owner_id: owner.wallet_id,
        owner_address: owner.address,
        properties,
        status: ObjectStatus::Active,
        trace: input.extend(&ResourceTrace::NEW),
    })
}

fn check_size(properties: &str) -> Result<(), Refusal> {
    if properties.len() > OBJECT_PROPERTIES_BYTES_MAX {
        return Err(Refusal::ObjectTooLarge {
            bytes: properties.len(),
        });
    }
    Ok(())
}

/// The wallet that `to` names: by an identifier or an address.
fn recipient<W: World>(world: &W, to: &str) -> Result<RecipientWallet, Refusal> {
    let found = if to.starts_with("0x") {
        let address: Address = to
            .parse()
            .map_err(|error| Refusal::field("/to", "format", format!("{error}")))?;
        world.wallet_by_address(address)?
    } else {
        let id = Id::parse_as(Prefix::Wallet, to).map_err(|error| {
            Refusal::field(
                "/to",
                "format",
                format!("must be a wallet's id or address: {error}"),
            )
        })?;
        world.wallet(id)?
    };
    found.ok_or_else(|| Refusal::not_found("wallet", to))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectUpdatePayload<'a> {
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferPayload<'a> {
    #[serde(borrow)]
    to: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetPayload<'a> {
    #[serde(borrow)]
    attributes: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeletePayload {
    attributes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyPayload {}

/// Decides an action on an object: returns the object after it. The object must be of `template`, whose schema the
/// properties fulfil before and after.
pub fn act<W: World>(
    world: &W,
    caller: &Caller,
    object: &Object,
    template: &TemplateRules,
    input: &ActionInput<'_>,
) -> Result<Object, Refusal> {
    act_in(world, caller, object, template, input, String::new())
}

/// [`act`] with a buffer for the properties: the text of a version that is no longer in use.
pub fn act_in<W: World>(
    world: &W,
    caller: &Caller,
    object: &Object,
    template: &TemplateRules,
    input: &ActionInput<'_>,
    memory: String,
) -> Result<Object, Refusal> {
    if !rights::sees_object(object, template, caller) {
        return Err(Refusal::not_found("object", input.target));
    }
    let owns = object.owner_id == caller.wallet_id;
    rights::check(input.kind, template, owns, caller)?;
    let change = change(input.kind)?;
    check_status(object.status, change)?;
    // A small change, too, leaves one more version of the whole object.
    input.take(object.properties.len() as u64)?;
    let next = after(world, object, change, input, memory)?;
    match change {
        ObjectChange::Update | ObjectChange::SetAttributes | ObjectChange::DeleteAttributes => {
            template.check_properties(&next.properties, input)?;
        }
        ObjectChange::State => template.check_payload(input)?,
        ObjectChange::Transfer | ObjectChange::Lock | ObjectChange::Unlock | ObjectChange::Burn => {
        }
    }
    Ok(next)
}

/// Re-applies a logged action to an object, without re-checking permissions. `before` is the object before it; `asker`
/// is the requesting wallet; `beginning` holds the initial properties of the template's objects at the time, if they
/// have changed since.
pub(crate) fn again<W: World>(
    world: &W,
    before: Option<&Object>,
    asker: Id,
    beginning: Option<&str>,
    input: &ActionInput<'_>,
) -> Result<Object, Refusal> {
    if let Some(object) = before {
        return after(world, object, change(input.kind)?, input, String::new());
    }
    let payload: ObjectMintPayload<'_> = text::read(input.payload)?;
    let template = Id::parse_as(Prefix::Template, input.target)
        .ok()
        .map(|id| world.template(id))
        .transpose()?
        .flatten()
        .ok_or_else(|| Refusal::not_found("template", input.target))?;
    let asker = world.wallet(asker)?;
    let asker = asker.ok_or_else(|| Refusal::not_found("wallet", input.target))?;
    match beginning {
        None => minted(world, asker, &template, &payload, input),
        Some(properties) => {
            let template = Template {
                properties: properties.to_owned(),
                ..template.template().clone()
            };
            minted(world, asker, &template, &payload, input)
        }
    }
}

/// [`again`] for an action that only changes properties, as one of many edits. False for other actions.
pub(crate) fn edit_again(
    edits: &mut Option<JsonEdits>,
    before: &mut Object,
    input: &ActionInput<'_>,
) -> Result<bool, Refusal> {
    let change = change(input.kind)?;
    let mut edit = |make: &dyn Fn(&mut JsonEdits)| {
        let properties = std::mem::take(&mut before.properties);
        make(edits.get_or_insert_with(|| JsonEdits::of(&properties)));
    };
    match change {
        ObjectChange::Update => {
            let payload: ObjectUpdatePayload<'_> = text::read(input.payload)?;
            // Without `properties`, even the spelling of keys stays.
            if let Some(patch) = payload.properties {
                edit(&|edits| edits.merge(patch.get()));
            }
        }
        ObjectChange::SetAttributes => {
            let payload: SetPayload<'_> = text::read(input.payload)?;
            let members = JsonMembers::of(payload.attributes.get()).unwrap_or_default();
            edit(&|edits| {
                for (key, value) in &members.0 {
                    edits.set(key, value);
                }
            });
        }
        ObjectChange::DeleteAttributes => {
            let payload: DeletePayload = text::read(input.payload)?;
            edit(&|edits| {
                for key in &payload.attributes {
                    edits.remove(key);
                }
            });
        }
        ObjectChange::Transfer
        | ObjectChange::Lock
        | ObjectChange::Unlock
        | ObjectChange::Burn
        | ObjectChange::State => {
            return Ok(false);
        }
    }
    before.trace = input.extend(&before.trace);
    Ok(true)
}

/// The change that a kind makes to an object.
fn change(kind: &Kind) -> Result<ObjectChange, Refusal> {
    match kind.spec().acts_on {
        ActionSubject::Object(change) => Ok(change),
        ActionSubject::New(_) | ActionSubject::Resource(_) => Err(Refusal::wrong_way(kind)),
    }
}

/// The object after a permitted change.
fn after<W: World>(
    world: &W,
    object: &Object,
    change: ObjectChange,
    input: &ActionInput<'_>,
    memory: String,
) -> Result<Object, Refusal> {
    let mut next = Object {
        properties: String::new(),
        trace: input.extend(&object.trace),
        ..*object
    };
    next.properties = match change {
        ObjectChange::Update => update(&object.properties, input.payload, memory)?,
        ObjectChange::SetAttributes => set_attributes(&object.properties, input.payload)?,
        ObjectChange::DeleteAttributes => delete_attributes(&object.properties, input.payload)?,
        ObjectChange::Transfer
        | ObjectChange::Lock
        | ObjectChange::Unlock
        | ObjectChange::Burn
        | ObjectChange::State => object.properties.clone(),
    };
    let empty = || text::read(input.payload).map(|EmptyPayload {}| ());
    match change {
        ObjectChange::Update | ObjectChange::SetAttributes | ObjectChange::DeleteAttributes => {}
        ObjectChange::Transfer => {
            let payload: TransferPayload<'_> = text::read(input.payload)?;
            let owner = recipient(world, &payload.to)?;
            next.owner_id = owner.wallet_id;
            next.owner_address = owner.address;
        }
        ObjectChange::Lock => {
            empty()?;
            next.status = ObjectStatus::Locked;
        }
        ObjectChange::Unlock => {
            empty()?;
            next.status = ObjectStatus::Active;
        }
        ObjectChange::Burn => {
            empty()?;
            next.status = ObjectStatus::Burned;
        }
        ObjectChange::State => json::check(input.payload)
            .map_err(|error| Refusal::field("", "syntax", error.to_string()))?,
    }
    Ok(next)
}

/// The object status that a change requires.
fn status_for(change: ObjectChange) -> ObjectStatus {
    match change {
        ObjectChange::Unlock => ObjectStatus::Locked,
        ObjectChange::Update
        | ObjectChange::SetAttributes
        | ObjectChange::DeleteAttributes
        | ObjectChange::Transfer
        | ObjectChange::Lock
        | ObjectChange::Burn
        | ObjectChange::State => ObjectStatus::Active,
    }
}

fn check_status(status: ObjectStatus, change: ObjectChange) -> Result<(), Refusal> {
    let why = match status {
        _ if status == status_for(change) => return Ok(()),
        ObjectStatus::Active => "the object is not locked",
        ObjectStatus::Locked => "the object is locked; unlock it first",
        ObjectStatus::Burned => "the object is burned; nothing more can be done with it",
    };
    Err(Refusal::State(why.into()))
}

fn update(properties: &str, payload: &str, memory: String) -> Result<String, Refusal> {
    // Nearly every update has this one member, which is an object. Other payloads take the slow path, which reports
    // errors.
    if let Some(merged) = json::merge_only(properties, payload, "properties", memory) {
        check_size(&merged)?;
        return Ok(merged);
    }
    let payload: ObjectUpdatePayload<'_> = text::read(payload)?;
    let Some(patch) = payload.properties else {
        return Ok(properties.to_owned());
    };
    merge_object(properties, patch.get(), "/properties")
}

fn merge_object(properties: &str, patch: &str, pointer: &str) -> Result<String, Refusal> {
    if !patch.starts_with('{') {
        return Err(Refusal::field(pointer, "type", "must be a JSON object"));
    }
    let merged = json::merge(properties, patch);
    check_size(&merged)?;
    Ok(merged)
}

/// Sets top-level members to the given values unchanged; `null` is a value here.
fn set_attributes(properties: &str, payload: &str) -> Result<String, Refusal> {
    let payload: SetPayload<'_> = text::read(payload)?;
    let members = JsonMembers::of(payload.attributes.get())
        .ok_or_else(|| Refusal::field("/attributes", "type", "must be a JSON object"))?;
    let changes: Vec<(&str, Option<&str>)> = members
        .0
        .iter()
        .map(|(key, value)| (key.as_ref(), Some(*value)))
        .collect();
    edit(properties, &changes)
}

fn delete_attributes(properties: &str, payload: &str) -> Result<String, Refusal> {
    let payload: DeletePayload = text::read(payload)?;
    let changes: Vec<(&str, Option<&str>)> = payload
        .attributes
        .iter()
        .map(|key| (key.as_str(), None))
        .collect();
    edit(properties, &changes)
}

/// Replaces (`Some`) or removes (`None`) top-level members.
fn edit(properties: &str, changes: &[(&str, Option<&str>)]) -> Result<String, Refusal> {
    let JsonMembers(old) = JsonMembers::of(properties).unwrap_or_default();
    let places = NameIndex::of(changes, |(name, _)| *name);
    let mut used = vec![false; changes.len()];
    let mut edited = String::from("{");
    let mut push = |key: &str, value: &str| {
        if edited.len() > 1 {
            edited.push(',');
        }
        edited.push_str(&json::quoted(key));
        edited.push(':');
        edited.push_str(&json::compact(value));
    };
    for (key, value) in &old {
        let place = places.find(key);
        let value = place.map_or(Some(*value), |place| {
            used[place] = true;
            changes[place].1
        });
        if let Some(value) = value {
            push(key, value);
        }
    }
    for ((key, value), used) in changes.iter().zip(used) {
        if let Some(value) = value.filter(|_| !used) {
            push(key, value);
        }
    }
    edited.push('}');
    check_size(&edited)?;
    Ok(edited)
}
