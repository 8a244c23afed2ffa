//! Workload of callers, several for each signer in parallel. They mint, change and transfer objects, in single requests
//! and batches; they disconnect, repeat requests, and use one nonce for two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kedge_actors::{Engine, ExpectedVersion, Principal, SubmissionError, SubmissionOutcome};
use kedge_protocol::Id;
use kedge_protocol::signature::SigningKey;
use kedge_runtime::env::Env;
use parking_lot::Mutex;

use crate::client::{ActionOrder, ObjectCondition, OrderTerms, PATIENCE, SignedOrder};
use crate::faults::CoreFaultRates;
use crate::ledger::Ledger;
use crate::machine::SimulatedMachine;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;
use crate::signers::{
    KnownResources, SignerPool, is_published, minting, must, outcome, template, update,
};

/// A caller that waits this long after its patience has ended was forgotten.
const LATE: Duration = Duration::from_secs(5);
/// Number of requests kept for sending again later.
const KEPT: usize = 32;

/// Patience of a caller.
#[derive(Clone, Copy)]
pub(crate) enum CallerWait {
    /// Waits for the outcome, at most this long.
    ForIts(Duration),
    /// Disconnects after this, whatever the outcome.
    Gone(Duration),
}

/// Waits for the outcome, for the usual time.
pub(crate) const FULL: CallerWait = CallerWait::ForIts(PATIENCE);

/// State shared by all callers, over all processes of a run.
pub(crate) struct ProcessCallers {
    pub(crate) ledger: Mutex<Ledger>,
    signers: SignerPool,
    known: Mutex<KnownResources>,
    machine: SimulatedMachine,
    schedule: Arc<SeededSchedule>,
    rates: CoreFaultRates,
    violation: Mutex<Option<Violation>>,
    /// Whether the process is asked to end.
    closed: AtomicBool,
}

impl ProcessCallers {
    pub(crate) fn new(
        sequencer: &SigningKey,
        signers: u8,
        rates: CoreFaultRates,
        (machine, schedule): (SimulatedMachine, Arc<SeededSchedule>),
    ) -> Result<Self, Violation> {
        Ok(Self {
            ledger: Mutex::new(Ledger::new(sequencer)),
            signers: SignerPool::new(signers)?,
            known: Mutex::default(),
            machine,
            schedule,
            rates,
            violation: Mutex::new(None),
            closed: AtomicBool::new(false),
        })
    }

    /// Sets whether the process is asked to end; then requests may be refused.
    pub(crate) fn close(&self, is_closed: bool) {
        self.closed.store(is_closed, Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// The violation found by a caller.
    pub(crate) fn violation(&self) -> Option<Violation> {
        self.violation.lock().take()
    }

    /// Records a violation.
    pub(crate) fn report(&self, violation: Violation) {
        self.violation.lock().get_or_insert(violation);
    }

    /// Reads objects and templates of the log in a new process.
    pub(crate) fn learn(
        &self,
        objects: impl Iterator<Item = (Id, Id)>,
        templates: impl Iterator<Item = Id>,
    ) {
        let mut known = self.known.lock();
        known.objects = objects.collect();
        known.templates = templates.collect();
    }

    pub(crate) fn count(&self) -> usize {
        self.signers.count()
    }

    /// The signer's wallet, once it is registered.
    pub(crate) fn asker(&self, engine: &Engine, signer: usize) -> Result<Principal, Violation> {
        self.signers.asker(engine, signer)
    }

    /// Signs with the signer's next nonce, or with one that it used.
    pub(crate) fn sign(
        &self,
        signer: usize,
        used: Option<u64>,
        (atomic, patience_s, only_if): (bool, u64, Option<ObjectCondition>),
        orders: &[ActionOrder],
    ) -> Result<SignedOrder, Violation> {
        let terms = |nonce| OrderTerms {
            nonce,
            atomic,
            deadline_s: self.machine.unix_ms() / 1_000 + patience_s,
            only_if,
        };
        self.signers.sign(signer, used, terms, orders)
    }

    /// Sends a request and waits for its outcome, or disconnects after a while.
    pub(crate) async fn send(
        &self,
        engine: &Engine,
        (asker, signed): (Principal, &SignedOrder),
        wait: CallerWait,
    ) -> Result<Option<Result<SubmissionOutcome, SubmissionError>>, Violation> {
        self.ledger.lock().sent(signed);
        let patience = match wait {
            CallerWait::ForIts(patience) => patience,
            CallerWait::Gone(_) => PATIENCE,
        };
        let submission = signed.submission(asker, self.machine.now() + patience);
        let stays = match wait {
            CallerWait::ForIts(patience) => patience + LATE,
            CallerWait::Gone(after) => after,
        };
        let Ok(result) = tokio::time::timeout(stays, engine.submit(submission)).await else {
            return match wait {
                CallerWait::Gone(_) => Ok(None),
                CallerWait::ForIts(_) => Err(Violation::new(
                    "a caller waits forever, nonce",
                    signed.head().nonce,
                )),
            };
        };
        self.ledger.lock().heard(signed, &result)?;
        if engine.failure().reason().is_some() {
            self.schedule.freeze();
            return Ok(None);
        }
        let (what, sequence) = outcome(&result);
        self.schedule.note(&what, &[signed.head().nonce, sequence]);
        if matches!(result, Err(SubmissionError::Overloaded)) && !self.is_closed() {
            // So few are in flight that there is space for all, and their decisions are repeated only until nothing
            // else is in flight.
            let what = "a request has no room or no decision although few are in flight, nonce";
            return Err(Violation::new(what, signed.head().nonce));
        }
        if let Ok(committed) = &result {
            is_published(engine, committed)?;
            self.known.lock().learn(committed, asker);
        }
        Ok(Some(result))
    }

    /// Runs a caller until its process ends.
    pub(crate) async fn call(
        self: Arc<Self>,
        engine: Engine,
        signer: usize,
        mut random: SimulationRandom,
    ) {
        loop {
            tokio::time::sleep(Duration::from_millis(random.below(25))).await;
            if let Err(violation) = self.once(&engine, signer, &mut random).await {
                return self.report(violation);
            }
            if engine.failure().reason().is_some() {
                return;
            }
        }
    }

    async fn once(
        &self,
        engine: &Engine,
        signer: usize,
        random: &mut SimulationRandom,
    ) -> Result<(), Violation> {
        let rates = &self.rates;
        let asker = self.asker(engine, signer)?;
        if random.chance(rates.resend) {
            let again = random.pick(&self.known.lock().sent).cloned();
            if let Some((of, signed)) = again {
                let asker = self.asker(engine, of)?;
                self.send(engine, (asker, &signed), FULL).await?;
                return Ok(());
            }
        }
        let (orders, only_if) = self.orders(engine, signer, asker, random);
        let patience_s = if random.chance(rates.near_deadline) {
            1
        } else {
            300
        };
        let about = (random.below(4) == 0, patience_s, only_if);
        let signed = self.sign(signer, None, about, &orders)?;
        self.known.lock().keep((signer, &signed), KEPT, random);
        if random.chance(rates.abandon) {
            let stays = Duration::from_millis(random.below(200));
            let wait = match random.below(2) {
                0 => CallerWait::Gone(stays),
                _ => CallerWait::ForIts(stays),
            };
            self.send(engine, (asker, &signed), wait).await?;
        } else if random.chance(rates.twice) {
            let (one, other) = tokio::join!(
                self.send(engine, (asker, &signed), FULL),
                self.send(engine, (asker, &signed), FULL),
            );
            one?;
            other?;
        } else if random.chance(rates.twin) {
            let (others, only_if) = self.orders(engine, signer, asker, random);
            let nonce = Some(signed.head().nonce);
            let twin = self.sign(signer, nonce, (false, 300, only_if), &others)?;
            let (one, other) = tokio::join!(
                self.send(engine, (asker, &signed), FULL),
                self.send(engine, (asker, &twin), FULL),
            );
            one?;
            other?;
        } else {
            self.send(engine, (asker, &signed), FULL).await?;
        }
        Ok(())
    }

    /// The next orders of a signer, and their condition.
    fn orders(
        &self,
        engine: &Engine,
        signer: usize,
        asker: Principal,
        random: &mut SimulationRandom,
    ) -> (Vec<ActionOrder>, Option<ObjectCondition>) {
        let Principal::Wallet { wallet_id, .. } = asker else {
            return (vec![self.signers.registration(signer)], None);
        };
        let known = self.known.lock();
        if known.templates.is_empty() || random.below(40) == 0 {
            return (vec![template(random)], None);
        }
        let count = match random.below(5) {
            0 => 2 + random.below(5),
            _ => 1,
        };
        let mine = known.of(wallet_id);
        // Nearly always an object of the signer, mostly one of a few, so that callers collide.
        let pool = if random.below(12) == 0 {
            known.objects.iter().map(|(id, _)| *id).collect()
        } else {
            mine
        };
        let few = &pool[pool.len().saturating_sub(6)..];
        let mut orders = Vec::new();
        for _ in 0..count {
            let from = if random.below(3) == 0 { &pool } else { few };
            let object = random.pick(from).copied();
            let order = match object {
                Some(object) if random.below(100) >= 30 => change(object, &known, random),
                _ => mint(&known, random),
            };
            orders.push(order);
        }
        drop(known);
        let only_if = if orders.len() == 1 && random.below(6) == 0 {
            only_if(engine, &orders[0])
        } else {
            None
        };
        (orders, only_if)
    }

    /// Sends a request that must be done now, because nothing blocks it. Returns its outcome.
    pub(crate) async fn must(
        &self,
        engine: &Engine,
        signer: usize,
        order: ActionOrder,
    ) -> Result<SubmissionOutcome, Violation> {
        let asker = self.asker(engine, signer)?;
        let kind = order.kind;
        let signed = self.sign(signer, None, (false, 300, None), &[order])?;
        must(
            engine,
            kind,
            self.send(engine, (asker, &signed), FULL).await?,
        )
    }

    /// Checks after all faults that every signer can do everything, and that the remaining supply can be minted.
    pub(crate) async fn finish(
        &self,
        engine: &Engine,
        left: &[(Id, u64)],
    ) -> Result<(), Violation> {
        let signers = self.signers.count();
        for signer in 0..signers {
            if self.asker(engine, signer)? == Principal::Registration {
                let registration = self.signers.registration(signer);
                self.must(engine, signer, registration).await?;
            }
            let template = template(&mut SimulationRandom::new(signer as u64, 9));
            self.must(engine, signer, template).await?;
        }
        for (template, left) in left {
            for count in 0..=*left {
                let order = minting(*template);
                let committed = self.must(engine, 0, order).await?;
                let is_done = committed.placement.is_some();
                if is_done != (count < *left) {
                    return Err(Violation::new(
                        "the supply that is left is not what can be minted, template",
                        template,
                    ));
                }
            }
        }
        let known = self.known.lock().objects.clone();
        for (object, owner) in known {
            let stored = engine.published().snapshot.object(object);
            let stored =
                stored.map_err(|error| Violation::new("an object cannot be read", error))?;
            let is_free = stored.is_some_and(|object| {
                object.owner_id == owner
                    && object.status == kedge_protocol::resource::ObjectStatus::Active
            });
            for signer in 0..signers {
                let asker = self.asker(engine, signer)?;
                if is_free
                    && matches!(asker, Principal::Wallet { wallet_id, .. } if wallet_id == owner)
                {
                    let committed = self.must(engine, signer, update(object, 7)).await?;
                    if committed.placement.is_none() {
                        return Err(Violation::new(
                            "a change that is allowed is refused, object",
                            object,
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

fn mint(known: &KnownResources, random: &mut SimulationRandom) -> ActionOrder {
    let newest = random.pick(known.newest()).copied();
    newest.map_or_else(|| template(random), minting)
}

fn change(object: Id, known: &KnownResources, random: &mut SimulationRandom) -> ActionOrder {
    let of = |kind| ActionOrder {
        kind,
        target: object.to_string(),
        payload: "{}".to_owned(),
    };
    match random.below(20) {
        0..=2 => of("lock"),
        3..=6 => of("unlock"),
        7 => of("burn"),
        8..=10 => {
            let to = random.pick(&known.objects).map(|(_, owner)| *owner);
            ActionOrder {
                kind: "transfer",
                target: object.to_string(),
                payload: format!(r#"{{"to":"{}"}}"#, to.unwrap_or(object)),
            }
        }
        _ => update(object, random.below(1_000)),
    }
}

/// The current state of the object of an order.
fn only_if(engine: &Engine, order: &ActionOrder) -> Option<ObjectCondition> {
    let object = order.target.parse().ok()?;
    let stored = engine.published().snapshot.object(object).ok()??;
    Some(ObjectCondition {
        object,
        expected: ExpectedVersion::of(&stored.trace),
    })
}
