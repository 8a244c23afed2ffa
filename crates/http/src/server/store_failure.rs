//! Exit of a server whose store fails: within a second, with an exit code and one log line. After a failed write or
//! sync the content of the disk is unknown. So nothing is retried, and nothing slow is waited for: no requests,
//! connections or a requested stop.

use std::io::Write as _;
use std::time::Duration;

use kedge_actors::EngineFailure;

/// Exit code, the same as for failed commands.
const EXIT_CODE: u8 = 1;
/// Time for the last answers: callers that wait for the disk learn that the outcome is unknown.
const ANSWERS_LEAVE: Duration = Duration::from_millis(250);

/// Ends the process when the engine fails. Runs on a separate thread, so that busy workers cannot delay it.
///
/// # Errors
/// If the thread cannot be started.
pub fn end_process(mut failure: EngineFailure) -> std::io::Result<()> {
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

/// Ends the process without the clean-up of libraries. `exit` would destroy RocksDB's global locks while detached
/// threads still use them, and the process would die of SIGABRT instead of exiting with its code.
pub fn exit_at_once(code: u8) -> ! {
    // Both streams are unbuffered or line-buffered here; an error cannot be reported anywhere.
    let _ = std::io::stdout().flush();
    signal_hook::low_level::exit(code.into())
}
