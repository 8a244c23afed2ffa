//! A claim from the command line to the chain: the resolver is deployed, the claim is proved, and the contract reports
//! what it shows.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use kedge_chain::contract::claims::ClaimsContract;
use kedge_client::{NewObject, ProofForm};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};

use crate::support::anvil::{Anvil, CHAIN_ID, deploy_anchor};
use crate::support::server::Setup;
use crate::support::{Rng, connect, eventually, free_port, register, template};

fn kedge(arguments: &[&str], key: &SigningKey) -> Output {
    crate::support::program::kedge()
        .args(arguments)
        .env("KEDGE_SIGNING_KEY", to_hex(&key.to_bytes()))
        .output()
        .unwrap()
}

fn done(output: &Output) -> Value {
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reported}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(output: &Output, why: &str) {
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{why}: it was done");
    assert!(reported.contains(why), "{reported}");
}

fn address(of: &Value, member: &str) -> Address {
    of[member].as_str().unwrap().parse().unwrap()
}

/// A server whose newest object's mint is anchored; its proof file is written.
async fn anchored_mint(directory: &Path, anvil: &Anvil, contract: Address, file: &Path) {
    let mut rng = Rng::seeded("resolver");
    let setup = Setup::new(&directory.join("data"))
        .set("chain_rpc_url", format!("{:?}", anvil.url()))
        .set("chain_id", CHAIN_ID)
        .set("chain_contract", format!("\"{contract}\""))
        .set("chain_confirmations", 1)
        .set("anchor_interval_s", 1)
        .environment("KEDGE_SEQUENCER_KEY", format!("0x{}", "5e".repeat(32)))
        .environment(
            "KEDGE_ANCHOR_KEY",
            to_hex(&insecure_development_keys()[1].to_bytes()),
        );
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, rng.key()).await;
    let template = template(&account, "claimed").await;
    let minted = account.mint(template, &NewObject::default()).await.unwrap();
    let proof = || async {
        let proof = account.proof(minted.action_id, ProofForm::Inclusion);
        let proof = proof.await.unwrap();
        proof.anchor.is_some().then_some(proof)
    };
    let proof = eventually("the mint is anchored", Duration::from_mins(1), proof).await;
    std::fs::write(file, serde_json::to_vec(&proof).unwrap()).unwrap();
    server.stop();
}

// Holds invariant 114.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_resolved_on_the_chain() {
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
    let contract = deploy_anchor(&anvil.rpc(), sequencer.address()).await;
    let [owner, _, claimant, other] = [0, 1, 2, 3].map(|i| insecure_development_keys()[i].clone());
    let (rpc, anchor) = (anvil.url(), contract.to_string());
    let deploy = [
        "contract",
        "claims",
        "--contract",
        &anchor,
        "--dev-insecure",
        "--rpc",
        &rpc,
        "--json",
    ];

    refused(
        &kedge(&deploy, &other),
        "are added by the anchor contract's owner",
    );
    let first = done(&kedge(&deploy, &owner));
    assert_eq!(first["circuit_version"], 1);
    let resolver = first["resolver"].as_str().unwrap();
    let bound = ClaimsContract::new(anvil.rpc(), address(&first, "resolver"));
    assert_eq!(bound.anchor_contract().await.unwrap(), contract);
    let verifier = bound.verifier_of(1).await.unwrap();
    assert_eq!(verifier, address(&first, "verifier"));
    // Another circuit gets the next version, and the first one stays.
    let more = [&deploy[..], &["--resolver", resolver]].concat();
    let second = done(&kedge(&more, &owner));
    assert_eq!(
        (&second["resolver"], &second["circuit_version"]),
        (&first["resolver"], &json!(2))
    );
    assert_eq!(bound.verifier_of(1).await.unwrap(), verifier);
    let foreign = deploy_anchor(&anvil.rpc(), sequencer.address())
        .await
        .to_string();
    let wrong = [
        "contract",
        "claims",
        "--contract",
        &foreign,
        "--dev-insecure",
        "--rpc",
        &rpc,
        "--resolver",
        resolver,
    ];
    refused(&kedge(&wrong, &owner), "belongs to the anchor contract");

    let proof = directory.path().join("proof.json");
    anchored_mint(directory.path(), &anvil, contract, &proof).await;
    let (by, purpose) = (claimant.address().to_string(), Hash([9; 32]).to_string());
    let prove = [
        "prove",
        "claim",
        proof.to_str().unwrap(),
        "--disclose",
        "kind",
        "--claimant",
        &by,
        "--resolver",
        resolver,
        "--purpose",
        &purpose,
        "--dev-insecure",
        "--rpc",
        &rpc,
        "--contract",
        &anchor,
    ];
    let claim = done(&kedge(&prove, &claimant));
    let file = directory.path().join("claim.json");
    std::fs::write(&file, claim.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let resolve = ["prove", "resolve", file, "--rpc", &rpc, "--json"];

    refused(&kedge(&resolve, &other), "only the claimant can submit it");
    let unknown = [&resolve[..], &["--circuit-version", "3"]].concat();
    refused(&kedge(&unknown, &claimant), "UnknownVersion");
    let resolved = done(&kedge(&resolve, &claimant));
    let context: Hash = resolved["context"].as_str().unwrap().parse().unwrap();
    assert!(bound.is_resolved(&context).await.unwrap());
    assert_eq!(resolved["content"], claim["leaf"]["content"]);
    assert!(!bound.is_resolved(&Hash([1; 32])).await.unwrap());
    refused(&kedge(&resolve, &claimant), "AlreadyResolved");
}
