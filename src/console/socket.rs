//! The operator's socket: a Unix socket for the server's own user, with one line of JSON in each direction.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time limit for a connection's line.
const LINE_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("a server is already running on {0}")]
    InUse(PathBuf),
}

/// The open socket; its file is removed on drop.
pub struct OperatorSocket {
    path: PathBuf,
}

impl Drop for OperatorSocket {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_file(&self.path);
    }
}

/// Opens the socket and answers each line with `answer` until the process ends or the socket is dropped.
///
/// # Errors
/// [`SocketError`].
pub async fn serve<F, A>(path: &Path, answer: F) -> Result<OperatorSocket, SocketError>
where
    F: Fn(String) -> A + Send + Sync + 'static,
    A: Future<Output = Value> + Send + 'static,
{
    let failed = |source| SocketError::Io {
        path: path.to_owned(),
        source,
    };
    if path.exists() {
        // A socket file without a listener is left over from a killed process.
        if UnixStream::connect(path).await.is_ok() {
            return Err(SocketError::InUse(path.to_owned()));
        }
        std::fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // The usual cause, a lack of file descriptors, passes.
                    tracing::warn!(%error, "an operator's connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                if let Err(error) = converse(stream, &*answer).await {
                    tracing::debug!(%error, "an operator's connection ended early");
                }
            });
        }
    });
    Ok(OperatorSocket {
        path: path.to_owned(),
    })
}

async fn converse<F, A>(stream: UnixStream, answer: &F) -> std::io::Result<()>
where
    F: Fn(String) -> A,
    A: Future<Output = Value>,
{
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read);
    loop {
        let mut line = String::new();
        let mut bounded = (&mut lines).take(LINE_BYTES_MAX);
        let reading = bounded.read_line(&mut line);
        let count = tokio::time::timeout(LINE_TIMEOUT, reading).await??;
        if count == 0 {
            return Ok(());
        }
        let mut text = answer(line).await.to_string();
        text.push('\n');
        write.write_all(text.as_bytes()).await?;
    }
}
