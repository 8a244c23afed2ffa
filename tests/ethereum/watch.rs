//! The watchtower against a sequencer that commits every fault of the protocol, on one Anvil: each is found, and costs
//! the bond automatically. An honest one is left alone.

mod cheats;
mod faulty;
mod scene;
#[path = "../../crates/protocol/tests/support/signed_log.rs"]
#[allow(dead_code, reason = "the protocol's tests take the other parts")]
mod signed_log;
mod state;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use kedge_chain::contract::bond::{CaseState, action_case_id, inclusion_case_id, leaves_case_id};
use kedge_chain::contract::{AnchorContract, AnchorContractState, anchor_calldata, transact};
use kedge_chain::rpc::BlockTag;
use kedge_chain::transaction::FeePolicy;
use kedge_devchain::insecure_development_keys;
use kedge_protocol::Hash;
use kedge_protocol::chain::next_integrity;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::hash::to_hex;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::support::anvil::Anvil;
use crate::support::bonded::{BOND_WEI, Bonded, TERMS};
use crate::support::free_port;
use crate::support::program::kedge;
use faulty::{FaultyServer, Show, sequencer};
use signed_log::{START_MS, domain};

/// The watchtower and its surroundings.
struct Tower {
    bonded: Bonded,
    rpc_url: String,
    directory: PathBuf,
    /// The operator's time to answer; the test logs are much older than their chain's newest block.
    patience_s: u64,
    deposits_wei: u128,
    /// A file with the access token of an organization.
    token: Option<PathBuf>,
}

/// More time than passes in any of these tests.
const PATIENT_S: u64 = 1_000_000_000;
/// Enough for every open case that the bond allows.
const DEPOSITS_WEI: u128 = 100_000;

fn reporter() -> SigningKey {
    insecure_development_keys()[3].clone()
}

impl Tower {
    /// A chain with the contracts that the test logs are bound to.
    async fn start(directory: &Path) -> (Anvil, Self) {
        let anvil = Anvil::start(free_port(), &directory.join("anvil.json")).await;
        let bonded = Bonded::new(&anvil.rpc(), sequencer().address()).await;
        // The first contract of the first development key: the one that the test logs are bound to.
        assert_eq!(bonded.anchor, domain().verifying_contract);
        bonded.block_time(0).await;
        bonded.raw("evm_setAutomine", json!([true])).await;
        // The test logs have their own times, which must not be ahead of the chain's.
        let time_s = START_MS / 1_000 + 200 * 24 * 60 * 60;
        bonded
            .raw("evm_setNextBlockTimestamp", json!([time_s]))
            .await;
        bonded.raw("evm_mine", json!([])).await;
        let tower = Self {
            bonded,
            rpc_url: anvil.url(),
            directory: PathBuf::new(),
            patience_s: PATIENT_S,
            deposits_wei: DEPOSITS_WEI,
            token: None,
        };
        (anvil, tower)
    }

    async fn anchor(&self, show: &Show) {
        self.anchor_as(show.log.checkpoint(show.anchored), &[])
            .await;
    }

    async fn anchor_as(&self, checkpoint: Checkpoint, proof: &[Hash]) {
        let signed = checkpoint.sign(&domain().separator(), &sequencer());
        let data = anchor_calldata(&signed, proof);
        let (key, to) = (reporter(), Some(self.bonded.anchor));
        transact(
            &self.bonded.rpc,
            &key,
            to,
            data,
            &FeePolicy::default(),
            20_000,
        )
        .await
        .unwrap();
    }

    fn give(&self, show: &Show) {
        let folder = self.directory.join("given");
        std::fs::create_dir_all(&folder).unwrap();
        for (number, given) in show.given.iter().enumerate() {
            let path = folder.join(format!("{number}.json"));
            std::fs::write(path, given.to_string()).unwrap();
        }
    }

    /// Runs `kedge watch --once --report`, while time passes on the chain.
    async fn watch(&self, url: &str) -> Output {
        let mut command = kedge();
        command
            .args(["watch", "--once", "--report", "--url", url])
            .args(["--rpc", &self.rpc_url])
            .args(["--contract", &self.bonded.anchor.to_string()])
            .args(["--patience-s", &self.patience_s.to_string()])
            .args(["--deposits-wei", &self.deposits_wei.to_string()])
            .args([Path::new("--data"), &self.directory]);
        if let Some(token) = &self.token {
            command.args([Path::new("--token-file"), token]);
        }
        command
            .env("KEDGE_SIGNING_KEY", to_hex(&reporter().to_bytes()))
            .stdin(Stdio::null());
        let mut output = tokio::task::spawn_blocking(move || command.output());
        loop {
            let pause = std::time::Duration::from_millis(100);
            if let Ok(output) = tokio::time::timeout(pause, &mut output).await {
                return output.unwrap().unwrap();
            }
            self.bonded.pass(TERMS.reveal_delay_s / 4).await;
        }
    }

    /// The number of transactions that the watchtower has sent.
    async fn sent(&self) -> u64 {
        let rpc = &self.bonded.rpc;
        let count = rpc.transaction_count(reporter().address(), BlockTag::Latest);
        count.await.unwrap()
    }

    async fn is_frozen(&self) -> bool {
        let anchor = AnchorContract::new(self.bonded.rpc.clone(), self.bonded.anchor);
        anchor.state().await.unwrap() == AnchorContractState::Frozen
    }

    /// The names of the evidence files.
    fn evidence(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.join("evidence")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

fn text(output: &Output) -> String {
    let bytes = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8(bytes).unwrap()
}

/// Every fault: its name, and the view of a sequencer that commits it.
fn faults() -> Vec<(&'static str, Show)> {
    let other = Hash([0xee; 32]);
    let given_header = |anchored| {
        let mut show = Show::honest();
        show.anchored = anchored;
        let draft = show.log.batch(3).clone();
        show.give_header(&draft.with(|header| header.sealed_at_ms += 1));
        show
    };
    let given_checkpoint = |batches: u64, bend: fn(&mut Checkpoint)| {
        let mut show = Show::honest();
        show.anchored = 4;
        let mut checkpoint = show.log.checkpoint(batches);
        bend(&mut checkpoint);
        let signed = checkpoint.sign(&domain().separator(), &sequencer());
        show.given.push(json!(signed));
        show
    };
    let with_receipts = |mut show: Show, previous: [Hash; 2]| {
        show.give_receipt(3, 0, previous[0]);
        show.give_receipt(3, 1, previous[1]);
        show
    };
    let unknown = [Hash::ZERO; 2];

    let mut false_checkpoint = Show::honest();
    let mut checkpoint = false_checkpoint.log.checkpoint(4);
    checkpoint.sequence += 1;
    false_checkpoint.checkpoint = checkpoint.sign(&domain().separator(), &sequencer());

    // The seventh and the eighth action both extend a state that only the seventh may extend.
    let honest = Show::honest();
    let previous = honest.log.batch(1).leaves[1].integrity;
    let seventh = honest.log.batch(3).leaves[0];
    assert_eq!(
        seventh.integrity,
        next_integrity(&previous, &seventh.content)
    );
    let forked = Show::ending_with(|draft| {
        draft.with_leaf(1, |leaf| {
            leaf.integrity = next_integrity(&previous, &leaf.content);
        })
    });

    vec![
        ("conflicting_batches", given_header(3)),
        ("omitted_batch", given_header(4)),
        (
            "conflicting_checkpoints",
            given_checkpoint(4, |checkpoint| checkpoint.head = Hash([0xee; 32])),
        ),
        ("false_checkpoint", false_checkpoint),
        (
            "false_checkpoint_history",
            given_checkpoint(3, |checkpoint| checkpoint.history = Hash([0xee; 32])),
        ),
        (
            "false_history",
            Show::ending_with(|draft| draft.with(|header| header.history = other)),
        ),
        (
            "broken_link",
            Show::ending_with(|draft| draft.with(|header| header.first_sequence += 1)),
        ),
        (
            "broken_header",
            Show::ending_with(|draft| draft.with(|header| header.count = 501)),
        ),
        (
            "broken_chain",
            Show::ending_with(|mut draft| {
                draft.leaves.swap(0, 1);
                let root = BatchTree::new(&draft.leaf_hashes()).root();
                draft.with(|header| header.root = root)
            }),
        ),
        (
            "broken_leaf",
            with_receipts(
                Show::ending_with(|draft| {
                    draft.with_leaf(1, |leaf| leaf.timestamp_ms += 1_000_000)
                }),
                unknown,
            ),
        ),
        (
            "falling_time",
            with_receipts(
                Show::ending_with(|draft| {
                    draft.with_leaf(0, |leaf| {
                        leaf.timestamp_ms = START_MS + 10 * (leaf.sequence + 1) + 1;
                    })
                }),
                unknown,
            ),
        ),
        (
            "replayed_content",
            with_receipts(
                Show::ending_with(|draft| {
                    let content = draft.leaves[0].content;
                    draft.with_leaf(1, |leaf| leaf.content = content)
                }),
                unknown,
            ),
        ),
        ("forked_integrity", with_receipts(forked, [previous; 2])),
    ]
}

/// An honest log: nothing is found, and nothing is sent.
async fn honest_logs_have_no_fault(tower: &mut Tower, server: &FaultyServer, directory: &Path) {
    tower.directory = directory.join("honest");
    let mut show = Show::honest();
    tower.anchor(&show).await;
    show.give_receipt(2, 0, Hash::ZERO);
    show.give_header(&show.log.batch(1).clone());
    tower.give(&show);
    server.show(show);
    for _ in 0..2 {
        let output = tower.watch(&server.url).await;
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("4 batches, no fault"), "{said}");
    }
    assert_eq!(tower.evidence(), Vec::<String>::new());
}

// Holds invariants 69, 81, 82, 240.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_is_found_and_costs_the_bond() {
    let directory = tempfile::tempdir().unwrap();
    let (_anvil, mut tower) = Tower::start(directory.path()).await;
    let mut start: Value = tower.bonded.raw("evm_snapshot", json!([])).await;
    let server = FaultyServer::start(Show::honest()).await;

    for (fault, show) in faults() {
        tower.directory = directory.path().join(fault);
        tower.anchor(&show).await;
        tower.give(&show);
        server.show(show);
        let output = tower.watch(&server.url).await;
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{fault}: {said}");
        assert!(
            said.contains(&format!("found {fault}: ")),
            "{fault}: {said}"
        );
        assert!(said.contains("the bond is lost"), "{fault}: {said}");
        assert!(
            tower.evidence().iter().any(|name| name.starts_with(fault)),
            "{fault}"
        );
        assert!(tower.is_frozen().await, "{fault}");
        let bond = &tower.bonded.bond;
        assert_eq!(bond.state().await.unwrap().bond_wei, 0, "{fault}");
        let owed = bond.owed_wei(reporter().address()).await.unwrap();
        assert_eq!(owed, BOND_WEI / 2, "{fault}");
        tower.bonded.raw("evm_revert", json!([start])).await;
        start = tower.bonded.raw("evm_snapshot", json!([])).await;
    }

    honest_logs_have_no_fault(&mut tower, &server, directory.path()).await;
    tower.bonded.raw("evm_revert", json!([start])).await;
    hidden_checkpoints_are_found(&mut tower, &server, directory.path()).await;
    archived_batches_are_not_demanded(&mut tower, &server, directory.path()).await;
    withheld_leaves_cost_the_bond(&mut tower, &server, directory.path()).await;
    late_anchors_are_demanded(&mut tower, &server, directory.path()).await;
    let start = tower.bonded.raw("evm_snapshot", json!([])).await;
    demands_cost_the_bond(&mut tower, &server, start, directory.path()).await;
}

/// A false checkpoint is anchored but not served, and an honest one is anchored after it.
async fn hidden_checkpoints_are_found(tower: &mut Tower, server: &FaultyServer, directory: &Path) {
    let start = tower.bonded.raw("evm_snapshot", json!([])).await;
    tower.directory = directory.join("hidden");
    let mut show = Show::honest();
    show.anchored = 4;
    let mut checkpoint = show.log.checkpoint(3);
    checkpoint.sequence += 1;
    tower.anchor_as(checkpoint, &[]).await;
    let proof = show.log.consistency(3, 4);
    tower.anchor_as(show.log.checkpoint(4), &proof).await;
    server.show(show);
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("found false_checkpoint: "), "{said}");
    assert!(tower.is_frozen().await, "{said}");
    tower.bonded.raw("evm_revert", json!([start])).await;
}

/// Data that the operator has archived, and says so, is not demanded: a new watchtower begins at the first served
/// batch, and one that knows the log continues after it. A fault in the served part is found.
async fn archived_batches_are_not_demanded(
    tower: &mut Tower,
    server: &FaultyServer,
    directory: &Path,
) {
    let start = tower.bonded.raw("evm_snapshot", json!([])).await;
    tower.directory = directory.join("archived");
    tower.patience_s = 0;
    let shown = |archived| {
        let mut show = Show::honest();
        show.anchored = 4;
        show.archived = archived;
        show
    };
    tower.anchor(&shown(3)).await;
    let sent = tower.sent().await;
    for archived in [2, 3] {
        server.show(shown(archived));
        let output = tower.watch(&server.url).await;
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        assert!(
            said.contains("4 batches (those before 2 are archived"),
            "{said}"
        );
        let begins = said.contains("has archived the batches before 2");
        assert_eq!(begins, archived == 2, "{said}");
    }
    assert_eq!(tower.sent().await, sent);

    let mut show = shown(3);
    show.withheld = vec![3];
    tower.directory = directory.join("archived again");
    server.show(show);
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("demanded the leaves of batch 3"), "{said}");
    tower.patience_s = PATIENT_S;
    tower.bonded.raw("evm_revert", json!([start])).await;
}

/// Leaves withheld by a sequencer that anchors are demanded once, and it has time to answer.
async fn withheld_leaves_cost_the_bond(tower: &mut Tower, server: &FaultyServer, directory: &Path) {
    let start = tower.bonded.raw("evm_snapshot", json!([])).await;
    tower.directory = directory.join("withheld");
    tower.patience_s = 5_000;
    let mut show = Show::honest();
    show.anchored = 4;
    show.withheld = vec![1];
    // By the chain's time the last one has just been anchored.
    tower.anchor(&show).await;
    server.show(show);
    let case = leaves_case_id(1);
    let sent = tower.sent().await;
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("4 batches, no fault"), "{said}");

    // Its time has passed, also for a restarted watchtower, but no deposit may be spent.
    tower.bonded.pass(tower.patience_s).await;
    tower.deposits_wei = TERMS.case_deposit_wei - 1;
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("found withheld_leaves: "), "{said}");
    assert!(said.contains("not demanded: "), "{said}");
    assert_eq!(tower.sent().await, sent);

    tower.deposits_wei = TERMS.case_deposit_wei;
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("demanded the leaves of batch 1"), "{said}");
    assert_eq!(tower.bonded.state(case).await, CaseState::Open);
    assert!(!tower.is_frozen().await);
    // A commitment and a demand, and nothing more after a restart.
    assert_eq!(tower.sent().await, sent + 2);
    tower.watch(&server.url).await;
    assert_eq!(tower.sent().await, sent + 2);

    tower.bonded.pass(TERMS.response_time_s).await;
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("no answer in time"), "{said}");
    assert!(tower.is_frozen().await);
    let owed = tower.bonded.bond.owed_wei(reporter().address()).await;
    assert_eq!(owed.unwrap(), BOND_WEI / 2 + TERMS.case_deposit_wei);
    tower.deposits_wei = DEPOSITS_WEI;
    tower.patience_s = PATIENT_S;
    tower.bonded.raw("evm_revert", json!([start])).await;
}

/// A header that is served but not anchored is demanded after a time.
async fn late_anchors_are_demanded(tower: &mut Tower, server: &FaultyServer, directory: &Path) {
    let start = tower.bonded.raw("evm_snapshot", json!([])).await;
    tower.directory = directory.join("late");
    tower.patience_s = 5_000;
    let show = Show::honest();
    tower.anchor(&show).await;
    let late = show.log.batch(3).header;
    server.show(show);
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("found overdue_batch: "), "{said}");
    assert!(said.contains("demanded the anchoring of batch 3"), "{said}");
    let case = inclusion_case_id(late.hash());
    assert_eq!(tower.bonded.state(case).await, CaseState::Open);
    tower.patience_s = PATIENT_S;
    tower.bonded.raw("evm_revert", json!([start])).await;
}

/// An unprovable suspicion becomes a demand, and a deadline without an answer costs the bond.
async fn demands_cost_the_bond(
    tower: &mut Tower,
    server: &FaultyServer,
    start: Value,
    directory: &Path,
) {
    // A header that was signed but is not served to others: its anchoring is demanded.
    tower.directory = directory.join("dropped");
    let mut show = Show::honest();
    let dropped = show.log.next(2);
    show.give_header(&dropped);
    tower.give(&show);
    server.show(show);
    let case = inclusion_case_id(dropped.header.hash());
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("demanded the anchoring of batch 4"), "{said}");
    assert_eq!(tower.bonded.state(case).await, CaseState::Open);
    assert!(!tower.is_frozen().await);
    tower.bonded.pass(TERMS.response_time_s).await;
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("no answer in time"), "{said}");
    assert!(tower.is_frozen().await);
    tower.bonded.raw("evm_revert", json!([start])).await;

    // An action that its signer never requested: the request for it is demanded.
    tower.directory = directory.join("forged");
    let show = Show::with_forged_action();
    tower.anchor(&show).await;
    let header = show.log.batch(0).header;
    let case = action_case_id(header.hash(), show.log.batch(0).leaves[0].hash());
    server.show(show);
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("found unauthorised_action: "), "{said}");
    assert!(said.contains("demanded the request of action 1"), "{said}");
    assert_eq!(tower.bonded.state(case).await, CaseState::Open);
    tower.bonded.pass(TERMS.response_time_s).await;
    let said = text(&tower.watch(&server.url).await);
    assert!(said.contains("no answer in time"), "{said}");
    assert!(tower.is_frozen().await);
}
