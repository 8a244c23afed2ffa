//! The contract's commands and the chain's options, on the chain of another development server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kedge_chain::contract::{AnchorContract, AnchorContractState};
use kedge_chain::rpc::BlockTag;
use kedge_client::{Account, Client, NewObject, ProofForm};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::support::anvil::{CHAIN_ID, rpc};
use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{Rng, connect, eventually, free_port, register, template};
use crate::{done, done_json, refused};

/// How long an anchor may take to become final.
const PATIENCE: Duration = Duration::from_secs(40);

/// A server that is used for its embedded chain.
struct Chain {
    _server: Server,
    url: String,
}

impl Chain {
    fn start(directory: &Path) -> Self {
        let port = free_port();
        let setup = Setup::development(&directory.join("chain"))
            .set("embedded_chain_listen", format!("127.0.0.1:{port}"));
        Self {
            _server: setup.start(),
            url: format!("http://127.0.0.1:{port}"),
        }
    }

    /// A contract command that one of the development keys pays for.
    fn contract(&self, command: &[&str], key: usize) -> Command {
        let key = &insecure_development_keys()[key];
        let mut contract = kedge();
        contract.arg("contract").args(command);
        contract.args(["--rpc", &self.url, "--json"]);
        contract.env("KEDGE_SIGNING_KEY", to_hex(&key.to_bytes()));
        contract
    }

    /// Deploys a contract; returns its address.
    fn deploy(&self, sequencer: &str, more: &[&str]) -> String {
        let deploy = [&["deploy", "--sequencer", sequencer], more].concat();
        let made = done_json(&mut self.contract(&deploy, 0));
        assert_eq!(made["sequencer"], sequencer);
        made["contract"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_contract_is_handed_over_in_two_steps() {
    let directory = tempfile::tempdir().unwrap();
    let chain = Chain::start(directory.path());
    let keys = insecure_development_keys();
    let address = |key: usize| keys[key].address().to_string();
    let contract = chain.deploy(&own_key(5).address().to_string(), &[]);
    let step = |more: &[&str], key: usize| {
        let command = [&["handover", "--contract", &contract], more].concat();
        chain.contract(&command, key)
    };
    let state = |reported: &Value| (reported["owner"].clone(), reported["pending_owner"].clone());

    // An account that does not own it cannot hand it over.
    refused(&mut step(&["--to", &address(2)], 2), 1);
    let named = done_json(&mut step(&["--to", &address(1)], 0));
    assert_eq!(state(&named), (json!(address(0)), json!(address(1))));
    // Only the named account can accept; until then the owner may name another one.
    refused(&mut step(&["--accept"], 2), 1);
    let named = done_json(&mut step(&["--to", &address(3)], 0));
    assert_eq!(state(&named), (json!(address(0)), json!(address(3))));
    refused(&mut step(&["--accept"], 1), 1);
    let taken = done_json(&mut step(&["--accept"], 3));
    assert_eq!(state(&taken), (json!(address(3)), Value::Null));
    refused(&mut step(&["--to", &address(0)], 0), 1);
    refused(&mut step(&["--accept"], 0), 1);

    let mut both = step(&["--accept", "--to", &address(1)], 3);
    refused(&mut both, 2);
    let mut nobody = kedge();
    nobody.args(["contract", "handover", "--accept", "--rpc", &chain.url]);
    nobody.args(["--contract", &contract]);
    let reported = refused(&mut nobody, 2);
    assert!(reported.contains("KEDGE_SIGNING_KEY"), "{reported}");
}

/// A key without funds.
fn own_key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32]).unwrap()
}

/// A file with a key, in the form that the server requires.
fn key_file(directory: &Path, name: &str, key: &SigningKey) -> PathBuf {
    let file = directory.join(name);
    std::fs::write(&file, to_hex(&key.to_bytes())).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    file
}

fn quoted(text: impl std::fmt::Debug) -> String {
    format!("{text:?}")
}

/// A server on the other one's chain, with all its keys from files.
fn with_files(chain: &Chain, directory: &Path, contract: &str) -> Setup {
    let file = |name: &str, key: &SigningKey| quoted(key_file(directory, name, key));
    let payer = &insecure_development_keys()[1];
    Setup::new(&directory.join("data"))
        .set("chain", "rpc")
        .set("chain_rpc_url", quoted(&chain.url))
        .set("chain_id", CHAIN_ID)
        .set("chain_contract", quoted(contract))
        .set("chain_confirmations", 0)
        .set("anchor_interval_s", 1)
        .set("sequencer_key_file", file("sequencer", &own_key(6)))
        .set("anchor_key_file", file("anchor", payer))
        .set("operator_key_file", file("operator", &own_key(8)))
}

async fn anchored(account: &Account) {
    let template = template(account, "anchored").await;
    let minted = account.mint(template, &NewObject::default()).await.unwrap();
    let proof = || async {
        let proof = account.proof(minted.action_id, ProofForm::Inclusion);
        proof.await.unwrap().anchor
    };
    eventually("the action is anchored", PATIENCE, proof).await;
}

/// The operators that the log names, and the tier that the operator set.
async fn operators(setup: &Setup, client: &Client, account: &Account) -> Value {
    let organization = account.me().await.unwrap().organization_id.to_string();
    let mut tier = kedge();
    tier.args(["admin", "tier", &organization, "developer", "--socket"]);
    done(tier.arg(setup.data().join("admin.sock")));
    let mut export = account.export(0).await.unwrap();
    let first = export.line().await.unwrap().unwrap();
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first["sequencer"], json!(client.sequencer()), "{first}");
    first["operators"].clone()
}

/// Keys are read from the files that options name, and each signs or pays only for its own purpose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_files_sign_and_pay() {
    let mut rng = Rng::seeded("key files");
    let directory = tempfile::tempdir().unwrap();
    let chain = Chain::start(directory.path());
    let sequencer = own_key(6).address();
    let first = chain.deploy(&sequencer.to_string(), &[]);
    let setup = with_files(&chain, directory.path(), &first);
    // The file takes precedence over the variable.
    let server = setup
        .clone()
        .environment("KEDGE_SEQUENCER_KEY", to_hex(&own_key(5).to_bytes()))
        .start();
    let client = connect(&setup.url()).await;
    assert_eq!(client.sequencer(), sequencer);
    assert_eq!(client.domain().verifying_contract.to_string(), first);
    let account = register(&client, rng.key()).await;
    let found = operators(&setup, &client, &account).await;
    assert!(
        found
            .to_string()
            .contains(&own_key(8).address().to_string()),
        "{found}"
    );
    let node = rpc(&chain.url);
    let payer = insecure_development_keys()[1].address();
    let sent = || async {
        node.transaction_count(payer, BlockTag::Latest)
            .await
            .unwrap()
    };
    let before = sent().await;
    anchored(&account).await;
    assert!(sent().await > before, "the key of anchor_key_file paid");
    server.stop();

    for option in ["sequencer_key_file", "anchor_key_file", "operator_key_file"] {
        let name = option.strip_suffix("_key_file").unwrap();
        let file = directory.path().join(name);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let (status, reported) = setup.start_refused();
        assert_eq!(status.code(), Some(1));
        assert!(
            reported.contains("chmod 600") && reported.contains(name),
            "{option}: {reported}"
        );
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    }
    let missing = setup.clone().set("anchor_key_file", quoted("/nowhere/key"));
    let (_, reported) = missing.start_refused();
    assert!(reported.contains("/nowhere/key"), "{reported}");
    setup.start().stop();
}

/// Mints, waits until the contract holds it, stores the proof and verifies it.
async fn verifies(folder: &Path, chain: &Chain, account: &Account, contract: &str) -> Value {
    let made = template(account, contract).await;
    let minted = account.mint(made, &NewObject::default()).await.unwrap();
    let proof = || async {
        let proof = account.proof(minted.action_id, ProofForm::Inclusion);
        let proof = proof.await.unwrap();
        proof.anchor.is_some().then_some(proof)
    };
    let proof = eventually("the action is anchored", PATIENCE, proof).await;
    let anchor = proof.anchor.as_ref().unwrap();
    assert_eq!(anchor.contract.to_string(), contract);
    let file = folder.join(format!("{contract}.json"));
    std::fs::write(&file, serde_json::to_vec(&proof).unwrap()).unwrap();
    verified(&file, chain, contract)
}

/// The output of `kedge verify` for a proof, checked with a contract on the chain.
fn verified(file: &Path, chain: &Chain, contract: &str) -> Value {
    let mut verify = kedge();
    verify.args(["verify", "proof", "--json"]).arg(file);
    verify.args(["--rpc", &chain.url, "--contract", contract]);
    done_json(&mut verify)
}

// Holds invariant 64.
/// A log moves from one contract to the next: the first one anchors nothing more and its proofs stay, the second one
/// continues from its checkpoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retired_contract_hands_its_log_over() {
    let mut rng = Rng::seeded("retired");
    let directory = tempfile::tempdir().unwrap();
    let chain = Chain::start(directory.path());
    let sequencer = own_key(6).address().to_string();
    let first = chain.deploy(&sequencer, &[]);
    let second = chain.deploy(&sequencer, &["--domain-contract", &first]);
    let setup = with_files(&chain, directory.path(), &first);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let ann = register(&client, rng.key()).await;
    assert_eq!(
        verifies(directory.path(), &chain, &ann, &first).await["valid"],
        true
    );

    let retire = |of: &str, successor: &str, key: usize| {
        let command = ["retire", "--contract", of, "--successor", successor];
        chain.contract(&command, key)
    };
    let contract = |address: &str| AnchorContract::new(rpc(&chain.url), address.parse().unwrap());
    let state = async |address: &str| contract(address).state().await.unwrap();
    let batches = async |address: &str| {
        let latest = contract(address).latest(BlockTag::Latest).await;
        latest.unwrap().batches
    };
    // Only its owner can retire it, and only for a contract that waits for this log.
    refused(&mut retire(&first, &second, 2), 1);
    let stranger = chain.deploy(&sequencer, &[]);
    refused(&mut retire(&first, &stranger, 0), 1);
    refused(&mut retire(&second, &first, 0), 1);
    assert_eq!(state(&first).await, AnchorContractState::Open);
    assert_eq!(state(&second).await, AnchorContractState::Waiting);

    let reported = done_json(&mut retire(&first, &second, 0));
    assert_eq!(
        (&reported["contract"], &reported["state"]),
        (&json!(first), &json!("retired"))
    );
    assert_eq!(state(&first).await, AnchorContractState::Retired);
    assert_eq!(state(&second).await, AnchorContractState::Open);
    refused(&mut retire(&first, &second, 0), 1);
    let handed_over = batches(&first).await;
    assert!(handed_over > 0);
    assert_eq!(batches(&second).await, handed_over);
    // The first contract does not accept later batches.
    template(&ann, "after").await;
    server.stop();

    let setup = setup
        .set("chain_contract", quoted(&second))
        .set("domain_contract", quoted(&first));
    let server = setup.start();
    let again = verifies(directory.path(), &chain, &ann, &second).await;
    assert_eq!(again["valid"], true);
    assert_eq!(batches(&first).await, handed_over);
    let continued = batches(&second).await;
    assert!(continued > handed_over, "{continued}");
    let old = directory.path().join(format!("{first}.json"));
    assert_eq!(verified(&old, &chain, &first)["valid"], true);
    server.stop();
}

/// `domain_contract` is in every signature, also once another contract anchors: the log keeps the name of its first
/// one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_contract_is_what_is_signed() {
    let directory = tempfile::tempdir().unwrap();
    let chain = Chain::start(directory.path());
    let sequencer = own_key(6).address().to_string();
    let first = chain.deploy(&sequencer, &[]);
    let second = chain.deploy(&sequencer, &["--domain-contract", &first]);
    assert_ne!(first, second);
    let setup = with_files(&chain, directory.path(), &second);
    let server = setup.clone().set("domain_contract", quoted(&first)).start();
    let client = connect(&setup.url()).await;
    assert_eq!(client.domain().verifying_contract.to_string(), first);
    drop(client);
    server.stop();
    // Without that option the newer contract would begin another log.
    let (status, reported) = setup.start_refused();
    assert_eq!(status.code(), Some(1));
    assert!(
        reported.contains("this data directory holds the log of chain"),
        "{reported}"
    );
}

// Holds invariant 238.
/// A new log for another chain or contract could never be anchored, so none is made; with the right options the same
/// data directory begins one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_log_is_bound_to_what_the_contract_names() {
    let directory = tempfile::tempdir().unwrap();
    let chain = Chain::start(directory.path());
    let sequencer = own_key(6).address().to_string();
    let first = chain.deploy(&sequencer, &[]);
    let second = chain.deploy(&sequencer, &["--domain-contract", &first]);
    let right = with_files(&chain, directory.path(), &first);
    let other_chain = right.clone().set("chain_id", CHAIN_ID + 1);
    let other_contract = with_files(&chain, directory.path(), &second);
    for setup in [other_chain, other_contract] {
        let (status, reported) = setup.start_refused();
        assert_eq!(status.code(), Some(1));
        let named = format!("signs for chain {CHAIN_ID} and contract {first}");
        assert!(
            reported.contains(&named) && reported.contains("no log was made"),
            "{reported}"
        );
    }

    // While the node is away the server cannot know, and accepts nothing.
    let port = free_port();
    let place = directory.path().join("alone");
    std::fs::create_dir(&place).unwrap();
    let server = with_files(&chain, &place, &first)
        .set("chain_id", CHAIN_ID + 1)
        .set("chain_rpc_url", quoted(format!("http://127.0.0.1:{port}")))
        .start();
    let why = server.why_read_only().await;
    assert!(why.contains("the contract has not been read yet"), "{why}");
    server.stop();

    let server = right.start();
    let client = connect(&right.url()).await;
    register(&client, Rng::seeded("domain").key()).await;
    server.stop();
    // From then on the log is bound, and continues without the node.
    let server = right
        .clone()
        .set("chain_rpc_url", quoted(format!("http://127.0.0.1:{port}")))
        .start();
    let client = connect(&right.url()).await;
    register(&client, Rng::seeded("domain, alone").key()).await;
    server.stop();
}
