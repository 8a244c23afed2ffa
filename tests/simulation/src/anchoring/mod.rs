//! Anchoring: the production anchor actor on a simulated Ethereum chain, in half of the seeds.
//!
//! - `chain`: blocks, reorganizations, finality, the pool. `contract`: the anchor contract, a second implementation.
//! - `bond`: the bond, a second implementation, in half of these seeds. `bond_calls`: its calls. `bond_actions`: proofs
//!   that an action was requested. `challenger`: opens cases.
//! - `node`: nodes that are unreachable, slow, behind, forgetful or lying. `answers`: their JSON-RPC answers.
//! - `rates`: fault rates. `oracle`, `answer_watch`: checks against the true chain, not a node's answers.

mod answer_watch;
mod answers;
mod bond;
mod bond_actions;
mod bond_calls;
mod chain;
mod challenger;
mod contract;
mod lost_time;
mod node;
mod oracle;
mod rates;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{AnchorOptions, Engine};
use kedge_chain::contract::anchor_calldata;
use kedge_chain::contract::bond::BondTerms;
use kedge_chain::responder::ResponderOptions;
use kedge_chain::rpc::{InProcessNode, RpcClient, RpcOptions};
use kedge_chain::sender::{AnchorSenderError, SenderOptions};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, log_tree};
use kedge_runtime::env::Env;
use kedge_storage::{AnchorProgress, RowPage, StoreMode, StoreSnapshot};
use parking_lot::Mutex;

use self::answer_watch::{AnswerWatch, KNOWN_WITHIN_BLOCKS};
use self::bond::{BOND, SimulatedBond};
use self::chain::{SimulatedChain, SimulatedTransaction};
use self::challenger::Challenger;
use self::contract::CONTRACT;
use self::node::{NodeState, SimulatedNode};
use self::rates::ChainFaultRates;
use crate::client::{self, DOMAIN};
use crate::directory::SEQUENCER;
use crate::machine::{START_MS, SimulatedMachine};
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;

/// Payer of the anchors.
const PAYER: u8 = 0xa1;
/// With less disk space, the server may be unable to store an answer.
const ROOM_BYTES: u64 = 40 << 10;
/// A longer pause in requests to the chain, in milliseconds, means that there is no server.
const AWAY_MS: u64 = 20;
/// Minimum rate of gaps in runs with rare anchors, per ten thousand blocks.
const GAP_WHERE_RARE: u64 = 1_500;
/// Time that the server waits for a node, milliseconds.
const TIMEOUT_MS: u64 = 40;

/// Chain, nodes, and the server's transactions.
struct AnchorWorld {
    chain: SimulatedChain,
    nodes: Vec<NodeState>,
    payer: Address,
    /// Every transaction that a node received from the server.
    sent: BTreeMap<Hash, Checkpoint>,
    /// Observed answers to the bond.
    watch: AnswerWatch,
    /// Whether no node lies.
    is_honest: bool,
    violation: Option<Violation>,
    /// Time of the last request to the chain.
    seen_at_ms: u64,
}

impl AnchorWorld {
    fn advance(&mut self, now_ms: u64) {
        // A running server asks more often.
        if now_ms > self.seen_at_ms + AWAY_MS {
            self.chain.lost.stands(self.seen_at_ms, now_ms);
        }
        self.seen_at_ms = now_ms;
        self.chain.advance(now_ms, START_MS / 1_000);
        let seen = self.watch.advance(&mut self.chain, self.is_honest, now_ms);
        self.chain.refused.clear();
        self.chain.count_followed();
        self.violation = self.violation.take().or(seen.err());
    }

    fn note_sent(&mut self, sent: &SimulatedTransaction, now_ms: u64) {
        if sent.to == BOND && sent.from == self.payer {
            let (chain, is_honest) = (&self.chain, self.is_honest);
            let seen = self.watch.note_sent(sent, chain, is_honest, now_ms);
            self.violation = self.violation.take().or(seen.err());
            return;
        }
        let signed = kedge_chain::contract::decode_anchor_call(&sent.data);
        if let Some(signed) = signed.filter(|_| sent.from == self.payer) {
            self.sent.insert(sent.hash, signed.checkpoint);
            return;
        }
        let what = "the server sent something else than an anchor, nonce";
        self.violation = Some(Violation::new(what, sent.nonce));
    }

    /// Checks that no two waiting transactions anchor the same or answer the same case under different nonces, unless
    /// the older one cannot be mined because its nonce was used.
    fn check_pool(&mut self, sent: &SimulatedTransaction) {
        let subject = |sent: &SimulatedTransaction| {
            let batches = self.sent.get(&sent.hash).map(|sent| sent.batches);
            let subject = (batches, self.watch.case_of(sent.hash));
            (subject != (None, None)).then_some(subject)
        };
        let (mine, nonce) = (subject(sent), sent.nonce);
        let mut pool = self.chain.pool.iter();
        let next = self.chain.view.head().nonce(self.payer);
        let is_twin = |waiting: &Arc<SimulatedTransaction>| {
            waiting.nonce != nonce && waiting.nonce <= next && subject(waiting) == mine
        };
        if self.is_honest && mine.is_some() && pool.any(is_twin) {
            let what = "one checkpoint or answer waits under two nonces, the newer one";
            self.violation = Some(Violation::new(what, nonce));
        }
    }

    /// Checks that no anchor takes the account's next nonce while an answer to an open case waits for it. After a
    /// reorganization the server may not know yet that the answer waits again.
    fn check_nonce(&mut self, sent: &SimulatedTransaction) {
        let is_known =
            self.chain.view.head().number > self.chain.reorganized_at + KNOWN_WITHIN_BLOCKS;
        if sent.to == BOND || sent.from != self.payer || !self.is_honest || !is_known {
            return;
        }
        let is_answer = |waiting: &&Arc<SimulatedTransaction>| {
            waiting.to == BOND && (waiting.from, waiting.nonce) == (sent.from, sent.nonce)
        };
        let found = self.chain.pool.iter().find(is_answer);
        let case = found.and_then(|waiting| self.watch.case_of(waiting.hash));
        let open = AnswerWatch::answerable(&self.chain, 0);
        if case.is_some_and(|case| open.contains_key(&case)) {
            let what = "an anchor takes the nonce of an answer that waits, nonce";
            self.violation = Some(Violation::new(what, sent.nonce));
        }
    }
}

/// Anchoring parameters of a run.
#[derive(Clone, Copy, Debug)]
struct AnchorSettings {
    interval_ms: u64,
    poll_ms: u64,
    confirmations: u64,
    bump_after_ms: u64,
    has_second: bool,
}

/// The bond of a run: its terms, and the server's options. Half of the runs that anchor have one. A separate random
/// source keeps the other choices, and the seeds that the tests keep, unchanged.
fn bond_of(seed: u64) -> Option<(BondTerms, u64, Challenger)> {
    let mut random = SimulationRandom::new(seed, 2_731);
    if random.below(2) > 0 {
        return None;
    }
    let terms = BondTerms {
        withdrawal_delay_s: 100_000,
        challenge_window_s: 20 + random.below(100),
        response_time_s: 150 + random.below(500),
        reveal_delay_s: 1 + random.below(5),
        case_deposit_wei: 1_000,
        open_cases_max: 2 + random.below(12) as u32,
    };
    let look_ms = 5 + random.below(100);
    Some((terms, look_ms, Challenger::new(random)))
}

/// Whether an anchor is in flight, according to the last stored ones.
fn may_have_anchor(snapshot: &StoreSnapshot) -> Result<bool, Violation> {
    let last = RowPage {
        after: None,
        descending: true,
        limit: 4,
    };
    let unread = |error| Violation::new("the store cannot be read", error);
    let rows = snapshot.anchors(last).map_err(unread)?;
    let mut statuses = rows.iter().map(|row| row.status);
    Ok(
        statuses
            .any(|status| matches!(status, AnchorProgress::Pending | AnchorProgress::Submitted)),
    )
}

/// Anchoring of a run, over all of its processes.
pub(crate) struct SimulatedAnchoring {
    world: Arc<Mutex<AnchorWorld>>,
    settings: AnchorSettings,
    payer: SigningKey,
    /// Interval at which the server looks for cases, milliseconds, and the challenger.
    bond: Option<(u64, Challenger)>,
    random: SimulationRandom,
    machine: SimulatedMachine,
    schedule: Arc<SeededSchedule>,
    /// Delay of the commit path's steps until the last look.
    slow_ms: u64,
}

impl SimulatedAnchoring {
    /// The anchoring of a seed; `None` if its run has none.
    pub(crate) fn of(
        seed: u64,
        machine: &SimulatedMachine,
        schedule: &Arc<SeededSchedule>,
    ) -> Result<Option<Self>, Violation> {
        let mut random = SimulationRandom::new(seed, 20);
        if random.below(2) == 0 {
            return Ok(None);
        }
        let mut rates = ChainFaultRates::of(&mut random);
        let payer = client::key(PAYER)?;
        let sequencer = client::key(SEQUENCER)?.address();
        let of_chain = SimulationRandom::new(seed, 21);
        let mut of_bond = SimulationRandom::new(seed, 2_732);
        rates.gap = of_bond.rate(3_000);
        let is_rare = of_bond.below(3) == 0;
        let (bond, challenger) = match bond_of(seed) {
            Some((terms, look_ms, mut challenger)) => {
                if is_rare {
                    // Rare anchors close no gap, and a requested or demanded anchor would come sooner.
                    (rates.gap, rates.asked) = (rates.gap.max(GAP_WHERE_RARE), 0);
                    challenger.begin_rarely();
                }
                let bond = SimulatedBond::new(BOND, DOMAIN.chain_id, terms);
                (Some(bond), Some((look_ms, challenger)))
            }
            None => (None, None),
        };
        let chain = SimulatedChain::new(sequencer, bond, START_MS / 1_000, (of_chain, rates));
        let has_bond = challenger.is_some();
        let settings = AnchorSettings {
            interval_ms: (15 + random.below(150)) * if has_bond && is_rare { 20 } else { 1 },
            poll_ms: 4 + random.below(15),
            confirmations: 1 + random.below(3),
            bump_after_ms: 30 + random.below(120),
            has_second: random.below(2) == 0,
        };
        let nodes = [22, 23].map(|purpose| NodeState::new(SimulationRandom::new(seed, purpose)));
        let world = AnchorWorld {
            is_honest: chain.rates.lies == 0,
            chain,
            nodes: nodes.into(),
            payer: payer.address(),
            sent: BTreeMap::new(),
            watch: AnswerWatch::default(),
            violation: None,
            seen_at_ms: 0,
        };
        Ok(Some(Self {
            world: Arc::new(Mutex::new(world)),
            settings,
            payer,
            bond: challenger,
            random: SimulationRandom::new(seed, 24),
            machine: machine.clone(),
            schedule: Arc::clone(schedule),
            slow_ms: 0,
        }))
    }

    /// The contract that anchors the log.
    pub(crate) fn contract() -> Address {
        CONTRACT
    }

    /// Ends all faults.
    pub(crate) fn calm_down(&self) {
        let mut world = self.world.lock();
        world.chain.calm_down();
        world.nodes.iter_mut().for_each(NodeState::calm_down);
    }

    /// Options for answering cases, if there is a bond.
    fn responder(&self, sender: &SenderOptions) -> Option<ResponderOptions> {
        let (look_ms, _) = self.bond.as_ref()?;
        Some(ResponderOptions {
            chain_id: sender.chain_id,
            bond: BOND,
            anchor: sender.contract,
            fee_policy: sender.fee_policy,
            bump_after_ms: sender.bump_after_ms,
            finality_fallback_depth: sender.finality_fallback_depth,
            look_ms: *look_ms,
            backoff_ms_max: sender.backoff_ms_max,
        })
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
        let node: Arc<dyn InProcessNode> = Arc::new(node);
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
            responder: self.responder(&sender),
            sender,
            key: self.payer.clone(),
            rpc: self.client(0)?,
            second_rpc: second.transpose()?,
            interval_ms: settings.interval_ms,
            poll_ms: settings.poll_ms,
            observer: None,
        })
    }

    /// Starts anchoring in a new process.
    pub(crate) async fn begin(
        &self,
        engine: &Engine,
    ) -> Result<Result<(), AnchorSenderError>, Violation> {
        {
            let mut world = self.world.lock();
            // The process begins with the rows it finds, possibly none.
            world.chain.known.clear();
            world.chain.lost.undone(self.machine.passed_ms());
        }
        Ok(Box::pin(engine.start_anchoring(self.options()?)).await)
    }

    /// Actions of third parties at a look: a stranger sends the newest checkpoint, the operator requests an anchor.
    pub(crate) fn look(&mut self, engine: &Engine) -> Result<(), Violation> {
        let mut world = self.world.lock();
        let now_ms = self.machine.passed_ms();
        world.advance(now_ms);
        if let Some(violation) = world.violation.take() {
            return Err(violation);
        }
        let free_bytes = self.machine.disk.free_bytes(Path::new("/"));
        let is_full = free_bytes.is_ok_and(|bytes| bytes < ROOM_BYTES);
        if is_full || matches!(engine.mode(), StoreMode::ReadOnly(_)) {
            world.chain.lost.tick_fails(now_ms, now_ms);
        }
        let slow_ms = self.schedule.slow_ms();
        let slower_ms = slow_ms - std::mem::replace(&mut self.slow_ms, slow_ms);
        world.chain.lost.stands_longer(now_ms, slower_ms);
        let has_anchor = may_have_anchor(&engine.published().snapshot)?;
        world.watch.note_clock(engine.now_ms(), has_anchor);
        if let Some((_, challenger)) = &mut self.bond {
            let snapshot = &engine.published().snapshot;
            challenger.look(&mut world.chain, snapshot)?;
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

    /// Number of transactions accepted in any block, and of transactions sent by the server.
    pub(crate) fn counts(&self) -> [u64; 2] {
        let world = self.world.lock();
        [world.chain.taken.len(), world.sent.len()].map(|count| count as u64)
    }

    /// Number of cases opened in any block, of transactions that answered one, and of expired cases.
    pub(crate) fn cases(&self) -> [u64; 3] {
        let world = self.world.lock();
        let [answers, missed] = world.watch.counts();
        [world.chain.opened.len(), answers, missed].map(|count| count as u64)
    }

    /// Time limit for anchoring everything committed, until it is final, once faults have stopped.
    fn patience(&self) -> Duration {
        let blocks = self.world.lock().chain.depth + 8;
        let settings = self.settings;
        let once_ms =
            settings.interval_ms + settings.bump_after_ms * 8 + blocks * lost_time::BLOCK_MS;
        Duration::from_millis(4 * once_ms + 20_000)
    }
}
