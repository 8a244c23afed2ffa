//! Attempted actions, and the texts to be signed for them.

use std::collections::BTreeMap;

use kedge_protocol::action::Kind;
use kedge_protocol::resource::Who;
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde_json::{Value, json};

use crate::model::{Model, Properties, VariationModel};
use crate::world::Words;

/// An attempted action. Numbers are indices of existing resources; one past the end is an unknown resource.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Register {
        key: u8,
        email: u8,
    },
    Template {
        name: u8,
        properties: Properties,
        supply: Option<u64>,
        rules: BTreeMap<u8, Who>,
        public: bool,
    },
    Variations {
        template: usize,
        properties: Vec<Properties>,
    },
    Mint {
        template: usize,
        variation: Option<usize>,
        properties: Properties,
        to: Option<usize>,
    },
    Update {
        object: usize,
        patch: Properties,
    },
    Set {
        object: usize,
        values: Properties,
    },
    Delete {
        object: usize,
        keys: Vec<String>,
    },
    Transfer {
        object: usize,
        to: usize,
    },
    Plain {
        object: usize,
        kind: u8,
    },
}

/// The kinds that a template may name, by number.
pub(crate) const KINDS: [&str; 10] = [
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
];

pub(crate) fn kind(number: u8) -> Kind {
    Kind::of_text(KINDS[usize::from(number)]).unwrap()
}

pub(crate) fn email(number: u8) -> String {
    format!("wallet{number}@example.com")
}

fn somebody(prefix: Prefix) -> String {
    Id::made_by(prefix, &Hash([0xee; 32]), 9).to_string()
}

fn rules_of(rules: &BTreeMap<u8, Who>) -> Vec<Value> {
    rules
        .iter()
        .map(|(kind, who)| json!({ "kind": KINDS[usize::from(*kind)], "who": who }))
        .collect()
}

fn variations_payload(properties: &[Properties]) -> Value {
    let variations: Vec<Value> = properties
        .iter()
        .map(|properties| json!({ "name": "v", "properties": properties }))
        .collect();
    json!({ "variations": variations })
}

impl Model {
    /// Id of the `index`-th of `ids`, or of an unknown resource.
    fn text<T>(items: &[T], index: usize, prefix: Prefix, id: impl Fn(&T) -> Id) -> String {
        let index = index % (items.len() + 1);
        items
            .get(index)
            .map_or_else(|| somebody(prefix), |item| id(item).to_string())
    }

    fn object_text(&self, index: usize) -> String {
        Self::text(&self.objects, index, Prefix::Object, |object| object.id)
    }

    fn template_text(&self, index: usize) -> String {
        Self::text(&self.templates, index, Prefix::Template, |template| {
            template.id
        })
    }

    /// Every other wallet is named by its address.
    fn wallet_text(&self, index: usize) -> String {
        let index = index % (self.wallets.len() + 1);
        match self.wallets.get(index) {
            Some(wallet) if index % 2 == 1 => wallet.address.to_string(),
            Some(wallet) => wallet.id.to_string(),
            None => somebody(Prefix::Wallet),
        }
    }

    fn mint_payload(
        &self,
        variation: Option<usize>,
        properties: &Properties,
        to: Option<usize>,
    ) -> Value {
        let mut payload = json!({ "properties": properties });
        if let Some(variation) = variation {
            let id = |variation: &VariationModel| variation.id;
            let text = Self::text(&self.variations, variation, Prefix::Variation, id);
            payload["variation_id"] = text.into();
        }
        if let Some(to) = to {
            payload["to"] = self.wallet_text(to).into();
        }
        payload
    }

    /// The texts to be signed for an attempt.
    pub(crate) fn words(&self, op: &Op, address: impl Fn(u8) -> Address) -> Words {
        let (kind, target, payload) = match op {
            Op::Register { key, email: number } => (
                Kind::WalletRegister,
                String::new(),
                json!({ "email": email(*number), "address": address(*key) }),
            ),
            Op::Template {
                name,
                properties,
                supply,
                rules,
                public,
            } => {
                let payload = json!({
                    "name": format!("template {name}"), "properties": properties,
                    "max_supply": supply, "actions": rules_of(rules), "public_access": public,
                });
                (Kind::TemplateCreate, String::new(), payload)
            }
            Op::Variations {
                template,
                properties,
            } => (
                Kind::TemplateVariations,
                self.template_text(*template),
                variations_payload(properties),
            ),
            Op::Mint {
                template,
                variation,
                properties,
                to,
            } => (
                Kind::Mint,
                self.template_text(*template),
                self.mint_payload(*variation, properties, *to),
            ),
            Op::Update { object, patch } => (
                Kind::Update,
                self.object_text(*object),
                json!({ "properties": patch }),
            ),
            Op::Set { object, values } => (
                Kind::SetAttributes,
                self.object_text(*object),
                json!({ "attributes": values }),
            ),
            Op::Delete { object, keys } => (
                Kind::DeleteAttributes,
                self.object_text(*object),
                json!({ "attributes": keys }),
            ),
            Op::Transfer { object, to } => {
                let payload = json!({ "to": self.wallet_text(*to) });
                (Kind::Transfer, self.object_text(*object), payload)
            }
            Op::Plain {
                object,
                kind: number,
            } => (kind(*number), self.object_text(*object), json!({})),
        };
        Words {
            kind,
            target,
            payload: payload.to_string(),
        }
    }
}
