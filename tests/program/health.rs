//! `kedge health`: a container's healthcheck of a server that serves, hangs, is read-only or is gone.

use std::process::Command;

use kedge_devchain::insecure_development_keys;

use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{connect, register};
use crate::{done, refused};

fn health(url: &str, more: &[&str]) -> Command {
    let mut command = kedge();
    command.args(["health", "--url", url]).args(more);
    command
}

// Holds invariant 177.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_reports_a_server_that_serves_hangs_is_read_only_or_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let url = setup.url();

    let server = setup.start();
    assert_eq!(done(&mut health(&url, &[])), "ok\n");
    assert_eq!(done(&mut health(&url, &["--ready"])), "ready\n");

    server.freeze(true);
    let reported = refused(&mut health(&url, &["--timeout", "1"]), 1);
    assert!(reported.contains("no answer within 1000 ms"), "{reported}");
    server.freeze(false);

    // A store with batches and without its mark is served, but accepts no changes.
    let key = insecure_development_keys()[3].clone();
    register(&connect(&url).await, key).await;
    server.stop();
    std::fs::remove_file(setup.high_water()).unwrap();
    let server = setup.start();
    assert_eq!(done(&mut health(&url, &[])), "ok\n");
    let reported = refused(&mut health(&url, &["--ready"]), 1);
    assert!(reported.contains("is not ready: "), "{reported}");
    assert!(reported.contains("high-water"), "{reported}");
    server.kill();

    for more in [&[][..], &["--ready"]] {
        let reported = refused(&mut health(&url, more), 1);
        assert!(reported.contains(&url), "{reported}");
    }
}
