//! Random histories of several wallets: the fold does and refuses the same as the model, changes nothing on a refusal,
//! and a replay gives the same bytes.

use std::collections::{BTreeMap, HashMap};

use kedge_protocol::hash::keccak;
use kedge_protocol::nonce::NonceError;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{Organization, Who};
use kedge_protocol::{Address, Id};
use kedge_rules::fold::{FoldError, FoldState};
use kedge_rules::replay::{ObjectReplay, PastAction};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::world::World;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::{Value, json};

use crate::attempts::{KINDS, Op, email};
use crate::model::{At, Model, Properties, Why};
use crate::world::{Laid, Place, action, failed, request};

/// Keys and e-mail addresses are few, so that they collide.
const KEYS: u8 = 6;

fn address(key: u8) -> Address {
    let hash = keccak(&[key, 0x5a]);
    Address(*hash.0.first_chunk().unwrap())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        "[a-zä\"\\\\]{0,4}".prop_map(Value::from),
        Just(json!([1, {"a": null}])),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop::collection::btree_map("[abc]", inner, 0..3)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    })
}

fn properties() -> impl Strategy<Value = Properties> {
    let members = prop::collection::btree_map("[abcd]", value(), 0..4);
    members.prop_map(|members| members.into_iter().collect())
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![Just(Who::Owner), Just(Who::Issuer), Just(Who::Anyone)]
}

fn rules() -> impl Strategy<Value = BTreeMap<u8, Who>> {
    prop::collection::btree_map(0..KINDS.len() as u8, who(), 0..5)
}

fn op() -> impl Strategy<Value = Op> {
    let any_index = 0..64usize;
    prop_oneof![
        1 => (0..KEYS, 0..KEYS).prop_map(|(key, email)| Op::Register { key, email }),
        2 => (0..4u8, properties(), prop::option::of(1..3u64), rules(), prop::bool::weighted(0.7)).prop_map(
            |(name, properties, supply, rules, public)| Op::Template { name, properties, supply, rules, public }
        ),
        1 => (any_index.clone(), prop::collection::vec(properties(), 1..3))
            .prop_map(|(template, properties)| Op::Variations { template, properties }),
        6 => (any_index.clone(), prop::option::of(any_index.clone()), properties(), prop::option::of(any_index.clone()))
            .prop_map(|(template, variation, properties, to)| Op::Mint { template, variation, properties, to }),
        4 => (any_index.clone(), properties()).prop_map(|(object, patch)| Op::Update { object, patch }),
        2 => (any_index.clone(), properties()).prop_map(|(object, values)| Op::Set { object, values }),
        2 => (any_index.clone(), prop::collection::vec("[abcd]", 0..3))
            .prop_map(|(object, keys)| Op::Delete { object, keys }),
        3 => (any_index.clone(), any_index.clone()).prop_map(|(object, to)| Op::Transfer { object, to }),
        4 => (any_index, prop::sample::select(vec![3u8, 3, 4, 4, 4, 5, 8, 9]))
            .prop_map(|(object, kind)| Op::Plain { object, kind }),
    ]
}

/// A request: the sender, its actions, and the step of the nonce.
type Request = (usize, Vec<Op>, u64);

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..64usize, prop::collection::vec(op(), 1..5), 1..3u64);
    prop::collection::vec(request, 1..60)
}

/// A fold and its model.
#[derive(Default)]
struct Pair {
    state: FoldState,
    model: Model,
    records: Vec<RequestRecord<'static>>,
    images: Vec<Vec<Vec<ResourceState>>>,
    nonces: HashMap<Address, u64>,
    sequence: u64,
    refused: HashMap<&'static str, u32>,
}

fn name(why: Why) -> &'static str {
    match why {
        Why::NotFound => "not found",
        Why::Forbidden => "forbidden",
        Why::State => "state",
        Why::Conflict => "conflict",
        Why::EmailTaken => "e-mail taken",
        Why::Other => "other",
    }
}

impl Pair {
    /// Applies one request to both; refused actions are tried individually first.
    fn request(&mut self, (by, ops, jump): &Request) {
        // A registration needs a separate request: it makes the wallet that would sign the rest.
        let is_register = |op: &Op| matches!(op, Op::Register { .. });
        let ops: Vec<&Op> = match ops.iter().find(|op| is_register(op)) {
            Some(register) => vec![register],
            None => ops.iter().collect(),
        };
        let registers = match ops[0] {
            Op::Register { key, .. } => Some(*key),
            _ => None,
        };
        if registers.is_none() && self.model.wallets.is_empty() {
            return;
        }
        let by = by % self.model.wallets.len().max(1);
        let signer = registers.map_or_else(|| self.model.wallets[by].address, address);
        let wallet = match registers {
            Some(_) => None,
            None => self.state.wallets.get(&self.model.wallets[by].id),
        };
        let nonce = self.nonces.get(&signer).copied().unwrap_or(0) + jump;
        let mut record = request(signer, wallet, nonce, self.sequence + 1);
        let mut model = self.model.clone();
        for (index, op) in (0u16..).zip(ops) {
            let words = model.words(op, address);
            let alone = action(&words, index, Place::none());
            let at = At {
                content: record.content(&alone),
                sequence: record.first_sequence + record.actions.len() as u64,
                time_ms: record.timestamp_ms,
            };
            match model.act(op, &words, by, at, signer) {
                Ok(place) => record.actions.push(action(&words, index, place)),
                Err(why) => {
                    record.failed.push(failed(index));
                    if record.actions.is_empty() {
                        let mut probe = record.clone();
                        probe.actions.push(alone);
                        self.refuses(&probe, why);
                    }
                }
            }
        }
        if record.actions.is_empty() {
            return;
        }
        let images = self.state.apply(&record).unwrap();
        assert_eq!(images.len(), record.actions.len());
        self.sequence = record.last_sequence();
        self.nonces.insert(signer, nonce);
        self.model = model;
        self.records.push(record);
        self.images.push(images);
    }

    fn refuses(&mut self, record: &RequestRecord<'_>, why: Why) {
        let before = Laid::open(&self.state);
        match self.state.apply(record) {
            Err(FoldError::Refused { refusal, .. }) => {
                assert_eq!(Why::from(&refusal), why, "{refusal:?} of {record:?}");
            }
            other => panic!("{why:?} was expected, not {other:?}, of {record:?}"),
        }
        assert_eq!(
            Laid::open(&self.state),
            before,
            "a refused action changes nothing"
        );
        *self.refused.entry(name(why)).or_default() += 1;
    }

    /// Compares the whole fold with the model.
    fn compare(&self) {
        let (state, model) = (&self.state, &self.model);
        assert_eq!(state.wallets.len(), model.wallets.len());
        assert_eq!(
            state.others_of::<Organization>().count(),
            model.wallets.len()
        );
        for wallet in &model.wallets {
            let found = &state.wallets[&wallet.id];
            assert_eq!(
                (found.organization_id, found.address),
                (wallet.organization, wallet.address)
            );
            assert_eq!((&found.email, found.trace), (&wallet.email, wallet.trace));
            assert_eq!(
                state.others[&wallet.organization].trace(),
                Some(&wallet.organization_trace)
            );
            assert_eq!(
                state.nonces[&wallet.address].highest(),
                self.nonces[&wallet.address]
            );
        }
        for key in 0..KEYS {
            let (address, email) = (address(key), email(key));
            let has_address = model.wallets.iter().any(|wallet| wallet.address == address);
            assert_eq!(state.address_taken(address), Ok(has_address));
            let has_email = model.wallets.iter().any(|wallet| wallet.email == email);
            assert_eq!(state.email_taken(&email), Ok(has_email));
        }
        assert_eq!(state.templates.len(), model.templates.len());
        for template in &model.templates {
            let found = &state.templates[&template.id];
            assert_eq!((&found.name, found.trace), (&template.name, template.trace));
            assert_eq!(
                (found.variation_count, found.max_supply),
                (template.variations, template.supply)
            );
            assert_eq!(read(&found.properties), template.properties);
            let minted = state.minted.get(&template.id).copied().unwrap_or(0);
            assert_eq!(minted, template.minted);
            assert!(template.supply.is_none_or(|supply| minted <= supply));
        }
        assert_eq!(state.variations.len(), model.variations.len());
        for variation in &model.variations {
            let found = &state.variations[&variation.id];
            assert_eq!(
                (found.template_id, found.index),
                (variation.template, variation.index)
            );
            assert_eq!(read(&found.properties), variation.properties);
        }
        assert_eq!(state.objects.len(), model.objects.len());
        for object in &model.objects {
            let found = &state.objects[&object.id];
            assert_eq!(
                (found.template_id, found.variation_id),
                (object.template, object.variation)
            );
            assert_eq!(
                (found.owner_id, found.status),
                (object.owner, object.status)
            );
            assert_eq!(found.owner_address, state.wallets[&object.owner].address);
            assert_eq!(found.trace, object.trace);
            assert_eq!(read(&found.properties), object.properties);
        }
    }

    /// Every object, rebuilt from its actions, equals the fold's at every step.
    fn objects_are_their_own_actions(&self) {
        let mut replays: HashMap<Id, ObjectReplay> = HashMap::new();
        for (record, images) in self.records.iter().zip(&self.images) {
            let sequences = record.first_sequence..;
            let steps = record.actions.iter().zip(images).zip(sequences);
            for ((action, images), sequence) in steps {
                let Some(ResourceState::Object(then)) = images.first() else {
                    continue;
                };
                let past = PastAction {
                    action,
                    content: &record.content(action),
                    wallet_id: record.wallet_id,
                    sequence,
                    timestamp_ms: record.timestamp_ms,
                };
                let mut replay = replays.remove(&then.id).unwrap_or_default();
                // The world is the final one: a replay only looks up facts that never change.
                replay.apply(&self.state, &past).unwrap();
                let again = replay.apply(&self.state, &past);
                assert_eq!(again, Err(FoldError::Differs { sequence }));
                let object = replay.into_object();
                assert_eq!(object.as_ref(), Some(then));
                replays.insert(then.id, ObjectReplay::after(object));
            }
        }
        assert_eq!(replays.len(), self.state.objects.len());
    }

    /// The fold reports a record that the rules did not make, and does not change.
    fn forgeries_are_refused(&mut self) {
        let before = Laid::open(&self.state);
        let last = self.records.last().unwrap().clone();
        let sequence = self.sequence + 1;
        let again = FoldError::Nonce {
            sequence: last.first_sequence,
            error: NonceError::Used {
                nonce: last.head.nonce,
                highest: last.head.nonce,
            },
        };
        assert_eq!(self.state.apply(&last), Err(again));

        let wallet = self.state.wallets[&self.model.wallets[0].id].clone();
        let nonce = self.nonces[&wallet.address] + 1;
        let template = json!({ "name": "another one" }).to_string();
        let words = crate::world::Words {
            kind: kedge_protocol::action::Kind::TemplateCreate,
            target: String::new(),
            payload: template,
        };
        let mut good = request(wallet.address, Some(&wallet), nonce, sequence);
        let content = good.content(&action(&words, 0, Place::none()));
        let place = Place {
            resource: Id::made_by(kedge_protocol::Prefix::Template, &content, 0),
            ..Place::none()
        };
        good.actions.push(action(&words, 0, place));
        let mut late = good.clone();
        late.head.deadline_s = 0;
        assert_eq!(
            self.state.apply(&late),
            Err(FoldError::Deadline { sequence })
        );
        let mut stranger = good.clone();
        stranger.head.signer = Address([9; 20]);
        assert_eq!(
            self.state.apply(&stranger),
            Err(FoldError::Signer { sequence })
        );
        let changes: [fn(&mut kedge_protocol::record::ActionRecord<'_>); 4] = [
            |action| action.version += 1,
            |action| action.previous_sequence += 1,
            |action| action.previous_integrity.0[0] ^= 1,
            |action| action.resource.bytes[0] ^= 1,
        ];
        for change in changes {
            let mut forged = good.clone();
            change(&mut forged.actions[0]);
            assert_eq!(
                self.state.apply(&forged),
                Err(FoldError::Differs { sequence })
            );
        }
        assert_eq!(Laid::open(&self.state), before);
        assert!(self.state.apply(&good).is_ok());
    }
}

fn read(properties: &str) -> Properties {
    let compact: Value = serde_json::from_str(properties).unwrap();
    assert!(!properties.contains(['\n', '\t']));
    let Value::Object(members) = compact else {
        panic!("{properties}");
    };
    members
}

fn config() -> Config {
    let given = std::env::var("KEDGE_TEST_SEED").ok();
    let clock = || {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        u64::try_from(since.as_nanos() % 1_000_000_007).unwrap()
    };
    let seed = given.map_or_else(clock, |text| text.parse().unwrap());
    eprintln!("histories: KEDGE_TEST_SEED={seed}");
    Config {
        cases: 500,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    }
}

// Holds invariants 3, 47, 149, 150.
#[test]
fn histories_are_the_models_and_replay_to_the_byte() {
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let refused = std::cell::RefCell::new(HashMap::<&str, u32>::new());
    let done = std::cell::Cell::new(0);
    let reads = std::cell::Cell::new(0);
    let ran = runner.run(&requests(), |requests| {
        let mut pair = Pair::default();
        for request in &requests {
            pair.request(request);
        }
        pair.compare();
        let mut replay = FoldState::default();
        for (record, images) in pair.records.iter().zip(&pair.images) {
            let again = replay.apply(record);
            prop_assert_eq!(again.as_ref(), Ok(images));
        }
        prop_assert_eq!(Laid::open(&replay), Laid::open(&pair.state));
        pair.objects_are_their_own_actions();
        if !pair.records.is_empty() {
            let cut = pair.sequence as usize % pair.records.len();
            reads.set(reads.get() + crate::sources::check(&pair.records, &pair.images, cut));
        }
        if !pair.records.is_empty() {
            pair.forgeries_are_refused();
        }
        for (why, count) in &pair.refused {
            *refused.borrow_mut().entry(why).or_default() += count;
        }
        done.set(done.get() + pair.sequence);
        Ok(())
    });
    ran.unwrap();
    // The histories covered everything: every reason occurred, and many actions were done.
    let refused = refused.into_inner();
    for why in [
        "not found",
        "forbidden",
        "state",
        "conflict",
        "e-mail taken",
    ] {
        assert!(
            refused.get(why).is_some_and(|count| *count > 20),
            "{why}: {refused:?}"
        );
    }
    assert!(reads.get() > 1_000, "{} reads of sources", reads.get());
    assert!(done.get() > 3_000, "{} actions", done.get());
}
