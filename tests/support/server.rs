//! The real server as a process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::program::kedge;
use super::{free_port, http};

/// Longest time for a start, including recovery.
const START_LIMIT: Duration = Duration::from_mins(1);
/// Longest time for a stop.
const STOP_LIMIT: Duration = Duration::from_secs(40);

/// A server's configuration, for its starts and restarts.
#[derive(Clone)]
pub(crate) struct Setup {
    data: PathBuf,
    port: u16,
    metrics_port: u16,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Setup {
    /// A server without a chain.
    pub(crate) fn new(data: &Path) -> Self {
        let setup = Self {
            data: data.to_owned(),
            port: free_port(),
            metrics_port: free_port(),
            arguments: Vec::new(),
            environment: Vec::new(),
        };
        // Small values, so that within a short test table files are written and logs rotate. These tests send more than
        // any tier allows.
        setup
            .set("rate_limits", "off")
            .set("checkpoint_interval_s", 1)
            .set("compare_groups_every", 16)
            .set("memtable_bytes", 8 << 20)
            .set("block_cache_bytes", 16 << 20)
            .set("replay_bytes_max", 32 << 20)
    }

    /// A server on the embedded chain.
    pub(crate) fn development(data: &Path) -> Self {
        let mut setup = Self::new(data).set("embedded_chain_listen", "127.0.0.1:0");
        setup.arguments.push("--dev".to_owned());
        setup
    }

    pub(crate) fn set(mut self, option: &str, value: impl std::fmt::Display) -> Self {
        self.arguments.push("--set".to_owned());
        self.arguments.push(format!("{option}={value}"));
        self
    }

    /// A flag of `kedge serve`.
    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.to_owned());
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// The same options as a configuration file, for commands that read one.
    pub(crate) fn as_file(&self) -> String {
        let mut text = format!("data_dir = \"{}\"\n", self.data.display());
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--set"
                && let Some((option, value)) = arguments.next().and_then(|set| set.split_once('='))
            {
                // Unquoted words are texts here, as on the command line.
                let is_word = value.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
                let is_text = is_word && !["true", "false"].contains(&value);
                let value = if is_text {
                    format!("{value:?}")
                } else {
                    value.to_owned()
                };
                text.push_str(&format!("{option} = {value}\n"));
            }
        }
        text
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.data.join("store")
    }

    /// The high-water mark, at its default place unless configured otherwise.
    pub(crate) fn high_water(&self) -> PathBuf {
        let mut path = self.data.clone().into_os_string();
        path.push(".high-water");
        path.into()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn metrics_port(&self) -> u16 {
        self.metrics_port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn log_path(&self) -> PathBuf {
        self.data.with_extension("log")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn spawn(&self) -> Child {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_path())
            .unwrap();
        kedge()
            .arg("serve")
            .args([Path::new("--data"), &self.data])
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .args([
                "--metrics-listen",
                &format!("127.0.0.1:{}", self.metrics_port),
            ])
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    /// Begins a start without waiting. The output stays unread.
    pub(crate) fn begin(&self) -> Server {
        Server {
            child: self.spawn(),
            setup: self.clone(),
        }
    }

    /// Starts the server and waits until it serves.
    pub(crate) fn start(&self) -> Server {
        self.try_start().unwrap_or_else(|status| {
            panic!("the server does not start ({status}):\n{}", self.log_tail())
        })
    }

    /// Starts the server and waits until it serves or has ended.
    pub(crate) fn try_start(&self) -> Result<Server, ExitStatus> {
        let mut child = self.spawn();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Only the first line is awaited, but the pipe still has to be drained.
                let _ = sender.send(line);
            }
        });
        let mut server = Server {
            child,
            setup: self.clone(),
        };
        loop {
            match lines.recv_timeout(START_LIMIT) {
                Ok(line) if line.starts_with("listening on ") => return Ok(server),
                Ok(_) => {}
                // Its output is closed, so it ends.
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let status = server.ended(STOP_LIMIT);
                    return Err(status.unwrap_or_else(|| {
                        panic!("closed its output and stays:\n{}", self.log_tail())
                    }));
                }
                Err(error) => panic!("the server does not start ({error}):\n{}", self.log_tail()),
            }
        }
    }

    /// Starts a server that must refuse to start; returns its error.
    pub(crate) fn start_refused(&self) -> (ExitStatus, String) {
        let before = self.log().len();
        let mut child = self.spawn();
        let status = wait(&mut child, START_LIMIT);
        let status = status.unwrap_or_else(|| {
            child.kill().unwrap();
            panic!(
                "the server should have refused to start:\n{}",
                self.log_tail()
            )
        });
        (status, self.log().split_off(before))
    }

    fn log_tail(&self) -> String {
        super::documented::tail(&self.log())
    }
}

fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

/// A running server; dropping it kills it.
pub(crate) struct Server {
    child: Child,
    setup: Setup,
}

impl Server {
    /// kill -9.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Pauses the process, or resumes it.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.signal(if frozen { "-STOP" } else { "-CONT" });
    }

    /// Sends a signal, by its name for `kill`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops the server; it must drain and exit with 0.
    pub(crate) fn stop(mut self) {
        self.signal("-TERM");
        let status = wait(&mut self.child, STOP_LIMIT);
        assert!(
            status.is_some_and(|status| status.success()),
            "the server did not end cleanly ({status:?}):\n{}",
            self.setup.log_tail()
        );
        // Rows cannot be rebuilt without the archived segments.
        if !self.setup.data.join("log/ARCHIVED.json").exists() {
            super::remade::check(&self.setup.data);
        }
    }

    /// Stops the server without waiting, then kill -9 after `grace`, as a supervisor does. Returns true if the server
    /// was still running.
    pub(crate) fn stop_and_kill(mut self, grace: Duration) -> bool {
        let id = self.child.id().to_string();
        let reported = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(reported.success());
        std::thread::sleep(grace);
        let was_there = self.child.try_wait().unwrap().is_none();
        let _already_dead = self.child.kill();
        self.child.wait().unwrap();
        was_there
    }

    /// SIGTERM, without waiting.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        let reported = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(reported.success());
    }

    /// The process's status, if it ends within `limit`.
    pub(crate) fn ended(&mut self, limit: Duration) -> Option<ExitStatus> {
        wait(&mut self.child, limit)
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The `/readyz` answer of a server that must be read-only.
    pub(crate) async fn read_only(&self) -> Value {
        let (status, ready) = self.readiness().await;
        assert_eq!(
            (status, &ready["mode"]),
            (503, &serde_json::json!("read_only")),
            "{ready}"
        );
        ready
    }

    /// The reason for which the server is read-only, which it must be.
    pub(crate) async fn why_read_only(&self) -> String {
        self.read_only().await["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The `/readyz` answer, with its status.
    pub(crate) async fn readiness(&self) -> (u16, Value) {
        let answer = http::get(self.setup.port, "/readyz").await;
        (answer.status, answer.json())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_dead = self.child.kill();
        let _reaped = self.child.wait();
        super::documented::look_through(&self.setup.log());
    }
}
