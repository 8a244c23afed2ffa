//! Server processes for measurements.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{LoadtestError, LoadtestResult};
use crate::options::RunOptions;

/// Time limit of a start.
const START_LIMIT: Duration = Duration::from_mins(1);
/// Registrations are limited by address, and all accounts of a run share one.
const ADDRESS_REQUESTS_PER_MINUTE: u32 = 1_000_000_000;

/// A child process that serves HTTP, killed on drop.
pub struct HttpProgram {
    child: Child,
    /// Base URL.
    pub url: String,
}

impl HttpProgram {
    /// Starts a program that prints `listening on <url>` when it listens. Returns `None` if it ended earlier, or did
    /// not listen within `within`.
    pub fn start(command: &mut Command, within: Duration) -> LoadtestResult<Option<Self>> {
        let child = command.stdout(Stdio::piped()).spawn();
        let name = command.get_program().display().to_string();
        let mut program = Self {
            child: child.map_err(LoadtestError::io(name))?,
            url: String::new(),
        };
        let stdout = program.child.stdout.take();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = stdout
                .into_iter()
                .flat_map(|out| BufReader::new(out).lines());
            for line in lines.map_while(Result::ok) {
                // After the first line the receiver is gone, but the pipe still has to be drained.
                let _ = sender.send(line);
            }
        });
        while let Ok(line) = lines.recv_timeout(within) {
            if let Some(url) = line.strip_prefix("listening on ") {
                url.trim().clone_into(&mut program.url);
                return Ok(Some(program));
            }
        }
        Ok(None)
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the program with SIGTERM and waits for it.
    pub fn stop(mut self) -> std::io::Result<ExitStatus> {
        let id = self.pid().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        self.child.wait()
    }

    /// Kills the program with SIGKILL and waits for it.
    pub fn kill(mut self) -> std::io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for HttpProgram {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A running server; its data is deleted with it, so it needs no regular stop.
pub(crate) struct LoadServer {
    /// Dropped before the directory.
    program: HttpProgram,
    /// Data directory, its mark, and the server's output.
    directory: TempDir,
}

impl LoadServer {
    /// Starts the program with rate limits on, except those by address. Webhooks may lead to this machine.
    pub(crate) fn start(program: &Path, options: &RunOptions) -> LoadtestResult<Self> {
        let directory = match &options.server_disk {
            Some(disk) => TempDir::with_prefix_in("kedge-load-", disk),
            None => TempDir::with_prefix("kedge-load-"),
        };
        let directory = directory.map_err(LoadtestError::io("a directory for the server"))?;
        let log = std::fs::File::create(directory.path().join("log"))
            .map_err(LoadtestError::io("the server's log"))?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KEDGE_") {
                command.env_remove(name);
            }
        }
        let mut sets = vec![
            "embedded_chain_listen=127.0.0.1:0".to_owned(),
            "log_filter=warn".to_owned(),
            format!("address_requests_per_minute={ADDRESS_REQUESTS_PER_MINUTE}"),
            "organization_share_percent=100".to_owned(),
            r#"webhook_allowed_networks=["127.0.0.0/8"]"#.to_owned(),
        ];
        sets.extend(options.server_set.iter().cloned());
        command
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
            .arg(directory.path().join("data"))
            .args(sets.iter().flat_map(|set| ["--set", set.as_str()]))
            .stdin(Stdio::null())
            .stderr(log);
        if let Some(program) = HttpProgram::start(&mut command, START_LIMIT)? {
            return Ok(Self { program, directory });
        }
        let log = std::fs::read_to_string(directory.path().join("log")).unwrap_or_default();
        let said = log
            .lines()
            .next_back()
            .unwrap_or("its log is empty")
            .to_owned();
        Err(LoadtestError::broken(format_args!(
            "the server did not start: {said}"
        )))
    }

    pub(crate) fn url(&self) -> &str {
        &self.program.url
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.pid()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn admin_socket(&self) -> PathBuf {
        self.data().join("admin.sock")
    }
}
