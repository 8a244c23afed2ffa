//! Copies without evidence of how far their headers were released, and chains that contradict them.

use kedge_client::NewObject;
use kedge_protocol::signature::SigningKey;

use super::made::{Made, done, kedge};
use crate::support::anvil::{Anvil, deploy_anchor};
use crate::support::server::Setup;
use crate::support::{Rng, copy_directory, eventually, free_port};

const ACCEPT: &str = "--accept-missing-high-water-mark";

// Holds invariant 87.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_without_its_mark_signs_nothing() {
    let mut rng = Rng::seeded("no mark");
    let directory = tempfile::tempdir().unwrap();
    let made = Made::stopped(&directory.path().join("data"), &mut rng).await;
    let batches = made.verify().batches;
    let mark = made.setup.high_water();
    let whole = std::fs::read(&mark).unwrap();
    let mut torn = whole.clone();
    for slot in [0, 4096, 8192] {
        torn[slot + 20] ^= 1;
    }
    for (content, what) in [
        (None, "is missing"),
        (Some(&b""[..]), "it is empty"),
        (Some(&torn[..]), "none of its slots is valid"),
    ] {
        std::fs::remove_file(&mark).unwrap();
        if let Some(content) = content {
            std::fs::write(&mark, content).unwrap();
        }
        let server = made.setup.start();
        let why = server.why_read_only().await;
        for part in [what, ACCEPT, &format!("it holds {batches} batches")] {
            assert!(why.contains(part), "{part}: {why}");
        }
        let refused = made
            .account
            .mint(made.template, &NewObject::default())
            .await;
        assert_eq!(refused.unwrap_err().code(), Some("UNAVAILABLE"));
        let accounts = std::slice::from_ref(&made.account);
        made.ledger.check_log(accounts).await;
        server.stop();
        assert_eq!(std::fs::read(&mark).ok().as_deref(), content);
        std::fs::write(&mark, &whole).unwrap();
    }
    assert_eq!(made.verify().batches, batches);

    // Works once, for an operator who is sure; the next start has a mark again.
    std::fs::remove_file(&mark).unwrap();
    let server = made.setup.clone().flag(ACCEPT).start();
    made.mint(1).await;
    server.stop();
    let server = made.setup.start();
    made.mint(1).await;
    server.stop();
    made.verify();
}

// Holds invariant 88.
/// The chain is asked before the first write, and before files are removed that an old store does not name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_the_chain_contradicts_never_writes() {
    let mut rng = Rng::seeded("old store");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = Made::stopped(&data, &mut rng).await;
    let old = directory.path().join("old");
    for part in ["store", "log"] {
        copy_directory(&data.join(part), &old.join(part));
    }
    let old_mark = std::fs::read(made.setup.high_water()).unwrap();

    let server = made.setup.start();
    made.mint(2).await;
    let uploaded = made.account.upload("kept.txt", b"kept").await.unwrap();
    let socket = data.join("admin.sock");
    done(&kedge(&["admin", "anchor-now", "--socket"], &[&socket]));
    eventually("an anchor", std::time::Duration::from_secs(20), || async {
        let status = kedge(&["admin", "status", "--json", "--socket"], &[&socket]);
        let status: serde_json::Value = serde_json::from_str(&done(&status)).unwrap();
        (status["last_anchor"]["status"] == "finalized").then_some(())
    })
    .await;
    server.stop();

    // Yesterday's whole machine: the store with its own mark. The chain has newer anchors.
    let newest = directory.path().join("newest");
    let newest_mark = std::fs::read(made.setup.high_water()).unwrap();
    std::fs::create_dir(&newest).unwrap();
    for part in ["store", "log"] {
        std::fs::rename(data.join(part), newest.join(part)).unwrap();
        copy_directory(&old.join(part), &data.join(part));
    }
    std::fs::write(made.setup.high_water(), &old_mark).unwrap();
    let server = made.setup.start();
    let why = server.why_read_only().await;
    assert!(why.starts_with("the chain holds a checkpoint of"), "{why}");
    server.stop();
    let digest = hex_of(uploaded.resource.sha256.0);
    let content = data.join("files").join(&digest[..2]).join(&digest[2..]);
    assert_eq!(std::fs::read(&content).unwrap(), b"kept");

    for part in ["store", "log"] {
        std::fs::remove_dir_all(data.join(part)).unwrap();
        std::fs::rename(newest.join(part), data.join(part)).unwrap();
    }
    std::fs::write(made.setup.high_water(), &newest_mark).unwrap();
    let server = made.setup.start();
    let file = made.account.file(uploaded.resource.id).await.unwrap();
    assert_eq!(&made.account.download(&file).await.unwrap()[..], b"kept");
    // Unnamed files are still removed.
    server.stop();
    let orphan = data.join("files/ff").join("e".repeat(62));
    std::fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    std::fs::write(&orphan, "left by a crash").unwrap();
    let server = made.setup.start();
    let limit = std::time::Duration::from_secs(20);
    eventually("the orphan is gone", limit, || async {
        (!orphan.exists()).then_some(())
    })
    .await;
    server.stop();
}

fn hex_of(bytes: [u8; 32]) -> String {
    kedge_protocol::hash::to_hex(&bytes)[2..].to_owned()
}

// Holds invariant 87.
/// With the node down, a server with its mark serves; one without waits for the node, the only other witness.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_node_down_the_mark_decides() {
    let mut rng = Rng::seeded("node down");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let key = |byte: &str| format!("0x{}", byte.repeat(32));
    let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
    let contract = deploy_anchor(&anvil.rpc(), sequencer.address()).await;
    let setup = Setup::new(&directory.path().join("data"))
        .set("chain_rpc_url", format!("{:?}", anvil.url()))
        .set("chain_id", 31_337)
        .set("chain_contract", format!("\"{contract}\""))
        .environment("KEDGE_SEQUENCER_KEY", key("5e"))
        .environment("KEDGE_ANCHOR_KEY", key("5f"));
    // A new log reads its first key from the contract.
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    server.stop();
    anvil.stop();
    let server = made.setup.start();
    made.mint(1).await;
    // A newer copy may name it, which is not known yet.
    let orphan = made.setup.data().join("files/ff").join("e".repeat(62));
    std::fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    std::fs::write(&orphan, "perhaps a newer copy's").unwrap();
    server.stop();

    std::fs::remove_file(made.setup.high_water()).unwrap();
    let server = made.setup.clone().flag(ACCEPT).start();
    let why = server.why_read_only().await;
    assert!(why.contains("is missing"), "{why}");
    let log = made.setup.log();
    assert!(log.contains(&format!("{ACCEPT} had no effect")), "{log}");
    server.stop();
    // The flag's one use changes nothing for later starts.
    assert!(!made.setup.high_water().exists());
    let server = made.setup.start();
    assert!(server.why_read_only().await.contains("is missing"));
    server.stop();
    assert!(orphan.exists());
}
