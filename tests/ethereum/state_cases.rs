//! The bond's cases about the state, answered by the real server on Anvil: about its own checkpoints, and about one
//! that a stranger anchored.

use std::path::Path;
use std::time::Duration;

use kedge_chain::contract::bond::{
    AnchoredHeader, EntryClaim, challenge_entry_calldata, demand_made_state_calldata,
    demand_state_calldata, entry_case_id, state_case_id,
};
use kedge_chain::contract::{AnchorContract, anchor_calldata, transact};
use kedge_chain::rpc::BlockTag;
use kedge_chain::transaction::FeePolicy;
use kedge_client::{Account, Client, NewObject, RetryPolicy};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::evidence::{
    CheckpointEvidence, EntryEvidence, HeaderEvidence, LeafEvidence, OpenedLeafEvidence,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::state::faults::LeafWords;
use kedge_protocol::state::{StateEntry, StateProof};
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::json;

use super::bond::{ANSWER_LIMIT, Operated};
use crate::support::anvil::Anvil;
use crate::support::bonded::{BOND_WEI, TERMS};
use crate::support::faults::Faults;
use crate::support::program::kedge;
use crate::support::server::Server;
use crate::support::{PASSWORD, Rng, checkpoint_over, eventually, free_port, http};

/// The functions' selectors.
fn answer(signature: &str) -> String {
    kedge_protocol::hash::to_hex(&keccak(signature.as_bytes()).0[..4])
}

const HEADER: &str = "(uint64,uint64,uint32,bytes32,bytes32,bytes32,bytes32,bytes32,uint64)";
const CLAIM: &str = "(string,bool,uint64,bytes32)";

/// Time after which no account can make a demand about the first checkpoints.
const LATER_S: u64 = 3 * 24 * 60 * 60;

impl Operated {
    /// The newest signed checkpoint, once it covers an action.
    async fn checkpoint_over(&self, action: Id) -> SignedCheckpoint {
        let sequence = self.proof(action).await.leaf.sequence;
        checkpoint_over(self.account.client(), sequence).await
    }

    /// What the server proves of an id at a checkpoint.
    async fn state(&self, key: Id, batches: u64) -> StateProof {
        let answer = self.read_state(&self.account, key, batches).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let body = answer.json();
        let proof = json!({"key": body["key"], "entry": body["entry"], "nodes": body["nodes"]});
        serde_json::from_value(proof).unwrap()
    }

    async fn read_state(&self, account: &Account, key: Id, batches: u64) -> http::Answer {
        let token = account.access_token().unwrap();
        let path = format!("/state/{key}?checkpoint={batches}");
        let header = format!("Authorization: Bearer {token}");
        http::get_with(self.setup.port(), &path, &header).await
    }

    /// Once no account can make a demand about a checkpoint any more, by the chain's clock and by the server's, its proofs
    /// go with a later one.
    async fn lets_old_proofs_go(
        &self,
        server: Server,
        (key, batches): (Id, u64),
        (signer, faults): (SigningKey, &Faults),
    ) {
        server.stop();
        self.bonded.pass(LATER_S).await;
        let setup = faults.under(self.setup.clone());
        let server = setup.start();
        // A chain that is ahead of the server's clock lets nothing go.
        for _ in 0..3 {
            let newer = self.mint().await;
            self.checkpoint_over(newer).await;
        }
        self.state(key, batches).await;
        server.stop();

        faults.clock_ahead_ms(1_000 * LATER_S.cast_signed());
        let server = setup.start();
        let client = Client::builder(setup.url())
            .retry(RetryPolicy::never())
            .deadline_ahead(Duration::from_secs(LATER_S + 300))
            .connect()
            .await
            .unwrap();
        let account = client.account(signer);
        let email = format!("{}@example.com", account.address()).to_lowercase();
        account.login(&email, PASSWORD).await.unwrap();
        let is_gone = || async {
            let object = NewObject::default();
            account.mint(self.template, &object).await.unwrap();
            let sequence = server.readiness().await.1["sequence"].as_u64().unwrap();
            checkpoint_over(&client, sequence).await;
            let answer = self.read_state(&account, key, batches).await;
            (answer.status == 410).then_some(())
        };
        eventually("the proofs are let go", ANSWER_LIMIT, is_gone).await;
        server.stop();
    }

    /// Another account anchors the log's first checkpoint.
    async fn is_anchored_by_a_stranger(&self, signed: &SignedCheckpoint) {
        let key = insecure_development_keys()[3].clone();
        let (rpc, to) = (&self.bonded.rpc, Some(self.bonded.anchor));
        let data = anchor_calldata(signed, &[]);
        transact(rpc, &key, to, data, &FeePolicy::default(), 20_000)
            .await
            .unwrap();
    }

    /// Demands what a checkpoint's state holds under an id, by an entry at another checkpoint; returns the answer's
    /// selector.
    async fn demand_state(&self, batches: u64, key: Id, known: &SignedCheckpoint) -> String {
        let known = EntryEvidence {
            checkpoint: CheckpointEvidence::of(known, 0),
            proof: self.state(key, known.checkpoint.batches).await,
        };
        let open = |salt| demand_state_calldata(batches, &known, salt);
        self.is_answered(state_case_id(batches, &key), open).await
    }

    /// The same, by the opened action that made the id.
    async fn demand_made_state(&self, batches: u64, maker: &ProofFile) -> String {
        let key = made(maker);
        let action = &maker.action;
        let maker = OpenedLeafEvidence {
            action: LeafEvidence {
                leaf: leaf(maker),
                index: maker.inclusion.leaf_index,
                path: maker.inclusion.path.clone(),
                batch: HeaderEvidence::signed(&maker.batch, 0),
            },
            words: Some(LeafWords {
                kind: keccak(action.kind.as_bytes()),
                target: keccak(action.target.as_bytes()),
                payload: keccak(action.payload.as_bytes()),
                signer: action.signer,
                authority: action.authority,
            }),
        };
        let open = |salt| demand_made_state_calldata(batches, &key, &maker, 0, salt);
        self.is_answered(state_case_id(batches, &key), open).await
    }

    /// Challenges an entry of the newest anchored checkpoint, with its batch by the same checkpoint.
    async fn challenge_entry(&self, key: Id) -> String {
        let contract = AnchorContract::new(self.bonded.rpc.clone(), self.bonded.anchor);
        let latest = contract.latest(BlockTag::Latest).await.unwrap();
        let proof = self.state(key, latest.batches).await;
        let entry = StateEntry::decode(&key, &proof.entry, latest.sequence).unwrap();
        let header = self.header_of(entry.sequence).await;
        let (batches, path) = self.newest_path(header.number).await;
        assert_eq!(batches, latest.batches);
        let holder = AnchoredHeader {
            anchored_batches: batches,
            header: &header,
            path: &path,
        };
        let claim = EntryClaim {
            key,
            is_first: key.prefix == Prefix::Organization && entry.version == 1,
            sequence: entry.sequence,
            integrity: entry.integrity,
        };
        let open = |salt| challenge_entry_calldata(batches, &proof, &holder, salt);
        self.is_answered(entry_case_id(&claim), open).await
    }

    async fn header_of(&self, sequence: u64) -> BatchHeader {
        let headers = super::bond::log_of(&self.account).await;
        let holds = |header: &&BatchHeader| header.last_sequence() >= sequence;
        *headers.iter().find(holds).unwrap()
    }

    /// A watchtower of the account's organization, without patience, finds nothing.
    fn is_left_alone(&self, directory: &Path) {
        let token = directory.join("token");
        std::fs::write(&token, self.account.access_token().unwrap()).unwrap();
        let output = kedge()
            .args(["watch", "--once", "--patience-s", "0"])
            .args(["--url", &self.setup.url(), "--rpc", &self.rpc_url])
            .args(["--contract", &self.bonded.anchor.to_string()])
            .args([Path::new("--token-file"), &token])
            .args([Path::new("--data"), &directory.join("tower")])
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains("batches, no fault"), "{said}");
        let kept = std::fs::read_to_string(directory.join("tower/entries.ndjson")).unwrap();
        // The wallet, its organization, the template, and four objects.
        assert!(kept.lines().count() >= 7, "{kept}");
    }

    async fn is_answered(&self, case: Hash, open: impl FnOnce(Hash) -> Vec<u8>) -> String {
        self.bonded.open_case(case, open).await;
        self.answered(case).await;
        self.bonded.last_answer_selector().await
    }
}

fn leaf(proof: &ProofFile) -> LogLeaf {
    LogLeaf {
        sequence: proof.leaf.sequence,
        timestamp_ms: proof.leaf.timestamp_ms,
        content: proof.leaf.content,
        integrity: proof.leaf.integrity,
    }
}

/// The object that a mint made.
fn made(mint: &ProofFile) -> Id {
    Id::made_by(Prefix::Object, &mint.leaf.content, 0)
}

// Holds invariants 67, 269.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_answers_what_its_bond_asks_about_the_state() {
    let mut rng = Rng::seeded("state cases");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let signer = rng.key();
    let data = directory.path().join("data");
    let (log, server) = Operated::start(&anvil, &data, signer.clone()).await;

    let first = log.mint().await;
    let strange = log.checkpoint_over(first).await;
    log.is_anchored_by_a_stranger(&strange).await;
    // The server's own anchor covers the stranger's, and is final before later checkpoints are signed.
    let second = log.mint().await;
    log.demand_inclusion(second).await;
    let anchored = || async { log.proof(second).await.anchor };
    eventually("the anchor is final", ANSWER_LIMIT, anchored).await;
    let third = log.mint().await;
    let newest = log.checkpoint_over(third).await;
    let batches = strange.checkpoint.batches;
    assert!(newest.checkpoint.batches > batches + 1);

    let [first, second] = [log.proof(first).await, log.proof(second).await];
    let shown = answer("answerState(uint64,string,bytes,bytes[])");
    assert_eq!(
        log.demand_state(batches, made(&first), &newest).await,
        shown
    );
    let absent = answer("answerAbsence(uint64,string,bytes[])");
    assert_eq!(log.demand_made_state(batches, &second).await, absent);
    let leaf = "(uint64,uint64,bytes32,bytes32)";
    let action = format!("(uint64,{HEADER},{leaf},bytes32[],bytes32[])");
    let opened = answer(&format!("answerEntry({CLAIM},{action},uint32)"));
    assert_eq!(log.challenge_entry(made(&first)).await, opened);
    // The integrity of an organization that a registration made is not its leaf's.
    let wallet = log.account.me().await.unwrap();
    assert_eq!(log.challenge_entry(wallet.organization_id).await, opened);

    // The window of the first checkpoint that holds an old entry's batch has closed.
    log.bonded.pass(TERMS.challenge_window_s).await;
    let last = log.mint().await;
    log.demand_inclusion(last).await;
    let stale = answer(&format!(
        "answerStaleEntry({CLAIM},(uint64,{HEADER},bytes32[]))"
    ));
    assert_eq!(log.challenge_entry(log.template).await, stale);
    let young = log.proof(last).await;
    assert_eq!(log.challenge_entry(made(&young)).await, opened);

    let bond = log.bonded.bond.state().await.unwrap();
    assert_eq!((bond.bond_wei, bond.open_cases), (BOND_WEI, 0));
    log.is_left_alone(directory.path());
    let faults = Faults::new(directory.path());
    log.lets_old_proofs_go(server, (made(&first), batches), (signer, &faults))
        .await;
}
