//! Anchoring by the real server, on Anvil and on the embedded chain: proof files that the contract confirms, a node
//! that goes away and returns, and a store that is older than its anchor.

use std::time::Duration;

use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::{BlockTag, RpcClient};
use kedge_client::types::{AnchorResource, AnchorStage};
use kedge_client::{Account, ListQuery, NewObject, ProofForm};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Id};
use serde_json::json;

use crate::support::anvil::{self, Anvil, CHAIN_ID, deploy_anchor};
use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{
    Rng, connect, copy_directory, eventually, free_port, http, register, template,
};

const INTERVAL_S: u64 = 1;
/// How long an anchor may take to become final.
const FINAL_LIMIT: Duration = Duration::from_secs(40);

/// A server whose log is anchored, and an account to fill it.
struct Anchored {
    setup: Setup,
    account: Account,
    template: Id,
    contract: Address,
    payer: Address,
}

impl Anchored {
    async fn new(setup: Setup, contract: Option<Address>, payer: Address, rng: &mut Rng) -> Self {
        let client = connect(&setup.url()).await;
        let account = register(&client, rng.key()).await;
        let template = template(&account, "anchored").await;
        Self {
            setup,
            contract: contract.unwrap_or(client.domain().verifying_contract),
            account,
            template,
            payer,
        }
    }

    /// Mints `count` objects, each in its own batch; returns the last one's action.
    async fn mint(&self, count: usize) -> Id {
        let mut last = None;
        for _ in 0..count {
            let minted = self
                .account
                .mint(self.template, &NewObject::default())
                .await
                .unwrap();
            last = Some(minted.action_id);
        }
        last.unwrap()
    }

    async fn anchors(&self) -> Vec<AnchorResource> {
        let anchors = self.account.client().anchors(&ListQuery::default());
        anchors.collect(1_000).await.unwrap()
    }

    async fn transactions(&self, rpc: &RpcClient) -> u64 {
        rpc.transaction_count(self.payer, BlockTag::Latest)
            .await
            .unwrap()
    }

    /// Waits until the action's proof file has an anchor, and compares it with the contract.
    async fn prove(&self, action: Id, rpc: &RpcClient) {
        let anchored = || async {
            let proof = self
                .account
                .proof(action, ProofForm::Authorship)
                .await
                .unwrap();
            proof.anchor.is_some().then_some(proof)
        };
        let proof = eventually("the action is anchored", FINAL_LIMIT, anchored).await;
        let client = self.account.client();
        let shown = proof
            .verify(&client.domain(), &client.sequencer_keys())
            .unwrap();
        assert!(shown.anchored && shown.authorship);
        let anchor = proof.anchor.as_ref().unwrap();
        assert_eq!(anchor.contract, self.contract);
        let contract = AnchorContract::new(rpc.clone(), self.contract);
        let checkpoint = &anchor.checkpoint.checkpoint;
        assert!(
            contract
                .holds(checkpoint, BlockTag::Finalized)
                .await
                .unwrap()
        );
        // The chain does not confirm what it does not hold.
        let mut forged = *checkpoint;
        forged.sequence += 1;
        assert!(!contract.holds(&forged, BlockTag::Finalized).await.unwrap());
        let mut forged = proof.clone();
        forged.action.payload.push(' ');
        assert!(
            forged
                .verify(&client.domain(), &client.sequencer_keys())
                .is_err()
        );
    }

    /// Checks that every anchor extends the previous one, and that each was sent in one transaction.
    async fn check_anchors(&self, rpc: &RpcClient, other_transactions: u64) {
        let anchors = self.anchors().await;
        let ended: Vec<&AnchorResource> = anchors
            .iter()
            .filter(|anchor| anchor.status != AnchorStage::Failed)
            .collect();
        let mut next = 0;
        for anchor in &ended {
            assert_eq!(anchor.first_batch, next, "{anchor:?}");
            next = anchor.last_batch + 1;
        }
        let sent = self.transactions(rpc).await - other_transactions;
        assert_eq!(sent, ended.len() as u64, "{anchors:?}");
    }

    /// Runs `kedge admin recover`; returns whether it succeeded, and its output.
    fn recover(&self) -> (bool, String) {
        let socket = self.setup.data().join("admin.sock");
        let output = kedge()
            .args(["admin", "recover", "--socket"])
            .arg(socket)
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (output.status.success(), printed)
    }

    async fn is_read_only_by_its_metric(&self) -> bool {
        http::metric(self.setup.metrics_port(), "kedge_storage_read_only", &[]).await > 0.5
    }

    /// Restores an earlier store with its mark, although the chain has newer anchors.
    async fn becomes_read_only(&self, old: &std::path::Path, rpc: &RpcClient) -> Server {
        for part in ["store", "log"] {
            let place = self.setup.data().join(part);
            std::fs::remove_dir_all(&place).unwrap();
            copy_directory(&old.join(part), &place);
        }
        std::fs::copy(old.join("mark"), self.setup.high_water()).unwrap();
        let server = self.setup.start();
        let contract = AnchorContract::new(rpc.clone(), self.contract);
        let anchored = contract.latest(BlockTag::Latest).await.unwrap().batches;
        let not_ready = || async {
            let answer = http::get(self.setup.port(), "/readyz").await;
            (answer.status == 503).then(|| answer.json())
        };
        let limit = Duration::from_secs(15);
        let ready = eventually("the older store is read-only", limit, not_ready).await;
        assert_eq!(ready["mode"], json!("read_only"));
        assert!(self.is_read_only_by_its_metric().await);
        let why = format!(
            "the chain holds a checkpoint of {anchored} batches that does not match this store"
        );
        let reason = ready["reason"].as_str().unwrap();
        assert!(reason.starts_with(&why), "{reason}");
        assert!(ready["batches"].as_u64().unwrap() < anchored);
        let refused = self
            .account
            .mint(self.template, &NewObject::default())
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Some("UNAVAILABLE"));
        assert!(refused.to_string().contains(&why), "{refused}");
        self.account.template(self.template).await.unwrap();
        server
    }
}

fn keep(setup: &Setup, old: &std::path::Path) {
    for part in ["store", "log"] {
        copy_directory(&setup.data().join(part), &old.join(part));
    }
    std::fs::copy(setup.high_water(), old.join("mark")).unwrap();
}

// Holds invariant 14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_anvil_that_goes_away_and_comes_back() {
    let mut rng = Rng::seeded("Anvil");
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("anvil.json");
    let port = free_port();
    let anvil = Anvil::start(port, &state).await;
    let rpc = anvil.rpc();
    let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
    let contract = deploy_anchor(&rpc, sequencer.address()).await;
    // The second development key; the first one owns the contract.
    let payer_key = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
    let payer = insecure_development_keys()[1].address();
    let setup = Setup::new(&directory.path().join("data"))
        .set("chain_rpc_url", format!("{:?}", anvil.url()))
        .set("chain_id", CHAIN_ID)
        .set("chain_contract", format!("\"{contract}\""))
        .set("chain_confirmations", 1)
        .set("anchor_interval_s", INTERVAL_S)
        .environment("KEDGE_SEQUENCER_KEY", format!("0x{}", "5e".repeat(32)))
        .environment("KEDGE_ANCHOR_KEY", payer_key);
    let server = setup.start();
    let log = Anchored::new(setup, Some(contract), payer, &mut rng).await;
    let action = log.mint(3).await;
    log.prove(action, &rpc).await;
    server.stop();
    let old = directory.path().join("old");
    keep(&log.setup, &old);
    let old_state = directory.path().join("old-anvil.json");

    // The node stops: the server serves and even starts without it, and only the lag grows.
    let server = log.setup.start();
    let sent_before = log.transactions(&rpc).await;
    anvil.stop();
    std::fs::copy(&state, &old_state).unwrap();
    log.mint(10).await;
    server.stop();
    let server = log.setup.start();
    let backlog = log.mint(10).await;
    let lag = || async {
        let port = log.setup.metrics_port();
        let lag = http::metric(port, "kedge_anchor_lag_batches", &[]).await;
        (lag >= 20.0).then_some(())
    };
    eventually("the lag shows", Duration::from_secs(15), lag).await;
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 200, "{ready}");
    let reported = &ready["anchoring"];
    assert!(reported["lag_batches"].as_u64().unwrap() >= 20, "{ready}");
    let anvil = Anvil::start(port, &state).await;
    log.prove(backlog, &rpc).await;
    let sent = log.transactions(&rpc).await - sent_before;
    assert_eq!(sent, 1, "one transaction covers the backlog");
    log.check_anchors(&rpc, 0).await;
    server.stop();

    let server = log.becomes_read_only(&old, &rpc).await;
    let (worked, reported) = log.recover();
    assert!(
        !worked && reported.contains("does not match this store"),
        "{reported}"
    );
    assert_eq!(
        log.transactions(&rpc).await,
        sent_before + 1,
        "an older store sends nothing"
    );
    // If the chain was the wrong one, the operator makes the server continue once the chain's state leads on from the
    // store. (Nothing is written after that here, because this store has signed those numbers before.)
    anvil.stop();
    std::fs::copy(&old_state, &state).unwrap();
    let anvil = Anvil::start(port, &state).await;
    assert_eq!(
        server.readiness().await.0,
        503,
        "nothing continues by itself"
    );
    let (worked, reported) = log.recover();
    assert!(worked, "{reported}");
    assert_eq!(server.readiness().await.0, 200);
    assert!(!log.is_read_only_by_its_metric().await);
    server.stop();
    anvil.stop();
}

// Holds invariant 14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_embedded_chain_across_kills() {
    let mut rng = Rng::seeded("embedded chain");
    let directory = tempfile::tempdir().unwrap();
    let chain_port = free_port();
    let setup = Setup::development(&directory.path().join("data"))
        .set("embedded_chain_listen", format!("127.0.0.1:{chain_port}"))
        .set("anchor_interval_s", INTERVAL_S);
    let rpc = anvil::rpc(&format!("http://127.0.0.1:{chain_port}"));
    let mut server = setup.start();
    let payer = insecure_development_keys()[0].address();
    let log = Anchored::new(setup, None, payer, &mut rng).await;
    let action = log.mint(3).await;
    log.prove(action, &rpc).await;
    server.stop();
    let old = directory.path().join("old");
    keep(&log.setup, &old);
    server = log.setup.start();
    // Chain and server are one process here, so a kill hits both, at any moment of an anchor's life.
    for _ in 0..5 {
        let action = log.mint(2).await;
        tokio::time::sleep(Duration::from_millis(rng.below(1_500))).await;
        server.kill();
        server = log.setup.start();
        log.prove(action, &rpc).await;
    }
    // The payer has also deployed the contract.
    log.check_anchors(&rpc, 1).await;
    server.stop();
    let server = log.becomes_read_only(&old, &rpc).await;
    server.stop();
}
