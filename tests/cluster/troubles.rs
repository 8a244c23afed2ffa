//! One faulty node: its clock is wrong, its disk is full, or it is killed again and again while it joins. The others
//! continue without it, and it continues once the fault is over.

use std::time::Duration;

use crate::FAILOVER_LIMIT;
use crate::engine::lose_data;
use crate::load::Load;
use crate::nodes::{Cluster, ready};
use crate::signed::Signer;
use crate::support::faults::{Faults, OnCall, With};
use crate::support::{Rng, eventually, http};

const HOUR_MS: i64 = 3_600_000;
/// Longest time until a fault is noticed: clocks are checked every few seconds.
const NOTICED_LIMIT: Duration = Duration::from_secs(30);

/// A cluster whose nodes' clocks and disks can fail.
async fn fallible() -> (Cluster, Vec<Faults>) {
    let mut all = Vec::new();
    let cluster = Cluster::start_with(3, |setup, _| {
        let folder = setup.data().with_extension("faults");
        std::fs::create_dir_all(&folder).unwrap();
        let faults = Faults::new(&folder);
        let setup = faults.under(setup);
        all.push(faults);
        setup
    });
    (cluster.await, all)
}

/// Whether a node is ready to take changes.
async fn is_ready(cluster: &Cluster, node: usize) -> bool {
    let ready = ready(&cluster.nodes[node].setup).await;
    ready.is_some_and(|ready| ready["status"] == "ready")
}

// Holds invariants 77, 191.
#[tokio::test(flavor = "multi_thread")]
async fn one_node_in_trouble_stops_nobody() {
    let mut rng = Rng::seeded("cluster-troubles");
    let (mut cluster, faults) = fallible().await;
    let signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    load.progress(30).await;
    for ahead_ms in [HOUR_MS, -HOUR_MS] {
        a_wrong_clock(&mut cluster, &faults, &load, ahead_ms).await;
    }
    a_full_disk(&cluster, &faults, &load).await;
    stopped_with_a_full_disk(&mut cluster, &faults, &load).await;
    killed_while_it_joins(&mut cluster, &load).await;
    load.check(&cluster).await;
    cluster.stop();
}

// Holds invariant 77.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_alone_with_an_empty_log_can_stop() {
    let mut cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    let last = (leader + 1) % 3;
    for node in [leader, (leader + 2) % 3] {
        cluster.nodes[node].kill();
    }
    let setup = cluster.nodes[last].setup.clone();
    let waits = || async {
        setup
            .log()
            .contains("counts once other nodes hold it")
            .then_some(())
    };
    eventually("the last node tries to lead", NOTICED_LIMIT, waits).await;
    // Fails if the node does not end.
    cluster.nodes[last].server.take().unwrap().stop();
    for node in &mut cluster.nodes {
        node.start();
    }
    cluster.wait_until_ready().await;
    cluster.stop();
}

// Holds invariant 205.
#[tokio::test(flavor = "multi_thread")]
async fn while_no_clock_is_trusted_nobody_leads_and_every_node_says_why() {
    let mut rng = Rng::seeded("cluster-clocks");
    let (cluster, faults) = fallible().await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    for one in &faults {
        one.clock_ahead_ms(HOUR_MS);
    }
    for node in &cluster.nodes {
        let server = node.server.as_ref().unwrap();
        let says_why = || async {
            let (status, ready) = server.readiness().await;
            let reason = ready["reason"].as_str()?.to_owned();
            let follows = ready["cluster"]["role"] == "follower";
            (status == 503 && follows && reason.contains("clock")).then_some(reason)
        };
        let reason = eventually("it says why", NOTICED_LIMIT, says_why).await;
        eprintln!("{}: {reason}", node.name);
        let refused = || async {
            let port = node.setup.metrics_port();
            let refused = http::metric(port, "kedge_clock_out_of_bounds", &[]).await;
            (refused > 0.5).then_some(())
        };
        eventually("an alert fires", NOTICED_LIMIT, refused).await;
        let log = node.setup.log();
        assert!(log.contains("writes are refused because of the clock"));
    }
    let answer = signer.mint().send(cluster.nodes[0].setup.port()).await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    for one in &faults {
        one.clock_ahead_ms(0);
    }
    cluster.wait_until_ready().await;
    let answer = signer.mint().send(cluster.nodes[0].setup.port()).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    cluster.stop();
}

/// The leader's clock is wrong, then that of the node that would take over.
async fn a_wrong_clock(cluster: &mut Cluster, faults: &[Faults], load: &Load, ahead_ms: i64) {
    let wrong = cluster.leader().await;
    load.longest_pause();
    faults[wrong].clock_ahead_ms(ahead_ms);
    let another = || async { (cluster.leader().await != wrong).then_some(()) };
    eventually("another node leads", NOTICED_LIMIT, another).await;
    load.progress(20).await;
    let pause = load.longest_pause();
    eprintln!("the leader's clock was {ahead_ms} ms off: no acknowledged write for {pause:?}");
    assert!(pause < NOTICED_LIMIT, "{pause:?}");

    // It does not replace a lost leader.
    let lost = cluster.leader().await;
    cluster.nodes[lost].kill();
    load.progress(20).await;
    let pause = load.longest_pause();
    eprintln!("the next leader was killed: no acknowledged write for {pause:?}");
    assert_ne!(cluster.leader().await, wrong);
    cluster.nodes[lost].start();
    faults[wrong].clock_ahead_ms(0);
    let ready = || async { is_ready(cluster, wrong).await.then_some(()) };
    eventually("its clock is trusted again", NOTICED_LIMIT, ready).await;
    cluster.wait_until_ready().await;
}

/// A follower's disk is full, then the leader's.
async fn a_full_disk(cluster: &Cluster, faults: &[Faults], load: &Load) {
    let leader = cluster.leader().await;
    for full in [(leader + 1) % 3, leader] {
        let role = if full == leader { "leader" } else { "follower" };
        load.longest_pause();
        faults[full].fail_with(With::NoSpace, 0, OnCall::Pwrite, "/log/");
        let met = || async { (faults[full].met() > 0).then_some(()) };
        eventually("the disk is full", NOTICED_LIMIT, met).await;
        load.progress(50).await;
        let pause = load.longest_pause();
        eprintln!("the {role}'s disk was full: no acknowledged write for {pause:?}");
        assert!(pause < 2 * FAILOVER_LIMIT, "{pause:?}");
        faults[full].lift();
        let ready = || async { is_ready(cluster, full).await.then_some(()) };
        eventually("it continues", NOTICED_LIMIT, ready).await;
        cluster.wait_until_ready().await;
    }
}

/// Stops a follower that waits for disk space.
async fn stopped_with_a_full_disk(cluster: &mut Cluster, faults: &[Faults], load: &Load) {
    let full = (cluster.leader().await + 1) % 3;
    let node = &mut cluster.nodes[full];
    faults[full].fail_with(With::NoSpace, 0, OnCall::Pwrite, "/log/");
    let waits = "the disk is full; this node follows again once there is room";
    let before = node.setup.log().matches(waits).count();
    let full_now = || async { (node.setup.log().matches(waits).count() > before).then_some(()) };
    eventually("it waits for room", NOTICED_LIMIT, full_now).await;
    // Fails if the node does not end.
    node.server.take().unwrap().stop();
    faults[full].lift();
    node.start();
    load.progress(20).await;
    cluster.wait_until_ready().await;
}

/// A follower without data is killed at different points on its way to the log's end.
async fn killed_while_it_joins(cluster: &mut Cluster, load: &Load) {
    let leader = cluster.leader().await;
    let joining = (leader + 1) % 3;
    let node = &mut cluster.nodes[joining];
    node.kill();
    lose_data(node);
    for after_ms in [300, 700, 1_200, 1_500] {
        node.server = Some(node.setup.begin());
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        let reached = ready(&node.setup)
            .await
            .map(|ready| ready["cluster"]["frame"].clone());
        eprintln!("killed after {after_ms} ms, at frame {reached:?}");
        node.kill();
    }
    load.progress(10).await;
    cluster.nodes[joining].start();
    cluster.wait_until_ready().await;
}
