//! The clients' plans: random requests on known resources, some of them wrong on purpose.

use kedge_protocol::action::Kind;
use serde_json::{Map, Value, json};

use crate::oracle::{Act, Properties, Wallet};
use crate::support::Rng;

/// The way in which a request is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// `POST /ebus/actions`
    Single,
    /// `POST /ebus/actions/batch`
    Batch { atomic: bool },
    /// The endpoint of the resource: the body is the payload.
    Resource,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) caller: usize,
    pub(crate) form: Form,
    pub(crate) acts: Vec<Act>,
    pub(crate) if_match: Option<String>,
}

/// Knowledge of the clients, from acknowledged requests only.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) wallets: Vec<Wallet>,
    /// Templates, with the organization of each.
    pub(crate) templates: Vec<(String, String)>,
    /// Variations, with the template of each.
    pub(crate) variations: Vec<(String, String)>,
    pub(crate) objects: Vec<String>,
    /// Entity tags of objects, as received: some are outdated by now.
    pub(crate) tags: Vec<(String, String)>,
}

/// Objects that most requests concern, so that they conflict.
const HOT_OBJECTS: u64 = 6;
const TEMPLATES_MAX: usize = 14;
const KINDS: [&str; 11] = [
    "mint",
    "update",
    "transfer",
    "lock",
    "unlock",
    "burn",
    "set_attributes",
    "delete_attributes",
    "emit",
    "x.use",
    "x.other",
];
const NAMES: [&str; 5] = ["a", "b", "c", "deep", "\u{e4} \"\\"];

fn chance(rng: &mut Rng, one_in: u64) -> bool {
    rng.below(one_in) == 0
}

fn stranger(prefix: &str, rng: &mut Rng) -> String {
    format!("{prefix}_{:026}", rng.below(1_000_000_000))
}

fn value(rng: &mut Rng, depth: u64) -> Value {
    match rng.below(if depth == 0 { 5 } else { 7 }) {
        0 => json!(rng.below(1_000)),
        1 => json!("x".repeat(rng.below(40) as usize)),
        2 => json!(chance(rng, 2)),
        3 => json!([rng.below(10), { "in": null }]),
        4 => Value::Null,
        _ => Value::Object(object(rng, depth - 1)),
    }
}

/// Members with arbitrary values, including null.
fn object(rng: &mut Rng, depth: u64) -> Properties {
    let count = rng.below(4);
    let member = |_| (rng.pick(&NAMES).to_owned(), value(rng, depth));
    (0..count).map(member).collect()
}

impl Known {
    fn object(&self, rng: &mut Rng) -> String {
        let count = self.objects.len() as u64;
        if count == 0 || chance(rng, 60) {
            return stranger("obj", rng);
        }
        if chance(rng, 2) {
            // The newest objects: each is hot for a while, then others are.
            let back = rng.below(HOT_OBJECTS.min(count));
            return self.objects[(count - 1 - back) as usize].clone();
        }
        rng.pick(&self.objects)
    }

    fn template(&self, rng: &mut Rng) -> String {
        if self.templates.is_empty() || chance(rng, 60) {
            return stranger("tpl", rng);
        }
        rng.pick(&self.templates).0
    }

    fn wallet_text(&self, rng: &mut Rng) -> String {
        match rng.below(40) {
            0 => stranger("wal", rng),
            1 => "nobody".to_owned(),
            number => {
                let wallet = rng.pick(&self.wallets);
                if number % 2 == 0 {
                    wallet.id
                } else {
                    wallet.address
                }
            }
        }
    }

    fn mint(&self, rng: &mut Rng, as_body: bool) -> Act {
        let target = self.template(rng);
        let mut payload = Map::new();
        if as_body || chance(rng, 4) {
            payload.insert("template_id".to_owned(), json!(target));
        }
        if chance(rng, 2) {
            payload.insert("properties".to_owned(), object(rng, 2).into());
        }
        let of_template = self.variations.iter().filter(|(_, of)| *of == target);
        let of_template: Vec<&(String, String)> = of_template.collect();
        if !of_template.is_empty() && chance(rng, 2) {
            payload.insert("variation_id".to_owned(), json!(rng.pick(&of_template).0));
        } else if !self.variations.is_empty() && chance(rng, 20) {
            // Mostly one of another template.
            payload.insert(
                "variation_id".to_owned(),
                json!(rng.pick(&self.variations).0),
            );
        }
        if chance(rng, 3) {
            payload.insert("to".to_owned(), json!(self.wallet_text(rng)));
        }
        Act {
            kind: "mint",
            target,
            payload: payload.into(),
        }
    }

    /// An action of the bus.
    fn act(&self, rng: &mut Rng) -> Act {
        let kind = match rng.below(24) {
            0..=3 => return self.mint(rng, false),
            4..=10 => "update",
            11..=13 => "transfer",
            14 | 15 => "lock",
            16..=18 => "unlock",
            19 if chance(rng, 4) => "burn",
            19 | 20 => "set_attributes",
            21 => "delete_attributes",
            22 => "emit",
            _ => rng.pick(&["x.use", "x.other"]),
        };
        let payload = match kind {
            "update" if chance(rng, 30) => json!({ "properties": 7 }),
            "update" if chance(rng, 30) => json!({ "properties": {}, "strange": 1 }),
            "update" => json!({ "properties": object(rng, 2) }),
            "transfer" => json!({ "to": self.wallet_text(rng) }),
            "set_attributes" if chance(rng, 20) => json!({}),
            "set_attributes" => json!({ "attributes": object(rng, 1) }),
            "delete_attributes" => {
                let count = rng.below(3);
                let names: Vec<&str> = (0..count).map(|_| rng.pick(&NAMES)).collect();
                json!({ "attributes": names })
            }
            "lock" if chance(rng, 30) => json!({ "why": "no member is known" }),
            "emit" | "x.use" | "x.other" => json!({ "reported": rng.below(100) }),
            _ => json!({}),
        };
        Act {
            kind,
            target: self.object(rng),
            payload,
        }
    }

    fn new_template(rng: &mut Rng) -> Act {
        let mut rules = Vec::new();
        for kind in KINDS {
            let who = match (kind, rng.below(6)) {
                ("mint", 0..=3) | (_, 0 | 3) => "anyone",
                ("x.use", _) | (_, 1) => "owner",
                (_, 2) => "issuer",
                _ => continue,
            };
            rules.push(json!({ "kind": kind, "who": who }));
        }
        let mut payload = json!({
            "name": format!("template {}", rng.below(30)),
            "properties": { "made": rng.below(100), "deep": { "a": 1, "b": [1] } },
            "actions": rules,
            "public_access": !chance(rng, 4),
        });
        if chance(rng, 3) {
            payload["max_supply"] = json!(1 + rng.below(40));
        }
        Act {
            kind: "template.create",
            target: String::new(),
            payload,
        }
    }

    fn new_variations(&self, rng: &mut Rng) -> Act {
        let count = 1 + rng.below(3);
        let variation =
            |_| json!({ "name": format!("v{}", rng.next()), "properties": object(rng, 2) });
        let variations: Vec<Value> = (0..count).map(variation).collect();
        Act {
            kind: "template.variations",
            target: self.template(rng),
            payload: json!({ "variations": variations }),
        }
    }

    /// `If-Match`: usually none, else of this object, or one that never matches.
    fn condition(&self, rng: &mut Rng, object: &str) -> Option<String> {
        if !chance(rng, 3) {
            return None;
        }
        let newest = self.tags.iter().rev().find(|(of, _)| of == object);
        match newest {
            Some((_, tag)) if !chance(rng, 8) => Some(tag.clone()),
            _ => Some("\"1.00000000000000ff\"".to_owned()),
        }
    }

    /// A request by this wallet.
    pub(crate) fn plan(&self, rng: &mut Rng, caller: usize) -> Plan {
        let few_templates = self.templates.len() < TEMPLATES_MAX;
        let mut if_match = None;
        let (form, acts) = match rng.below(40) {
            0 | 1 if few_templates => (Form::Resource, vec![Self::new_template(rng)]),
            2 => (Form::Resource, vec![self.new_variations(rng)]),
            3..=5 => (Form::Resource, vec![self.mint(rng, true)]),
            6..=12 => {
                let target = self.object(rng);
                if_match = self.condition(rng, &target);
                let payload = json!({ "properties": object(rng, 2) });
                let act = Act {
                    kind: "update",
                    target,
                    payload,
                };
                (Form::Resource, vec![act])
            }
            13..=15 => {
                let target = self.object(rng);
                if_match = self.condition(rng, &target);
                let payload = json!({ "to": self.wallet_text(rng) });
                let act = Act {
                    kind: "transfer",
                    target,
                    payload,
                };
                (Form::Resource, vec![act])
            }
            16..=25 => {
                let atomic = chance(rng, 2);
                let most = if chance(rng, 6) { 30 } else { 5 };
                let count = 1 + rng.below(most);
                let mut acts: Vec<Act> = (0..count).map(|_| self.act(rng)).collect();
                if chance(rng, 3) {
                    // All on one object, each on the state after the one before.
                    let target = self.object(rng);
                    for act in acts.iter_mut().filter(|act| act.kind != "mint") {
                        act.target.clone_from(&target);
                    }
                }
                (Form::Batch { atomic }, acts)
            }
            _ => (Form::Single, vec![self.act(rng)]),
        };
        Plan {
            caller,
            form,
            acts,
            if_match,
        }
    }
}

#[test]
fn every_kind_of_the_bus_is_tried() {
    for kind in Kind::BUILT_IN.iter().filter(|kind| kind.is_bus()) {
        assert!(KINDS.contains(&kind.text()), "{} is missing", kind.text());
    }
}
