//! Starts that fail after the store was opened.

use crate::support::server::Setup;

// Holds invariant 165.
/// The engine's threads must end before the process does. A thread that still ran would sometimes kill the process with
/// a signal, in about one start of ten, which twenty-five starts hardly ever hide.
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
