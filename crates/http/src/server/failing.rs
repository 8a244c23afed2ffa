//! The end of a server whose store fails: within a second, with an exit code for it, and one line of log. After a
//! failed write or sync nobody knows what is on the disk. So nothing is retried, and nothing that could take long is
//! waited for: not requests, not connections, not a stop that was asked for.

use std::io::Write as _;
use std::time::Duration;

use kedge_actors::Failure;

/// The process's exit code, the same as that of every failed command.
const EXIT_CODE: u8 = 1;
/// How long answers have to be sent: callers that wait for the disk are informed that the outcome is unknown.
const ANSWERS_LEAVE: Duration = Duration::from_millis(250);

/// Ends the process when the engine fails. Runs on a separate thread, so that it works however busy
/// the others are.
///
/// # Errors
/// If the thread cannot be started.
pub fn end_process(mut failure: Failure) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let thread = std::thread::Builder::new().name("failure".into());
    thread.spawn(move || {
        if let Some(why) = runtime.block_on(failure.wait()) {
            tracing::error!(why, "the engine has failed; the process ends");
            std::thread::sleep(ANSWERS_LEAVE);
            exit_at_once(EXIT_CODE);
        }
    })?;
    Ok(())
}

/// Ends the process without the clean-up of libraries. `exit` would destroy RocksDB's global locks while threads that
/// nobody waits for still use them, and such a process dies of SIGABRT instead of ending with its exit code.
pub fn exit_at_once(code: u8) -> ! {
    // Both are written without a buffer here, or line by line; there is nowhere left to report an error.
    let _ = std::io::stdout().flush();
    signal_hook::low_level::exit(code.into())
}
