//! Callers of several nodes: they ask the leading node, and repeat unanswered requests through another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kedge_actors::{Engine, Principal, SubmissionError, SubmissionOutcome};
use kedge_protocol::signature::SigningKey;
use kedge_runtime::env::Env;
use parking_lot::Mutex;

use super::servers::SimulatedServers;
use crate::client::{ActionOrder, OrderTerms, SignedOrder};
use crate::ledger::Ledger;
use crate::machine::SimulatedMachine;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;
use crate::signers::{
    KnownResources, SignerPool, is_published, minting, must, outcome, template, update,
};

/// Time that a caller waits for an answer.
const PATIENCE: Duration = Duration::from_secs(8);
/// A caller that waits this long after its patience has ended was forgotten.
const LATE: Duration = Duration::from_secs(5);
/// Number of requests kept for sending again later.
const KEPT: usize = 24;
/// Lifetime of a request.
const DEADLINE_S: u64 = 300;

/// State shared by all callers of all nodes.
pub(super) struct NodesCallers {
    pub(super) ledger: Mutex<Ledger>,
    servers: Arc<Mutex<SimulatedServers>>,
    signers: SignerPool,
    known: Mutex<KnownResources>,
    violation: Mutex<Option<Violation>>,
    in_flight: AtomicU64,
    stopped: AtomicBool,
    /// Rate of repeated requests, out of ten thousand.
    again: u64,
    /// Longest pause between two requests, milliseconds.
    pause_ms_max: u64,
}

/// A caller's view of the node that it asks.
#[derive(Clone)]
pub(super) struct CallerTarget {
    pub(super) engine: Engine,
    pub(super) machine: SimulatedMachine,
    pub(super) schedule: Arc<SeededSchedule>,
    pub(super) callers: Arc<NodesCallers>,
}

/// A request in flight; its process's end ends it too.
struct InFlightGuard<'a>(&'a AtomicU64);

impl<'a> InFlightGuard<'a> {
    fn new(callers: &'a NodesCallers) -> Self {
        callers.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(&callers.in_flight)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl NodesCallers {
    pub(super) fn new(
        sequencer: &SigningKey,
        servers: &Arc<Mutex<SimulatedServers>>,
        random: &mut SimulationRandom,
    ) -> Result<Self, Violation> {
        let count = 1 + random.below(3) as u8;
        Ok(Self {
            ledger: Mutex::new(Ledger::new(sequencer)),
            servers: Arc::clone(servers),
            signers: SignerPool::new(count)?,
            known: Mutex::default(),
            violation: Mutex::new(None),
            in_flight: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            again: random.below(3_000),
            pause_ms_max: 20 + random.below(1_000),
        })
    }

    /// The violation found by a caller.
    pub(super) fn violation(&self) -> Option<Violation> {
        self.violation.lock().take()
    }

    /// Ends new requests.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Number of unanswered requests.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn signers(&self) -> usize {
        self.signers.count()
    }

    /// A different pause for each caller, so that callers woken together continue in a fixed order.
    fn apart(number: u64) -> Duration {
        Duration::from_millis(1 + number)
    }
}

impl CallerTarget {
    /// Runs a caller until its process ends.
    pub(super) async fn call(self, signer: usize, number: u64, mut random: SimulationRandom) {
        loop {
            let pause = 5 + random.below(self.callers.pause_ms_max);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if self.engine.failure().reason().is_some() {
                return;
            }
            if self.callers.stopped.load(Ordering::Relaxed) || !self.engine.leads() {
                continue;
            }
            if let Err(violation) = self.once(signer, number, &mut random).await {
                self.callers.violation.lock().get_or_insert(violation);
                return;
            }
        }
    }

    fn asker(&self, signer: usize) -> Result<Principal, Violation> {
        self.callers.signers.asker(&self.engine, signer)
    }

    async fn once(
        &self,
        signer: usize,
        number: u64,
        random: &mut SimulationRandom,
    ) -> Result<(), Violation> {
        if random.chance(self.callers.again) {
            let again = random.pick(&self.callers.known.lock().sent).cloned();
            if let Some((of, signed)) = again {
                let asker = self.asker(of)?;
                self.send((asker, &signed), number).await?;
                return Ok(());
            }
        }
        let asker = self.asker(signer)?;
        let orders = self.orders(signer, asker, random);
        let signed = self.sign(signer, random.below(4) == 0, &orders)?;
        self.callers
            .known
            .lock()
            .keep((signer, &signed), KEPT, random);
        self.send((asker, &signed), number).await?;
        Ok(())
    }

    fn sign(
        &self,
        signer: usize,
        atomic: bool,
        orders: &[ActionOrder],
    ) -> Result<SignedOrder, Violation> {
        let terms = |nonce| OrderTerms {
            nonce,
            atomic,
            deadline_s: self.machine.unix_ms() / 1_000 + DEADLINE_S,
            only_if: None,
        };
        self.callers.signers.sign(signer, None, terms, orders)
    }

    fn orders(
        &self,
        signer: usize,
        asker: Principal,
        random: &mut SimulationRandom,
    ) -> Vec<ActionOrder> {
        let Principal::Wallet { wallet_id, .. } = asker else {
            return vec![self.callers.signers.registration(signer)];
        };
        let known = self.callers.known.lock();
        if known.templates.is_empty() || random.below(30) == 0 {
            return vec![template(random)];
        }
        let newest = known.newest();
        let mine = known.of(wallet_id);
        let few = &mine[mine.len().saturating_sub(6)..];
        let count = 1 + random.below(3);
        let mut orders = Vec::new();
        for _ in 0..count {
            orders.push(match (random.pick(few), random.pick(newest)) {
                (Some(object), _) if random.below(100) >= 35 => {
                    update(*object, random.below(1_000))
                }
                (_, Some(template)) => minting(*template),
                _ => template(random),
            });
        }
        orders
    }

    /// Sends a request and waits for its outcome.
    async fn send(
        &self,
        (asker, signed): (Principal, &SignedOrder),
        number: u64,
    ) -> Result<Option<Result<SubmissionOutcome, SubmissionError>>, Violation> {
        self.callers.ledger.lock().sent(signed);
        let _in_flight = InFlightGuard::new(&self.callers);
        let submission = signed.submission(asker, self.machine.now() + PATIENCE);
        let submitted = self.engine.submit(submission);
        let Ok(result) = tokio::time::timeout(PATIENCE + LATE, submitted).await else {
            let nonce = signed.head().nonce;
            return Err(Violation::new("a caller waits forever, nonce", nonce));
        };
        if let Ok(committed) = &result {
            self.is_stored(committed)?;
        }
        self.callers.ledger.lock().heard(signed, &result)?;
        tokio::time::sleep(NodesCallers::apart(number)).await;
        if self.engine.failure().reason().is_some() {
            self.schedule.freeze();
            return Ok(None);
        }
        let (what, sequence) = outcome(&result);
        self.schedule.note(&what, &[signed.head().nonce, sequence]);
        if let Ok(committed) = &result {
            self.callers.known.lock().learn(committed, asker);
        }
        Ok(Some(result))
    }

    /// Checks that an action answered as done is in the stream, and can be read here.
    fn is_stored(&self, committed: &SubmissionOutcome) -> Result<(), Violation> {
        is_published(&self.engine, committed)?;
        let Some(placement) = &committed.placement else {
            return Ok(());
        };
        let sequence = placement.first_sequence;
        if self.callers.servers.lock().end().sequence < sequence {
            let what = "an answer about what the stream does not hold, sequence";
            return Err(Violation::new(what, sequence));
        }
        Ok(())
    }

    /// Checks after all faults that every signer can send requests through this node.
    pub(super) async fn finish(self) -> Result<(), Violation> {
        for signer in 0..self.callers.signers() {
            if self.asker(signer)? == Principal::Registration {
                self.must(signer, self.callers.signers.registration(signer))
                    .await?;
            }
            let order = template(&mut SimulationRandom::new(signer as u64, 9));
            self.must(signer, order).await?;
        }
        Ok(())
    }

    async fn must(&self, signer: usize, order: ActionOrder) -> Result<(), Violation> {
        let asker = self.asker(signer)?;
        let kind = order.kind;
        let signed = self.sign(signer, false, &[order])?;
        must(&self.engine, kind, self.send((asker, &signed), 0).await?)?;
        Ok(())
    }
}
