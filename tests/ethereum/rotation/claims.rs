//! A claim about an action of an earlier key, submitted to a server with a later one; and the other users of the log's
//! keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_client::claims::{
    ClaimBinding, ClaimDisclosure, ClaimFile, DisclosureMask, dev_insecure, dev_insecure_proving,
};
use kedge_client::{Account, DisputeCategory, NewObject, ProofForm};
use kedge_protocol::{Address, Hash, Id, KeyActivation, SequencerKeys};
use serde_json::json;

use super::{LIMIT, Rotated, kedge, keys, pinned};
use crate::support::anvil::Anvil;
use crate::support::server::Setup;
use crate::support::{PASSWORD, Rng, connect, eventually, free_port, http, register, template};

/// A claim on an action, for its own signer.
async fn claim(account: &Account, action: Id) -> ClaimFile {
    let proof = account.proof(action, ProofForm::Inclusion).await.unwrap();
    let key = Arc::new(dev_insecure_proving().unwrap());
    let choice = ClaimDisclosure {
        mask: DisclosureMask::new(0b0101).unwrap(),
        hashes_only: false,
    };
    let binding = ClaimBinding {
        resolver: Address([7; 20]),
        claimant: account.address(),
        purpose: Hash([1; 32]),
    };
    let proving = account.client().prove_claim(key, proof, choice, binding);
    proving.await.unwrap()
}

/// Mints until the batch with this number is sealed.
async fn passes(setup: &Setup, account: &Account, made: Id, batch: u64) {
    let sealed = || async {
        let _minted = account.mint(made, &NewObject::default()).await;
        let ready = http::get(setup.port(), "/readyz").await.json();
        (ready["batches"].as_u64().unwrap_or(0) > batch).then_some(())
    };
    eventually("the key's first batch is sealed", LIMIT, sealed).await;
}

/// `kedge verify claim` with these keys.
fn verify(claim: &Path, domain: &str, keys: &SequencerKeys, folder: &Path) -> Result<(), String> {
    let file = folder.join("trusted-keys.json");
    std::fs::write(&file, serde_json::to_vec(keys).unwrap()).unwrap();
    let trust = ["--domain", domain, "--keys", file.to_str().unwrap()];
    let claim = claim.to_str().unwrap();
    let verify = ["verify", "claim", claim, "--dev-insecure"];
    let output = kedge(&[&verify[..], &trust[..]].concat());
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(reported)
    }
}

fn write(folder: &Path, claim: &ClaimFile) -> PathBuf {
    let file = folder.join("claim.json");
    std::fs::write(&file, serde_json::to_vec(claim).unwrap()).unwrap();
    file
}

// Holds invariant 78.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_outlives_the_key_that_signed_its_batch() {
    let mut rng = Rng::seeded("claims across a rotation");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let rotated = Rotated::new(directory.path(), &anvil).await;
    let [first, second, third, _] = keys();
    let setup = rotated.holding(&first, Some(&second));
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let ann = register(&client, rng.key()).await;
    let made = template(&ann, "claimed").await;
    let minted = ann.mint(made, &NewObject::default()).await.unwrap();
    let file = claim(&ann, minted.action_id).await;
    let number = file.batch.header.number;

    let from_batch = number + 3;
    rotated.rotate(&second, from_batch).unwrap();
    passes(&setup, &ann, made, from_batch).await;
    server.stop();
    // The server no longer has the first key.
    let setup = rotated.holding(&second, Some(&third));
    let server = setup.start();
    // A file that states that the later key signed the batch is refused.
    let mut claimed = file.clone();
    claimed.sequencer = second.address();
    let refused = ann.bring_claim(&claimed).await.unwrap_err();
    assert_eq!(refused.code(), Some("VALIDATION_ERROR"), "{refused}");
    let brought = ann.bring_claim(&file).await.unwrap();
    assert!(brought.is_new);
    assert_eq!(brought.dispute.kind, DisputeCategory::Claim);
    assert_eq!(brought.dispute.batch, number);
    assert_eq!(brought.dispute.subject_id, minted.action_id);
    assert!(!ann.bring_claim(&file).await.unwrap().is_new);
    // A claim made now is about the same batch and has the same keys.
    let again = claim(&ann, minted.action_id).await;
    assert_eq!((again.sequencer, again.batch), (file.sequencer, file.batch));

    // Offline: valid with the first key and the log's later ones, or with the whole list, and with no other.
    let follower = pinned(&setup, client.domain()).await;
    assert_eq!(follower.sequencer_keys().entries().len(), 2);
    let shown = follower.verify_claim(&file, dev_insecure()).unwrap();
    assert_eq!(shown.mask.bits(), 0b0101);
    let path = write(directory.path(), &file);
    let list = |entries: &[(&kedge_protocol::signature::SigningKey, u64)]| {
        let entries = entries.iter().map(|(key, from_batch)| KeyActivation {
            key: key.address(),
            from_batch: *from_batch,
        });
        SequencerKeys::new(entries.collect()).unwrap()
    };
    let domain = rotated.domain();
    let check = |keys: &SequencerKeys| verify(&path, &domain, keys, directory.path());
    check(&list(&[(&first, 0)])).unwrap();
    check(&list(&[(&first, 0), (&second, from_batch)])).unwrap();
    for wrong in [
        list(&[(&second, 0)]),
        list(&[(&first, 0), (&second, number)]),
    ] {
        let reported = check(&wrong).unwrap_err();
        assert!(reported.contains("signed by"), "{reported}");
    }

    demo(&rotated, &setup, directory.path());
    let email = format!("{}@example.com", ann.address()).to_lowercase();
    ann.login(&email, PASSWORD).await.unwrap();
    server.stop();
    kedge_upkeep::verify::store(&setup.store(), client.domain(), first.address(), |_| ()).unwrap();
    anvil.stop();
}

/// The demo verifies the later key's signatures, with the keys that server and contract name.
fn demo(rotated: &Rotated, setup: &Setup, folder: &Path) {
    let (socket, url) = (rotated.socket(), setup.url());
    let proof = folder.join("demo-proof.json");
    let of = ["demo", "--json", "--objects", "20", "--url", &url];
    let more = [
        "--rpc",
        &rotated.rpc_url,
        "--socket",
        socket.to_str().unwrap(),
    ];
    let kept = ["--save", proof.to_str().unwrap()];
    let output = kedge(&[&of[..], &more[..], &kept[..]].concat());
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{reported}");
    let reported: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reported["sequencer"], json!(keys()[0].address()));
    let listed = reported["sequencer_keys"].as_array().unwrap();
    let listed: Vec<_> = listed.iter().map(|entry| entry["key"].clone()).collect();
    assert_eq!(
        listed,
        [json!(keys()[0].address()), json!(keys()[1].address())]
    );
}
