//! The model: the service's promises in plain data structures and JSON values, without any code under test.

use std::collections::BTreeMap;

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{ObjectStatus, ResourceTrace, Who};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::Refusal;
use serde_json::{Map, Value, json};

use crate::attempts::{KINDS, Op, email};
use crate::world::{Place, Words};

pub(crate) type Properties = Map<String, Value>;

/// Why an action is refused, as far as the model knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    NotFound,
    Forbidden,
    State,
    Conflict,
    EmailTaken,
    Other,
}

impl From<&Refusal> for Why {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::NotFound { .. } => Self::NotFound,
            Refusal::Forbidden(_) => Self::Forbidden,
            Refusal::State(_) => Self::State,
            Refusal::Conflict(_) => Self::Conflict,
            Refusal::EmailTaken => Self::EmailTaken,
            _ => Self::Other,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct WalletModel {
    pub(crate) id: Id,
    pub(crate) organization: Id,
    pub(crate) address: Address,
    pub(crate) email: String,
    pub(crate) trace: ResourceTrace,
    /// Trace of the organization that was made with the wallet.
    pub(crate) organization_trace: ResourceTrace,
}

#[derive(Clone, Debug)]
pub(crate) struct TemplateModel {
    pub(crate) id: Id,
    pub(crate) organization: Id,
    pub(crate) name: String,
    pub(crate) properties: Properties,
    pub(crate) supply: Option<u64>,
    pub(crate) rules: BTreeMap<u8, Who>,
    pub(crate) public: bool,
    pub(crate) variations: u64,
    pub(crate) minted: u64,
    pub(crate) trace: ResourceTrace,
}

#[derive(Clone, Debug)]
pub(crate) struct VariationModel {
    pub(crate) id: Id,
    pub(crate) template: Id,
    pub(crate) index: u64,
    pub(crate) properties: Properties,
}

#[derive(Clone, Debug)]
pub(crate) struct ObjectModel {
    pub(crate) id: Id,
    pub(crate) template: Id,
    pub(crate) variation: Option<Id>,
    pub(crate) owner: Id,
    pub(crate) properties: Properties,
    pub(crate) status: ObjectStatus,
    pub(crate) trace: ResourceTrace,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Model {
    pub(crate) wallets: Vec<WalletModel>,
    pub(crate) templates: Vec<TemplateModel>,
    pub(crate) variations: Vec<VariationModel>,
    pub(crate) objects: Vec<ObjectModel>,
}

/// Place and content of an action to be placed.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) content: Hash,
    pub(crate) sequence: u64,
    pub(crate) time_ms: u64,
}

/// RFC 7396, following its pseudo-code.
pub(crate) fn merge(target: &mut Properties, patch: &Properties) {
    for (key, value) in patch {
        match value {
            Value::Null => drop(target.remove(key)),
            Value::Object(inner) => {
                let entry = target.entry(key.clone()).or_insert(Value::Null);
                if !entry.is_object() {
                    *entry = json!({});
                }
                if let Value::Object(entry) = entry {
                    merge(entry, inner);
                }
            }
            other => drop(target.insert(key.clone(), other.clone())),
        }
    }
}

/// Appends an action to a resource's history; returns the record's statement about it.
fn extend(id: Id, trace: &mut ResourceTrace, at: At) -> Place {
    let place = Place {
        resource: id,
        version: trace.version + 1,
        previous_integrity: trace.integrity,
        previous_sequence: trace.sequence,
    };
    trace.version += 1;
    let joined = [trace.integrity.0, at.content.0].concat();
    trace.integrity = kedge_protocol::hash::keccak(&joined);
    if trace.version == 1 {
        (trace.created_sequence, trace.created_at_ms) = (at.sequence, at.time_ms);
    }
    (trace.sequence, trace.updated_at_ms) = (at.sequence, at.time_ms);
    place
}

impl Model {
    fn wallet_named(&self, text: &str) -> Option<&WalletModel> {
        let named = |wallet: &&WalletModel| {
            wallet.id.to_string() == text || wallet.address.to_string() == text
        };
        self.wallets.iter().find(named)
    }

    /// Applies `words` for the wallet `by`, or returns why not; then nothing has changed.
    pub(crate) fn act(
        &mut self,
        op: &Op,
        words: &Words,
        by: usize,
        at: At,
        signer: Address,
    ) -> Result<Place, Why> {
        if let Op::Register { email: number, .. } = op {
            return self.register(email(*number), signer, at);
        }
        let by = self.wallets[by].clone();
        let payload: Value = serde_json::from_str(&words.payload).unwrap();
        match op {
            Op::Template {
                properties,
                supply,
                rules,
                public,
                ..
            } => {
                let name = payload["name"].as_str().unwrap().to_owned();
                let same = |t: &TemplateModel| t.organization == by.organization && t.name == name;
                if self.templates.iter().any(same) {
                    return Err(Why::Conflict);
                }
                let mut template = TemplateModel {
                    id: Id::made_by(Prefix::Template, &at.content, 0),
                    organization: by.organization,
                    name,
                    properties: properties.clone(),
                    supply: *supply,
                    rules: rules.clone(),
                    public: *public,
                    variations: 0,
                    minted: 0,
                    trace: ResourceTrace::NEW,
                };
                let place = extend(template.id, &mut template.trace, at);
                self.templates.push(template);
                Ok(place)
            }
            Op::Variations { properties, .. } => {
                self.variations(&words.target, properties, &by, at)
            }
            Op::Mint { properties, .. } => self.mint(&words.target, &payload, properties, &by, at),
            _ => self.on_object(op, words, &payload, &by, at),
        }
    }

    fn register(&mut self, email: String, address: Address, at: At) -> Result<Place, Why> {
        if self.wallets.iter().any(|wallet| wallet.address == address) {
            return Err(Why::Conflict);
        }
        if self.wallets.iter().any(|wallet| wallet.email == email) {
            return Err(Why::EmailTaken);
        }
        let mut wallet = WalletModel {
            id: Id::made_by(Prefix::Wallet, &at.content, 0),
            organization: Id::made_by(Prefix::Organization, &at.content, 1),
            address,
            email,
            trace: ResourceTrace::NEW,
            organization_trace: ResourceTrace::NEW,
        };
        let place = extend(wallet.id, &mut wallet.trace, at);
        // The second resource of one action starts from the content and its own index.
        let second =
            kedge_protocol::hash::keccak(&[&at.content.0[..], &1_u32.to_be_bytes()].concat());
        wallet.organization_trace = ResourceTrace {
            integrity: kedge_protocol::hash::keccak(&[[0; 32], second.0].concat()),
            ..wallet.trace
        };
        self.wallets.push(wallet);
        Ok(place)
    }

    fn variations(
        &mut self,
        target: &str,
        all: &[Properties],
        by: &WalletModel,
        at: At,
    ) -> Result<Place, Why> {
        let found = self
            .templates
            .iter_mut()
            .find(|template| template.id.to_string() == target);
        let template = found.ok_or(Why::NotFound)?;
        if template.organization != by.organization {
            return Err(if template.public {
                Why::Forbidden
            } else {
                Why::NotFound
            });
        }
        for (number, properties) in (0u32..).zip(all) {
            self.variations.push(VariationModel {
                id: Id::made_by(Prefix::Variation, &at.content, number),
                template: template.id,
                index: template.variations,
                properties: properties.clone(),
            });
            template.variations += 1;
        }
        Ok(extend(template.id, &mut template.trace, at))
    }

    fn mint(
        &mut self,
        target: &str,
        payload: &Value,
        own: &Properties,
        by: &WalletModel,
        at: At,
    ) -> Result<Place, Why> {
        let named = |template: &TemplateModel| template.id.to_string() == target;
        let index = self.templates.iter().position(named).ok_or(Why::NotFound)?;
        let template = &self.templates[index];
        let issuer = template.organization == by.organization;
        if !issuer && !template.public {
            return Err(Why::NotFound);
        }
        // A new object has no owner yet.
        let may = match template.rules.get(&0).unwrap_or(&Who::Issuer) {
            Who::Anyone => true,
            Who::Issuer => issuer,
            Who::Owner => false,
        };
        if !may {
            return Err(Why::Forbidden);
        }
        let mut properties = template.properties.clone();
        let mut of_variation = None;
        if let Some(text) = payload["variation_id"].as_str() {
            let same = |v: &&VariationModel| v.id.to_string() == text && v.template == template.id;
            let variation = self.variations.iter().find(same).ok_or(Why::NotFound)?;
            merge(&mut properties, &variation.properties);
            of_variation = Some(variation.id);
        }
        merge(&mut properties, own);
        let owner = match payload["to"].as_str() {
            Some(to) => self.wallet_named(to).ok_or(Why::NotFound)?.id,
            None => by.id,
        };
        if template
            .supply
            .is_some_and(|supply| template.minted >= supply)
        {
            return Err(Why::State);
        }
        let mut object = ObjectModel {
            id: Id::made_by(Prefix::Object, &at.content, 0),
            template: template.id,
            variation: of_variation,
            owner,
            properties,
            status: ObjectStatus::Active,
            trace: ResourceTrace::NEW,
        };
        self.templates[index].minted += 1;
        let place = extend(object.id, &mut object.trace, at);
        self.objects.push(object);
        Ok(place)
    }

    fn on_object(
        &mut self,
        op: &Op,
        words: &Words,
        payload: &Value,
        by: &WalletModel,
        at: At,
    ) -> Result<Place, Why> {
        let named = |object: &ObjectModel| object.id.to_string() == words.target;
        let index = self.objects.iter().position(named).ok_or(Why::NotFound)?;
        let object = &self.objects[index];
        let template = self
            .templates
            .iter()
            .find(|t| t.id == object.template)
            .unwrap();
        let owns = object.owner == by.id;
        let issuer = template.organization == by.organization;
        if !(owns || issuer || template.public) {
            return Err(Why::NotFound);
        }
        let number = KINDS
            .iter()
            .position(|text| *text == words.kind.text())
            .unwrap() as u8;
        let default = (number != 9).then_some(&Who::Owner);
        let may = match template.rules.get(&number).or(default) {
            None => false,
            Some(Who::Anyone) => true,
            Some(Who::Owner) => owns,
            Some(Who::Issuer) => issuer,
        };
        if !may {
            return Err(Why::Forbidden);
        }
        let unlocks = words.kind == Kind::Unlock;
        if object.status == ObjectStatus::Burned
            || (object.status == ObjectStatus::Locked) != unlocks
        {
            return Err(Why::State);
        }
        let mut next = object.clone();
        match op {
            Op::Update { patch, .. } => merge(&mut next.properties, patch),
            Op::Set { values, .. } => next.properties.extend(values.clone()),
            Op::Delete { keys, .. } => next.properties.retain(|key, _| !keys.contains(key)),
            Op::Transfer { .. } => {
                let to = payload["to"].as_str().unwrap();
                next.owner = self.wallet_named(to).ok_or(Why::NotFound)?.id;
            }
            _ => match words.kind {
                Kind::Lock => next.status = ObjectStatus::Locked,
                Kind::Unlock => next.status = ObjectStatus::Active,
                Kind::Burn => next.status = ObjectStatus::Burned,
                _ => {}
            },
        }
        let place = extend(next.id, &mut next.trace, at);
        self.objects[index] = next;
        Ok(place)
    }
}
