//! The real server, and other programs, as processes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use kedge_client::Client;

use crate::error::Result;

/// Longest time until a server is ready.
const READY_WITHIN: Duration = Duration::from_mins(10);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A running program that listens; killed if it is dropped without being stopped.
pub(crate) struct Server {
    child: Child,
    /// Kept open, because the program must not find its standard output closed.
    _stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
    /// The operator's socket.
    pub(crate) admin_socket: PathBuf,
}

/// How a server limits requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// More is sent than any tier allows.
    Off,
    /// The organizations have a tier set by the operator.
    On,
}

impl Server {
    /// Starts the server on a directory, with its default settings.
    pub(crate) fn start(program: &Path, data: &Path) -> Result<Self> {
        Self::start_with(program, data, Limits::Off)
    }

    /// As [`Self::start`], with the rate limiter on or off.
    pub(crate) fn start_with(program: &Path, data: &Path, limits: Limits) -> Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(["--set", "embedded_chain_listen=\"127.0.0.1:0\""])
            .args(["--set", "log_filter=error"]);
        if limits == Limits::Off {
            command.args(["--set", "rate_limits=off"]);
            // One organization sends as much as many would.
            command.args(["--set", "log_bytes_free=0"]);
            command.args(["--set", "organization_share_percent=100"]);
        }
        Self::spawn(command, data.join("admin.sock"))
    }

    /// Starts a program that prints `listening on <url>` when it listens.
    pub(crate) fn spawn(mut command: Command, admin_socket: PathBuf) -> Result<Self> {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let stdout = child.stdout.take().ok_or("the server has no output")?;
        let mut stdout = BufReader::new(stdout);
        let url = (&mut stdout).lines().find_map(|line| {
            let line = line.ok()?;
            line.strip_prefix("listening on ").map(str::to_owned)
        });
        let url = url.ok_or("the server did not start; its log has the reason")?;
        Ok(Self {
            child,
            _stdout: stdout,
            url,
            admin_socket,
        })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server reports that it is ready.
    pub(crate) async fn ready(&self) -> Result<()> {
        let give_up = Instant::now() + READY_WITHIN;
        loop {
            let ready = match Client::builder(&self.url).connect().await {
                Ok(client) => client.ready().await,
                Err(error) => Err(error),
            };
            match ready {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > give_up => return Err(error.into()),
                Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }

    /// The newest sequence of its log.
    pub(crate) async fn sequence(&self) -> Result<u64> {
        let client = Client::builder(&self.url).connect().await?;
        Ok(client.checkpoint().await?.checkpoint.sequence)
    }

    /// Stops the process and waits for it.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the server ended with {status}").into())
        }
    }

    /// Kills the process at once, like `kill -9`.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A directory for a bench's data, removed at its end.
pub(crate) fn scratch(within: Option<&Path>) -> Result<tempfile::TempDir> {
    Ok(match within {
        Some(within) => tempfile::tempdir_in(within)?,
        None => tempfile::tempdir()?,
    })
}
