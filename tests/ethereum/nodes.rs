//! Ethereum nodes that lie, forget or are missing, in front of the real server: it signs nothing on their word, never
//! believes a contradiction of its log on one answer alone, and reports a missing node. Also when anchors are due.

use std::time::Duration;

use kedge_chain::contract::bond::{CaseState, demand_leaves_calldata, leaves_case_id};
use kedge_chain::contract::{AnchorContract, anchor_calldata, transact};
use kedge_chain::rpc::BlockTag;
use kedge_chain::transaction::FeePolicy;
use kedge_client::types::{AnchorResource, AnchorStage};
use kedge_client::{Account, ListQuery, NewObject, ProofForm};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};
use serde_json::{Value, json};

use crate::support::anvil::{Anvil, CHAIN_ID, deploy_anchor};
use crate::support::bonded::Bonded;
use crate::support::honest::is_never_convicted;
use crate::support::liar::{Liar, Lie};
use crate::support::server::{Server, Setup};
use crate::support::{
    Rng, checkpoint_over, connect, eventually, free_port, http, register, template,
};

/// The server checks its node every four seconds.
const SEEN_LIMIT: Duration = Duration::from_mins(1);
const FINAL_LIMIT: Duration = Duration::from_mins(1);

/// Seconds between anchors, for tests that wait for one that is due.
const INTERVAL_S: u64 = 12;

/// A server's log on Anvil, behind a node that can lie.
struct Doubted {
    anvil: Anvil,
    liar: Liar,
    contract: Address,
    sequencer: SigningKey,
    setup: Setup,
    _directory: tempfile::TempDir,
}

impl Doubted {
    async fn new(interval_s: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
        let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
        let contract = deploy_anchor(&anvil.rpc(), sequencer.address()).await;
        let liar = Liar::before(anvil.url(), contract).await;
        // The second development key pays; the first one owns the contract.
        let payer = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
        let setup = Setup::new(&directory.path().join("data"))
            .set("chain_rpc_url", format!("{:?}", liar.url()))
            .set("chain_id", CHAIN_ID)
            .set("chain_contract", format!("\"{contract}\""))
            .set("chain_confirmations", 1)
            .set("anchor_interval_s", interval_s)
            .environment("KEDGE_SEQUENCER_KEY", format!("0x{}", "5e".repeat(32)))
            .environment("KEDGE_ANCHOR_KEY", payer);
        Self {
            anvil,
            liar,
            contract,
            sequencer,
            setup,
            _directory: directory,
        }
    }

    fn anchored(&self) -> AnchorContract {
        AnchorContract::new(self.anvil.rpc(), self.contract)
    }

    async fn batches_on_chain(&self) -> u64 {
        self.anchored()
            .latest(BlockTag::Latest)
            .await
            .unwrap()
            .batches
    }

    fn admin(&self, command: &str) -> (bool, String) {
        let output = crate::support::program::kedge()
            .args(["admin", command, "--json", "--socket"])
            .arg(self.setup.data().join("admin.sock"))
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (output.status.success(), printed)
    }

    async fn refused(&self, claim: &str) -> f64 {
        let label = format!("claim=\"{claim}\"");
        let name = "kedge_chain_claims_refused_total";
        http::metric(self.setup.metrics_port(), name, &[&label]).await
    }

    async fn is_ready(&self, server: &Server, status: u16) {
        let ready = || async { (server.readiness().await.0 == status).then_some(()) };
        eventually(&format!("/readyz is {status}"), SEEN_LIMIT, ready).await;
    }
}

/// An account that fills the log.
struct Filler {
    account: Account,
    template: Id,
}

impl Filler {
    async fn new(setup: &Setup, rng: &mut Rng) -> Self {
        let client = connect(&setup.url()).await;
        let account = register(&client, rng.key()).await;
        let template = template(&account, "doubted").await;
        Self { account, template }
    }

    async fn mint(&self) {
        let object = NewObject::default();
        self.account.mint(self.template, &object).await.unwrap();
    }

    async fn anchors(&self) -> Vec<AnchorResource> {
        let anchors = self.account.client().anchors(&ListQuery::default());
        anchors.collect(1_000).await.unwrap()
    }
}

/// The checkpoint with one field changed: each contradicts the log.
fn forgeries(of: &Checkpoint) -> Vec<(&'static str, Checkpoint)> {
    let hour_ms = 60 * 60 * 1_000;
    let changed = |change: fn(&mut Checkpoint)| {
        let mut forged = *of;
        change(&mut forged);
        forged
    };
    vec![
        ("head", changed(|c| c.head = Hash([0xbb; 32]))),
        ("sequence", changed(|c| c.sequence += 5)),
        ("state", changed(|c| c.state = Hash([0xcc; 32]))),
        ("issued long before", changed(|c| c.issued_at_ms = 1)),
        (
            "issued far ahead",
            Checkpoint {
                issued_at_ms: of.issued_at_ms + 24 * hour_ms,
                ..*of
            },
        ),
    ]
}

// Holds invariant 109.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lying_node_gets_no_signature() {
    let mut rng = Rng::seeded("lying node");
    let doubted = Doubted::new(3_600).await;
    let server = doubted.setup.start();
    let filler = Filler::new(&doubted.setup, &mut rng).await;
    filler.mint().await;
    let client = filler.account.client().clone();
    let domain = client.domain();
    let sequence = server.readiness().await.1["sequence"].as_u64().unwrap();
    let true_one = checkpoint_over(&client, sequence).await;
    let stranger = SigningKey::from_bytes(&[0x66; 32]).unwrap();

    for (what, checkpoint) in forgeries(&true_one.checkpoint) {
        let by = |key| Some(checkpoint.sign(&domain.separator(), key).signature);
        // The real signature is public, but signs another checkpoint. A thief's is valid, but for a checkpoint that is
        // not the log's.
        let signatures = [
            None,
            Some(true_one.signature),
            by(&stranger),
            by(&doubted.sequencer),
        ];
        for signature in signatures {
            let before = doubted.refused("anchor").await;
            doubted.liar.tell(Lie::Anchored {
                checkpoint,
                signature,
            });
            doubted.admin("anchor-now");
            let decided = || async {
                let anchors = filler.anchors().await;
                let is_refused = doubted.refused("anchor").await > before;
                (is_refused || !anchors.is_empty()).then_some(anchors)
            };
            let anchors = eventually(&format!("decided: {what}"), SEEN_LIMIT, decided).await;
            assert!(
                anchors.is_empty(),
                "a false checkpoint was signed: {anchors:?}"
            );
            assert_eq!(client.checkpoint().await.unwrap(), true_one, "{what}");
            assert_eq!(server.readiness().await.0, 200, "{what}");
        }
    }

    // An anchor that another account really sent is adopted, together with its signature.
    doubted.liar.tell(Lie::None);
    let payer = insecure_development_keys()[3].clone();
    let (rpc, fees) = (doubted.anvil.rpc(), FeePolicy::default());
    let data = anchor_calldata(&true_one, &[]);
    let sent = transact(&rpc, &payer, Some(doubted.contract), data, &fees, 20_000);
    let sent = sent.await.unwrap();
    doubted.admin("anchor-now");
    let adopted = || async { filler.anchors().await.into_iter().next() };
    let anchor = eventually("the anchor is adopted", FINAL_LIMIT, adopted).await;
    assert_eq!(anchor.status, AnchorStage::Finalized);
    assert_eq!(anchor.tx_hash, Some(sent.tx_hash));
    assert_eq!(anchor.head, true_one.checkpoint.head);
    assert_eq!(anchor.sequence, true_one.checkpoint.sequence);
    server.stop();
    is_never_convicted(&doubted.setup.store(), domain, doubted.sequencer.address());
}

// Holds invariant 110.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_false_answer_stops_nobody_for_long() {
    let mut rng = Rng::seeded("false answers");
    let doubted = Doubted::new(3_600).await;
    let server = doubted.setup.start();
    let filler = Filler::new(&doubted.setup, &mut rng).await;
    filler.mint().await;
    let lie = |answers| Lie::Latest {
        batches: 1_000,
        history: Hash([0xaa; 32]),
        answers,
    };

    // Once: the server asks again, and nothing stops.
    doubted.liar.tell(lie(1));
    doubted.admin("anchor-now");
    let noticed = || async {
        let is_refused = doubted.refused("checkpoint").await > 0.5;
        let status = server.readiness().await.0;
        (is_refused || status != 200).then_some(status)
    };
    let status = eventually("one false answer is noticed", SEEN_LIMIT, noticed).await;
    assert_eq!(status, 200);
    filler.mint().await;

    // Repeatedly: no writes meanwhile, and none lost once it is over, without any intervention.
    doubted.liar.tell(lie(u32::MAX));
    doubted.admin("anchor-now");
    doubted.is_ready(&server, 503).await;
    let (_, ready) = server.readiness().await;
    let reason = ready["reason"].as_str().unwrap();
    assert!(reason.contains("a checkpoint of 1000 batches"), "{reason}");
    assert!(
        reason.contains("once the node no longer claims it"),
        "{reason}"
    );
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(server.readiness().await.0, 503, "as long as it is claimed");
    doubted.liar.tell(Lie::None);
    doubted.is_ready(&server, 200).await;
    filler.mint().await;
    server.stop();

    // The same at a start, when the claim arrives before anything can verify it.
    doubted.liar.tell(lie(u32::MAX));
    let server = doubted.setup.start();
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 503, "{ready}");
    doubted.liar.tell(Lie::None);
    doubted.is_ready(&server, 200).await;
    filler.mint().await;
    server.stop();

    // A second node settles it immediately.
    let setup = doubted
        .setup
        .clone()
        .set("chain_second_rpc_url", format!("{:?}", doubted.anvil.url()));
    let server = setup.start();
    let before = doubted.refused("checkpoint").await;
    doubted.liar.tell(lie(u32::MAX));
    doubted.admin("anchor-now");
    let refused = || async { (doubted.refused("checkpoint").await > before + 0.5).then_some(()) };
    eventually("the second node is asked", SEEN_LIMIT, refused).await;
    assert_eq!(server.readiness().await.0, 200);
    filler.mint().await;
    server.stop();
}

// Holds invariant 113.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_does_not_answer_is_named() {
    let mut rng = Rng::seeded("silent node");
    let doubted = Doubted::new(3_600).await;
    let server = doubted.setup.start();
    let filler = Filler::new(&doubted.setup, &mut rng).await;
    let node = |reachable: bool| {
        let server = &server;
        move || async move {
            let (status, ready) = server.readiness().await;
            assert_eq!(status, 200, "ready all the same: {ready}");
            (ready["node"]["reachable"] == json!(reachable)).then_some(ready)
        }
    };
    let metric = async || {
        let port = doubted.setup.metrics_port();
        http::metric(port, "kedge_chain_node_reachable", &[]).await
    };
    eventually("the node answers", SEEN_LIMIT, node(true)).await;
    assert!(metric().await > 0.5);
    let before = doubted.setup.log();

    doubted.liar.tell(Lie::Silent);
    let ready = eventually("the silence is noticed", SEEN_LIMIT, node(false)).await;
    assert!(ready["node"]["unreachable_s"].is_u64(), "{ready}");
    assert!(metric().await < 0.5);
    let (_, status) = doubted.admin("status");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["node"]["endpoint"], doubted.liar.url());
    assert_eq!(status["node"]["reachable"], json!(false));
    assert!(status["node"]["error"].is_string(), "{status}");
    let (worked, reported) = doubted.admin("anchor-now");
    assert!(
        !worked && reported.contains("does not answer"),
        "{reported}"
    );
    filler.mint().await;
    tokio::time::sleep(Duration::from_secs(15)).await;

    doubted.liar.tell(Lie::None);
    eventually("the node is back", SEEN_LIMIT, node(true)).await;
    assert!(metric().await > 0.5);
    let log = doubted.setup.log();
    let lines: Vec<&str> = log[before.len()..].lines().collect();
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(count("the chain's node does not answer"), 1, "{lines:#?}");
    assert_eq!(count("the chain's node answers again"), 1, "{lines:#?}");
    assert_eq!(count("WARN"), 1, "{lines:#?}");
    server.stop();
}

// Holds invariant 112.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_do_not_put_an_anchor_off() {
    let mut rng = Rng::seeded("restarts");
    let doubted = Doubted::new(INTERVAL_S).await;
    let server = doubted.setup.start();
    let filler = Filler::new(&doubted.setup, &mut rng).await;
    server.stop();
    // Each run is shorter than the interval, but together they are longer.
    let mut anchored = 0;
    for _ in 0..8 {
        let server = doubted.setup.start();
        tokio::time::sleep(Duration::from_secs(3)).await;
        server.stop();
        anchored = doubted.batches_on_chain().await;
        if anchored > 0 {
            break;
        }
    }
    assert!(anchored > 0, "nothing was anchored");

    // The next anchor is due an interval after that one, and not at the next start.
    let record = async |batches| {
        let record = doubted
            .anchored()
            .checkpoint(batches, BlockTag::Latest)
            .await;
        record.unwrap()
    };
    let due_s = record(anchored).await.issued_at_ms / 1_000 + INTERVAL_S;
    let server = doubted.setup.start();
    filler.mint().await;
    let next = || async {
        let batches = doubted.batches_on_chain().await;
        (batches > anchored).then_some(batches)
    };
    let next = eventually("the next anchor", SEEN_LIMIT, next).await;
    let anchored_at_s = record(next).await.anchored_at_s;
    assert!(anchored_at_s >= due_s, "{anchored_at_s}, due at {due_s}");
    server.stop();
}

// Holds invariant 112.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orderly_stop_anchors_what_is_new() {
    let mut rng = Rng::seeded("anchor at the stop");
    let doubted = Doubted::new(3_600).await;
    let asked = doubted
        .setup
        .clone()
        .set("anchor_on_shutdown", true)
        .set("anchor_on_shutdown_timeout_s", 30);
    let server = doubted.setup.start();
    let filler = Filler::new(&doubted.setup, &mut rng).await;
    server.stop();
    assert_eq!(doubted.batches_on_chain().await, 0, "only if asked");

    let server = asked.start();
    filler.mint().await;
    let (_, ready) = server.readiness().await;
    server.stop();
    let batches = ready["batches"].as_u64().unwrap();
    assert_eq!(doubted.batches_on_chain().await, batches);
    let server = asked.start();
    let finalized = || async {
        let (_, ready) = server.readiness().await;
        (ready["anchoring"]["finalized_batches"] == json!(batches)).then_some(())
    };
    eventually("the next start follows it", FINAL_LIMIT, finalized).await;

    // A node that is down delays the stop only for a bounded time.
    filler.mint().await;
    doubted.liar.tell(Lie::Silent);
    server.stop();
    assert_eq!(doubted.batches_on_chain().await, batches);
}

const GWEI: u128 = 1_000_000_000;

/// Offers per unit of gas of an account's pending transactions.
async fn offers_wei(bonded: &Bonded, of: Address) -> Vec<u128> {
    let pool = bonded.raw("txpool_content", json!([])).await;
    let by_sender = pool["pending"].as_object().unwrap();
    let own = by_sender
        .iter()
        .filter(|(sender, _)| sender.eq_ignore_ascii_case(&of.to_string()));
    own.flat_map(|(_, sent)| sent.as_object().unwrap().values())
        .map(|sent| {
            let digits = sent["maxFeePerGas"].as_str().unwrap();
            u128::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap()
        })
        .collect()
}

// Holds invariant 148.
/// An answer to the bond never offers more than configured, however expensive gas is, and is mined once that is enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_the_bond_offers_no_more_than_the_option_says() {
    const MOST_GWEI: u128 = 7;
    let mut rng = Rng::seeded("dear gas");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
    let bonded = Bonded::new(&anvil.rpc(), sequencer.address()).await;
    let payer = insecure_development_keys()[1].clone();
    let setup = Setup::new(&directory.path().join("data"))
        .set("chain_rpc_url", format!("{:?}", anvil.url()))
        .set("chain_id", CHAIN_ID)
        .set("chain_contract", format!("\"{}\"", bonded.anchor))
        .set("bond_contract", format!("\"{}\"", bonded.bond.address()))
        .set("bond_poll_s", 1)
        .set("bond_max_fee_gwei", MOST_GWEI)
        .set("chain_confirmations", 1)
        .set("anchor_interval_s", 1)
        .environment("KEDGE_SEQUENCER_KEY", to_hex(&sequencer.to_bytes()))
        .environment("KEDGE_ANCHOR_KEY", to_hex(&payer.to_bytes()));
    let server = setup.start();
    let filler = Filler::new(&setup, &mut rng).await;
    let object = NewObject::default();
    let minted = filler.account.mint(filler.template, &object).await.unwrap();
    let proof = || async {
        let proof = filler
            .account
            .proof(minted.action_id, ProofForm::Inclusion)
            .await;
        let proof = proof.unwrap();
        proof.anchor.is_some().then_some(proof)
    };
    let proof = eventually("the mint is anchored", FINAL_LIMIT, proof).await;

    // A demand for leaves, when gas costs three times the highest offer.
    let case = leaves_case_id(0);
    let batches = proof.batch.header.number + 1;
    let open = |salt| demand_leaves_calldata(batches, 0, salt);
    bonded.open_case(case, open).await;
    assert_eq!(bonded.state(case).await, CaseState::Open);
    let dear = format!("{:#x}", 3 * MOST_GWEI * GWEI);
    bonded
        .raw("anvil_setNextBlockBaseFeePerGas", json!([dear]))
        .await;
    let offered = || async {
        let offers = offers_wei(&bonded, payer.address()).await;
        (!offers.is_empty()).then_some(offers)
    };
    let offers = eventually("an answer waits for cheaper gas", SEEN_LIMIT, offered).await;
    assert_eq!(offers, [MOST_GWEI * GWEI]);
    // Nearly empty blocks make it cheaper.
    let answered = || async { (bonded.state(case).await == CaseState::Answered).then_some(()) };
    eventually("it is enough in the end", FINAL_LIMIT, answered).await;
    server.stop();
}
