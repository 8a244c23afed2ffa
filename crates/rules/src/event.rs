//! The events of an action, a batch or a failure. What is in the log yields the same events whenever it is read: such
//! an event is a function of its record and of facts that never change, so nothing is stored for it.

use std::borrow::Cow;

use kedge_protocol::action::Kind;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::event::{EventType, Position, event_id};
use kedge_protocol::limits::{EVENT_PAYLOAD_BYTES_MAX, EVENT_TEXT_CHARS_MAX};
use kedge_protocol::record::ActionRecord;
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::kinds::spec;
use crate::refusal::Refusal;

/// An event. Its serialized form is what the API and webhooks show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its identifier: the same on every read.
    pub id: Id,
    /// What it reports.
    pub event_type: EventType,
    /// Its place among all others.
    pub position: Position,
    /// When it happened, milliseconds.
    pub timestamp_ms: u64,
    /// The organization that acted; `None` if it concerns everybody.
    pub organization_id: Option<Id>,
    /// The object that was acted on or made.
    pub object_id: Option<Id>,
    /// The template of that object, or the one that was acted on or made. Not shown on its own.
    pub template_id: Option<Id>,
    /// The action; `None` if none is in the log.
    pub action_id: Option<Id>,
    /// Further data: a JSON object, compact except for the payload's own white space.
    pub data: String,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data: &RawValue = serde_json::from_str(&self.data).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(9))?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", self.event_type.text())?;
        map.serialize_entry("sequence", &self.position.sequence)?;
        map.serialize_entry("position", &format_args!("{}", self.position))?;
        map.serialize_entry("timestamp", &rfc3339(self.timestamp_ms))?;
        map.serialize_entry("organization_id", &self.organization_id)?;
        map.serialize_entry("object_id", &self.object_id)?;
        map.serialize_entry("action_id", &self.action_id)?;
        map.serialize_entry("data", data)?;
        map.end()
    }
}

/// What events look up. All of it is final before the action that asks for it.
pub trait Facts {
    /// Why a read failed.
    type Error;
    /// The template that an object was made from.
    fn template_of(&self, object: Id) -> Result<Option<Id>, Self::Error>;
    /// The wallet that an address belongs to.
    fn wallet_of(&self, address: Address) -> Result<Option<Id>, Self::Error>;
}

/// An action of the log with what its request states about it.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a> {
    /// The action.
    pub action: &'a ActionRecord<'a>,
    /// Its place in the log.
    pub sequence: u64,
    /// When it was placed, milliseconds.
    pub timestamp_ms: u64,
    /// The batch that holds it.
    pub batch_number: u64,
    /// The organization of the wallet that asked.
    pub organization_id: Id,
    /// The wallet that asked.
    pub wallet_id: Id,
    /// The address that signed.
    pub signer: Address,
}

/// The members of payloads that events repeat. Events hold no others.
#[derive(Deserialize, Default)]
struct Reported<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    to: Option<Cow<'a, str>>,
    variation_id: Option<Id>,
    #[serde(borrow)]
    variations: Option<Vec<Named<'a>>>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Serialize)]
struct ActionData<'a> {
    action_type: &'a str,
    resource_id: Id,
    version: u64,
    wallet_id: Id,
    signer: Address,
    batch_number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    template_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variation_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<usize>,
}

impl Logged<'_> {
    /// What its events report.
    pub fn event_type(&self) -> EventType {
        spec(&self.action.kind).event
    }

    /// How many events it makes: one, or one for each variation.
    pub fn event_count(&self) -> u32 {
        match self.event_type() {
            EventType::VariationCreated => {
                self.reported().variations.map_or(1, |many| many.len()) as u32
            }
            _ => 1,
        }
    }

    fn reported(&self) -> Reported<'_> {
        // The rules accepted the payload, so if it cannot be read it has no such members.
        serde_json::from_str(&self.action.payload).unwrap_or_default()
    }

    /// The object that it acted on or made.
    pub fn object_id(&self) -> Option<Id> {
        let resource = self.action.resource;
        (resource.prefix == Prefix::Object).then_some(resource)
    }

    /// The template of its object, or the one that it acted on or made.
    pub fn template_id<F: Facts>(&self, facts: &F) -> Result<Option<Id>, F::Error> {
        let resource = self.action.resource;
        match (&self.action.kind, resource.prefix) {
            (Kind::Mint, _) => Ok(Id::parse_as(Prefix::Template, &self.action.target).ok()),
            (_, Prefix::Object) => facts.template_of(resource),
            (_, Prefix::Template) => Ok(Some(resource)),
            _ => Ok(None),
        }
    }

    /// The wallet that owns the object from here on, if that is new.
    fn owner_id<F: Facts>(
        &self,
        reported: &Reported<'_>,
        facts: &F,
    ) -> Result<Option<Id>, F::Error> {
        let to = match (&self.action.kind, reported.to.as_deref()) {
            (Kind::Mint, None) => return Ok(Some(self.wallet_id)),
            (Kind::Mint | Kind::Transfer, Some(to)) => to,
            _ => return Ok(None),
        };
        match to.parse::<Address>() {
            Ok(address) => facts.wallet_of(address),
            Err(_) => Ok(Id::parse_as(Prefix::Wallet, to).ok()),
        }
    }

    /// The `index`-th event of the action, which has this content.
    pub fn event<F: Facts>(
        &self,
        content: &Hash,
        index: u32,
        facts: &F,
    ) -> Result<Event, F::Error> {
        let action = self.action;
        let reported = self.reported();
        let event_type = self.event_type();
        let template_id = self.template_id(facts)?;
        let mut data = ActionData {
            action_type: action.kind.text(),
            resource_id: action.resource,
            version: action.version,
            wallet_id: self.wallet_id,
            signer: self.signer,
            batch_number: self.batch_number,
            template_id,
            variation_id: None,
            owner_id: self.owner_id(&reported, facts)?,
            name: None,
            digest: None,
            payload: None,
            payload_bytes: None,
        };
        match event_type {
            EventType::VariationCreated => {
                data.variation_id = Some(Id::made_by(Prefix::Variation, content, index));
                let listed = reported
                    .variations
                    .as_ref()
                    .and_then(|many| many.get(index as usize));
                data.name = listed
                    .map(|one| one.name.as_ref())
                    .or(reported.name.as_deref());
            }
            EventType::FileCreated => {
                data.name = Some(&action.target);
                data.digest = Some(&action.payload);
            }
            EventType::TemplateCreated => data.name = reported.name.as_deref(),
            EventType::ObjectCreated => data.variation_id = reported.variation_id,
            _ => {}
        }
        let repeats = action.kind.is_bus() || event_type == EventType::TemplateCreated;
        if repeats && action.payload.len() <= EVENT_PAYLOAD_BYTES_MAX {
            data.payload = serde_json::from_str(&action.payload).ok();
        } else if repeats {
            data.payload_bytes = Some(action.payload.len());
        }
        Ok(Event {
            id: event_id(content, index),
            event_type,
            position: Position {
                sequence: self.sequence,
                index,
            },
            timestamp_ms: self.timestamp_ms,
            organization_id: Some(self.organization_id),
            object_id: self.object_id(),
            template_id,
            action_id: Some(Id::of_hash(Prefix::Action, content)),
            data: json(&data),
        })
    }
}

fn json<T: Serialize>(data: &T) -> String {
    serde_json::to_string(data).expect("texts, numbers and checked JSON are always written")
}

#[derive(Serialize)]
struct BatchData {
    batch_id: Id,
    number: u64,
    first_sequence: u64,
    last_sequence: u64,
    action_count: u32,
    head: Hash,
    merkle_root: Hash,
}

/// The event that a batch was sealed.
pub fn batch_sealed(batch: &SignedBatch) -> Event {
    let header = &batch.header;
    let data = BatchData {
        batch_id: batch.id(),
        number: header.number,
        first_sequence: header.first_sequence,
        last_sequence: header.last_sequence(),
        action_count: header.count,
        head: header.head,
        merkle_root: header.root,
    };
    Event {
        id: event_id(&header.hash(), 0),
        event_type: EventType::BatchSealed,
        position: Position {
            sequence: header.last_sequence(),
            index: Position::BATCH,
        },
        timestamp_ms: header.sealed_at_ms,
        organization_id: None,
        object_id: None,
        template_id: None,
        action_id: None,
        data: json(&data),
    }
}

/// A refused action.
#[derive(Clone, Copy, Debug)]
pub struct Failed<'a> {
    /// Its kind.
    pub kind: &'a Kind,
    /// Its target, as signed.
    pub target: &'a str,
    /// Its index in the request.
    pub index: u16,
    /// How many actions the request held.
    pub request_actions: usize,
    /// All or none: nothing of the request was done.
    pub atomic: bool,
    /// Its action hash, which the signature covers.
    pub action_hash: Hash,
    /// Why.
    pub refusal: &'a Refusal,
}

#[derive(Serialize)]
struct FailedData<'a> {
    action_type: &'a str,
    target: Cow<'a, str>,
    index: u16,
    request_actions: usize,
    atomic: bool,
    action_hash: Hash,
    code: &'static str,
    message: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<Cow<'a, str>>,
}

/// The first characters of a text that may be of any length.
fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(EVENT_TEXT_CHARS_MAX) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

impl Failed<'_> {
    /// The object that it named.
    pub fn object_id(&self) -> Option<Id> {
        Id::parse_as(Prefix::Object, self.target).ok()
    }

    /// The template that it named.
    pub fn template_id(&self) -> Option<Id> {
        Id::parse_as(Prefix::Template, self.target).ok()
    }

    /// The event's data.
    pub fn data(&self) -> String {
        let message = self.refusal.message();
        let pointer = match self.refusal {
            Refusal::Invalid(fields) => fields.first().map(|field| shortened(&field.pointer)),
            _ => None,
        };
        json(&FailedData {
            action_type: self.kind.text(),
            target: shortened(self.target),
            index: self.index,
            request_actions: self.request_actions,
            atomic: self.atomic,
            action_hash: self.action_hash,
            code: self.refusal.code(),
            message: shortened(&message),
            pointer,
        })
    }
}

#[cfg(test)]
mod tests;
