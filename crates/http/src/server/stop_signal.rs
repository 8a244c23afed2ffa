//! Stop signals of a server.

use super::store_failure::exit_at_once;
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

/// While it exists, SIGINT and SIGTERM end the process immediately, because it does not serve yet. The system's default
/// would ignore them in the first process of a container.
pub struct ImmediateExit(tokio::task::JoinHandle<()>);

impl ImmediateExit {
    /// Starts listening.
    ///
    /// # Errors
    /// If the signals cannot be listened to.
    pub fn begin() -> Result<Self, std::io::Error> {
        let stop = signal()?;
        Ok(Self(tokio::spawn(async move {
            stop.await;
            tracing::info!("asked to stop during the start");
            exit_at_once(0);
        })))
    }
}

impl Drop for ImmediateExit {
    fn drop(&mut self) {
        self.0.abort();
    }
}
