//! A cluster on this machine: three NATS servers, a development chain, and nodes.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kedge_load::connection::{LoadConnection, authority};
use kedge_load::machine::processor_time;

use crate::error::BenchResult;
use crate::server::BenchServer;

const SERVERS: usize = 3;
const UP_WITHIN: Duration = Duration::from_mins(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Metric of requests that an edge passed to the leader.
const PASSED: &str = "kedge_edge_passed_total{to=\"leader\",outcome=\"answered\"}";
/// The development chain's first key, which is public.
const PAYER: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/// A process, killed on drop.
struct BenchProcess(Child);

impl Drop for BenchProcess {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// A running cluster, stopped on drop.
pub(super) struct BenchCluster {
    program: PathBuf,
    place: PathBuf,
    /// Configuration lines shared by all nodes.
    settings: String,
    /// URL of the edge's metrics.
    edge_metrics: String,
    pub(super) nodes: Vec<BenchServer>,
    servers: Vec<BenchProcess>,
    _chain: BenchProcess,
}

/// Processor time used by the parts of a cluster.
#[derive(Clone, Copy, Default)]
pub(super) struct ClusterCpuTime {
    pub(super) leader: Duration,
    pub(super) followers: Duration,
    pub(super) servers: Duration,
}

impl ClusterCpuTime {
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            leader: self.leader.saturating_sub(earlier.leader),
            followers: self.followers.saturating_sub(earlier.followers),
            servers: self.servers.saturating_sub(earlier.servers),
        }
    }
}

impl BenchCluster {
    /// Starts all processes, and waits until each node is ready.
    pub(super) async fn start(
        program: &Path,
        nats: &Path,
        place: &Path,
        nodes: usize,
    ) -> BenchResult<Self> {
        make_private(place)?;
        let (sequencer, payer) = (place.join("sequencer.key"), place.join("anchor.key"));
        let operator = place.join("operator.key");
        for key in [&sequencer, &operator] {
            run(Command::new(program).args(["keys", "new"]).arg(key))?;
        }
        fs::write(&payer, format!("{PAYER}\n"))?;
        fs::set_permissions(&payer, fs::Permissions::from_mode(0o600))?;
        let address = run(Command::new(program)
            .args(["keys", "address", "--key-file"])
            .arg(&sequencer))?;
        let (chain, printed) = start_chain(program, place, address.trim()).await?;
        let ports = free_ports(3 * SERVERS)?;
        let servers = start_servers(nats, place, &ports).await?;
        let [metrics] = free_ports(1)?[..] else {
            return Err("no port is free".into());
        };
        let keys = [&sequencer, &payer, &operator];
        let settings = settings(&printed, keys, &ports)?;
        let mut cluster = Self {
            program: program.to_owned(),
            place: place.to_owned(),
            settings,
            edge_metrics: format!("127.0.0.1:{metrics}"),
            nodes: Vec::new(),
            servers,
            _chain: chain,
        };
        for _ in 0..nodes {
            let node = cluster.start_node()?;
            cluster.nodes.push(node);
        }
        for node in &cluster.nodes {
            node.ready().await?;
        }
        Ok(cluster)
    }

    /// Starts one more node, empty, with the first one's keys.
    pub(super) fn start_node(&self) -> BenchResult<BenchServer> {
        let name = format!("node{}", self.nodes.len() + 1);
        let data = self.place.join(&name);
        make_private(&data.join("keys"))?;
        let first = self.place.join("node1").join("keys");
        for entry in fs::read_dir(&first)?.filter(|_| name != "node1") {
            let entry = entry?;
            fs::copy(entry.path(), data.join("keys").join(entry.file_name()))?;
        }
        let config = self.place.join(format!("{name}.toml"));
        fs::write(&config, format!("{}node = {name:?}\n", self.settings))?;
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .arg("--data")
            .arg(&data);
        BenchServer::spawn(command, data.join("admin.sock"))
    }

    pub(super) async fn start_edge(&self) -> BenchResult<BenchServer> {
        let config = self.place.join("edge.toml");
        let urls: Vec<&str> = self.nodes.iter().map(|node| node.url.as_str()).collect();
        let metrics = &self.edge_metrics;
        let text = format!(
            "log_filter = \"error\"\nmetrics_listen = {metrics:?}\n[edge]\nnodes = {urls:?}\n"
        );
        fs::write(&config, text)?;
        let mut command = Command::new(&self.program);
        command
            .args(["edge", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config);
        let edge = BenchServer::spawn(command, self.place.join("no.sock"))?;
        edge.ready().await?;
        Ok(edge)
    }

    /// Requests that the edge passed to the leader and that were answered.
    pub(super) async fn passed(&self) -> BenchResult<u64> {
        let (_, text) = get(&self.edge_metrics, "/metrics").await?;
        let count = text.lines().find_map(|line| line.strip_prefix(PASSED));
        let count = count.ok_or("the edge has no metric of what it passed on")?;
        Ok(count.trim().parse()?)
    }

    /// Index of the leading node.
    pub(super) async fn leader(&self) -> BenchResult<usize> {
        let give_up = Instant::now() + UP_WITHIN;
        while Instant::now() < give_up {
            for (index, node) in self.nodes.iter().enumerate() {
                let (_, text) = get(&authority(&node.url)?, "/readyz").await?;
                if text.contains("\"role\":\"leader\"") {
                    return Ok(index);
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Err("no node leads".into())
    }

    /// Processor time up to now, with this node as the leader.
    pub(super) fn used(&self, leader: usize) -> ClusterCpuTime {
        let mut used = ClusterCpuTime::default();
        for (index, node) in self.nodes.iter().enumerate() {
            let time = processor_time(node.pid());
            if index == leader {
                used.leader = time;
            } else {
                used.followers += time;
            }
        }
        let servers = self.servers.iter();
        used.servers = servers.map(|server| processor_time(server.0.id())).sum();
        used
    }
}

/// Configuration lines shared by all nodes. `printed` is the output of the chain; the keys are those of sequencer,
/// payer and operator.
fn settings(
    printed: &str,
    [sequencer, payer, operator]: [&PathBuf; 3],
    ports: &[u16],
) -> BenchResult<String> {
    let urls = |scheme: &str, from: usize| -> Vec<String> {
        let ports = ports[from..from + SERVERS].iter();
        ports
            .map(|port| format!("{scheme}://127.0.0.1:{port}"))
            .collect()
    };
    let value = |name: &str| {
        let mut lines = printed.lines();
        let found = lines.find_map(|line| line.strip_prefix(name));
        found
            .map(str::trim)
            .ok_or("the chain printed less than expected")
    };
    let domain = format!(
        "chain_id = {}\nchain_contract = {:?}\nlog_filter = \"error\"\n",
        value("chain id")?,
        value("contract")?
    );
    let settings = format!(
        "{domain}chain = \"rpc\"\nchain_rpc_url = {:?}\n\
         sequencer_key_file = \"{}\"\nanchor_key_file = \"{}\"\noperator_key_file = \"{}\"\n\
         public_url = \"http://kedge.example\"\ntrusted_proxies = [\"127.0.0.0/8\"]\n\
         rate_limits = \"off\"\nlog_bytes_free = 0\n\
         organization_share_percent = 100\n",
        value("JSON-RPC")?,
        sequencer.display(),
        payer.display(),
        operator.display(),
    );
    let shared = format!(
        "servers = {:?}\nmonitors = {:?}\nunsynced_allowed = true\n",
        urls("nats", 0),
        urls("http", SERVERS),
    );
    Ok(format!("{settings}\n[cluster]\n{shared}"))
}

fn make_private(folder: &Path) -> BenchResult<()> {
    let mut builder = fs::DirBuilder::new();
    Ok(builder.recursive(true).mode(0o700).create(folder)?)
}

/// Runs a command and returns its output.
fn run(command: &mut Command) -> BenchResult<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Free ports; another program may take them before they are used.
fn free_ports(count: usize) -> BenchResult<Vec<u16>> {
    let listeners: std::io::Result<Vec<_>> = (0..count)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect();
    let ports = listeners?.into_iter().map(|listener| listener.local_addr());
    let ports: std::io::Result<Vec<_>> = ports.map(|at| at.map(|at| at.port())).collect();
    Ok(ports?)
}

/// Starts the development chain. Also returns its output.
async fn start_chain(
    program: &Path,
    place: &Path,
    sequencer: &str,
) -> BenchResult<(BenchProcess, String)> {
    let output = place.join("chain.out");
    let mut command = Command::new(program);
    command
        .args(["dev-chain", "--listen", "127.0.0.1:0", "--sequencer"])
        .args([sequencer, "--data"])
        .arg(place.join("chain"))
        .stdout(File::create(&output)?)
        .stderr(File::create(place.join("chain.log"))?);
    let process = BenchProcess(command.spawn()?);
    let give_up = Instant::now() + UP_WITHIN;
    while Instant::now() < give_up {
        let printed = fs::read_to_string(&output)?;
        if printed
            .lines()
            .any(|line| line.starts_with("contract") && printed.ends_with('\n'))
        {
            return Ok((process, printed));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err("the development chain did not come up; chain.log has the reason".into())
}

/// Starts the NATS servers, and waits until each is healthy.
async fn start_servers(nats: &Path, place: &Path, ports: &[u16]) -> BenchResult<Vec<BenchProcess>> {
    let routes: Vec<String> = ports[2 * SERVERS..]
        .iter()
        .map(|port| format!("nats://127.0.0.1:{port}"))
        .collect();
    let mut servers = Vec::new();
    for index in 0..SERVERS {
        let name = format!("nats{index}");
        let store = place.join(&name);
        let (client, monitor) = (ports[index], ports[SERVERS + index]);
        let config = place.join(format!("{name}.conf"));
        let text = format!(
            "server_name: {name}\nlisten: 127.0.0.1:{client}\nhttp: 127.0.0.1:{monitor}\nmax_payload: 67108864\n\
             jetstream {{ store_dir: \"{}\" }}\n\
             cluster {{ name: bench, listen: 127.0.0.1:{}, routes: {routes:?} }}\n",
            store.display(),
            ports[2 * SERVERS + index],
        );
        fs::write(&config, text)?;
        let log = File::create(place.join(format!("{name}.log")))?;
        let mut command = Command::new(nats);
        command.arg("-c").arg(&config).stderr(log);
        servers.push(BenchProcess(command.spawn()?));
    }
    for monitor in &ports[SERVERS..2 * SERVERS] {
        healthy(*monitor).await?;
    }
    Ok(servers)
}

/// Whether an answer is a success, and its text.
async fn get(address: &str, path: &str) -> BenchResult<(bool, String)> {
    let mut connection = LoadConnection::open(address).await?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let answer = connection.exchange(head.as_bytes(), &[]).await?;
    let text = String::from_utf8_lossy(answer.body).into_owned();
    Ok((answer.status.is_success(), text))
}

async fn healthy(monitor: u16) -> BenchResult<()> {
    let address = format!("127.0.0.1:{monitor}");
    let give_up = Instant::now() + UP_WITHIN;
    while Instant::now() < give_up {
        let answer = get(&address, "/healthz").await;
        if answer.is_ok_and(|(is_success, _)| is_success) {
            return Ok(());
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err("a NATS server did not come up".into())
}
