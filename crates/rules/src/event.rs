//! The events of an action, a batch or a failure. An event of the log is a function of its record and of facts that
//! never change, so every read of the log yields the same event and none is stored.

use std::borrow::Cow;

use kedge_protocol::action::Kind;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::event::{EventPosition, EventType, event_id};
use kedge_protocol::limits::{EVENT_PAYLOAD_BYTES_MAX, EVENT_TEXT_CHARS_MAX};
use kedge_protocol::record::ActionRecord;
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::refusal::Refusal;

/// An event, serialized as the API and webhooks show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The same on every read.
    pub id: Id,
    pub event_type: EventType,
    /// Position in the order of all events.
    pub position: EventPosition,
    /// When it happened, milliseconds.
    pub timestamp_ms: u64,
    /// The acting organization; `None` if the event concerns every organization.
    pub organization_id: Option<Id>,
    /// The object of the action, existing or new.
    pub object_id: Option<Id>,
    /// The template of that object, or the template of the action. Not serialized.
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

/// Lookups for events. All facts are final before the action that needs them.
pub trait EventFacts {
    type Error;
    /// Template of an object.
    fn template_of(&self, object: Id) -> Result<Option<Id>, Self::Error>;
    /// Wallet of an address.
    fn wallet_of(&self, address: Address) -> Result<Option<Id>, Self::Error>;
}

/// An action of the log with the facts of its request.
#[derive(Clone, Copy, Debug)]
pub struct LoggedAction<'a> {
    pub action: &'a ActionRecord<'a>,
    /// Its place in the log.
    pub sequence: u64,
    /// When it was placed, Unix milliseconds.
    pub timestamp_ms: u64,
    /// The batch that holds it.
    pub batch_number: u64,
    /// Organization of the requesting wallet.
    pub organization_id: Id,
    pub wallet_id: Id,
    pub signer: Address,
}

/// The members of payloads that events repeat; no others appear in events.
#[derive(Deserialize, Default)]
struct ReportedMembers<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    to: Option<Cow<'a, str>>,
    variation_id: Option<Id>,
    #[serde(borrow)]
    variations: Option<Vec<EventVariation<'a>>>,
}

#[derive(Deserialize)]
struct EventVariation<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Serialize)]
struct ActionEventBody<'a> {
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

impl LoggedAction<'_> {
    pub fn event_type(&self) -> EventType {
        self.action.kind.spec().event
    }

    /// Number of its events: one, or one for each variation.
    pub fn event_count(&self) -> u32 {
        match self.event_type() {
            EventType::VariationCreated => {
                self.reported().variations.map_or(1, |many| many.len()) as u32
            }
            _ => 1,
        }
    }

    fn reported(&self) -> ReportedMembers<'_> {
        // The rules accepted the payload, so if it cannot be read it has no such members.
        serde_json::from_str(&self.action.payload).unwrap_or_default()
    }

    /// Id of the object of the action, existing or new.
    pub fn object_id(&self) -> Option<Id> {
        let resource = self.action.resource;
        (resource.prefix == Prefix::Object).then_some(resource)
    }

    /// Template of its object, or the template of the action.
    pub fn template_id<F: EventFacts>(&self, facts: &F) -> Result<Option<Id>, F::Error> {
        let resource = self.action.resource;
        match (&self.action.kind, resource.prefix) {
            (Kind::Mint, _) => Ok(Id::parse_as(Prefix::Template, &self.action.target).ok()),
            (_, Prefix::Object) => facts.template_of(resource),
            (_, Prefix::Template) => Ok(Some(resource)),
            _ => Ok(None),
        }
    }

    /// The new owner of the object, if the action sets one.
    fn owner_id<F: EventFacts>(
        &self,
        reported: &ReportedMembers<'_>,
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

    /// The `index`-th event of the action with this content.
    pub fn event<F: EventFacts>(
        &self,
        content: &Hash,
        index: u32,
        facts: &F,
    ) -> Result<Event, F::Error> {
        let action = self.action;
        let reported = self.reported();
        let event_type = self.event_type();
        let template_id = self.template_id(facts)?;
        let mut data = ActionEventBody {
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
            position: EventPosition {
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
struct BatchEventBody {
    batch_id: Id,
    number: u64,
    first_sequence: u64,
    last_sequence: u64,
    action_count: u32,
    head: Hash,
    merkle_root: Hash,
}

/// The event of a sealed batch.
pub fn batch_sealed(batch: &SignedBatch) -> Event {
    let header = &batch.header;
    let data = BatchEventBody {
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
        position: EventPosition {
            sequence: header.last_sequence(),
            index: EventPosition::BATCH,
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
pub struct RefusalEvent<'a> {
    pub kind: &'a Kind,
    pub target: &'a str,
    /// Index in the request.
    pub index: u16,
    /// Number of actions in the request.
    pub request_actions: usize,
    /// The request is all or none, so none of its actions was done.
    pub atomic: bool,
    /// Action hash, which the signature covers.
    pub action_hash: Hash,
    pub refusal: &'a Refusal,
}

#[derive(Serialize)]
struct RefusalEventBody<'a> {
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

/// Cuts a text of unbounded length.
fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(EVENT_TEXT_CHARS_MAX) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

impl RefusalEvent<'_> {
    /// The object that it names.
    pub fn object_id(&self) -> Option<Id> {
        Id::parse_as(Prefix::Object, self.target).ok()
    }

    /// The template that it names.
    pub fn template_id(&self) -> Option<Id> {
        Id::parse_as(Prefix::Template, self.target).ok()
    }

    /// Data of its event.
    pub fn data(&self) -> String {
        let message = self.refusal.message();
        let pointer = match self.refusal {
            Refusal::Invalid(fields) => fields.first().map(|field| shortened(&field.pointer)),
            _ => None,
        };
        json(&RefusalEventBody {
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
