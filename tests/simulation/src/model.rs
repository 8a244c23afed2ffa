//! Second implementation of the rules, as simple as possible: valid actions of a log, and the state they leave. It
//! shares no code with the core's rules.

use std::collections::{BTreeMap, BTreeSet};

use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::ObjectStatus;
use kedge_protocol::{Address, Id};
use kedge_storage::StoreSnapshot;
use serde_json::{Map, Value};

use crate::client::ObjectCondition;
use crate::plan::Violation;
use crate::webhooks::WebhookHistories;

#[derive(Debug)]
struct ModelObject {
    owner: Id,
    status: ObjectStatus,
    version: u64,
    properties: Map<String, Value>,
}

#[derive(Debug)]
struct ModelTemplate {
    max_supply: Option<u64>,
    minted: u64,
}

/// The state after a log.
#[derive(Default, Debug)]
pub(crate) struct LogModel {
    objects: BTreeMap<Id, ModelObject>,
    templates: BTreeMap<Id, ModelTemplate>,
    wallets: BTreeMap<Id, Address>,
    nonces: BTreeMap<Address, BTreeSet<u64>>,
    pub(crate) webhooks: WebhookHistories,
}

type ModelCheck = Result<(), String>;

fn ensure(holds: bool, what: &str) -> ModelCheck {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

fn id(text: &str) -> Result<Id, String> {
    text.parse().map_err(|_| format!("{text} is no id"))
}

impl LogModel {
    /// Applies a request of the log.
    pub(crate) fn apply(
        &mut self,
        record: &RequestRecord<'_>,
        only_if: Option<ObjectCondition>,
    ) -> Result<(), Violation> {
        let sequence = record.first_sequence;
        let at = |what| {
            Violation::new(
                &format!("the model refuses what the log holds at {sequence}"),
                what,
            )
        };
        let spent = self.nonces.entry(record.head.signer).or_default();
        if !spent.insert(record.head.nonce) {
            return Err(at("the nonce is spent".to_owned()));
        }
        if let Some(only_if) = only_if {
            let version = self
                .objects
                .get(&only_if.object)
                .map(|object| object.version);
            let holds = version == Some(only_if.expected.version);
            ensure(holds, "the object is not in the expected state").map_err(at)?;
        }
        for (sequence, action) in (sequence..).zip(&record.actions) {
            self.action((sequence, record.wallet_id), record.head.signer, action)
                .map_err(|what| at(format!("{}: {what}", action.kind.text())))?;
        }
        Ok(())
    }

    fn action(
        &mut self,
        (at, asker): (u64, Id),
        signer: Address,
        action: &ActionRecord<'_>,
    ) -> ModelCheck {
        let kind = action.kind.text();
        let text = match &*action.payload {
            "" => "null",
            text => text,
        };
        let payload: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if self.webhooks.apply(at, action, &payload) {
            return Ok(());
        }
        match kind {
            "wallet.register" => {
                ensure(!self.wallets.contains_key(&asker), "the wallet exists")?;
                self.wallets.insert(asker, signer);
                Ok(())
            }
            "template.create" => {
                let template = ModelTemplate {
                    max_supply: payload["max_supply"].as_u64(),
                    minted: 0,
                };
                let other = self.templates.insert(action.resource, template);
                ensure(other.is_none(), "the template exists")
            }
            "mint" => {
                let template = self.templates.get_mut(&id(&action.target)?);
                let template = template.ok_or("there is no such template")?;
                template.minted += 1;
                let max = template.max_supply.unwrap_or(u64::MAX);
                ensure(template.minted <= max, "the supply is used up")?;
                let object = ModelObject {
                    owner: asker,
                    status: ObjectStatus::Active,
                    version: 1,
                    properties: Map::new(),
                };
                let other = self.objects.insert(action.resource, object);
                ensure(other.is_none() && action.version == 1, "the object exists")
            }
            _ => self.change(asker, kind, action, &payload),
        }
    }

    fn change(
        &mut self,
        asker: Id,
        kind: &str,
        action: &ActionRecord<'_>,
        payload: &Value,
    ) -> ModelCheck {
        let target = id(&action.target)?;
        let object = self
            .objects
            .get_mut(&target)
            .ok_or("there is no such object")?;
        object.version += 1;
        ensure(action.resource == target, "it acts on another object")?;
        ensure(action.version == object.version, "the version has a gap")?;
        ensure(object.owner == asker, "the object is not the asker's")?;
        let needed = match kind {
            "unlock" => ObjectStatus::Locked,
            _ => ObjectStatus::Active,
        };
        ensure(object.status == needed, "the object's status forbids it")?;
        match kind {
            "update" => {
                let patch = payload["properties"].as_object().ok_or("no properties")?;
                object.properties.extend(patch.clone());
            }
            "transfer" => {
                let to = id(payload["to"].as_str().unwrap_or_default())?;
                ensure(self.wallets.contains_key(&to), "there is no such wallet")?;
                object.owner = to;
            }
            "lock" => object.status = ObjectStatus::Locked,
            "unlock" => object.status = ObjectStatus::Active,
            "burn" => object.status = ObjectStatus::Burned,
            _ => return Err("nobody asked for such a kind".to_owned()),
        }
        Ok(())
    }

    /// Remaining supply of a template; `None` for no limit.
    pub(crate) fn left(&self, template: Id) -> Option<u64> {
        let template = self.templates.get(&template)?;
        Some(template.max_supply? - template.minted)
    }

    /// All templates, in the order of their ids.
    pub(crate) fn templates(&self) -> impl Iterator<Item = Id> {
        self.templates.keys().copied()
    }

    /// Live objects with their owners.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (Id, Id)> {
        let live = |object: &&ModelObject| object.status != ObjectStatus::Burned;
        let objects = self.objects.iter().filter(move |(_, object)| live(object));
        objects.map(|(id, object)| (*id, object.owner))
    }

    /// Compares the store's rows with the model.
    pub(crate) fn compare(&self, snapshot: &StoreSnapshot) -> Result<(), Violation> {
        let unread = |error| Violation::new("a row cannot be read", error);
        let differs = |id: &Id| Err(Violation::new("a row differs from the model", id));
        for (id, object) in &self.objects {
            let Some(stored) = snapshot.object(*id).map_err(unread)? else {
                return differs(id);
            };
            let properties = serde_json::from_str::<Map<String, Value>>(&stored.properties);
            let same = stored.owner_id == object.owner
                && stored.status == object.status
                && stored.trace.version == object.version
                && properties.ok().as_ref() == Some(&object.properties);
            if !same {
                return differs(id);
            }
        }
        for (id, template) in &self.templates {
            if snapshot.minted(*id).map_err(unread)? != template.minted {
                return differs(id);
            }
        }
        for (id, address) in &self.wallets {
            let stored = snapshot.wallet_by_address(*address).map_err(unread)?;
            if stored.is_none_or(|wallet| wallet.id != *id) {
                return differs(id);
            }
        }
        for (signer, spent) in &self.nonces {
            let window = snapshot.nonces(*signer).map_err(unread)?;
            if spent.last() != Some(&window.highest()) {
                return Err(Violation::new(
                    "a nonce window differs from the model",
                    signer,
                ));
            }
        }
        Ok(())
    }
}
