//! The oracle: the service's promises, as maps and JSON values. It shares no rule with the server and uses only the
//! protocol's ids and hashes.

use std::collections::{BTreeMap, HashMap};

use kedge_protocol::chain::next_integrity;
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::{Map, Value};

pub(crate) type Properties = Map<String, Value>;

/// A code of the API; the rest of the refusal is not modelled.
pub(crate) type Code = &'static str;

const INVALID: Code = "VALIDATION_ERROR";
const NOT_FOUND: Code = "RESOURCE_NOT_FOUND";
const FORBIDDEN: Code = "FORBIDDEN";
const STATE: Code = "STATE_VIOLATION";
const CONFLICT: Code = "CONFLICT";
const PRECONDITION: Code = "PRECONDITION_FAILED";

/// One action in its signed form.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    pub(crate) kind: &'static str,
    pub(crate) target: String,
    pub(crate) payload: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Wallet {
    pub(crate) id: String,
    pub(crate) organization: String,
    pub(crate) address: String,
    /// Owner or admin of the organization.
    pub(crate) administers: bool,
}

/// A resource's own history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    pub(crate) version: u64,
    pub(crate) integrity: Hash,
    pub(crate) sequence: u64,
}

const NEW: Trace = Trace {
    version: 0,
    integrity: Hash::ZERO,
    sequence: 0,
};

impl Trace {
    fn extend(&mut self, at: &At) {
        self.version += 1;
        self.integrity = next_integrity(&self.integrity, &at.content);
        self.sequence = at.sequence;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) organization: String,
    pub(crate) name: String,
    pub(crate) properties: Properties,
    pub(crate) supply: Option<u64>,
    pub(crate) rules: BTreeMap<String, String>,
    pub(crate) public: bool,
    pub(crate) variations: Vec<String>,
    pub(crate) minted: u64,
    pub(crate) trace: Trace,
}

#[derive(Clone, Debug)]
pub(crate) struct Variation {
    pub(crate) template: String,
    pub(crate) name: String,
    pub(crate) properties: Properties,
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) organization: String,
    pub(crate) template: String,
    pub(crate) variation: Option<String>,
    pub(crate) serial: u64,
    pub(crate) owner: usize,
    pub(crate) properties: Properties,
    pub(crate) status: &'static str,
    pub(crate) trace: Trace,
}

/// An action's content, and its position in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) content: Hash,
    pub(crate) sequence: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// The resource whose history was extended.
    pub(crate) resource: String,
    pub(crate) before: Trace,
    pub(crate) after: Trace,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    pub(crate) wallets: Vec<Wallet>,
    pub(crate) templates: HashMap<String, Template>,
    pub(crate) variations: HashMap<String, Variation>,
    pub(crate) objects: HashMap<String, Object>,
}

/// A state, with a request's changes that do not count yet.
pub(crate) struct Attempt<'a> {
    base: &'a State,
    changes: Changes,
}

#[derive(Default)]
pub(crate) struct Changes {
    templates: HashMap<String, Template>,
    variations: HashMap<String, Variation>,
    objects: HashMap<String, Object>,
}

/// RFC 7396, section 2: null removes, objects merge, everything else replaces.
pub(crate) fn merge_patch(target: Option<&Value>, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut merged = match target {
        Some(Value::Object(target)) => target.clone(),
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            merged.remove(name);
        } else {
            let inner = merge_patch(merged.get(name), value);
            merged.insert(name.clone(), inner);
        }
    }
    Value::Object(merged)
}

fn merged(target: &Properties, patch: &Properties) -> Properties {
    let target = Value::Object(target.clone());
    match merge_patch(Some(&target), &Value::Object(patch.clone())) {
        Value::Object(merged) => merged,
        other => unreachable!("an object patched with an object is one: {other}"),
    }
}

/// The payload's members; no others than `known` are allowed.
fn members<'a>(payload: &'a Value, known: &[&str]) -> Result<&'a Properties, Code> {
    let members = payload.as_object().ok_or(INVALID)?;
    let strange = members.keys().any(|name| !known.contains(&name.as_str()));
    if strange { Err(INVALID) } else { Ok(members) }
}

fn object_member(members: &Properties, name: &str) -> Result<Option<Properties>, Code> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object.clone())),
        Some(_) => Err(INVALID),
    }
}

/// The tag in `If-Match` for a state of an object.
pub(crate) fn entity_tag(trace: &Trace) -> String {
    let integrity = trace.integrity.to_string();
    format!("\"{}.{}\"", trace.version, &integrity[2..18])
}

impl State {
    pub(crate) fn attempt(&self) -> Attempt<'_> {
        Attempt {
            base: self,
            changes: Changes::default(),
        }
    }

    pub(crate) fn apply(&mut self, changes: Changes) {
        self.templates.extend(changes.templates);
        self.variations.extend(changes.variations);
        self.objects.extend(changes.objects);
    }

    /// The object, if the wallet may see it.
    pub(crate) fn visible(&self, id: &str, wallet: &Wallet) -> Option<&Object> {
        let object = self.objects.get(id)?;
        let own = object.organization == wallet.organization
            || self.wallets[object.owner].id == wallet.id;
        let public = || self.templates[&object.template].public;
        (own || public()).then_some(object)
    }
}

impl<'a> Attempt<'a> {
    pub(crate) fn into_changes(self) -> Changes {
        self.changes
    }

    fn template(&self, id: &str) -> Option<&Template> {
        let changed = self.changes.templates.get(id);
        changed.or_else(|| self.base.templates.get(id))
    }

    fn wallet_named(&self, text: &str) -> Result<usize, Code> {
        let wallets = &self.base.wallets;
        let found = wallets
            .iter()
            .position(|wallet| wallet.id == text || wallet.address == text);
        let well_formed = text.starts_with("0x") || text.starts_with("wal_");
        found.ok_or(if well_formed { NOT_FOUND } else { INVALID })
    }

    /// Does one action for a wallet, on the state after the request's earlier ones.
    pub(crate) fn act(
        &mut self,
        caller: usize,
        act: &Act,
        if_match: Option<&str>,
        at: At,
    ) -> Result<Effect, Code> {
        let base: &'a State = self.base;
        let caller_wallet = &base.wallets[caller];
        match act.kind {
            "template.create" => self.create_template(caller_wallet, &act.payload, at),
            "template.variations" => self.vary(caller_wallet, act, at),
            "mint" => self.mint(caller, act, at),
            _ => self.on_object(caller, act, if_match, at),
        }
    }

    fn create_template(
        &mut self,
        caller: &Wallet,
        payload: &Value,
        at: At,
    ) -> Result<Effect, Code> {
        if !caller.administers {
            return Err(FORBIDDEN);
        }
        let name = payload["name"].as_str().ok_or(INVALID)?.to_owned();
        let taken = self
            .base
            .templates
            .values()
            .any(|known| known.organization == caller.organization && known.name == name);
        if taken {
            return Err(CONFLICT);
        }
        let rules = payload["actions"].as_array().into_iter().flatten();
        let rule = |rule: &Value| {
            let text = |member: &str| rule[member].as_str().unwrap().to_owned();
            (text("kind"), text("who"))
        };
        let mut template = Template {
            organization: caller.organization.clone(),
            name,
            properties: payload["properties"]
                .as_object()
                .cloned()
                .unwrap_or_default(),
            supply: payload["max_supply"].as_u64(),
            rules: rules.map(rule).collect(),
            public: payload["public_access"] == true,
            variations: Vec::new(),
            minted: 0,
            trace: NEW,
        };
        template.trace.extend(&at);
        let resource = Id::made_by(Prefix::Template, &at.content, 0).to_string();
        let after = template.trace;
        self.changes.templates.insert(resource.clone(), template);
        Ok(Effect {
            resource,
            before: NEW,
            after,
        })
    }

    fn vary(&mut self, caller: &Wallet, act: &Act, at: At) -> Result<Effect, Code> {
        let mut template = self.template(&act.target).ok_or(NOT_FOUND)?.clone();
        if template.organization != caller.organization {
            return Err(if template.public {
                FORBIDDEN
            } else {
                NOT_FOUND
            });
        }
        if !caller.administers {
            return Err(FORBIDDEN);
        }
        let listed = act.payload["variations"].as_array().ok_or(INVALID)?;
        if listed.is_empty() {
            return Err(INVALID);
        }
        for (index, variation) in (0..).zip(listed) {
            let id = Id::made_by(Prefix::Variation, &at.content, index).to_string();
            template.variations.push(id.clone());
            let variation = Variation {
                template: act.target.clone(),
                name: variation["name"].as_str().ok_or(INVALID)?.to_owned(),
                properties: variation["properties"]
                    .as_object()
                    .cloned()
                    .unwrap_or_default(),
            };
            self.changes.variations.insert(id, variation);
        }
        let before = template.trace;
        template.trace.extend(&at);
        let after = template.trace;
        self.changes.templates.insert(act.target.clone(), template);
        Ok(Effect {
            resource: act.target.clone(),
            before,
            after,
        })
    }

    fn mint(&mut self, caller: usize, act: &Act, at: At) -> Result<Effect, Code> {
        let base = self.base;
        let wallet = &base.wallets[caller];
        let known = ["template_id", "variation_id", "properties", "to"];
        let payload = members(&act.payload, &known)?;
        let template = self.template(&act.target).ok_or(NOT_FOUND)?.clone();
        let issues = template.organization == wallet.organization;
        if !issues && !template.public {
            return Err(NOT_FOUND);
        }
        let may = match template.rules.get("mint").map_or("issuer", String::as_str) {
            "anyone" => true,
            "issuer" => issues && wallet.administers,
            // An object that does not exist yet has no owner.
            _ => false,
        };
        if !may {
            return Err(FORBIDDEN);
        }
        let own = object_member(payload, "properties")?;
        let mut properties = template.properties.clone();
        let variation = payload.get("variation_id").and_then(Value::as_str);
        if let Some(id) = variation {
            let found = base.variations.get(id);
            let found = found.filter(|variation| variation.template == act.target);
            properties = merged(&properties, &found.ok_or(NOT_FOUND)?.properties);
        }
        if let Some(own) = own {
            properties = merged(&properties, &own);
        }
        let owner = match payload.get("to").and_then(Value::as_str) {
            Some(to) => self.wallet_named(to)?,
            None => caller,
        };
        if template
            .supply
            .is_some_and(|supply| template.minted >= supply)
        {
            return Err(STATE);
        }
        let mut object = Object {
            organization: template.organization.clone(),
            template: act.target.clone(),
            variation: variation.map(str::to_owned),
            serial: template.minted + 1,
            owner,
            properties,
            status: "active",
            trace: NEW,
        };
        object.trace.extend(&at);
        let resource = Id::made_by(Prefix::Object, &at.content, 0).to_string();
        let after = object.trace;
        self.changes.objects.insert(resource.clone(), object);
        let minted = Template {
            minted: template.minted + 1,
            ..template
        };
        self.changes.templates.insert(act.target.clone(), minted);
        Ok(Effect {
            resource,
            before: NEW,
            after,
        })
    }

    fn on_object(
        &mut self,
        caller: usize,
        act: &Act,
        if_match: Option<&str>,
        at: At,
    ) -> Result<Effect, Code> {
        let base = self.base;
        let wallet = &base.wallets[caller];
        let changed = self.changes.objects.get(&act.target);
        let found = changed.or_else(|| base.objects.get(&act.target));
        let mut object = found.ok_or(NOT_FOUND)?.clone();
        let template = self.template(&object.template).ok_or(NOT_FOUND)?;
        let owns = object.owner == caller;
        let issues = template.organization == wallet.organization;
        if !(owns || issues || template.public) {
            return Err(NOT_FOUND);
        }
        let default = (!act.kind.starts_with("x.")).then_some("owner");
        let who = template.rules.get(act.kind).map(String::as_str).or(default);
        let may = match who {
            Some("anyone") => true,
            Some("issuer") => issues && wallet.administers,
            Some(_) => owns,
            None => false,
        };
        if !may {
            return Err(FORBIDDEN);
        }
        let fits = match object.status {
            "active" => act.kind != "unlock",
            "locked" => act.kind == "unlock",
            _ => false,
        };
        if !fits {
            return Err(STATE);
        }
        self.change(&mut object, act)?;
        let before = object.trace;
        if if_match.is_some_and(|tag| tag != entity_tag(&before)) {
            return Err(PRECONDITION);
        }
        object.trace.extend(&at);
        let after = object.trace;
        self.changes.objects.insert(act.target.clone(), object);
        Ok(Effect {
            resource: act.target.clone(),
            before,
            after,
        })
    }

    fn change(&self, object: &mut Object, act: &Act) -> Result<(), Code> {
        match act.kind {
            "update" => {
                let payload = members(&act.payload, &["properties"])?;
                if let Some(patch) = object_member(payload, "properties")? {
                    object.properties = merged(&object.properties, &patch);
                }
            }
            "set_attributes" => {
                let payload = members(&act.payload, &["attributes"])?;
                let values = object_member(payload, "attributes")?.ok_or(INVALID)?;
                object.properties.extend(values);
            }
            "delete_attributes" => {
                let payload = members(&act.payload, &["attributes"])?;
                let names = payload.get("attributes").and_then(Value::as_array);
                for name in names.ok_or(INVALID)? {
                    object.properties.remove(name.as_str().ok_or(INVALID)?);
                }
            }
            "transfer" => {
                let to = members(&act.payload, &["to"])?.get("to");
                object.owner = self.wallet_named(to.and_then(Value::as_str).ok_or(INVALID)?)?;
            }
            "lock" | "unlock" | "burn" => {
                members(&act.payload, &[])?;
                object.status = match act.kind {
                    "lock" => "locked",
                    "unlock" => "active",
                    _ => "burned",
                };
            }
            // Events: they change nothing.
            _ => {}
        }
        Ok(())
    }
}
