//! When a server should stop.

use super::failing::exit_at_once;
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

/// While it lasts, SIGINT and SIGTERM end the process immediately: it has not begun to serve, so nothing has to end in order.
/// The system's own default would ignore them where the server is the first process of a container.
pub struct EndsAtOnce(tokio::task::JoinHandle<()>);

impl EndsAtOnce {
    /// From now on.
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

impl Drop for EndsAtOnce {
    fn drop(&mut self) {
        self.0.abort();
    }
}
