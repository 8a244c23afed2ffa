//! Test support: nodes, a log with checkpoints, and a store of intents in files.

#[path = "../../../../tests/support/ports.rs"]
mod ports;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kedge_chain::contract::{DeployOptions, Deployment, deploy};
use kedge_chain::rpc::{RpcClient, RpcError, RpcOptions};
use kedge_chain::sender::{
    AnchorIntent, AnchorSender, IntentStore, SenderOptions, StoreError, StoredIntent,
};
use kedge_chain::transaction::FeePolicy;
use kedge_devchain::{self as embedded, insecure_development_keys};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};
use kedge_protocol::signature::SigningKey;

use kedge_protocol::{Address, Hash};
pub(crate) use ports::free_port;
use serde_json::{Value, json};

pub(crate) const CHAIN_ID: u64 = 31_337;

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

pub(crate) fn client(url: &str) -> RpcClient {
    let options = RpcOptions {
        timeout_ms: 5_000,
        ..RpcOptions::default()
    };
    RpcClient::new(url.parse().unwrap(), options)
}

/// Calls any method; leaks its name, because the client labels metrics with static names.
pub(crate) async fn raw(rpc: &RpcClient, method: &str, params: Value) -> Result<Value, RpcError> {
    rpc.request(Box::leak(method.to_owned().into_boxed_str()), params)
        .await
}

/// A running Anvil, killed on drop.
pub(crate) struct Anvil {
    child: Child,
    port: u16,
}

fn anvil_binary() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/anvil/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil");
    assert!(
        path.exists(),
        "Anvil is not installed: run `npm ci --prefix crates/chain/tests/anvil`"
    );
    path
}

impl Anvil {
    /// Starts Anvil; finality is two blocks below the head.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        Self::start_on(free_port(), arguments).await
    }

    pub(crate) async fn start_on(port: u16, arguments: &[&str]) -> Self {
        let child = Command::new(anvil_binary())
            .args(["--host", "127.0.0.1", "--slots-in-an-epoch", "1"])
            .args(["--port", &port.to_string()])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let anvil = Self { child, port };
        for _ in 0..400 {
            if anvil.rpc().chain_id().await.is_ok() {
                return anvil;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("Anvil does not answer");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn rpc(&self) -> RpcClient {
        client(&format!("http://127.0.0.1:{}", self.port))
    }

    pub(crate) async fn raw(&self, method: &str, params: Value) -> Value {
        raw(&self.rpc(), method, params).await.unwrap()
    }

    pub(crate) async fn mine(&self, blocks: u64) {
        self.raw("anvil_mine", json!([blocks])).await;
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _already_dead = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A clock that tests move.
#[derive(Clone)]
pub(crate) struct ManualClock(pub(crate) Arc<AtomicU64>);

impl ManualClock {
    pub(crate) fn at(seconds: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seconds)))
    }

    pub(crate) fn clock(&self) -> embedded::ChainClock {
        let seconds = Arc::clone(&self.0);
        Arc::new(move || seconds.load(Ordering::SeqCst))
    }
}

pub(crate) async fn start_embedded(
    directory: &Path,
    clock: embedded::ChainClock,
) -> embedded::EmbeddedChainHandle {
    embedded::start(embedded_options(directory, clock))
        .await
        .unwrap()
}

pub(crate) fn embedded_options(
    directory: &Path,
    clock: embedded::ChainClock,
) -> embedded::EmbeddedOptions {
    embedded::EmbeddedOptions {
        chain_id: CHAIN_ID,
        journal_path: directory.join("chain.journal"),
        listen: "127.0.0.1:0".parse().unwrap(),
        clock,
    }
}

pub(crate) fn system_clock() -> embedded::ChainClock {
    Arc::new(|| now_ms() / 1_000)
}

/// The key that pays for anchors.
pub(crate) fn payer() -> SigningKey {
    insecure_development_keys()[1].clone()
}

/// The key that deploys and owns.
pub(crate) fn owner() -> SigningKey {
    insecure_development_keys()[0].clone()
}

pub(crate) fn sequencer_key() -> SigningKey {
    SigningKey::from_bytes(&[0x5e; 32]).unwrap()
}

pub(crate) fn deploy_options() -> DeployOptions {
    DeployOptions {
        owner: owner().address(),
        sequencer_key: sequencer_key().address(),
        domain_contract: None,
        fee_policy: FeePolicy::default(),
        patience_ms: 10_000,
    }
}

pub(crate) async fn deploy_anchor(rpc: &RpcClient) -> Deployment {
    deploy(rpc, &owner(), &deploy_options()).await.unwrap()
}

/// A log whose batch hashes follow from a seed.
pub(crate) struct TestLog {
    seed: u64,
    frontier: TreeFrontier,
    nodes: HashMap<(u32, u64), Hash>,
    roots: Vec<Hash>,
}

impl TreeNodes for TestLog {
    type Error = std::convert::Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Self::Error> {
        Ok(self.nodes[&(level, index)])
    }
}

impl TestLog {
    pub(crate) fn new(seed: u64, batches: u64) -> Self {
        let mut log = Self {
            seed,
            frontier: TreeFrontier::default(),
            nodes: HashMap::new(),
            roots: vec![TreeFrontier::default().root()],
        };
        for number in 0..batches {
            let mut preimage = seed.to_be_bytes().to_vec();
            preimage.extend(number.to_be_bytes());
            let leaf = log_tree::leaf(&keccak(&preimage));
            for node in log.frontier.append(leaf) {
                log.nodes.insert((node.level, node.index), node.hash);
            }
            log.roots.push(log.frontier.root());
        }
        log
    }

    pub(crate) fn checkpoint(&self, batches: u64) -> Checkpoint {
        Checkpoint {
            batches,
            sequence: batches * 10,
            head: keccak(&[self.seed.to_be_bytes(), batches.to_be_bytes()].concat()),
            history: self.roots[usize::try_from(batches).unwrap()],
            state: Hash::ZERO,
            issued_at_ms: now_ms(),
        }
    }

    /// The intent that extends the contract from `from` to `to` batches.
    pub(crate) fn intent(&self, contract: Address, from: u64, to: u64) -> AnchorIntent {
        let proof = match from {
            0 => Vec::new(),
            _ => log_tree::consistency_path(self, from, to).unwrap(),
        };
        AnchorIntent {
            signed: self
                .checkpoint(to)
                .sign(&separator(contract), &sequencer_key()),
            extends_batches: from,
            proof,
        }
    }
}

pub(crate) fn separator(contract: Address) -> Hash {
    Domain {
        chain_id: CHAIN_ID,
        verifying_contract: contract,
    }
    .separator()
}

/// Intents in files, durable enough for a test.
#[derive(Clone)]
pub(crate) struct FileStore(pub(crate) PathBuf);

impl FileStore {
    fn path(&self, batches: u64) -> PathBuf {
        self.0.join(format!("{batches}.json"))
    }

    pub(crate) fn read(&self, batches: u64) -> Option<StoredIntent> {
        let bytes = std::fs::read(self.path(batches)).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }
}

fn store_error(error: std::io::Error) -> StoreError {
    StoreError(Box::new(error))
}

impl IntentStore for FileStore {
    async fn save(&self, intent: &StoredIntent) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(intent).unwrap();
        std::fs::write(self.path(intent.intent.batches()), bytes).map_err(store_error)
    }

    async fn remove(&self, batches: u64) -> Result<(), StoreError> {
        match std::fs::remove_file(self.path(batches)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(store_error(error)),
            _ => Ok(()),
        }
    }

    async fn load(&self) -> Result<Vec<StoredIntent>, StoreError> {
        let entries = std::fs::read_dir(&self.0).map_err(store_error)?;
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let bytes = std::fs::read(entry.map_err(store_error)?.path()).map_err(store_error)?;
            Ok(serde_json::from_slice(&bytes).unwrap())
        };
        entries.map(read).collect()
    }
}

pub(crate) fn sender_options(contract: Address) -> SenderOptions {
    SenderOptions {
        confirmations: 2,
        bump_after_ms: 10_000,
        ..SenderOptions::new(CHAIN_ID, contract, separator(contract))
    }
}

pub(crate) async fn open_sender(
    options: SenderOptions,
    rpc: RpcClient,
    store: &FileStore,
) -> AnchorSender<FileStore> {
    AnchorSender::open(options, payer(), rpc, store.clone())
        .await
        .unwrap()
}
