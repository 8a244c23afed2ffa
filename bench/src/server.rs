//! The real server as a process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::Result;

/// A running server; killed if it is dropped without being stopped.
pub(crate) struct Server {
    child: Child,
    /// Kept open: the server must not find that nobody listens to what it prints.
    _stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Server {
    /// Starts the program on a directory, with the settings that it has by itself.
    pub(crate) fn start(program: &Path, data: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(["--set", "embedded_chain_listen=\"127.0.0.1:0\""])
            .args(["--set", "log_filter=error"])
            // More is sent than any tier allows.
            .args(["--set", "rate_limits=off"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let stdout = child.stdout.take().ok_or("the server has no output")?;
        let mut stdout = BufReader::new(stdout);
        let url = (&mut stdout).lines().find_map(|line| {
            let line = line.ok()?;
            line.strip_prefix("listening on ").map(str::to_owned)
        });
        let url = url.ok_or("the server did not start; its log says why")?;
        Ok(Self {
            child,
            _stdout: stdout,
            url,
        })
    }

    /// Asks the process to end, and waits for it.
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
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}
