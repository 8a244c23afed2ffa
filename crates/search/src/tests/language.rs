//! Reference evaluator of filters, independent of the search.

use std::cmp::Ordering;

use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Id, Prefix};

use super::model::{OBJECTS, WALLETS};
use super::store::{address, id, template, time_ms, wallet};
use super::values::{Rng, V};

/// An object and its values in the model.
pub(super) struct Known {
    pub(super) object: Object,
    pub(super) values: Vec<(&'static str, V)>,
}

impl Known {
    pub(super) fn value(&self, path: &str) -> Option<&V> {
        let found = self.values.iter().find(|(known, _)| *known == path);
        found.map(|(_, value)| value)
    }
}

/// The paths in filter syntax.
pub(super) const PATHS: [&str; 5] = ["price", "name", "size.w", "tag", r"na\.me"];

const ORDERED: [&str; 4] = ["gt", "gte", "lt", "lte"];

/// A condition of the model.
#[derive(Clone, Debug)]
pub(super) enum F {
    And(Vec<F>),
    Or(Vec<F>),
    Not(Box<F>),
    Ids(&'static str, &'static str, Vec<Id>),
    Address(u64),
    Status(&'static str, Vec<ObjectStatus>),
    /// A condition on version or sequence.
    Number(&'static str, &'static str, V),
    /// Times in microseconds.
    Time(&'static str, &'static str, Vec<u64>),
    /// A condition on a field that every object has, or on the variation.
    Exists(&'static str, bool),
    Property(&'static str, &'static str, Vec<V>),
}

impl F {
    pub(super) fn random(rng: &mut Rng, depth: u64) -> Self {
        let nodes = |rng: &mut Rng| -> Vec<Self> {
            (0..rng.below(4))
                .map(|_| Self::random(rng, depth - 1))
                .collect()
        };
        match rng.below(if depth == 0 { 9 } else { 15 }) {
            0 => {
                let templates = (0..=rng.below(3)).map(|_| template(1 + rng.below(6)));
                let templates = templates.collect();
                Self::of(rng, "template_id", templates)
            }
            1 => {
                let (field, ids) = match rng.below(3) {
                    0 => ("owner_id", vec![wallet(1 + rng.below(WALLETS + 1))]),
                    1 => ("variation_id", vec![id(Prefix::Variation, rng.below(3))]),
                    _ => (
                        "id",
                        (0..3)
                            .map(|_| id(Prefix::Object, rng.below(OBJECTS)))
                            .collect(),
                    ),
                };
                Self::of(rng, field, ids)
            }
            2 => match rng.below(4) {
                0 => Self::Address(1 + rng.below(WALLETS + 1)),
                1 => {
                    let op = rng.pick(&["eq", "ne", "in"]);
                    let count = if op == "in" { rng.below(3) } else { 1 };
                    let all = [
                        ObjectStatus::Active,
                        ObjectStatus::Locked,
                        ObjectStatus::Burned,
                    ];
                    Self::Status(op, (0..count).map(|_| rng.pick(&all)).collect())
                }
                2 => Self::Exists(
                    rng.pick(&["variation_id", "owner_id", "created_at"]),
                    rng.one_in(2),
                ),
                _ => {
                    let sequence = rng.below(OBJECTS).cast_signed();
                    let (field, value) = rng.pick(&[
                        ("version", V::Number(1, 0)),
                        ("version", V::Number(15, 1)),
                        ("sequence", V::Number(sequence, 0)),
                        ("sequence", V::Huge(1)),
                    ]);
                    Self::Number(field, rng.pick(&["eq", "gt", "lte"]), value)
                }
            },
            3 => {
                let field = rng.pick(&["created_at", "created_at", "updated_at"]);
                let op = rng.pick(&["eq", "ne", "in", "gt", "gte", "lt", "lte"]);
                let count = if op == "in" { rng.below(3) } else { 1 };
                let times = (0..count)
                    .map(|_| time_ms(rng.below(OBJECTS + 9)) * 1_000 + rng.below(2) * 500);
                Self::Time(field, op, times.collect())
            }
            4..=8 => Self::random_property(rng),
            9..=11 => Self::And(nodes(rng)),
            12 => Self::Or(nodes(rng)),
            _ => Self::Not(Box::new(Self::random(rng, depth - 1))),
        }
    }

    /// A condition on an id.
    fn of(rng: &mut Rng, field: &'static str, mut ids: Vec<Id>) -> Self {
        let op = rng.pick(&["in", "in", "eq", "eq", "ne"]);
        if op != "in" {
            ids.truncate(1);
        }
        Self::Ids(field, op, ids)
    }

    fn random_property(rng: &mut Rng) -> Self {
        let path = rng.pick(&PATHS);
        let op = rng.pick(&[
            "eq", "ne", "in", "gt", "gte", "lt", "lte", "exists", "prefix", "contains",
        ]);
        let text = |rng: &mut Rng| loop {
            if let V::Text(text) = V::random(rng, 0) {
                let kept = rng.below(1 + text.chars().count() as u64) as usize;
                break V::Text(text.chars().take(kept).collect());
            }
        };
        let values = match op {
            "in" => (0..rng.below(4)).map(|_| V::random(rng, 0)).collect(),
            "exists" => vec![V::Bool(rng.one_in(2))],
            "prefix" => vec![text(rng)],
            "contains" if rng.one_in(2) => vec![text(rng)],
            op if ORDERED.contains(&op) => loop {
                let value = V::random(rng, 0);
                if matches!(value, V::Number(..) | V::Huge(_) | V::Text(_)) {
                    break vec![value];
                }
            },
            _ => vec![V::random(rng, 0)],
        };
        Self::Property(path, op, values)
    }

    pub(super) fn json(&self, rng: &mut Rng) -> String {
        let condition = |field: &str, op: &str, value: String| {
            let field = serde_json::Value::from(field);
            format!(r#"{{"field":{field},"op":"{op}","value":{value}}}"#)
        };
        let list = |values: Vec<String>| format!("[{}]", values.join(", "));
        match self {
            Self::And(all) => format!(
                r#"{{"and": {}}}"#,
                list(all.iter().map(|f| f.json(rng)).collect())
            ),
            Self::Or(any) => format!(
                r#"{{"or":{}}}"#,
                list(any.iter().map(|f| f.json(rng)).collect())
            ),
            Self::Not(f) => format!(r#"{{"not":{}}}"#, f.json(rng)),
            Self::Ids(field, "in", ids) => condition(
                field,
                "in",
                list(ids.iter().map(|id| format!("\"{id}\"")).collect()),
            ),
            Self::Ids(field, op, ids) => condition(field, op, format!("\"{}\"", ids[0])),
            Self::Address(of) => condition("owner_address", "eq", format!("\"{}\"", address(*of))),
            Self::Status(op, any_of) => {
                let any_of = any_of.iter().map(|status| format!("{status:?}"));
                let any_of = any_of.map(|status| format!("\"{}\"", status.to_lowercase()));
                condition("status", op, one_or_list(op, &any_of.collect::<Vec<_>>()))
            }
            Self::Number(field, op, value) => condition(field, op, value.json(rng)),
            Self::Time(field, op, times) => {
                let times = times.iter().map(|us| {
                    let finer = format!("{:03}Z", us % 1_000);
                    format!("\"{}\"", rfc3339(us / 1_000).replace('Z', &finer))
                });
                condition(field, op, one_or_list(op, &times.collect::<Vec<_>>()))
            }
            Self::Exists(field, wanted) => condition(field, "exists", wanted.to_string()),
            Self::Property(path, "in", values) => {
                let values = values.iter().map(|value| value.json(rng)).collect();
                condition(&format!("properties.{path}"), "in", list(values))
            }
            Self::Property(path, op, values) => {
                condition(&format!("properties.{path}"), op, values[0].json(rng))
            }
        }
    }

    pub(super) fn holds(&self, known: &Known) -> bool {
        let object = &known.object;
        match self {
            Self::And(all) => all.iter().all(|f| f.holds(known)),
            Self::Or(any) => any.iter().any(|f| f.holds(known)),
            Self::Not(f) => !f.holds(known),
            Self::Ids(field, op, ids) => {
                let value = match *field {
                    "id" => Some(object.id),
                    "template_id" => Some(object.template_id),
                    "owner_id" => Some(object.owner_id),
                    _ => object.variation_id,
                };
                value.is_some_and(|value| ids.contains(&value)) != (*op == "ne")
            }
            Self::Address(of) => object.owner_address == address(*of),
            Self::Status(op, any_of) => any_of.contains(&object.status) != (*op == "ne"),
            Self::Number(field, op, value) => {
                let number = match *field {
                    "version" => object.trace.version,
                    _ => object.trace.sequence,
                };
                relation(op, V::Number(number.cast_signed(), 0).cmp(value))
            }
            Self::Time(field, op, times) => {
                let ms = match *field {
                    "created_at" => object.trace.created_at_ms,
                    _ => object.trace.updated_at_ms,
                };
                let us = ms * 1_000;
                match *op {
                    "eq" | "in" => times.contains(&us),
                    "ne" => !times.contains(&us),
                    op => relation(op, Some(us.cmp(&times[0]))),
                }
            }
            Self::Exists(field, wanted) => {
                let is_there = *field != "variation_id" || object.variation_id.is_some();
                is_there == *wanted
            }
            Self::Property(path, op, values) => property(known.value(path), op, values),
        }
    }

    /// Whether an object matches by its template, owner or id.
    pub(super) fn names(&self, known: &Known) -> bool {
        self.names_it(known, true)
    }

    /// The same for a condition that must be true or false.
    fn names_it(&self, known: &Known, wanted: bool) -> bool {
        let holds = |filter: &Self| filter.holds(known) == wanted;
        let names = |filter: &Self| filter.names_it(known, wanted);
        match self {
            Self::Not(inner) => inner.names_it(known, !wanted),
            Self::And(all) if wanted => all.iter().all(holds) && all.iter().any(names),
            Self::Or(any) if !wanted => any.iter().all(holds) && any.iter().any(names),
            Self::And(any) | Self::Or(any) => any.iter().any(names),
            Self::Ids(field, op, _) => {
                *field != "variation_id" && (*op != "ne") == wanted && holds(self)
            }
            Self::Address(_) => wanted && holds(self),
            _ => false,
        }
    }

    /// The only possible template.
    pub(super) fn template(&self, found: &mut Option<Vec<Id>>) {
        match self {
            Self::And(all) => all.iter().for_each(|f| f.template(found)),
            Self::Ids("template_id", "eq" | "in", ids) => {
                let mut both = ids.clone();
                if let Some(found) = found {
                    both.retain(|id| found.contains(id));
                }
                both.sort_unstable();
                both.dedup();
                *found = Some(both);
            }
            _ => {}
        }
    }
}

/// A condition's value: an array for `in`.
fn one_or_list(op: &str, values: &[String]) -> String {
    match op {
        "in" => format!("[{}]", values.join(",")),
        _ => values.concat(),
    }
}

fn relation(op: &str, order: Option<Ordering>) -> bool {
    order.is_some_and(|order| match op {
        "eq" => order.is_eq(),
        "gt" => order.is_gt(),
        "gte" => order.is_ge(),
        "lt" => order.is_lt(),
        _ => order.is_le(),
    })
}

fn property(value: Option<&V>, op: &str, wanted: &[V]) -> bool {
    let equals = |value: &V| {
        wanted
            .iter()
            .any(|wanted| value.cmp(wanted) == Some(Ordering::Equal))
    };
    match op {
        "exists" => matches!(wanted[0], V::Bool(true)) == value.is_some(),
        "ne" => !value.is_some_and(equals),
        "eq" | "in" => value.is_some_and(equals),
        "prefix" | "contains" => match (value, &wanted[0]) {
            (Some(V::Text(text)), V::Text(part)) if op == "prefix" => text.starts_with(part),
            (Some(V::Text(text)), V::Text(part)) => text.contains(part),
            (Some(V::List(values)), _) if op == "contains" => values.iter().any(equals),
            _ => false,
        },
        op => value.is_some_and(|value| relation(op, value.cmp(&wanted[0]))),
    }
}
