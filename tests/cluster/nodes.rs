//! Three nodes of one log, on their own three NATS servers and chain.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_client::{Account, Client};
use kedge_devchain::{
    self as embedded, EmbeddedChainHandle, EmbeddedOptions, insecure_development_keys,
};
use kedge_log::LogReader;
use kedge_log::env::RealEnv;
use kedge_log::frame::{SectionKind, StoredFrame};
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::nats::{Servers, Settings};
use crate::support::anvil::{deploy_anchor, rpc};
use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, connect, copy_directory, eventually, http};

/// The rights of nodes on the NATS servers, as they are shipped.
const RIGHTS: &str = include_str!("../../scripts/packages/nats/kedge.conf");
/// The chain id of the embedded chain.
pub(crate) const CHAIN_ID: u64 = 1_337;
/// Longest time until a cluster is up.
const UP_LIMIT: Duration = Duration::from_mins(1);
/// Bytes of the largest message: a frame may have 36 MiB.
const PAYLOAD_MAX: usize = 64 << 20;

/// Terms that others may open after a node was stopped.
const OPENED_MAX: u64 = 8;
const CACHE_BYTES: u64 = 16 << 20;
/// Lines of each node's log that are shown after a failure.
const SHOWN_LINES: usize = 40;

pub(crate) struct Cluster {
    pub(crate) nats: Servers,
    pub(crate) nodes: Vec<Node>,
    place: TempDir,
    chain: EmbeddedChainHandle,
    pub(crate) contract: Address,
}

/// A node, which may be stopped.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) setup: Setup,
    pub(crate) server: Option<Server>,
}

impl Node {
    pub(crate) fn start(&mut self) {
        assert!(self.server.is_none(), "{} runs", self.name);
        self.server = Some(self.setup.start());
    }

    pub(crate) fn kill(&mut self) {
        self.server.take().unwrap().kill();
    }

    pub(crate) fn url(&self) -> String {
        self.setup.url()
    }

    pub(crate) fn runs(&self) -> bool {
        self.server.is_some()
    }
}

impl Drop for Cluster {
    /// Shows the nodes' last log lines after a failure.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for node in &self.nodes {
                let log = node.setup.log();
                let lines: Vec<&str> = log.lines().collect();
                let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
                eprintln!("{}:\n{}\n", node.name, last.join("\n"));
            }
        }
    }
}

fn write_key(path: &Path, key: &SigningKey) -> PathBuf {
    let text = format!("0x{}\n", const_hex::encode(key.to_bytes()));
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_owned()
}

/// The settings of a cluster's servers.
pub(crate) fn settings() -> Settings {
    Settings {
        max_payload: PAYLOAD_MAX,
        sync_always: true,
        ..Settings::default()
    }
}

/// The key that signs batches, the same on each node.
fn sequencer() -> SigningKey {
    SigningKey::from_bytes(&[7; 32]).unwrap()
}

impl Cluster {
    /// Starts this many nodes on three NATS servers, and waits until one leads and all are up to date.
    pub(crate) async fn start(count: usize) -> Self {
        Self::start_with(count, |setup, _| setup).await
    }

    /// The same, with other options.
    pub(crate) async fn start_with(
        count: usize,
        change: impl FnMut(Setup, &Servers) -> Setup,
    ) -> Self {
        let nats = tokio::task::spawn_blocking(|| Servers::start_with(3, settings()));
        Self::start_on(nats.await.unwrap(), count, change).await
    }

    /// The same, on servers that require certificates of the authority in a folder, with the rights that are shipped.
    pub(crate) async fn start_certified(
        certificates: &'static Path,
        count: usize,
        change: impl FnMut(Setup, &Servers) -> Setup,
    ) -> Self {
        let settings = Settings {
            certificates: Some(certificates),
            ..settings()
        };
        let start = move || Servers::start_with_lines(3, settings, RIGHTS);
        let nats = tokio::task::spawn_blocking(start);
        Self::start_on(nats.await.unwrap(), count, change).await
    }

    /// The same, on running servers.
    pub(crate) async fn start_on(
        nats: Servers,
        count: usize,
        mut change: impl FnMut(Setup, &Servers) -> Setup,
    ) -> Self {
        let place = tempfile::tempdir().unwrap();
        let chain = embedded::start(EmbeddedOptions {
            chain_id: CHAIN_ID,
            journal_path: place.path().join("chain.journal"),
            listen: "127.0.0.1:0".parse().unwrap(),
            clock: Arc::new(|| {
                let now = std::time::SystemTime::now();
                now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
            }),
        });
        let chain = chain.await.unwrap();
        let sequencer = sequencer();
        let contract = deploy_anchor(&rpc(&chain.url()), sequencer.address()).await;
        let keys = Self::keys(place.path());
        let mut nodes = Vec::new();
        for index in 0..count {
            let name = format!("node{}", index + 1);
            let data = place.path().join(&name);
            copy_directory(&keys, &data.join("keys"));
            let setup = Self::setup(&data, &nats, &chain.url(), contract, &sequencer)
                .set("cluster_node", format!("\"{name}\""));
            nodes.push(Node {
                name,
                setup: change(setup, &nats),
                server: None,
            });
        }
        for node in &mut nodes {
            node.server = Some(node.setup.begin());
        }
        let cluster = Self {
            nats,
            nodes,
            place,
            chain,
            contract,
        };
        cluster.wait_until_ready().await;
        cluster
    }

    /// The keys that all nodes share, made by a separate server.
    fn keys(place: &Path) -> PathBuf {
        let data = place.join("made");
        let server = Setup::development(&data).start();
        server.stop();
        data.join("keys")
    }

    /// Another node, not started: it has data and keys, but no name.
    pub(crate) fn newcomer(&self, folder: &str) -> Setup {
        let data = self.place.path().join(folder);
        copy_directory(&self.nodes[0].setup.data().join("keys"), &data.join("keys"));
        let chain = self.chain.url();
        Self::setup(&data, &self.nats, &chain, self.contract, &sequencer())
    }

    /// Another contract on the same chain.
    pub(crate) async fn other_contract(&self) -> Address {
        deploy_anchor(&rpc(&self.chain.url()), sequencer().address()).await
    }

    fn setup(
        data: &Path,
        nats: &Servers,
        chain: &str,
        contract: Address,
        sequencer: &SigningKey,
    ) -> Setup {
        let folder = data.parent().unwrap();
        let sequencer = write_key(&folder.join("sequencer.key"), sequencer);
        let payer = write_key(&folder.join("anchor.key"), &insecure_development_keys()[0]);
        let list = |urls: &[String]| format!("{urls:?}");
        Setup::new(data)
            .set("chain", "\"rpc\"")
            .set("chain_id", CHAIN_ID)
            .set("chain_rpc_url", format!("\"{chain}\""))
            .set("chain_contract", format!("\"{contract}\""))
            .set("sequencer_key_file", format!("\"{}\"", sequencer.display()))
            .set("anchor_key_file", format!("\"{}\"", payer.display()))
            .set("trusted_proxies", r#"["127.0.0.0/8"]"#)
            .set("cluster_servers", list(&nats.urls()))
            .set("cluster_monitors", list(&nats.monitors()))
            .set("public_url", "\"http://kedge.test\"")
    }

    /// Waits until one node leads and every running node is ready.
    pub(crate) async fn wait_until_ready(&self) {
        let all_ready = || async {
            let mut leaders = 0;
            for node in self.nodes.iter().filter(|node| node.runs()) {
                let ready = ready(&node.setup).await?;
                if ready["status"] != "ready" || ready["cluster"]["leader"].is_null() {
                    return None;
                }
                leaders += usize::from(ready["cluster"]["role"] == "leader");
            }
            (leaders == 1).then_some(())
        };
        eventually("one node leads and all are ready", UP_LIMIT, all_ready).await;
    }

    /// The index of the node that reports that it leads.
    pub(crate) async fn leader(&self) -> usize {
        let found = || async {
            for (index, node) in self.nodes.iter().enumerate() {
                if node.runs()
                    && let Some(ready) = ready(&node.setup).await
                    && ready["cluster"]["role"] == "leader"
                {
                    return Some(index);
                }
            }
            None
        };
        eventually("a node leads", UP_LIMIT, found).await
    }

    /// The index of the leading node among all except `without`, which may have ended by itself.
    pub(crate) async fn leader_among(&self, without: usize) -> usize {
        let found = || async {
            for (index, node) in self.nodes.iter().enumerate() {
                if index != without
                    && let Some(ready) = ready(&node.setup).await
                    && ready["cluster"]["role"] == "leader"
                {
                    return Some(index);
                }
            }
            None
        };
        eventually("another node leads", UP_LIMIT, found).await
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Node::url).collect()
    }

    pub(crate) fn rpc(&self) -> String {
        self.chain.url()
    }

    /// A registered wallet, logged in on a node.
    pub(crate) async fn account(&self, node: usize, key: &SigningKey) -> Account {
        Self::account_at(&self.nodes[node].url(), key).await
    }

    /// The same, at a URL.
    pub(crate) async fn account_at(url: &str, key: &SigningKey) -> Account {
        let client: Client = connect(url).await;
        let account = client.account(key.clone());
        let email = format!("{}@example.com", account.address()).to_lowercase();
        let logged_in = account.login(&email, PASSWORD).await;
        logged_in.unwrap_or_else(|error| panic!("{url}: {error}"));
        account
    }

    /// Waits until every running node has this sequence.
    pub(crate) async fn wait_for(&self, sequence: u64) {
        for node in self.nodes.iter().filter(|node| node.runs()) {
            let reached = || async {
                let ready = ready(&node.setup).await?;
                (ready["sequence"].as_u64()? >= sequence).then_some(())
            };
            eventually("every node has what was acknowledged", UP_LIMIT, reached).await;
        }
    }

    /// Waits until all running nodes have the same head.
    pub(crate) async fn wait_for_one_head(&self) {
        let same = || async {
            let heads = self.heads().await;
            heads.iter().all(|head| *head == heads[0]).then_some(())
        };
        eventually("all nodes have one head", Duration::from_secs(30), same).await;
    }

    /// Stops every node in order, and compares their logs.
    pub(crate) fn stop(mut self) {
        let mut stopped = Vec::new();
        for node in &mut self.nodes {
            if let Some(server) = node.server.take() {
                server.stop();
                stopped.push(node.setup.data().join("log"));
            }
        }
        same_frames(&stopped);
    }

    /// The hash of the log's head on every running node.
    pub(crate) async fn heads(&self) -> Vec<Value> {
        let mut heads = Vec::new();
        for node in self.nodes.iter().filter(|node| node.runs()) {
            let ready = ready(&node.setup).await.unwrap();
            heads.push(json!([ready["sequence"], ready["batches"], ready["head"]]));
        }
        heads
    }
}

/// Checks that logs hold the same frames. A node that was stopped first lacks the later ones, which open terms and hold
/// no actions. Nodes seal their segments at different times, and a sealed segment has no leaves: the hashes of its
/// frames still cover them.
fn same_frames(logs: &[PathBuf]) {
    let open = |log: &PathBuf| LogReader::open(Arc::new(RealEnv), log, None, CACHE_BYTES);
    let readers: Vec<LogReader> = logs.iter().map(|log| open(log).unwrap().0).collect();
    let Some((first, others)) = readers.split_first() else {
        return;
    };
    for other in others {
        let from = first.first_frame().max(other.first_frame());
        let last = first.position().frame.min(other.position().frame);
        let longest = first.position().frame.max(other.position().frame);
        assert!(longest - last <= OPENED_MAX, "{last} of {longest} frames");
        for (one, other) in first.frames(from).zip(other.frames(from)) {
            let (one, other) = (one.unwrap(), other.unwrap());
            let number = one.header().number;
            let known = |frame: &StoredFrame| {
                // The hash covers the digest of every section.
                frame.check_digests().unwrap();
                let side = frame.section(SectionKind::Side).map(<[u8]>::len);
                (frame.header().hash(), frame.header().durable, side)
            };
            assert_eq!(known(&one), known(&other), "frame {number}");
        }
    }
}

/// A node's own status; `None` if it does not answer soon.
pub(crate) async fn ready(setup: &Setup) -> Option<Value> {
    let asked = http::try_get(setup.port(), "/readyz");
    let answer = tokio::time::timeout(Duration::from_secs(2), asked).await;
    serde_json::from_str(&answer.ok()??.body).ok()
}
