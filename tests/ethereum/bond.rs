//! The bond's demands and challenges, answered by the real server on Anvil: across a kill, close to the deadline, and
//! one that the log has no answer to. Also how the server learns the contract's keys.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use kedge_chain::contract::AnchorContract;
use kedge_chain::contract::bond::{
    AnchoredAction, CaseState, action_case_id, answer_action_calldata, answer_stale_calldata,
    challenge_action_calldata, demand_inclusion_calldata, demand_leaves_calldata,
    inclusion_case_id, leaves_case_id,
};
use kedge_chain::rpc::BlockTag;
use kedge_client::{Account, ListQuery, NewObject, ProofForm};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::action::{ActionWords, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{ActionOpening, EvidenceFile};
use kedge_protocol::hash::to_hex;
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};
use kedge_protocol::proof::ProofFile;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id};
use serde_json::json;

use crate::support::anvil::{Anvil, CHAIN_ID};
use crate::support::bonded::{BOND_WEI, Bonded, TERMS};
use crate::support::equivocation::equivocation;
use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{Rng, connect, eventually, free_port, http, register, template};

/// Longest time until the server answers, including the pauses between its checks.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_mins(1);

/// A server whose log has a bond.
pub(crate) struct Operated {
    pub(crate) bonded: Bonded,
    pub(crate) rpc_url: String,
    pub(crate) setup: Setup,
    pub(crate) account: Account,
    pub(crate) template: Id,
    sequencer: SigningKey,
}

impl Operated {
    /// Starts a server whose contracts have their bond, with a wallet.
    pub(crate) async fn start(anvil: &Anvil, data: &Path, key: SigningKey) -> (Self, Server) {
        let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
        let bonded = Bonded::new(&anvil.rpc(), sequencer.address()).await;
        let setup = Setup::new(data)
            .set("chain_rpc_url", format!("{:?}", anvil.url()))
            .set("chain_id", CHAIN_ID)
            .set("chain_contract", format!("\"{}\"", bonded.anchor))
            .set("bond_contract", format!("\"{}\"", bonded.bond.address()))
            .set("bond_poll_s", 1)
            .set("chain_confirmations", 1)
            .set("anchor_interval_s", 3_600)
            // More than no bytes, so that terms end although the days do not.
            .set("state_proofs_kept_days", 3_650)
            .set("state_proofs_kept_bytes", 0)
            .environment("KEDGE_SEQUENCER_KEY", format!("0x{}", "5e".repeat(32)))
            .environment(
                "KEDGE_ANCHOR_KEY",
                // The second development key; the first one owns the contracts.
                "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
            );
        let server = setup.start();
        let client = connect(&setup.url()).await;
        let account = register(&client, key).await;
        let template = template(&account, "bonded").await;
        let log = Self {
            bonded,
            rpc_url: anvil.url(),
            setup,
            account,
            template,
            sequencer,
        };
        (log, server)
    }

    /// Kills the server while the answer is in flight: it is sent once and accepted once.
    async fn is_killed_while_it_answers(&self, server: Server, batches: u64) -> Server {
        let sent = self.transactions("latest").await;
        let case = leaves_case_id(0);
        let open = |salt| demand_leaves_calldata(batches, 0, salt);
        self.bonded.open_case(case, open).await;
        self.bonded.block_time(0).await;
        let is_sent = || async { (self.transactions("pending").await > sent).then_some(()) };
        eventually("the answer is sent", ANSWER_LIMIT, is_sent).await;
        server.kill();
        assert_eq!(self.stored_answers(), 1, "stored before it is sent");
        let server = self.setup.start();
        self.bonded.block_time(1).await;
        self.answered(case).await;
        assert_eq!(self.transactions("latest").await, sent + 1);
        self.metric_is("kedge_bond_cases_open", |open| open < 0.5)
            .await;
        server
    }

    /// Keeps the server down until shortly before the deadline: the metric shows how near that is, and the answer still
    /// arrives in time.
    async fn is_down_until_the_deadline(&self, server: Server, batches: u64) -> Server {
        server.stop();
        let case = leaves_case_id(1);
        let open = |salt| demand_leaves_calldata(batches, 1, salt);
        self.bonded.open_case(case, open).await;
        self.bonded.pass(TERMS.response_time_s - 200).await;
        self.bonded.block_time(0).await;
        let server = self.setup.start();
        self.metric_is("kedge_bond_cases_open", |open| open > 0.5)
            .await;
        self.metric_is("kedge_bond_deadline_seconds", |left| {
            left > 1.0 && left < 200.0
        })
        .await;
        self.bonded.block_time(1).await;
        self.answered(case).await;
        server
    }

    pub(crate) async fn mint(&self) -> Id {
        let object = NewObject::default();
        let minted = self.account.mint(self.template, &object).await;
        minted.unwrap().action_id
    }

    pub(crate) async fn proof(&self, action: Id) -> ProofFile {
        self.account
            .proof(action, ProofForm::Inclusion)
            .await
            .unwrap()
    }

    pub(crate) async fn answered(&self, case: Hash) {
        let is_answered =
            || async { (self.bonded.state(case).await == CaseState::Answered).then_some(()) };
        eventually("the case is answered", ANSWER_LIMIT, is_answered).await;
    }

    async fn metric_is(&self, name: &str, holds: impl Fn(f64) -> bool) {
        let probe = || async {
            let value = http::metric(self.setup.metrics_port(), name, &[]).await;
            holds(value).then_some(())
        };
        eventually(name, ANSWER_LIMIT, probe).await;
    }

    /// Demands that an action's batch is anchored: the interval is too long for a test.
    pub(crate) async fn demand_inclusion(&self, action: Id) {
        let batch = self.proof(action).await.batch;
        let case = inclusion_case_id(batch.header.hash());
        let open = |salt| demand_inclusion_calldata(&batch, 0, salt);
        self.bonded.open_case(case, open).await;
        self.answered(case).await;
    }

    /// Challenges an anchored action with the newest checkpoint; returns the selector of the
    /// server's answer.
    async fn challenge(&self, action: Id) -> String {
        let anchored = || async {
            let proof = self.proof(action).await;
            proof.anchor.is_some().then_some(proof)
        };
        let proof = eventually("the anchor is final", ANSWER_LIMIT, anchored).await;
        let (anchored_batches, batch_path) = self.newest_path(proof.batch.header.number).await;
        let header = &proof.batch.header;
        let leaf = LogLeaf {
            sequence: proof.leaf.sequence,
            timestamp_ms: proof.leaf.timestamp_ms,
            content: proof.leaf.content,
            integrity: proof.leaf.integrity,
        };
        let case = action_case_id(header.hash(), leaf.hash());
        let challenged = AnchoredAction {
            anchored_batches,
            header,
            leaf: &leaf,
            leaf_path: &proof.inclusion.path,
            batch_path: &batch_path,
        };
        let open = |salt| challenge_action_calldata(&challenged, salt);
        self.bonded.open_case(case, open).await;
        self.answered(case).await;
        self.bonded.last_answer_selector().await
    }

    /// The contract's newest checkpoint, and the batch's path to it.
    pub(crate) async fn newest_path(&self, number: u64) -> (u64, Vec<Hash>) {
        let contract = AnchorContract::new(self.bonded.rpc.clone(), self.bonded.anchor);
        let batches = contract.latest(BlockTag::Latest).await.unwrap().batches;
        let headers = log_of(&self.account).await;
        let tree = Tree::of(&headers[..usize::try_from(batches).unwrap()]);
        let path = log_tree::inclusion_path(&tree, number, batches).unwrap();
        (batches, path)
    }

    /// A watchtower that cannot reach the server demands leaves, as from a server that provides none. Those of batches
    /// 0 and 1 were published before; those of the next one are provided in time.
    async fn answers_a_watchtower(&self, directory: &Path) {
        let watch = || async {
            let mut command = kedge();
            command
                .args(["watch", "--once", "--report", "--patience-s", "0"])
                .args(["--deposits-wei", &TERMS.case_deposit_wei.to_string()])
                .args(["--url", &format!("http://127.0.0.1:{}", free_port())])
                .args(["--rpc", &self.rpc_url])
                .args(["--contract", &self.bonded.anchor.to_string()])
                .args([Path::new("--data"), &directory.join("tower")])
                .env("KEDGE_SIGNING_KEY", to_hex(&watcher().to_bytes()));
            let mut output = tokio::task::spawn_blocking(move || command.output());
            loop {
                let pause = Duration::from_millis(100);
                if let Ok(output) = tokio::time::timeout(pause, &mut output).await {
                    let output = output.unwrap().unwrap();
                    return String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
                }
                self.bonded.pass(TERMS.reveal_delay_s / 4).await;
            }
        };
        let case = leaves_case_id(2);
        let said = watch().await;
        assert!(said.contains("demanded the leaves of batch 2"), "{said}");
        assert!(!said.contains("demanded the leaves of batch 3"), "{said}");
        assert_ne!(self.bonded.state(case).await, CaseState::None);
        self.answered(case).await;
        let said = watch().await;
        assert!(
            said.contains("answered or settled: the leaves of batch 2"),
            "{said}"
        );
        let bond = self.bonded.bond.state().await.unwrap();
        assert_eq!(bond.bond_wei, BOND_WEI);
        let owed = self.bonded.bond.owed_wei(watcher().address()).await;
        assert_eq!(owed.unwrap(), 0, "the deposit is the operator's");
    }

    /// How many answers the stopped server has stored.
    fn stored_answers(&self) -> usize {
        let scratch = tempfile::tempdir().unwrap();
        let domain = self.account.client().domain();
        let made = scratch.path().join("store");
        let store = crate::support::remade::store(self.setup.data(), &made, domain);
        store.snapshot().bond_answers().unwrap().len()
    }

    async fn transactions(&self, block: &str) -> u64 {
        let payer = insecure_development_keys()[1].address();
        let count = self
            .bonded
            .raw("eth_getTransactionCount", json!([payer, block]))
            .await;
        let digits = count.as_str().unwrap().trim_start_matches("0x");
        u64::from_str_radix(digits, 16).unwrap()
    }
}

/// The key that pays for the watchtower.
fn watcher() -> SigningKey {
    insecure_development_keys()[2].clone()
}

/// The headers of a server's whole log.
pub(crate) async fn log_of(account: &Account) -> Vec<BatchHeader> {
    let batches = account.client().batches(&ListQuery::default());
    let batches = batches.collect(1_000).await.unwrap();
    batches.iter().map(|batch| batch.signed().header).collect()
}

/// The log tree, with all its nodes in memory.
struct Tree(HashMap<(u32, u64), Hash>);

impl Tree {
    fn of(headers: &[BatchHeader]) -> Self {
        let mut frontier = TreeFrontier::default();
        let added = headers
            .iter()
            .flat_map(|header| frontier.append(log_tree::leaf(&header.hash())))
            .map(|node| ((node.level, node.index), node.hash));
        Self(added.collect())
    }
}

impl TreeNodes for Tree {
    type Error = std::convert::Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Self::Error> {
        Ok(self.0[&(level, index)])
    }
}

fn selector(calldata: &[u8]) -> String {
    to_hex(&calldata[..4])
}

// Holds invariants 67, 81.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_answers_what_its_bond_asks() {
    let mut rng = Rng::seeded("bond");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let (log, server) = Operated::start(&anvil, &directory.path().join("data"), rng.key()).await;

    // A signed header that no checkpoint covers yet: it is anchored because of the demand.
    let (first, second) = (log.mint().await, log.mint().await);
    log.demand_inclusion(second).await;
    // A young action is opened, with its request.
    let header = log.proof(first).await.batch.header;
    let opened = log.challenge(first).await;
    let opening = ActionOpening {
        words: ActionWords {
            kind: Hash::ZERO,
            target: Hash::ZERO,
            payload: Hash::ZERO,
        },
        salt: Hash::ZERO,
        head: RequestHead {
            signer: log.account.address(),
            nonce: 0,
            deadline_s: 0,
            atomic: false,
        },
        index: 0,
        action_hashes: Vec::new(),
        signature: log.sequencer.sign(&Hash::ZERO),
    };
    let leaf = LogLeaf {
        sequence: 0,
        timestamp_ms: 0,
        content: Hash::ZERO,
        integrity: Hash::ZERO,
    };
    let answer = answer_action_calldata(Hash::ZERO, &leaf, &opening);
    assert_eq!(opened, selector(&answer));
    // An old action is not opened: a later checkpoint would bring it into a window again, but the window of its first
    // one has ended.
    log.bonded.pass(TERMS.challenge_window_s).await;
    let third = log.mint().await;
    log.demand_inclusion(third).await;
    let stale = answer_stale_calldata(&header, Hash::ZERO, 0, &[]);
    assert_eq!(log.challenge(second).await, selector(&stale));

    let anchored = AnchorContract::new(anvil.rpc(), log.bonded.anchor);
    let batches = anchored.latest(BlockTag::Latest).await.unwrap().batches;
    let server = log.is_killed_while_it_answers(server, batches).await;
    let server = log.is_down_until_the_deadline(server, batches).await;

    log.answers_a_watchtower(directory.path()).await;

    // A header that the sequencer's key signed but this log does not hold needs people to investigate.
    let mut forged = log.proof(first).await.batch.header;
    forged.sealed_at_ms += 1;
    let domain = log.account.client().domain();
    let forged = forged.sign(&domain.separator(), &log.sequencer);
    let case = inclusion_case_id(forged.header.hash());
    let open = |salt| demand_inclusion_calldata(&forged, 0, salt);
    log.bonded.open_case(case, open).await;
    log.metric_is("kedge_bond_cases_unanswerable", |count| count > 0.5)
        .await;
    assert_eq!(log.bonded.state(case).await, CaseState::Open);
    server.stop();
}

/// What a server adds to a refusal while it has not read the keys from a node.
const UNREAD: &str = "has not read the contract's keys";

/// Names the key of all batches after the first, in the log and in the contract.
fn rotate(setup: &Setup, rpc_url: &str, bonded: &Bonded, key: &SigningKey) {
    let owner = &insecure_development_keys()[0];
    let output = kedge()
        .args(["contract", "rotate", "--from-batch", "1"])
        .args(["--rpc", rpc_url])
        .args(["--contract", &bonded.anchor.to_string()])
        .args(["--key", &key.address().to_string()])
        .args([Path::new("--socket"), &setup.data().join("admin.sock")])
        .env("KEDGE_SIGNING_KEY", to_hex(&owner.to_bytes()))
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reported}");
}

/// A caller that submits evidence to a server.
struct Accuser {
    port: u16,
    account: Account,
}

impl Accuser {
    async fn new(setup: &Setup, rng: &mut Rng) -> Self {
        let client = connect(&setup.url()).await;
        Self {
            port: setup.port(),
            account: register(&client, rng.key()).await,
        }
    }

    fn domain(&self) -> Domain {
        self.account.client().domain()
    }

    async fn bring(&self, file: &EvidenceFile) -> http::Answer {
        let token = self.account.access_token().unwrap();
        let headers = [("Authorization", format!("Bearer {token}"))];
        let body = file.normal_form().unwrap();
        http::post(self.port, "/disputes", &headers, &body).await
    }

    async fn is_refused(&self, file: &EvidenceFile) -> String {
        let answer = self.bring(file).await;
        assert_eq!(answer.status, 422, "{}", answer.body);
        answer.json()["body"]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

// Holds invariant 83.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evidence_is_judged_by_the_contracts_keys() {
    let mut rng = Rng::seeded("keys");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let [before, now, never] = [0x5d, 0x5e, 0x5f].map(|byte| {
        let key = SigningKey::from_bytes(&[byte; 32]);
        key.unwrap()
    });
    let bonded = Bonded::new(&anvil.rpc(), before.address()).await;
    let setup = |data: &str, rpc_url: String| {
        Setup::new(&directory.path().join(data))
            .set("chain_rpc_url", format!("{rpc_url:?}"))
            .set("chain_id", CHAIN_ID)
            .set("chain_contract", format!("\"{}\"", bonded.anchor))
            .set("anchor_interval_s", 3_600)
            .environment("KEDGE_SEQUENCER_KEY", to_hex(&before.to_bytes()))
            .environment("KEDGE_NEXT_SEQUENCER_KEY", to_hex(&now.to_bytes()))
            .environment("KEDGE_OPERATOR_KEY", to_hex(&[0x0b; 32]))
            .environment("KEDGE_ANCHOR_KEY", to_hex(&[0x0c; 32]))
    };

    let reported = setup("reported", anvil.url());
    let server = reported.start();
    // The log's first batch names the key of all later ones.
    rotate(&reported, &anvil.url(), &bonded, &now);
    let ann = Accuser::new(&reported, &mut rng).await;
    let file = |key, key_index, number| equivocation(ann.domain(), key, key_index, number);
    // The key before the rotation counts for all batches, the next one from its first batch on.
    let by_old = file(&before, 0, 0);
    let recorded = || async { (ann.bring(&by_old).await.status == 201).then_some(()) };
    eventually("the keys are read", ANSWER_LIMIT, recorded).await;
    assert_eq!(ann.bring(&by_old).await.status, 200);
    assert_eq!(ann.bring(&file(&now, 1, 1)).await.status, 201);
    for refused in [
        file(&never, 0, 0),
        file(&never, 2, 3),
        file(&now, 1, 0),
        file(&now, 0, 1),
    ] {
        let why = ann.is_refused(&refused).await;
        assert!(!why.contains(UNREAD), "{why}");
    }
    server.stop();

    // Without its node a server knows only the keys that its log names, and states that there may be more.
    let alone = setup("reported", format!("http://127.0.0.1:{}", free_port()));
    let server = alone.start();
    let ann = Accuser::new(&alone, &mut rng).await;
    let file = |key, key_index, number| equivocation(ann.domain(), key, key_index, number);
    let why = ann.is_refused(&file(&never, 1, 1)).await;
    assert!(why.contains(UNREAD), "{why}");
    assert_eq!(ann.bring(&file(&before, 0, 0)).await.status, 201);
    assert_eq!(ann.bring(&file(&now, 1, 7)).await.status, 201);
    server.stop();
}
