//! When a server should stop.

use tokio::signal::unix::{SignalKind, signal as listen};

/// A future that resolves with SIGINT or SIGTERM.
///
/// # Errors
/// If the signals cannot be listened to.
pub fn signal() -> Result<impl Future<Output = ()>, std::io::Error> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
