//! The watchtower against a sequencer that signs false states, or lets the wrong key act: each fault of the state is
//! found, and costs the bond. What such a sequencer does not show is demanded.

use std::path::Path;

use kedge_chain::contract::bond::{CaseState, state_case_id};
use kedge_protocol::evidence::StateFault;
use serde_json::json;

use super::cheats::{bent, state_faults};
use super::faulty::{FaultyServer, Show};
use super::{PATIENT_S, Tower, reporter, text};
use crate::support::bonded::{BOND_WEI, TERMS};
use crate::support::program::kedge;

/// True states, at two checkpoints: nothing is found.
async fn true_states_have_no_fault(tower: &mut Tower, server: &FaultyServer, directory: &Path) {
    tower.directory = directory.join("true");
    let show = bent(|log| {
        log.keep(&[log.object, log.template, log.ann.wallet]);
        log.scene.step(&log.ann, "update", log.object);
    });
    tower.give(&show);
    server.show(show);
    for _ in 0..2 {
        let output = tower.watch(&server.url).await;
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("5 batches, no fault"), "{said}");
    }
    assert_eq!(tower.evidence(), Vec::<String>::new());
}

/// A state that is not shown at an anchored checkpoint is demanded, by the entry that its owner kept.
async fn hidden_states_are_demanded(tower: &mut Tower, server: &FaultyServer, directory: &Path) {
    tower.directory = directory.join("hidden");
    tower.patience_s = 0;
    let mut object = None;
    let mut show = bent(|log| {
        log.keep(&[log.object]);
        log.scene.step(&log.ann, "update", log.object);
        log.hidden.push(log.object);
        object = Some(log.object);
    });
    show.anchored = 5;
    tower.anchor_as(show.checkpoint.checkpoint, &[]).await;
    tower.give(&show);
    server.show(show);
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("found hidden_state: "), "{said}");
    let object = object.unwrap();
    let asked = format!("demanded the state of {object} after 5 batches");
    assert!(said.contains(&asked), "{said}");
    let case = state_case_id(5, &object);
    assert_eq!(tower.bonded.state(case).await, CaseState::Open);
    tower.costs_the_bond_by_silence(server).await;
}

/// An entry of an action that the log does not show is challenged.
async fn unexplained_entries_are_challenged(
    tower: &mut Tower,
    server: &FaultyServer,
    directory: &Path,
) {
    tower.directory = directory.join("unexplained");
    tower.patience_s = 0;
    let mut show = bent(|log| {
        let second = log.scene.mint(&log.ann, log.template);
        // Its request is not among those that its organization may read.
        log.scene.requests.pop();
        log.scene.step(&log.ann, "update", log.object);
        log.given.push(json!(log.scene.sign().answer(second)));
    });
    show.anchored = 6;
    tower.anchor_as(show.checkpoint.checkpoint, &[]).await;
    tower.give(&show);
    server.show(show);
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("found unexplained_entry: "), "{said}");
    assert!(said.contains("demanded the action 5 that obj_"), "{said}");
    tower.costs_the_bond_by_silence(server).await;
}

impl Tower {
    /// What `kedge verify evidence` says of the evidence that was found.
    fn verifies(&self, fault: &str) {
        let found = self.evidence();
        assert!(
            found.iter().all(|name| name.starts_with(fault)),
            "{found:?}"
        );
        let output = kedge()
            .args(["verify", "evidence", "--rpc", &self.rpc_url])
            .args(["--contract", &self.bonded.anchor.to_string()])
            .arg(self.directory.join("evidence").join(&found[0]))
            .output()
            .unwrap();
        let said = text(&output);
        assert!(output.status.success(), "{fault}: {said}");
        let proven = format!("fault        {fault}\nproven       yes\n");
        assert!(said.starts_with(&proven), "{fault}: {said}");
    }

    /// The operator's time passes without an answer.
    async fn costs_the_bond_by_silence(&mut self, server: &FaultyServer) {
        assert!(!self.is_frozen().await);
        self.bonded.pass(TERMS.response_time_s).await;
        let said = text(&self.watch(&server.url).await);
        assert!(said.contains("no answer in time"), "{said}");
        assert!(self.is_frozen().await, "{said}");
        self.patience_s = PATIENT_S;
    }
}

// Holds invariants 69, 269, 270.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_of_the_state_is_found_and_costs_the_bond() {
    let directory = tempfile::tempdir().unwrap();
    let (_anvil, mut tower) = Tower::start(directory.path()).await;
    let token = directory.path().join("token");
    std::fs::write(&token, "token").unwrap();
    tower.token = Some(token);
    let mut start = tower.bonded.raw("evm_snapshot", json!([])).await;
    let server = FaultyServer::start(Show::honest()).await;

    let all = state_faults();
    let mut names: Vec<&str> = all.iter().map(|(fault, _)| *fault).collect();
    names.sort_unstable();
    names.dedup();
    let expected = StateFault::ALL.iter().map(|fault| fault.text());
    let mut expected: Vec<&str> = expected.collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    for (place, (fault, show)) in all.into_iter().enumerate() {
        tower.directory = directory.path().join(place.to_string());
        tower.give(&show);
        server.show(show);
        let output = tower.watch(&server.url).await;
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{fault}: {said}");
        let proven = format!("proven {fault}: the bond is lost");
        assert!(said.contains(&proven), "{fault}: {said}");
        assert!(tower.is_frozen().await, "{fault}");
        let bond = &tower.bonded.bond;
        assert_eq!(bond.state().await.unwrap().bond_wei, 0, "{fault}");
        let owed = bond.owed_wei(reporter().address()).await.unwrap();
        assert_eq!(owed, BOND_WEI / 2, "{fault}");
        tower.verifies(fault);
        tower.bonded.raw("evm_revert", json!([start])).await;
        start = tower.bonded.raw("evm_snapshot", json!([])).await;
    }

    true_states_have_no_fault(&mut tower, &server, directory.path()).await;
    hidden_states_are_demanded(&mut tower, &server, directory.path()).await;
    tower.bonded.raw("evm_revert", json!([start])).await;
    unexplained_entries_are_challenged(&mut tower, &server, directory.path()).await;
}
