//! The bond's demands about archived batches: such a case waits for its segments, and the others are answered. A
//! watchtower that starts later follows the local log.

use std::path::Path;
use std::time::Duration;

use kedge_chain::contract::AnchorContract;
use kedge_chain::contract::bond::{CaseState, demand_leaves_calldata, leaves_case_id};
use kedge_chain::rpc::BlockTag;
use kedge_protocol::signature::SigningKey;

use super::archive::{anchored, archive};
use super::drill::{has_sealed, json_of, load};
use super::made::Made;
use crate::support::anvil::{Anvil, CHAIN_ID};
use crate::support::bonded::Bonded;
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, eventually, free_port, http};

/// Longest time until the server answers, including the pauses between its checks.
const ANSWER_LIMIT: Duration = Duration::from_mins(1);

/// A server whose log has a bond.
fn operated(data: &Path, anvil: &Anvil, bonded: &Bonded) -> Setup {
    Setup::new(data)
        .set("chain_rpc_url", format!("{:?}", anvil.url()))
        .set("chain_id", CHAIN_ID)
        .set("chain_contract", format!("\"{}\"", bonded.anchor))
        .set("bond_contract", format!("\"{}\"", bonded.bond.address()))
        .set("bond_poll_s", 1)
        .set("chain_confirmations", 1)
        .set("anchor_interval_s", 1)
        .environment("KEDGE_SEQUENCER_KEY", format!("0x{}", "5e".repeat(32)))
        .environment(
            "KEDGE_ANCHOR_KEY",
            // The second development key; the first one owns the contracts.
            "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        )
}

/// The report of a watchtower without earlier memory.
async fn watched(made: &Made, anvil: &Anvil, bonded: &Bonded, memory: &Path) -> String {
    let mut command = kedge();
    command
        .args(["watch", "--once", "--patience-s", "0"])
        .args(["--url", &made.setup.url(), "--rpc", &anvil.url()])
        .args(["--contract", &bonded.anchor.to_string()])
        .args([Path::new("--data"), memory]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

// Holds invariant 239.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_case_about_archived_batches_keeps_no_other_one_waiting() {
    let mut rng = Rng::seeded("archived bond");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let anvil = Anvil::start(free_port(), &at("anvil.json")).await;
    let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
    let bonded = Bonded::new(&anvil.rpc(), sequencer.address()).await;
    let setup = operated(&at("data"), &anvil, &bonded);
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    load(&made, 8).await;
    has_sealed(&made.setup, 2).await;
    anchored(&server).await;
    let moved = json_of(&archive(
        &made.setup,
        &at("archive"),
        &["--keep-segments", "1"],
    ));
    assert_ne!(moved["segments"], 0);

    let contract = AnchorContract::new(anvil.rpc(), bonded.anchor);
    let batches = contract.latest(BlockTag::Latest).await.unwrap().batches;
    let [archived, here] = [0, batches - 1].map(|number| (number, leaves_case_id(number)));
    for (number, case) in [archived, here] {
        let open = |salt| demand_leaves_calldata(batches, number, salt);
        bonded.open_case(case, open).await;
    }
    eventually("the later case is answered", ANSWER_LIMIT, || async {
        (bonded.state(here.1).await == CaseState::Answered).then_some(())
    })
    .await;
    assert_eq!(bonded.state(archived.1).await, CaseState::Open);
    let port = made.setup.metrics_port();
    let outcome = [r#"outcome="archived""#];
    let tried = http::metric(port, "kedge_bond_answers_total", &outcome).await;
    assert!(tried > 0.5, "{tried}");
    let without_answer = http::metric(port, "kedge_bond_cases_unanswerable", &[]).await;
    assert!(without_answer > 0.5, "{without_answer}");

    // A new watchtower begins at the first local batch, and says so, also when it reads the log a second time.
    for _ in 0..2 {
        let said = watched(&made, &anvil, &bonded, &at("tower")).await;
        assert!(said.contains("are archived and were not seen"), "{said}");
        assert!(said.contains("no fault"), "{said}");
    }

    // Once the segments are back, the case is answered too.
    server.stop();
    for (path, content) in super::made::every_file(&at("archive")) {
        let name = path.file_name().unwrap();
        std::fs::write(at("data/log").join(name), content).unwrap();
    }
    let server = made.setup.start();
    eventually("the first case is answered", ANSWER_LIMIT, || async {
        (bonded.state(archived.1).await == CaseState::Answered).then_some(())
    })
    .await;
    server.stop();
}
