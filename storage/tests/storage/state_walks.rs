//! Roots of many changes are made in a walk along all leaves, those of few from what stands next to them: both ways give the
//! root and the proofs of a state that is made in one step.

use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Role, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_storage::{StateRoot, Store, StoreOptions, WriteGroup};

/// Objects of the largest state.
const OBJECTS: u64 = 12_000;
/// Proofs of each root that are made and verified.
const PROOFS: u64 = 200;

fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &keccak(&number.to_be_bytes()))
}

fn object(number: u64, version: u64) -> Object {
    let mut trace = ResourceTrace::made_by(&Hash::ZERO, 0);
    trace.place(number + 1, number);
    trace.version = version;
    Object {
        id: id(Prefix::Object, number),
        organization_id: id(Prefix::Organization, 0),
        template_id: id(Prefix::Template, number % 3),
        variation_id: None,
        owner_id: id(Prefix::Wallet, 0),
        owner_address: Address([1; 20]),
        properties: format!(r#"{{"version":{version}}}"#),
        status: ObjectStatus::Active,
        trace,
    }
}

struct ScratchState {
    store: Store,
    batches: u64,
    _folder: tempfile::TempDir,
}

impl ScratchState {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let domain = Domain {
            chain_id: 1,
            verifying_contract: Address([7; 20]),
        };
        let options =
            StoreOptions::of_store(&folder.path().join("store"), domain, Address([8; 20]));
        let store = Store::scratch(options).unwrap();
        let mut group = WriteGroup::new();
        let wallet = Wallet {
            id: id(Prefix::Wallet, 0),
            organization_id: id(Prefix::Organization, 0),
            role: Role::Owner,
            nickname: None,
            email: "owner@example.com".to_owned(),
            address: Address([1; 20]),
            keys: vec![Address([1; 20])],
            trace: ResourceTrace::made_by(&Hash::ZERO, 0),
        };
        group.put_wallet(&wallet, None);
        store.put_rows(&group).unwrap();
        Self {
            store,
            batches: 0,
            _folder: folder,
        }
    }

    /// Makes objects, or changes those that are there.
    fn put(&self, numbers: impl Iterator<Item = u64>, version: u64, are_new: bool) {
        let mut group = WriteGroup::new();
        for number in numbers {
            let object = object(number, version);
            if are_new {
                group.put_mint(&object, &object.trace, number / 3 + 1);
            } else {
                group.put_object(&object, &object.trace, None);
            }
        }
        self.store.put_rows(&group).unwrap();
        self.store.flush().unwrap();
    }

    fn make(&mut self) -> StateRoot {
        self.batches += 1;
        let log = self.store.snapshot();
        self.store.make_scratch_state(self.batches, &log).unwrap()
    }

    /// Proofs of objects and of ids that no object has.
    fn check_proofs(&self, made: &StateRoot, objects: u64) {
        let numbers = (0..PROOFS).map(|number| number * 97 % (objects + PROOFS));
        let keys: Vec<Id> = numbers.clone().map(|of| id(Prefix::Object, of)).collect();
        let proofs = self.store.snapshot().state_proofs(made.batches, &keys);
        let proofs = proofs.unwrap().unwrap();
        assert_eq!(proofs.len(), keys.len());
        for (proof, number) in proofs.iter().zip(numbers) {
            assert_eq!(proof.verify(&made.root), Ok(()), "object {number}");
            assert_eq!(proof.entry.is_empty(), number >= objects, "object {number}");
        }
    }
}

// Holds invariant 258.
#[test]
fn many_changes_and_few_give_the_root_of_a_state_that_is_made_at_once() {
    let mut stepwise = ScratchState::new();
    let mut versions = vec![];
    let mut step = |numbers: Vec<u64>, version: u64| {
        let (new, changed): (Vec<u64>, Vec<u64>) = numbers
            .into_iter()
            .partition(|number| *number >= versions.len() as u64);
        versions.resize(versions.len() + new.len(), version);
        for number in &changed {
            versions[*number as usize] = version;
        }
        stepwise.put(new.into_iter(), version, true);
        stepwise.put(changed.into_iter(), version, false);
        let made = stepwise.make();

        let mut at_once = ScratchState::new();
        for version in 1..=version {
            let numbers = (0..).zip(&versions).filter(|(_, of)| **of == version);
            at_once.put(numbers.map(|(number, _)| number), version, true);
        }
        assert_eq!(made.root, at_once.make().root, "step {version}");
        stepwise.check_proofs(&made, versions.len() as u64);
    };
    // From nothing; a few; most of all, and new ones; a few on top of those; most again; a single one.
    step((0..1_000).collect(), 1);
    step((0..1_000).step_by(7).collect(), 2);
    step((500..OBJECTS).collect(), 3);
    step((0..OBJECTS).step_by(301).collect(), 4);
    step((0..OBJECTS - 1_000).collect(), 5);
    step(vec![OBJECTS - 1], 6);
}
