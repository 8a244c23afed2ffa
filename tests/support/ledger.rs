//! Everything that a server has acknowledged, and the conditions that must hold of it from then on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use kedge_client::types::{ActionResource, ObjectResource};
use kedge_client::{Account, BatchOutcome, ChangedResource, Client, ClientError, ListQuery};
use kedge_protocol::chain::{LogLeaf, next_integrity};
use kedge_protocol::{Hash, Id, Prefix};

/// More actions than any test makes.
const ACTIONS_MAX: usize = 1_000_000;
/// More connections than a client keeps from before a kill. The client notices that one is closed when it uses it next.
const OLD_CONNECTIONS_MAX: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) sequence: u64,
    pub(crate) id: Id,
    pub(crate) leaf: Hash,
    pub(crate) resource: Id,
    pub(crate) version: u64,
    pub(crate) batch_number: u64,
}

impl From<&ActionResource> for Acknowledged {
    fn from(action: &ActionResource) -> Self {
        Self {
            sequence: action.sequence,
            id: action.id,
            leaf: action.leaf,
            resource: action.resource_id,
            version: action.object_version,
            batch_number: action.batch_number,
        }
    }
}

/// The acknowledged actions, by sequence.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<BTreeMap<u64, Acknowledged>>);

impl Ledger {
    fn add(&self, acknowledged: Acknowledged) {
        let before = self
            .0
            .lock()
            .unwrap()
            .insert(acknowledged.sequence, acknowledged);
        assert_eq!(before, None, "one sequence was acknowledged twice");
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The actions acknowledged after a sequence.
    pub(crate) fn after(&self, sequence: u64) -> Vec<Acknowledged> {
        let all = self.0.lock().unwrap();
        all.range(sequence + 1..).map(|(_, known)| *known).collect()
    }

    pub(crate) fn last_sequence(&self) -> u64 {
        let all = self.0.lock().unwrap();
        all.last_key_value().map_or(0, |(sequence, _)| *sequence)
    }

    /// Adds the answer of the action bus.
    pub(crate) fn action(&self, action: &ActionResource) {
        self.add(action.into());
    }

    /// Adds the answer of a resource endpoint.
    pub(crate) fn changed(&self, changed: &ChangedResource<ObjectResource>) {
        let receipt = changed.receipt.as_ref().unwrap();
        let object = &changed.resource;
        assert_eq!(
            object.sequence, receipt.leaf.sequence,
            "the object as this action left it"
        );
        assert_eq!(object.integrity_hash, receipt.leaf.integrity);
        self.add(Acknowledged {
            sequence: receipt.leaf.sequence,
            id: changed.action_id,
            leaf: receipt.leaf.hash().unwrap(),
            resource: object.id,
            version: object.version,
            batch_number: receipt.batch.header.number,
        });
    }

    /// Adds the answer to a request of many actions.
    pub(crate) fn batch(&self, outcome: &BatchOutcome) {
        let Some(receipt) = &outcome.receipt else {
            return;
        };
        for (done, shown) in outcome.done().zip(&receipt.actions) {
            let leaf = LogLeaf {
                sequence: shown.sequence,
                timestamp_ms: shown.timestamp_ms,
                content: done.content,
                integrity: next_integrity(&shown.previous_integrity, &done.content),
            };
            self.add(Acknowledged {
                sequence: done.sequence,
                id: done.id,
                leaf: leaf.hash(),
                resource: done.object_id,
                version: done.object_version,
                batch_number: receipt.batch.header.number,
            });
        }
    }

    /// Checks that what was acknowledged after `sequence` has the same leaf at the same position
    /// under the same signed headers. The client itself checks the headers' signatures, roots and
    /// heads, and that no header contradicts one it saw before.
    pub(crate) async fn check_leaves(&self, client: &Client, sequence: u64) {
        let mut batches: HashMap<u64, Vec<Acknowledged>> = HashMap::new();
        for known in self.after(sequence) {
            batches.entry(known.batch_number).or_default().push(known);
        }
        for (number, acknowledged) in batches {
            let mut read = client.leaves(number).await;
            for _ in 0..OLD_CONNECTIONS_MAX {
                if !matches!(read, Err(ClientError::Transport(_))) {
                    break;
                }
                read = client.leaves(number).await;
            }
            let leaves = read.unwrap();
            for known in acknowledged {
                let index = usize::try_from(known.sequence - leaves.first_sequence).unwrap();
                assert_eq!(leaves.leaves.get(index), Some(&known.leaf), "{known:?}");
            }
        }
    }

    /// Checks `count` acknowledged actions one by one, by their identifiers.
    pub(crate) async fn check_some(
        &self,
        account: &Account,
        mut choose: impl FnMut() -> u64,
        count: u64,
    ) {
        let all = self.after(0);
        for _ in 0..count {
            let index = usize::try_from(choose() % all.len() as u64).unwrap();
            let known = all[index];
            let found = account.action(known.id).await.unwrap();
            assert_eq!(Acknowledged::from(&found), known);
            let receipt = found.receipt.expect("an action keeps its receipt");
            let client = account.client();
            receipt
                .verify(&client.domain(), &client.sequencer_keys())
                .unwrap();
            assert_eq!(receipt.leaf.hash().unwrap(), known.leaf);
        }
    }

    /// Reads the log of all accounts that ever acted, and checks that it is complete: sequences
    /// without gaps, no content twice, every resource's versions without gaps, and everything
    /// acknowledged in place.
    pub(crate) async fn check_log(&self, accounts: &[Account]) -> Vec<ActionResource> {
        let mut log: BTreeMap<u64, ActionResource> = BTreeMap::new();
        for account in accounts {
            let query = ListQuery {
                limit: Some(1_000),
                ..ListQuery::default()
            };
            for action in account.actions(&query).collect(ACTIONS_MAX).await.unwrap() {
                let before = log.insert(action.sequence, action);
                assert!(
                    before.is_none(),
                    "one action in two organizations' lists: {before:?}"
                );
            }
        }
        assert!(
            log.keys().copied().eq(1..=log.len() as u64),
            "sequences have gaps"
        );
        let mut contents = HashSet::new();
        let mut versions: HashMap<Id, u64> = HashMap::new();
        for action in log.values() {
            assert!(
                contents.insert(action.content),
                "one content at two sequences: {action:?}"
            );
            assert_eq!(action.id, Id::of_hash(Prefix::Action, &action.content));
            let version = versions.entry(action.resource_id).or_default();
            *version += 1;
            assert_eq!(
                action.object_version, *version,
                "versions of {}",
                action.resource_id
            );
        }
        for known in self.after(0) {
            let found = log.get(&known.sequence).map(Acknowledged::from);
            assert_eq!(found, Some(known));
        }
        log.into_values().collect()
    }
}
