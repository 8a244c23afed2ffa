//! A leader whose disk is full: a node with room leads in its place.

use std::time::Duration;

use crate::nodes::Cluster;
use crate::outside::command;
use crate::signed::Signer;
use crate::support::small_disk::{fill, on_a_small_disk, small_disk};
use crate::support::{Rng, copy_directory, eventually};

const LIMIT: Duration = Duration::from_secs(40);
/// Free bytes below which a node writes nothing.
const BELOW_RESERVE: u64 = 200 << 20;

// Holds invariant 234.
#[test]
fn a_leader_without_room_is_replaced() {
    on_a_small_disk("full_disk::leads_without_room");
}

/// Waits until this node leads, and changes something through it.
async fn leads(cluster: &Cluster, signer: &mut Signer, index: usize) {
    let leads = || async { (cluster.leader().await == index).then_some(()) };
    eventually("the node with room leads", LIMIT, leads).await;
    let minted = signer.mint().send(cluster.nodes[index].setup.port()).await;
    assert_eq!(minted.status, 201, "{}", minted.body);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a small disk; a_leader_without_room_is_replaced runs it on one"]
async fn leads_without_room() {
    let mut rng = Rng::seeded("cluster-full-disk");
    let small = small_disk();
    let mut is_first = true;
    let cluster = Cluster::start_with(2, |setup, _| {
        if std::mem::take(&mut is_first) {
            let data = setup.data();
            let kept = small.join("data");
            copy_directory(data, &kept);
            std::fs::remove_dir_all(data).unwrap();
            std::os::unix::fs::symlink(&kept, data).unwrap();
        }
        setup
    })
    .await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    if cluster.leader().await == 1 {
        // The other one may lead once its keys were compared.
        let handed_over = || async {
            let (worked, _) = command(&cluster.nodes[1], &["cluster", "hand-over"]);
            worked.then_some(())
        };
        eventually("the other node takes over", LIMIT, handed_over).await;
    }
    leads(&cluster, &mut signer, 0).await;

    let filler = small.join("filler");
    fill(&filler, BELOW_RESERVE);
    leads(&cluster, &mut signer, 1).await;
    std::fs::remove_file(&filler).unwrap();
    cluster.wait_until_ready().await;
}
