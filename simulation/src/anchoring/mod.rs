//! Anchoring: the production anchor actor, with a chain that the simulator makes up in the place of Ethereum. Half of the
//! seeds have it.
//!
//! - `chain`: blocks, reorganizations, finality, what waits. `contract`: the anchor contract, a second implementation.
//! - `node`: nodes that are away, slow, behind, forgetful or lying. `answers`: what they answer in JSON-RPC.
//! - `rates`: how often what goes wrong. `oracle`: what is checked, by the chain's truth and not by what a node said.

mod answers;
mod chain;
mod contract;
mod node;
mod oracle;
mod rates;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{AnchorOptions, Engine};
use kedge_chain::contract::anchor_calldata;
use kedge_chain::rpc::{Node, RpcClient, RpcOptions};
use kedge_chain::sender::{OpenError, SenderOptions};
use kedge_env::Env;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, log_tree};
use parking_lot::Mutex;

use self::chain::{Chain, Sent};
use self::contract::CONTRACT;
use self::node::{NodeState, SimulatedNode};
use self::rates::Rates;
use crate::client::{self, DOMAIN};
use crate::machine::{Machine, START_MS};
use crate::plan::Violation;
use crate::random::Random;
use crate::rows::SEQUENCER;
use crate::schedule::Seeded;

/// Pays for the anchors.
const PAYER: u8 = 0xa1;
/// How long the server waits for a node, milliseconds.
const TIMEOUT_MS: u64 = 40;

/// The chain, its nodes, and what the server has sent.
struct World {
    chain: Chain,
    nodes: Vec<NodeState>,
    payer: Address,
    /// Every transaction that a node got from the server.
    sent: BTreeMap<Hash, Checkpoint>,
    /// No node says anything that is not so.
    is_honest: bool,
    violation: Option<Violation>,
}

impl World {
    fn advance(&mut self, now_ms: u64) {
        self.chain.advance(now_ms, START_MS / 1_000);
    }

    fn note_sent(&mut self, sent: &Sent) {
        let signed = kedge_chain::contract::decode_anchor_call(&sent.data);
        if let Some(signed) = signed.filter(|_| sent.from == self.payer) {
            self.sent.insert(sent.hash, signed.checkpoint);
            return;
        }
        let what = "the server sent something else than an anchor, nonce";
        self.violation = Some(Violation::new(what, sent.nonce));
    }

    /// Of two transactions that wait, no two anchor the same under different nonces, unless the older one cannot be mined
    /// because the account's next nonce is below its own.
    fn check_pool(&mut self, sent: &Sent) {
        let batches = |sent: &Sent| Some(self.sent.get(&sent.hash)?.batches);
        let (mine, nonce) = (batches(sent), sent.nonce);
        let mut pool = self.chain.pool.iter();
        let next = self.chain.view.head().nonce(self.payer);
        let is_twin = |waiting: &Arc<Sent>| {
            waiting.nonce != nonce && waiting.nonce <= next && batches(waiting) == mine
        };
        if self.is_honest && mine.is_some() && pool.any(is_twin) {
            let what = "one checkpoint waits under two nonces, the newer one";
            self.violation = Some(Violation::new(what, nonce));
        }
    }
}

/// How this run anchors.
#[derive(Clone, Copy, Debug)]
struct Settings {
    interval_ms: u64,
    poll_ms: u64,
    confirmations: u64,
    bump_after_ms: u64,
    has_second: bool,
}

/// The anchoring of a run, over all of its processes.
pub(crate) struct Anchoring {
    world: Arc<Mutex<World>>,
    settings: Settings,
    payer: SigningKey,
    random: Random,
    machine: Machine,
    schedule: Arc<Seeded>,
}

impl Anchoring {
    /// The anchoring of a seed; `None` if its run has none.
    pub(crate) fn of(
        seed: u64,
        machine: &Machine,
        schedule: &Arc<Seeded>,
    ) -> Result<Option<Self>, Violation> {
        let mut random = Random::new(seed, 20);
        if random.below(2) == 0 {
            return Ok(None);
        }
        let rates = Rates::of(&mut random);
        let payer = client::key(PAYER)?;
        let sequencer = client::key(SEQUENCER)?.address();
        let of_chain = Random::new(seed, 21);
        let chain = Chain::new(sequencer, START_MS / 1_000, of_chain, rates);
        let settings = Settings {
            interval_ms: 15 + random.below(150),
            poll_ms: 4 + random.below(15),
            confirmations: 1 + random.below(3),
            bump_after_ms: 30 + random.below(120),
            has_second: random.below(2) == 0,
        };
        let nodes = [22, 23].map(|purpose| NodeState::new(Random::new(seed, purpose)));
        let world = World {
            is_honest: chain.rates.lies == 0,
            chain,
            nodes: nodes.into(),
            payer: payer.address(),
            sent: BTreeMap::new(),
            violation: None,
        };
        Ok(Some(Self {
            world: Arc::new(Mutex::new(world)),
            settings,
            payer,
            random: Random::new(seed, 24),
            machine: machine.clone(),
            schedule: Arc::clone(schedule),
        }))
    }

    /// The contract that anchors the log.
    pub(crate) fn contract() -> Address {
        CONTRACT
    }

    /// From here on nothing goes wrong.
    pub(crate) fn calm_down(&self) {
        let mut world = self.world.lock();
        world.chain.calm_down();
        world.nodes.iter_mut().for_each(NodeState::calm_down);
    }

    fn client(&self, number: usize) -> Result<RpcClient, Violation> {
        let node = SimulatedNode {
            world: Arc::clone(&self.world),
            number,
            machine: self.machine.clone(),
            schedule: Arc::clone(&self.schedule),
        };
        let options = RpcOptions {
            timeout_ms: TIMEOUT_MS,
            ..RpcOptions::default()
        };
        let name = format!("http://node-{number}.invalid").parse();
        let name = name.map_err(|error| Violation::new("a node's name", error))?;
        let node: Arc<dyn Node> = Arc::new(node);
        Ok(RpcClient::to_node(node, name, options))
    }

    fn options(&self) -> Result<AnchorOptions, Violation> {
        let settings = self.settings;
        let mut sender = SenderOptions::new(DOMAIN.chain_id, CONTRACT, DOMAIN.separator());
        sender.confirmations = settings.confirmations;
        sender.finality_fallback_depth = self.world.lock().chain.depth + 1;
        sender.bump_after_ms = settings.bump_after_ms;
        sender.backoff_ms_min = 4;
        sender.backoff_ms_max = 50;
        let second = settings.has_second.then(|| self.client(1));
        Ok(AnchorOptions {
            sender,
            key: self.payer.clone(),
            rpc: self.client(0)?,
            second_rpc: second.transpose()?,
            interval_ms: settings.interval_ms,
            poll_ms: settings.poll_ms,
            responder: None,
            observer: None,
        })
    }

    /// Starts anchoring in a new process.
    pub(crate) async fn begin(&self, engine: &Engine) -> Result<Result<(), OpenError>, Violation> {
        Ok(Box::pin(engine.start_anchoring(self.options()?)).await)
    }

    /// What others do at a look: a stranger sends the newest checkpoint, the operator asks for an anchor.
    pub(crate) fn look(&mut self, engine: &Engine) -> Result<(), Violation> {
        let mut world = self.world.lock();
        world.advance(self.machine.passed_ms());
        if let Some(violation) = world.violation.take() {
            return Err(violation);
        }
        if self.random.chance(world.chain.rates.asked) {
            let engine = engine.clone();
            tokio::spawn(async move { engine.anchor_now().await });
        }
        if !self.random.chance(world.chain.rates.stranger) {
            return Ok(());
        }
        let Ok(signed) = engine.checkpoint() else {
            return Ok(());
        };
        let batches = world.chain.view.head().contract.latest().0;
        let snapshot = &engine.published().snapshot;
        if batches >= signed.checkpoint.batches {
            return Ok(());
        }
        let proof = if batches == 0 {
            Vec::new()
        } else {
            log_tree::consistency_path(snapshot, batches, signed.checkpoint.batches)
                .map_err(|error| Violation::new("no proof of consistency", error))?
        };
        world.chain.strangers_send(anchor_calldata(&signed, &proof));
        Ok(())
    }

    /// How many transactions were taken in any block, and how many of the server's were sent.
    pub(crate) fn counts(&self) -> [u64; 2] {
        let world = self.world.lock();
        [world.chain.taken.len(), world.sent.len()].map(|count| count as u64)
    }

    /// How long everything that is committed may take to be anchored, and final, once faults have stopped.
    fn patience(&self) -> Duration {
        let blocks = self.world.lock().chain.depth + 8;
        let settings = self.settings;
        let once_ms = settings.interval_ms + settings.bump_after_ms * 8 + blocks * chain::BLOCK_MS;
        Duration::from_millis(4 * once_ms + 20_000)
    }
}
