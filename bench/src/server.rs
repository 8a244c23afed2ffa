//! Child processes: the real server, and other programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kedge_client::Client;
use kedge_load::connection::{LoadConnection, authority};
use kedge_load::server::HttpProgram;

use crate::error::BenchResult;

/// Time limit until a server is ready.
const READY_WITHIN: Duration = Duration::from_mins(10);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A running program that listens; killed on drop, unless stopped before.
pub(crate) struct BenchServer {
    program: HttpProgram,
    pub(crate) url: String,
    pub(crate) admin_socket: PathBuf,
}

/// Rate limits of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchLimits {
    /// The load exceeds every tier.
    Off,
    /// The organizations have a tier set by the operator.
    On,
}

/// The command that serves a directory.
fn serve(program: &Path, data: &Path, limits: BenchLimits) -> Command {
    let mut command = Command::new(program);
    command
        .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .args(["--set", "embedded_chain_listen=\"127.0.0.1:0\""])
        .args(["--set", "log_filter=error"]);
    if limits == BenchLimits::Off {
        command.args(["--set", "rate_limits=off"]);
        // One organization sends as much as many would.
        command.args(["--set", "log_bytes_free=0"]);
        command.args(["--set", "organization_share_percent=100"]);
    }
    command
}

impl BenchServer {
    /// Starts the server on a directory, with rate limits off.
    pub(crate) fn start(program: &Path, data: &Path) -> BenchResult<Self> {
        Self::start_with(program, data, BenchLimits::Off)
    }

    /// Starts the server with the rate limiter on or off.
    pub(crate) fn start_with(
        program: &Path,
        data: &Path,
        limits: BenchLimits,
    ) -> BenchResult<Self> {
        Self::spawn(serve(program, data, limits), data.join("admin.sock"))
    }

    /// Starts the server with more settings: option, `=`, and its value as in the configuration file.
    pub(crate) fn start_set(program: &Path, data: &Path, settings: &[String]) -> BenchResult<Self> {
        let mut command = serve(program, data, BenchLimits::Off);
        for setting in settings {
            command.args(["--set", setting]);
        }
        Self::spawn(command, data.join("admin.sock"))
    }

    /// Starts a program that prints `listening on <url>` when it listens.
    pub(crate) fn spawn(mut command: Command, admin_socket: PathBuf) -> BenchResult<Self> {
        let program = HttpProgram::start(&mut command, READY_WITHIN)?;
        let program = program.ok_or("the server did not start; its log has the reason")?;
        Ok(Self {
            url: program.url.clone(),
            program,
            admin_socket,
        })
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// Waits until the server reports that it is ready.
    pub(crate) async fn ready(&self) -> BenchResult<()> {
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

    /// Newest sequence of the server's log.
    pub(crate) async fn sequence(&self) -> BenchResult<u64> {
        let address = authority(&self.url)?;
        let mut connection = LoadConnection::open(&address).await?;
        let head = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\n\r\n");
        let answer = connection.exchange(head.as_bytes(), &[]).await?;
        let ready: serde_json::Value = serde_json::from_slice(answer.body)?;
        let sequence = ready["sequence"].as_u64();
        Ok(sequence.ok_or("/readyz names no sequence")?)
    }

    /// Stops the process and waits for it.
    pub(crate) fn stop(self) -> BenchResult<()> {
        let status = self.program.stop()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the server ended with {status}").into())
        }
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(self) -> BenchResult<()> {
        self.program.kill()?;
        Ok(())
    }
}

/// Which program to measure, where its data lies meanwhile, and where the figures go.
#[derive(clap::Args)]
pub(crate) struct BenchOptions {
    /// The server's program.
    #[arg(long, default_value = "target/release/kedge")]
    pub(crate) server: PathBuf,
    /// Where to put the data meanwhile: on a real disk, with 1 to 2 KB to spare for each action, 20 GB to compare.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// Where to write the figures as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

impl BenchOptions {
    /// A directory for the data, removed on drop.
    pub(crate) fn scratch(&self) -> BenchResult<tempfile::TempDir> {
        Ok(match &self.scratch {
            Some(within) => tempfile::tempdir_in(within)?,
            None => tempfile::tempdir()?,
        })
    }
}
