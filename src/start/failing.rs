//! The end of a server whose store fails: within a second, with an exit code for it, and one line of log. After a
//! failed write or sync nobody knows what is on the disk. So nothing is retried, and nothing that could take long is
//! waited for: not requests, not connections, not a stop that was asked for.

use std::time::Duration;

use kedge_actors::Failure;

/// The process's exit code, the same as that of every failed command.
const EXIT_CODE: i32 = 1;
/// How long answers have to be sent: callers that wait for the disk are informed that the outcome is unknown.
const ANSWERS_LEAVE: Duration = Duration::from_millis(250);

/// Ends the process when the engine fails. Runs on a separate thread, so that it works however busy
/// the others are.
pub(super) fn end_process(mut failure: Failure) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let thread = std::thread::Builder::new().name("failure".into());
    thread.spawn(move || {
        if let Some(why) = runtime.block_on(failure.wait()) {
            tracing::error!(why, "the engine has failed; the process ends");
            std::thread::sleep(ANSWERS_LEAVE);
            std::process::exit(EXIT_CODE);
        }
    })?;
    Ok(())
}
