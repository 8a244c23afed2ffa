//! Starts that fail although the store is open already.

use crate::support::server::Setup;

/// The engine's threads end before the process does. If one still ran, the process would now and then die of a signal
/// instead: about one start of ten, so that twenty-five of them hardly ever hide it.
#[test]
fn a_start_that_fails_late_ends_with_its_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let nowhere = setup.clone().set("admin_socket", "\"/nowhere/admin.sock\"");
    for start in 0..25 {
        let (status, reported) = nowhere.start_refused();
        assert_eq!(status.code(), Some(1), "start {start}: {reported}");
        assert!(
            reported.contains("option admin_socket: /nowhere/admin.sock"),
            "{reported}"
        );
    }
    setup.start().stop();
}
