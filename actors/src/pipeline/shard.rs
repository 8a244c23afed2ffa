//! A shard: the ractor actor that hosts a part of the object actors, by their identifiers. It gets one message for all
//! of a request's actions on its objects, so a batch of 500 costs a few messages. Each object's actor still decides
//! that object's actions one after the other. Mints create no actor. An atomic request with a refusal drops its
//! decisions in this shard immediately, before others depend on them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_protocol::action::Kind;
use kedge_protocol::chain::next_integrities;
use kedge_protocol::ids::IdMap;
use kedge_protocol::{Hash, Id};
use kedge_rules::world::StateUnavailable;
use kedge_rules::{ActionInput, Caller, IntegrityLink, Refusal, StepAllowance, World, object};
use kedge_runtime::env::Env;
use kedge_runtime::executor::StepScheduler;
use metrics::{Counter, Gauge};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::admission_pool::overloaded;
use super::catalog::RecentTemplate;
use super::decision::ActionDecision;
use super::effect::ActionEffect;
use super::messages::ShardMessage;
use super::object::{DecisionBasis, ObjectActor};
use super::proposal::{Proposal, ProposalPart};
use super::published_state::{StateReader, unavailable};
use super::refusal::ActionRefusal;
use super::rounds::rounds;
use crate::api::SubmissionError;
use crate::metric_definitions as metric;
use crate::overlay::StateVersion;

type LiveObjects = IdMap<Id, ObjectActor>;

/// Bound on the properties of live objects in one shard: an object may have a million bytes, so a bound on their number
/// is not enough.
const LIVE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Bytes of decisions that are reserved in one go.
const COUNTED_BYTES: usize = 64 * 1024;

/// Dependencies of a shard.
pub(crate) struct ShardOptions {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) index: usize,
    pub(crate) turns: StepScheduler,
    pub(crate) reader: StateReader,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) live_max: usize,
}

pub(crate) struct ShardActor;

pub(crate) struct ShardState {
    options: ShardOptions,
    live: LiveObjects,
    /// Approximate size of the live objects' properties; counted exactly at each sweep.
    live_bytes: usize,
    /// The template of the last action.
    recent: RecentTemplate,
    meters: ShardMetrics,
}

/// The shard's metrics, looked up once.
struct ShardMetrics {
    on_committed: Counter,
    on_overlay: Counter,
    minted: Counter,
    live: Gauge,
}

impl ShardMetrics {
    fn new(shard: usize) -> Self {
        let decisions =
            |basis| metrics::counter!(metric::DECISIONS, "actor" => "object", "basis" => basis);
        Self {
            on_committed: decisions("committed"),
            on_overlay: decisions("overlay"),
            minted: decisions("new"),
            live: metrics::gauge!(metric::OBJECT_ACTORS_LIVE, "shard" => shard.to_string()),
        }
    }

    fn add(&self, counts: &ShardCounts) {
        self.on_committed.increment(counts.on_committed);
        self.on_overlay.increment(counts.on_overlay);
        self.minted.increment(counts.minted);
    }
}

/// Counts of a part's decisions by the state they depend on.
#[derive(Default)]
struct ShardCounts {
    on_committed: u64,
    on_overlay: u64,
    minted: u64,
}

impl ShardCounts {
    fn count(&mut self, basis: DecisionBasis) {
        match basis {
            DecisionBasis::Committed => self.on_committed += 1,
            DecisionBasis::Overlay => self.on_overlay += 1,
        }
    }
}

impl Actor for ShardActor {
    type Msg = ShardMessage;
    type State = ShardState;
    type Arguments = ShardOptions;

    async fn pre_start(
        &self,
        _: ActorRef<ShardMessage>,
        options: ShardOptions,
    ) -> Result<ShardState, ActorProcessingErr> {
        Ok(ShardState {
            meters: ShardMetrics::new(options.index),
            options,
            live: LiveObjects::default(),
            live_bytes: 0,
            recent: None,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<ShardMessage>,
        message: ShardMessage,
        state: &mut ShardState,
    ) -> Result<(), ActorProcessingErr> {
        state.options.turns.before("shard").await;
        match message {
            ShardMessage::Decide { part, indices } => state.decide(part, &indices),
            ShardMessage::Drop { ticket, unit } => state.drop_unit(ticket, &unit),
        }
        Ok(())
    }
}

impl ShardState {
    fn decide(&mut self, part: ProposalPart, indices: &[u16]) {
        let unit = part.unit();
        if !unit.begin(self.options.env.now()) {
            return part.fail(SubmissionError::Waited);
        }
        let Some(caller) = unit.caller else {
            return part.fail(SubmissionError::Unavailable);
        };
        let mut minted = HashMap::new();
        let allowance = StepAllowance::default();
        let mut counts = ShardCounts::default();
        let mut decisions: Vec<ActionDecision> = Vec::with_capacity(indices.len());
        let ids: Vec<Option<Id>> = indices
            .iter()
            .map(|index| unit.parts.object(*index))
            .collect();
        // Bytes that are not reserved yet: a reservation for each decision would take a lock for each.
        let mut bytes = 0;
        for ((&index, id), link) in indices
            .iter()
            .zip(&ids)
            .zip(self.links(unit, indices, &ids))
        {
            let action = &unit.submission.actions[usize::from(index)];
            let input = ActionInput {
                link: Some(link),
                allowance: Some(&allowance),
                ..unit.input(action)
            };
            let decided = if action.kind == Kind::Mint {
                counts.minted += 1;
                self.mint(unit, &caller, &input, &mut minted)
            } else {
                let acted = self.act(unit, &caller, &input, *id, part.ticket());
                acted.map(|(decided, basis)| {
                    counts.count(basis);
                    decided
                })
            };
            bytes += decided.as_ref().map_or(0, ActionEffect::bytes);
            decisions.push((index, decided));
            if bytes >= COUNTED_BYTES && !unit.decided.grow(std::mem::take(&mut bytes)) {
                return self.refuse(part);
            }
        }
        self.meters.add(&counts);
        if !unit.decided.grow(bytes) {
            return self.refuse(part);
        }
        if unit.submission.head.atomic && decisions.iter().any(|(_, decided)| decided.is_err()) {
            // The request will fail, so other decisions need not depend on these.
            self.drop_unit(part.ticket(), unit);
        }
        self.sweep();
        // No decision here depends on the absence of a name.
        part.report(decisions, u64::MAX);
    }

    /// Refuses a part whose decisions would exceed its organization's memory.
    fn refuse(&mut self, part: ProposalPart) {
        self.drop_unit(part.ticket(), part.unit());
        self.sweep();
        part.fail(overloaded());
    }

    /// Next integrity of each action's object, hashed side by side in rounds: the first action of each object, then the
    /// second of each that has one. After a refusal the rules hash an object's later actions themselves, as for an
    /// object that is not live.
    fn links(&self, unit: &Proposal, indices: &[u16], ids: &[Option<Id>]) -> Vec<IntegrityLink> {
        // One loop a step over all of them: objects are scattered over the memory, and many prefetches in a short loop
        // take about as long as one in a long one.
        let actors: Vec<Option<&ObjectActor>> = ids
            .iter()
            .map(|id| id.and_then(|id| self.live.get(&id)))
            .collect();
        let mut links: Vec<IntegrityLink> = actors
            .iter()
            .map(|actor| IntegrityLink {
                previous: actor.map_or(Hash::ZERO, ObjectActor::integrity),
                next: Hash::ZERO,
            })
            .collect();
        actors.into_iter().flatten().for_each(ObjectActor::fetch);
        let content = |&index: &u16| &unit.submission.actions[usize::from(index)].content;
        let contents: Vec<&Hash> = indices.iter().map(content).collect();
        for round in rounds(ids) {
            for step in &round {
                if let Some(before) = step.before {
                    links[step.place].previous = links[before].next;
                }
            }
            let steps = round.iter().map(|step| step.place);
            let hashed = steps.map(|place| (&links[place].previous, contents[place]));
            for (step, next) in round.iter().zip(next_integrities(hashed)) {
                links[step.place].next = next;
            }
        }
        links
    }

    fn mint(
        &self,
        unit: &Proposal,
        caller: &Caller,
        input: &ActionInput<'_>,
        minted: &mut HashMap<Id, u64>,
    ) -> Result<ActionEffect, ActionRefusal> {
        let reader = &self.options.reader;
        let next = object::mint(reader, caller, input)?;
        let template = reader.template(next.template_id)?;
        let indexed = template.as_ref().and_then(|template| template.indexed());
        let index = indexed.map_or(Vec::new(), |indexed| {
            indexed.changes(None, &next.properties)
        });
        if template.is_some_and(|template| template.max_supply.is_some()) {
            let mut grants = unit.grants.iter();
            let granted = grants.find(|grant| grant.template == next.template_id);
            // The template was not bounded yet when the proposal was admitted.
            let granted = granted.ok_or(Refusal::Unavailable)?.count;
            let used = minted.entry(next.template_id).or_default();
            if *used >= granted {
                return Err(Refusal::State("the template's supply is used up".into()).into());
            }
            *used += 1;
        }
        Ok(ActionEffect::Object {
            base: None,
            next: Arc::new(StateVersion::decided(next)),
            index,
        })
    }

    fn act(
        &mut self,
        unit: &Proposal,
        caller: &Caller,
        input: &ActionInput<'_>,
        id: Option<Id>,
        ticket: u64,
    ) -> Result<(ActionEffect, DecisionBasis), ActionRefusal> {
        let target = input.target;
        let id = id.ok_or_else(|| Refusal::not_found("object", target))?;
        let (actor, before) = match self.live.entry(id) {
            Entry::Occupied(live) => {
                let actor = live.into_mut();
                let before = actor.bytes();
                (actor, before)
            }
            Entry::Vacant(place) => {
                let allowance = input.allowance;
                if let Some(allowance) = allowance {
                    allowance.before_read()?;
                }
                let loaded = load(&self.options.reader, id)?;
                let actor = loaded.ok_or_else(|| Refusal::not_found("object", target))?;
                if let Some(allowance) = allowance {
                    allowance.count_read(actor.bytes());
                }
                (place.insert(actor), 0)
            }
        };
        let committed = self.options.committed_ticket.load(Ordering::Acquire);
        let reader = &self.options.reader;
        let template = reader.template_again(actor.template(), &mut self.recent)?;
        let template = template.ok_or(Refusal::Unavailable)?;
        let world = (reader, &*template);
        let expected = unit.submission.expected.as_deref();
        let decide = || {
            let decided = actor.decide(world, caller, input, expected, ticket, committed);
            self.live_bytes = (self.live_bytes + actor.bytes()).saturating_sub(before);
            decided
        };
        catch_unwind(AssertUnwindSafe(decide)).unwrap_or_else(|_| {
            // The actor's state can no longer be trusted. Rebuilt from the store it may lack pending decisions; the
            // sequencer then has them decided again.
            tracing::error!(object = %id, "an object's actor panicked and is rebuilt");
            self.live.remove(&id);
            Err(Refusal::Unavailable.into())
        })
    }

    fn drop_unit(&mut self, ticket: u64, unit: &Proposal) {
        for id in unit.parts.objects() {
            if let Some(actor) = self.live.get_mut(&id) {
                actor.drop_unit(ticket);
            }
        }
    }

    /// Drops idle object actors if there are too many or they are too large: the ones not used since the last sweep.
    fn sweep(&mut self) {
        let live_max = self.options.live_max;
        if self.live.len() > live_max + live_max / 8
            || self.live_bytes > LIVE_BYTES_MAX + LIVE_BYTES_MAX / 8
        {
            let committed = self.options.committed_ticket.load(Ordering::Acquire);
            self.live_bytes = let_go(&mut self.live, live_max, LIVE_BYTES_MAX, committed);
        }
        self.meters.live.set(self.live.len() as f64);
    }
}

/// Loads an object's actor from the store.
fn load(reader: &StateReader, id: Id) -> Result<Option<ObjectActor>, StateUnavailable> {
    let published = reader.published();
    let object = published.snapshot.object(id).map_err(unavailable)?;
    Ok(object.map(ObjectActor::new))
}

/// Drops idle actors that were not used since the last sweep, until there are `live_max` with `bytes_max` bytes.
/// Returns the bytes of the remaining ones.
fn let_go(live: &mut LiveObjects, live_max: usize, bytes_max: usize, committed: u64) -> usize {
    let mut surplus = live.len().saturating_sub(live_max);
    let mut bytes: usize = live.values().map(ObjectActor::bytes).sum();
    live.retain(|_, actor| {
        let is_too_much = surplus > 0 || bytes > bytes_max;
        let goes = is_too_much && !actor.recently_used && actor.is_idle(committed);
        actor.recently_used = false;
        if goes {
            surplus = surplus.saturating_sub(1);
            bytes = bytes.saturating_sub(actor.bytes());
        }
        !goes
    });
    bytes
}

#[cfg(test)]
mod tests {
    use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace};
    use kedge_protocol::{Address, Prefix};

    use super::*;

    fn id(prefix: Prefix, byte: u8) -> Id {
        Id {
            prefix,
            bytes: [byte; 16],
        }
    }

    /// An actor of an object with a hundred bytes of properties.
    fn actor(byte: u8) -> ObjectActor {
        let object = Object {
            id: id(Prefix::Object, byte),
            organization_id: id(Prefix::Organization, 0),
            template_id: id(Prefix::Template, 0),
            variation_id: None,
            owner_id: id(Prefix::Wallet, 0),
            owner_address: Address::ZERO,
            properties: format!(r#"{{"a":"{}"}}"#, "x".repeat(92)),
            status: ObjectStatus::Active,
            trace: ResourceTrace::NEW,
        };
        ObjectActor::new(object)
    }

    // Holds invariant 211.
    #[test]
    fn idle_objects_go_when_they_are_too_many_or_too_large_together() {
        let mut live = LiveObjects::default();
        live.extend((0..10).map(|byte| (id(Prefix::Object, byte), actor(byte))));
        let mut left = |live_max, bytes_max| {
            let bytes = let_go(&mut live, live_max, bytes_max, 0);
            (live.len(), bytes)
        };
        assert_eq!(left(20, 300), (10, 1_000), "all were used a moment ago");
        assert_eq!(left(20, 1_000), (10, 1_000));
        assert_eq!(left(20, 300), (3, 300));
        assert_eq!(left(2, 300), (2, 200));
    }
}
