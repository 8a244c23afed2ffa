//! Proposals that wait because no batch may be signed.

use std::sync::Arc;

use kedge_chain::contract::KeyTrust;
use kedge_protocol::Address;
use kedge_protocol::evidence::{ContractCoverage, KeyTerm};
use kedge_runtime::env::simulated::SimulatedEnv;
use kedge_storage::WriteGroup;
use tokio::sync::oneshot;

use super::bench::Bench;
use crate::commit::committer::ClosedGroup;
use crate::pipeline::sequenced_proposal::CommitterMessage;

impl Bench {
    /// Sets the contract's keys, each with its first batch.
    fn contract_names(&self, keys: &[(Address, u64)]) {
        let term = |&(key, from_batch): &(Address, u64)| KeyTerm {
            from_batch,
            ..KeyTerm::only(key)
        };
        let contract = KeyTrust {
            keys: keys.iter().map(term).collect(),
            coverage: ContractCoverage {
                from_batch: 0,
                until_batch: u64::MAX,
                retired_at_s: 0,
            },
            evidence_age_s: 0,
        };
        let signing = &self.committer.signing;
        signing.contract.store(Some(Arc::new(contract)));
    }

    fn is_stopped(&self) -> bool {
        self.committer.signing.stopped().is_some()
    }
}

/// The message after a change of the known keys.
fn keys() -> CommitterMessage {
    CommitterMessage::Keys {
        done: oneshot::channel().0,
    }
}

const OTHER: Address = Address([9; 20]);

#[test]
fn what_waits_for_the_keys_is_taken_in_its_order_once_they_agree() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let own = bench.committer.signing.named_for(0);
    bench.contract_names(&[(OTHER, 0)]);
    let (work, _replies): (Vec<_>, Vec<_>) =
        (1..=2).map(|number| bench.registration(number)).unzip();
    assert!(matches!(bench.form(work), ClosedGroup::Nothing));
    assert!(matches!(bench.form([keys()]), ClosedGroup::Nothing));
    assert!(bench.is_stopped());

    bench.contract_names(&[(own, 0)]);
    let (third, _third_reply) = bench.registration(3);
    let passing = bench.form([third]);
    assert!(
        matches!(passing, ClosedGroup::Nothing),
        "it waits behind them"
    );
    let ClosedGroup::Whole(formed) = bench.form([keys()]) else {
        panic!("what waited makes a group")
    };
    let placed = formed.afterwards.placed.iter();
    let sequences: Vec<u64> = placed.map(|(_, placed)| placed.first_sequence).collect();
    assert_eq!(sequences, [1, 2, 3]);
    assert!(!bench.is_stopped());
}

#[test]
fn a_batch_that_is_open_has_its_key_and_the_next_one_is_looked_at() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let own = bench.committer.signing.named_for(0);
    bench.contract_names(&[(own, 0), (OTHER, 1)]);
    let mut forming = bench.committer.begin(WriteGroup::new());
    bench.committer.add(&mut forming, keys()).unwrap();
    assert!(!bench.is_stopped(), "the next one is the first batch");
    let (work, _reply) = bench.registration(1);
    bench.committer.add(&mut forming, work).unwrap();
    bench.committer.add(&mut forming, keys()).unwrap();
    assert!(bench.is_stopped(), "the next one is the second batch");
}
