//! NATS servers as processes: a JetStream cluster on free ports, with data in a temporary folder. Other crates' tests
//! include this file by path.
//!
//! The program is `KEDGE_NATS`, or the one installed by `make test`.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

// The including crate's function: a second copy of the counter would give out a port twice.
use crate::free_port;

const PATIENCE: Duration = Duration::from_mins(1);

/// Servers of one JetStream cluster, ended on drop.
pub(crate) struct Servers {
    folder: TempDir,
    servers: Vec<Server>,
}

pub(crate) struct Server {
    is_secure: bool,
    name: String,
    port: u16,
    monitor: u16,
    config: PathBuf,
    log: PathBuf,
    process: Option<Child>,
}

/// Non-default settings.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// Limit of a message.
    pub(crate) max_payload: usize,
    /// Whether to sync before an acknowledgement.
    pub(crate) sync_always: bool,
    /// Folder of `server.pem`, `server.key` and `authority.pem`. If set, clients need a certificate of that authority
    /// and connect as the user named in it.
    pub(crate) certificates: Option<&'static Path>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_payload: 8 << 20,
            sync_always: false,
            certificates: None,
        }
    }
}

pub(crate) fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("KEDGE_NATS") {
        return named.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(Path::new(&std::env::var_os("HOME")?).join(".cache"));
    let installed = cache
        .or_else(home)
        .map(|cache| cache.join("kedge/nats/bin/nats-server"));
    match installed.filter(|installed| installed.exists()) {
        Some(installed) => installed,
        None => "nats-server".into(),
    }
}

/// Each server's routes to the others, which listen for servers on these ports.
fn routes(ports: &[u16], way: &mut impl FnMut(usize, usize, String) -> String) -> Vec<Vec<String>> {
    let mut routes = Vec::new();
    for from in 0..ports.len() {
        let others = (0..ports.len()).filter(|to| *to != from);
        let others = others.map(|to| way(from, to, format!("nats://127.0.0.1:{}", ports[to])));
        routes.push(others.collect());
    }
    routes
}

/// TLS configuration of a server that requires certificates of the authority in a folder.
fn tls_line(folder: &Path) -> String {
    let file = |name| folder.join(name).display().to_string();
    let (certificate, key) = (file("server.pem"), file("server.key"));
    let authority = file("authority.pem");
    format!(
        "tls {{ cert_file: {certificate:?}, key_file: {key:?}, ca_file: {authority:?}, verify_and_map: true }}\n"
    )
}

impl Servers {
    /// Starts `count` servers and waits until JetStream works.
    pub(crate) fn start(count: usize) -> Self {
        Self::start_with(count, Settings::default())
    }

    pub(crate) fn start_with(count: usize, settings: Settings) -> Self {
        Self::start_as(count, settings, "", |_, _, url| url)
    }

    /// Adds `lines` to each server's configuration.
    pub(crate) fn start_with_lines(count: usize, settings: Settings, lines: &str) -> Self {
        Self::start_as(count, settings, lines, |_, _, url| url)
    }

    /// `way` maps a server's route URL: the first index is the connecting server, the second the listening one.
    pub(crate) fn start_through(
        count: usize,
        settings: Settings,
        way: impl FnMut(usize, usize, String) -> String,
    ) -> Self {
        Self::start_as(count, settings, "", way)
    }

    fn start_as(
        count: usize,
        settings: Settings,
        lines: &str,
        mut way: impl FnMut(usize, usize, String) -> String,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports: Vec<u16> = (0..3 * count).map(|_| free_port()).collect();
        let routes = routes(&ports[2 * count..], &mut way);
        // Servers gossip each other's addresses. Advertising an unused address leaves only the configured routes.
        let nowhere = free_port();
        let servers = (0..count).map(|index| {
            let name = format!("engine{index}");
            let store = folder.path().join(&name);
            let (port, monitor) = (ports[index], ports[count + index]);
            let mut config = format!(
                "server_name: {name}\nlisten: 127.0.0.1:{port}\nhttp: 127.0.0.1:{monitor}\nmax_payload: {}\n\
                 jetstream {{ store_dir: \"{}\"{} }}\n{lines}\n",
                settings.max_payload,
                store.display(),
                if settings.sync_always { ", sync_interval: always" } else { "" },
            );
            config += &settings.certificates.map_or_else(String::new, tls_line);
            if count > 1 {
                let route = ports[2 * count + index];
                writeln!(
                    config,
                    "cluster {{ name: test, listen: 127.0.0.1:{route}, advertise: \"127.0.0.1:{nowhere}\", routes: {:?} }}",
                    routes[index]
                )
                .unwrap();
            }
            let path = folder.path().join(format!("{name}.conf"));
            fs::write(&path, config).unwrap();
            Server {
                is_secure: settings.certificates.is_some(),
                log: folder.path().join(format!("{name}.log")),
                name,
                port,
                monitor,
                config: path,
                process: None,
            }
        });
        let mut servers = Self {
            servers: servers.collect(),
            folder,
        };
        for server in &mut servers.servers {
            server.start();
        }
        servers.wait_until_ready();
        servers
    }

    /// Waits until JetStream has a leader and knows all servers.
    pub(crate) fn wait_until_ready(&self) {
        let count = self.servers.len();
        wait_for("JetStream is ready", || {
            self.servers.iter().all(Server::is_healthy)
                && (count == 1 || self.meta_peers().is_some_and(|peers| peers + 1 == count))
        });
    }

    /// Number of other servers that JetStream's leader reaches.
    fn meta_peers(&self) -> Option<usize> {
        let infos = self.servers.iter().filter_map(|server| server.get("/jsz"));
        let led = infos.filter_map(|text| {
            let parsed: serde_json::Value = serde_json::from_str(&text).ok()?;
            let cluster = parsed.get("meta_cluster")?;
            cluster
                .get("leader")?
                .as_str()
                .filter(|leader| !leader.is_empty())?;
            let replicas = cluster.get("replicas")?.as_array()?.clone();
            Some(replicas.iter().filter(|one| one["offline"] != true).count())
        });
        led.max()
    }

    pub(crate) fn len(&self) -> usize {
        self.servers.len()
    }

    pub(crate) fn server(&mut self, index: usize) -> &mut Server {
        &mut self.servers[index]
    }

    /// URLs for clients.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }

    pub(crate) fn monitors(&self) -> Vec<String> {
        let url = |server: &Server| format!("http://127.0.0.1:{}", server.monitor);
        self.servers.iter().map(url).collect()
    }

    /// Folder of all servers' data, configurations and logs.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The index of the server that leads a stream.
    pub(crate) fn leader_of(&self, stream: &str) -> Option<usize> {
        let query = "/jsz?streams=1";
        self.servers.iter().find_map(|server| {
            let parsed: serde_json::Value = serde_json::from_str(&server.get(query)?).ok()?;
            let streams = parsed["account_details"].as_array()?.iter();
            let mut streams = streams
                .filter_map(|one| one["stream_detail"].as_array())
                .flatten();
            let found = streams.find(|one| one["name"] == stream)?;
            let leader = found["cluster"]["leader"].as_str()?;
            self.servers.iter().position(|server| server.name == leader)
        })
    }

    /// Each server's view of a stream: first and last place, and leader.
    pub(crate) fn stream_states(&self, stream: &str) -> String {
        let shown = self.servers.iter().map(|server| {
            let text = server.get("/jsz?streams=1").unwrap_or_default();
            let parsed: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let accounts = parsed["account_details"].as_array().cloned();
            let mut streams = accounts.unwrap_or_default().into_iter();
            let found = streams.find_map(|account| {
                let streams = account["stream_detail"].as_array()?.iter();
                streams.clone().find(|one| one["name"] == stream).cloned()
            });
            let found = found.unwrap_or_default();
            format!("{}: {} {}\n", server.name, found["state"], found["cluster"])
        });
        shown.collect()
    }

    /// End of each server's log.
    pub(crate) fn logs(&self) -> String {
        let read = |server: &Server| fs::read_to_string(&server.log).unwrap_or_default();
        self.servers.iter().map(read).collect()
    }
}

impl Server {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.is_secure { "tls" } else { "nats" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Starts or restarts it with its data.
    pub(crate) fn start(&mut self) {
        assert!(self.process.is_none(), "{} runs", self.name);
        let log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .unwrap();
        let started = Command::new(program())
            .arg("-c")
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process = Some(
            started.expect("no nats-server: `make test` installs one, or name one in KEDGE_NATS"),
        );
    }

    /// Kills it, like a power failure.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Shuts it down in order, so that it hands over its leaderships: immediately, or as a lame duck.
    pub(crate) fn retire(&self, at_once: bool) {
        self.signal(if at_once { Signal::INT } else { Signal::USR2 });
    }

    /// Stops the process until [`Server::resume`].
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        // On a busy machine some threads keep running for a moment.
        wait_for("the server stands still", || self.stands_still());
    }

    fn stands_still(&self) -> bool {
        let process = self.process.as_ref().unwrap().id();
        let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
        tasks.flatten().all(|task| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
            // A thread that has ended has no state.
            state.is_none_or(|state| state.starts_with(['T', 't', 'Z', 'X']))
        })
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().unwrap();
        kill_process(Pid::from_child(process), signal).unwrap();
    }

    /// Waits until it serves JetStream.
    pub(crate) fn wait_until_healthy(&self) {
        wait_for("the server is healthy", || self.is_healthy());
    }

    fn is_healthy(&self) -> bool {
        // Excludes streams and consumers: a consumer without a reader counts as unhealthy.
        self.get("/healthz?js-server-only=true")
            .is_some_and(|text| text.contains("\"ok\""))
    }

    /// An answer of its monitoring.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitor)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.0 200").then(|| body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(
            began.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
