//! The oracle replays the acknowledged actions in sequence order, and must predict every answer of the server: actions
//! done, refusals and their codes, and reads.

use std::collections::{BTreeMap, BTreeSet};

use kedge_protocol::chain::next_head;
use kedge_protocol::eip712::Domain;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde_json::{Value, json};

use crate::clients::{Exchange, Fate, Reading};
use crate::oracle::{At, Effect, Object, State, Template, entity_tag};
use crate::plan::Form;

/// The clients' trust anchors.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    pub(crate) domain: Domain,
    pub(crate) sequencer: Address,
}

/// An action of the log, as known to its sender.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) sequence: u64,
    pub(crate) kind: &'static str,
    pub(crate) caller: usize,
    pub(crate) content: Hash,
    pub(crate) effect: Effect,
    /// The number of its events, and the organizations that receive them.
    pub(crate) events: usize,
    pub(crate) reported: Vec<String>,
    pub(crate) batch_number: u64,
    pub(crate) leaf: Hash,
    /// The log's head after it, if the answer contained it.
    pub(crate) head: Option<Hash>,
}

impl Logged {
    pub(crate) fn id(&self) -> String {
        Id::of_hash(Prefix::Action, &self.content).to_string()
    }
}

/// The oracle's results.
pub(crate) struct Replayed {
    pub(crate) state: State,
    pub(crate) log: Vec<Logged>,
    /// How many refusals and reads were predicted.
    pub(crate) refusals: u64,
    pub(crate) readings: u64,
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

/// An action's sequence in an answer: the bus states it with the action, a resource's endpoint in the receipt.
fn sequence_of(form: Form, reported: &Value) -> u64 {
    let value = match form {
        Form::Resource if reported["receipt"].is_object() && reported["action_type"].is_null() => {
            &reported["receipt"]["leaf"]["sequence"]
        }
        _ => &reported["sequence"],
    };
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no sequence: {reported}"))
}

/// The sequences of a request's done actions, which must be consecutive.
fn placed(exchange: &Exchange) -> Vec<u64> {
    let reported = exchange.fates.iter().filter_map(|fate| match fate {
        Fate::Done(reported) => Some(sequence_of(exchange.plan.form, reported)),
        _ => None,
    });
    let sequences: Vec<u64> = reported.collect();
    let joined = sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    assert!(
        joined,
        "a request's actions do not stand together: {sequences:?}"
    );
    sequences
}

/// The oracle's prediction for a request, without applying it.
fn foretell(state: &State, exchange: &Exchange, first: u64) -> Vec<Result<Effect, &'static str>> {
    let mut attempt = state.attempt();
    let mut sequence = first;
    let plan = &exchange.plan;
    let acts = plan.acts.iter().zip(&exchange.contents);
    let one = |(act, content): (_, &Hash)| {
        let at = At {
            content: *content,
            sequence,
        };
        let done = attempt.act(plan.caller, act, plan.if_match.as_deref(), at);
        sequence += u64::from(done.is_ok());
        done
    };
    acts.map(one).collect()
}

/// Whether the server's answer to a request that did nothing matches the oracle in this state.
fn agrees(state: &State, exchange: &Exchange) -> bool {
    let foretold = foretell(state, exchange, 0);
    if exchange.plan.form == (Form::Batch { atomic: true }) {
        let first = foretold.iter().position(Result::is_err);
        let reported = exchange
            .fates
            .iter()
            .position(|fate| matches!(fate, Fate::Refused(_)));
        return first == reported
            && first.is_some_and(|at| fits(&foretold[at], &exchange.fates[at]));
    }
    let mut pairs = foretold.iter().zip(&exchange.fates);
    pairs.all(|(foretold, fate)| fits(foretold, fate))
}

fn fits(foretold: &Result<Effect, &str>, fate: &Fate) -> bool {
    match (foretold, fate) {
        (Ok(_), Fate::Done(_)) | (Err(_), Fate::NotDone) => true,
        (Err(foretold), Fate::Refused(code)) => foretold == code,
        _ => false,
    }
}

/// A refusal or a read that waits for a state that explains it. Everything visible before it was sent counts; nothing
/// sent after its answer can.
struct Open<'a> {
    from: u64,
    until: u64,
    asked: Asked<'a>,
}

/// A request that was answered with a refusal.
#[derive(Clone, Copy, Debug)]
enum Asked<'a> {
    Change(&'a Exchange),
    Read(&'a Reading),
}

pub(crate) struct Replay<'a> {
    trust: Trust,
    state: State,
    log: Vec<Logged>,
    base: u64,
    /// The highest sequence of everything sent up to a moment.
    sent: BTreeMap<u64, u64>,
    exchanges: &'a [Exchange],
}

impl<'a> Replay<'a> {
    /// The log is at `base` before the first of these requests.
    pub(crate) fn new(trust: Trust, state: State, base: u64, exchanges: &'a [Exchange]) -> Self {
        let mut sent: BTreeMap<u64, u64> = BTreeMap::new();
        for exchange in exchanges {
            if let Some(last) = placed(exchange).last() {
                let highest = sent.entry(exchange.first_sent).or_default();
                *highest = (*highest).max(*last);
            }
        }
        let mut highest = base;
        for sequence in sent.values_mut() {
            highest = highest.max(*sequence);
            *sequence = highest;
        }
        Self {
            trust,
            state,
            log: Vec::new(),
            base,
            sent,
            exchanges,
        }
    }

    /// The highest sequence that an answer at this moment can reflect.
    fn until(&self, answered: u64) -> u64 {
        let last = self.sent.range(..answered).next_back();
        last.map_or(self.base, |(_, sequence)| *sequence)
    }

    /// The logged requests by their first sequences, and the refusals that need a state.
    fn asked(&self, readings: &'a [Reading]) -> (BTreeMap<u64, &'a Exchange>, Vec<Open<'a>>) {
        let mut in_log = BTreeMap::new();
        let mut open = Vec::new();
        for exchange in self.exchanges {
            if let Some(first) = placed(exchange).first() {
                let before = in_log.insert(*first, exchange);
                assert!(
                    before.is_none(),
                    "two requests at {first}: {before:?} and {exchange:?}"
                );
            } else if exchange
                .fates
                .iter()
                .any(|fate| matches!(fate, Fate::Refused(_)))
            {
                open.push(Open {
                    from: exchange.seen,
                    until: self.until(exchange.answered),
                    asked: Asked::Change(exchange),
                });
            }
        }
        for reading in readings
            .iter()
            .filter(|reading| reading.answer.status != 200)
        {
            assert_eq!(reading.answer.code(), "RESOURCE_NOT_FOUND", "{reading:?}");
            open.push(Open {
                from: reading.seen,
                until: self.until(reading.answered),
                asked: Asked::Read(reading),
            });
        }
        (in_log, open)
    }

    /// Walks through the log up to `end`; it must have no gaps.
    pub(crate) fn run(mut self, readings: &'a [Reading], end: u64) -> Replayed {
        let (in_log, mut open) = self.asked(readings);
        let (refusals, mut shown) = (open.len() as u64, 0);
        open.sort_by_key(|open| open.from);
        let mut open = open.into_iter().peekable();
        let mut active: Vec<Open<'_>> = Vec::new();
        let mut by_sequence: BTreeMap<u64, Vec<&Reading>> = BTreeMap::new();
        for reading in readings
            .iter()
            .filter(|reading| reading.answer.status == 200)
        {
            let at = reading.answer.sequence().unwrap();
            by_sequence.entry(at).or_default().push(reading);
        }
        let mut at = self.base;
        loop {
            let next = in_log
                .range(at + 1..)
                .next()
                .map(|(first, exchange)| (*first, *exchange));
            let state_until = next.map_or(end, |(first, _)| first - 1);
            assert_eq!(
                state_until, at,
                "what follows {at} in the log was acknowledged to nobody"
            );
            while open.peek().is_some_and(|open| open.from <= at) {
                active.extend(open.next());
            }
            active.retain(|open| !self.explains(open.asked));
            for reading in by_sequence.remove(&at).unwrap_or_default() {
                self.check_reading(reading);
                shown += 1;
            }
            if let Some(open) = active.iter().find(|open| open.until <= at) {
                self.unexplained(open, at);
            }
            let Some((first, exchange)) = next else { break };
            at = self.place(first, exchange);
        }
        assert!(
            by_sequence.is_empty(),
            "reads of states that never were: {by_sequence:?}"
        );
        Replayed {
            state: self.state,
            log: self.log,
            refusals,
            readings: shown,
        }
    }

    /// Whether the current state explains a refusal.
    fn explains(&self, asked: Asked<'_>) -> bool {
        match asked {
            Asked::Change(exchange) => agrees(&self.state, exchange),
            Asked::Read(reading) => {
                let wallet = &self.state.wallets[reading.reader];
                self.state.visible(&reading.object, wallet).is_none()
            }
        }
    }

    fn unexplained(&self, open: &Open<'_>, at: u64) -> ! {
        let (from, until) = (open.from, open.until);
        let exchange = match open.asked {
            Asked::Change(exchange) => exchange,
            Asked::Read(reading) => {
                panic!("no state from {from} to {until} hides this: {reading:?}")
            }
        };
        let plan = &exchange.plan;
        let mut story = String::new();
        let targets: BTreeSet<&str> = plan.acts.iter().map(|act| act.target.as_str()).collect();
        for target in targets {
            story += &format!("\n{target}: {:?}", self.state.objects.get(target));
            let history = self.log.iter();
            let history = history.filter(|logged| logged.effect.resource == target);
            for logged in history.rev().take(6) {
                story += &format!(
                    "\n    {} {} by {}",
                    logged.sequence, logged.kind, logged.caller
                );
            }
        }
        let foretold = foretell(&self.state, exchange, 0);
        panic!(
            "no state from {from} to {until} explains this answer\nrequest: {plan:?}\nanswer: {:?}\n\
             the oracle at {at}: {foretold:?}\nattempts: {}{story}",
            exchange.fates, exchange.attempts
        );
    }

    /// Applies a request; returns the sequence of its last action.
    fn place(&mut self, first: u64, exchange: &Exchange) -> u64 {
        let plan = &exchange.plan;
        let foretold = foretell(&self.state, exchange, first);
        for ((act, foretold), fate) in plan.acts.iter().zip(&foretold).zip(&exchange.fates) {
            assert!(
                fits(foretold, fate),
                "at {first} the oracle says {foretold:?}, the server {fate:?}\n{act:?}\n{:?}\nrequest: {plan:?}",
                self.state.objects.get(&act.target)
            );
        }
        let mut attempt = self.state.attempt();
        let mut sequence = first;
        for (act, content) in plan.acts.iter().zip(&exchange.contents) {
            let at = At {
                content: *content,
                sequence,
            };
            let done = attempt.act(plan.caller, act, plan.if_match.as_deref(), at);
            sequence += u64::from(done.is_ok());
        }
        let changes = attempt.into_changes();
        self.state.apply(changes);
        for (index, (foretold, fate)) in foretold.into_iter().zip(&exchange.fates).enumerate() {
            if let (Ok(effect), Fate::Done(reported)) = (foretold, fate) {
                self.log_action(exchange, index, effect, reported);
            }
        }
        self.check_receipts(exchange);
        sequence - 1
    }

    fn log_action(&mut self, exchange: &Exchange, index: usize, effect: Effect, reported: &Value) {
        let plan = &exchange.plan;
        let act = &plan.acts[index];
        let content = exchange.contents[index];
        let events = act.payload["variations"].as_array().map_or(1, Vec::len);
        let wallets = &self.state.wallets;
        let mut organizations = vec![wallets[plan.caller].organization.clone()];
        if let Some(object) = self.state.objects.get(&effect.resource) {
            organizations.push(object.organization.clone());
        }
        organizations.dedup();
        let of_bus = !reported["action_type"].is_null();
        let (leaf, head, batch_number) = if of_bus {
            assert_eq!(reported["content"], json!(content), "{reported}");
            assert_eq!(
                reported["previous_integrity"],
                json!(effect.before.integrity),
                "{reported}"
            );
            assert_eq!(
                reported["object_version"],
                json!(effect.after.version),
                "{reported}"
            );
            assert_eq!(
                reported["resource_id"],
                json!(effect.resource),
                "{reported}"
            );
            assert_eq!(reported["payload"], act.payload, "{reported}");
            let head = hash(&reported["head"]);
            (
                hash(&reported["leaf"]),
                Some(head),
                reported["batch_number"].as_u64().unwrap(),
            )
        } else {
            let receipt: Receipt = serde_json::from_value(reported["receipt"].clone()).unwrap();
            assert_eq!(
                receipt.leaf.previous_integrity, effect.before.integrity,
                "{reported}"
            );
            assert_eq!(receipt.leaf.integrity, effect.after.integrity, "{reported}");
            (
                receipt.leaf.hash().unwrap(),
                None,
                receipt.batch.header.number,
            )
        };
        if !of_bus && let Some(object) = self.state.objects.get(&effect.resource) {
            assert_object(&self.state, &effect.resource, object, reported);
        }
        self.log.push(Logged {
            sequence: effect.after.sequence,
            kind: act.kind,
            caller: plan.caller,
            content,
            effect,
            events,
            reported: organizations,
            batch_number,
            leaf,
            head,
        });
    }

    fn check_receipts(&self, exchange: &Exchange) {
        let Trust { domain, sequencer } = &self.trust;
        let done = exchange.fates.iter().zip(&exchange.contents);
        let done = done.filter_map(|(fate, content)| match fate {
            Fate::Done(reported) => Some((reported, *content)),
            _ => None,
        });
        let batch = exchange
            .body
            .as_ref()
            .filter(|body| body["results"].is_array());
        if let Some(body) = batch {
            let receipt: BatchReceipt = serde_json::from_value(body["receipt"].clone()).unwrap();
            let contents: Vec<Hash> = done.map(|(_, content)| content).collect();
            receipt.verify(domain, sequencer, &contents).unwrap();
            return;
        }
        for (reported, content) in done {
            let receipt: Receipt = serde_json::from_value(reported["receipt"].clone()).unwrap();
            receipt.verify(domain, sequencer).unwrap();
            assert_eq!(receipt.leaf.content, content);
        }
    }

    fn check_reading(&self, reading: &Reading) {
        let wallet = &self.state.wallets[reading.reader];
        let found = self.state.visible(&reading.object, wallet);
        let object = found.unwrap_or_else(|| panic!("shown, and not to be seen: {reading:?}"));
        assert!(
            reading.answer.sequence() >= Some(reading.seen),
            "an old state: {reading:?}"
        );
        assert!(self.until(reading.answered) >= object.trace.sequence);
        assert_object(&self.state, &reading.object, object, &reading.answer.body);
        let tag = entity_tag(&object.trace);
        assert_eq!(reading.answer.header("etag"), Some(tag.as_str()));
    }
}

/// Chains the leaves of the log onto a head; every reported head must occur on the way.
pub(crate) fn check_heads(log: &[Logged], mut head: Hash) -> Hash {
    for logged in log {
        head = next_head(&head, &logged.leaf);
        assert!(
            logged.head.is_none_or(|reported| reported == head),
            "{logged:?}: {head}"
        );
    }
    head
}

/// Checks that the server's view of an object matches the oracle's.
pub(crate) fn assert_object(state: &State, id: &str, object: &Object, shown: &Value) {
    let owner = &state.wallets[object.owner];
    let wanted = [
        ("id", json!(id)),
        ("organization_id", json!(object.organization)),
        ("template_id", json!(object.template)),
        ("variation_id", json!(object.variation)),
        ("serial", json!(object.serial)),
        ("owner_id", json!(owner.id)),
        ("owner_address", json!(owner.address)),
        ("properties", json!(object.properties)),
        ("status", json!(object.status)),
        ("version", json!(object.trace.version)),
        ("integrity_hash", json!(object.trace.integrity)),
        ("sequence", json!(object.trace.sequence)),
    ];
    for (member, wanted) in wanted {
        assert_eq!(shown[member], wanted, "{member} of {shown}");
    }
}

/// Checks that the server's view of a template matches the oracle's, by which so many of its objects are burned.
pub(crate) fn assert_template(id: &str, template: &Template, burned: usize, shown: &Value) {
    let wanted = [
        ("id", json!(id)),
        ("organization_id", json!(template.organization)),
        ("name", json!(template.name)),
        ("properties", json!(template.properties)),
        (
            "max_supply",
            json!(template.supply.map(|supply| supply.to_string())),
        ),
        ("minted_count", json!(template.minted)),
        ("burned_count", json!(burned)),
        ("variation_count", json!(template.variations.len())),
        ("public_access", json!(template.public)),
        ("version", json!(template.trace.version)),
        ("integrity_hash", json!(template.trace.integrity)),
        ("sequence", json!(template.trace.sequence)),
    ];
    for (member, wanted) in wanted {
        assert_eq!(shown[member], wanted, "{member} of {shown}");
    }
}
