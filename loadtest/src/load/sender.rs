//! Request sender of one connection.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::StatusCode;

use crate::checks::receipts::AnswerSample;
use crate::connection::{LoadAnswer, LoadConnection};
use crate::error::LoadtestResult;
use crate::load::answer;
use crate::load::pace::{PaceSlot, PreciseTimer};
use crate::load::run::{LoadState, ThreadCounts};
use crate::load::workload::{PresignedHead, WorkloadStep};
use crate::options::{LimitsMode, VerifyMode};

/// Pause of a closed loop's connection after a refusal for too much load.
const PAUSE: Duration = Duration::from_millis(10);
/// Connections that may break in a row before the run fails.
const BROKEN_MAX: u32 = 5;
/// The wait if a 429 states none.
const RETRY_AFTER_S_DEFAULT: u64 = 60;

/// Outcome of one attempt.
enum SendOutcome {
    Done,
    /// Send again after this many seconds.
    Limited(u64),
    /// The condition was not met.
    Conflict,
    /// The failure is counted already.
    Failed {
        busy: bool,
    },
}

/// Runs one connection until the load's end.
pub(crate) async fn connection(
    load: Arc<LoadState>,
    local: Rc<ThreadCounts>,
) -> LoadtestResult<()> {
    let alarm = PreciseTimer::new()?;
    let mut sender = SlotSender {
        connection: LoadConnection::open(&load.authority).await?,
        head: Vec::with_capacity(2_048),
        etag: String::new(),
        load: &load,
        local: &local,
        broken: 0,
    };
    while let Some(slot) = load.pace.next() {
        if let Some(due) = slot.due {
            alarm.until(due).await?;
        }
        let begun = slot
            .due
            .filter(|_| !load.phase.overload)
            .unwrap_or_else(Instant::now);
        if let Err(error) = sender.carry_out(slot, begun).await {
            if load.phase.overload {
                local.count(|interval| interval.refuse("connection broken off"));
            } else {
                local.count(|interval| interval.error(&format!("no answer: {error}")));
                sender.broken += 1;
            }
            if sender.broken == BROKEN_MAX {
                return Ok(());
            }
            sender.connection = LoadConnection::open(&load.authority).await?;
        }
    }
    Ok(())
}

struct SlotSender<'a> {
    connection: LoadConnection,
    head: Vec<u8>,
    etag: String,
    load: &'a LoadState,
    local: &'a ThreadCounts,
    broken: u32,
}

impl SlotSender<'_> {
    /// Sends a request until it is done, has failed, or the run is over.
    async fn carry_out(&mut self, slot: PaceSlot, begun: Instant) -> LoadtestResult<()> {
        let step = self.load.workload.step(slot.number);
        let mut signed = None;
        loop {
            let sent = match step {
                WorkloadStep::Read(number) => self.read(number, slot, begun).await?,
                WorkloadStep::Write(number) => {
                    let signed = match signed {
                        Some(signed) => signed,
                        None => *signed.insert(self.sign(number)?),
                    };
                    self.write(number, &signed, slot, begun).await?
                }
            };
            match sent {
                SendOutcome::Done => {
                    self.broken = 0;
                    return Ok(());
                }
                SendOutcome::Limited(wait_s) => {
                    let wait = Duration::from_secs(wait_s);
                    if Instant::now() + wait >= self.load.end {
                        tokio::time::sleep(PAUSE).await;
                        return Ok(());
                    }
                    tokio::time::sleep(wait).await;
                }
                // The unspent nonce is used again. A new signature has a new salt.
                SendOutcome::Conflict => {
                    signed = None;
                    if Instant::now() >= self.load.end {
                        return Ok(());
                    }
                }
                SendOutcome::Failed { busy } => {
                    if busy && slot.due.is_none() {
                        tokio::time::sleep(PAUSE).await;
                    }
                    return Ok(());
                }
            }
        }
    }

    fn sign(&self, number: u64) -> LoadtestResult<PresignedHead> {
        if let Some(signed) = self.load.prepared.get(number as usize) {
            return Ok(*signed);
        }
        self.local.part.borrow_mut().signed_on_the_fly += 1;
        self.load.workload.sign(number)
    }

    /// Seconds that an organization has to wait for its limits.
    fn waits_s(&self, organization: usize) -> Option<u64> {
        if self.load.phase.limits == LimitsMode::Operator {
            return None;
        }
        let until_ms = self.load.waits_until_ms[organization].load(Ordering::Relaxed);
        let wait_ms = until_ms.saturating_sub(self.load.now_ms());
        (wait_ms > 0).then_some(wait_ms.div_ceil(1_000))
    }

    async fn read(
        &mut self,
        number: u64,
        slot: PaceSlot,
        begun: Instant,
    ) -> LoadtestResult<SendOutcome> {
        self.load.workload.read_head(&mut self.head, number);
        let answer = self.connection.exchange(&self.head, &[]).await?;
        if !answer.status.is_success() {
            return Ok(refused(self.load, self.local, &answer, None));
        }
        let (now, bytes) = (Instant::now(), answer.body.len() as u64);
        self.local.count(|interval| {
            interval.succeeded += 1;
            if self.load.is_measured(slot.due, now) {
                interval.record(now - begun);
            }
            if now >= self.load.measure_from && now < self.load.end {
                interval.requests += 1;
                interval.reads += 1;
                interval.answer_bytes += bytes;
            }
        });
        Ok(SendOutcome::Done)
    }

    async fn write(
        &mut self,
        number: u64,
        signed: &PresignedHead,
        slot: PaceSlot,
        begun: Instant,
    ) -> LoadtestResult<SendOutcome> {
        let (load, local) = (self.load, self.local);
        let organization = load.workload.organization_of(number);
        if let Some(wait_s) = self.waits_s(organization) {
            local.count(|interval| interval.limited += 1);
            return Ok(SendOutcome::Limited(wait_s));
        }
        if load.phase.if_match && self.etag.is_empty() {
            self.fetch_tag(number).await?;
        }
        let condition = load.phase.if_match.then_some(self.etag.as_str());
        load.workload
            .write_head(&mut self.head, number, signed, condition);
        let keep = load.phase.verify == VerifyMode::All || load.sampler.take(Instant::now());
        let body = load.workload.body(number);
        let actions = load.workload.actions() as u64;
        let exchanged = self.connection.exchange(&self.head, body).await;
        let answer = match exchanged {
            Ok(answer) => answer,
            Err(error) => {
                local.part.borrow_mut().unknown += actions;
                return Err(error);
            }
        };
        let now = Instant::now();
        if !answer.status.is_success() {
            self.etag.clear();
            return Ok(refused(load, local, &answer, Some(organization)));
        }
        let is_limited = load.is_limited.load(Ordering::Relaxed);
        if let Some(wait_s) = answer.used_up_s.filter(|_| is_limited) {
            load.wait(organization, wait_s);
        }
        if load.phase.if_match {
            answer.etag.unwrap_or_default().clone_into(&mut self.etag);
        }
        let done = acknowledge(load, local, organization, number, &answer, slot, begun, now);
        if keep && done {
            let sample = AnswerSample {
                number,
                seed: signed.seed,
                body: answer.body.to_vec(),
            };
            match &load.to_verify {
                // The verifier outlives the load, so the channel is open.
                Some(to_verify) => drop(to_verify.send(sample).await),
                None => local.samples.borrow_mut().push(sample),
            }
        }
        Ok(SendOutcome::Done)
    }

    /// Reads the hot object's entity tag.
    async fn fetch_tag(&mut self, number: u64) -> LoadtestResult<()> {
        self.load.workload.hot_head(&mut self.head, number);
        let answer = self.connection.exchange(&self.head, &[]).await?;
        answer.etag.unwrap_or_default().clone_into(&mut self.etag);
        Ok(())
    }
}

/// Counts a success. Returns false if none of its actions was done.
#[expect(clippy::too_many_arguments, reason = "one success, as it is reported")]
fn acknowledge(
    load: &LoadState,
    local: &ThreadCounts,
    organization: usize,
    number: u64,
    answer: &LoadAnswer<'_>,
    slot: PaceSlot,
    begun: Instant,
    now: Instant,
) -> bool {
    let asked = load.workload.actions() as u64;
    let named = answer::named_places(answer.body, asked);
    let mut part = local.part.borrow_mut();
    if let Some(named) = named {
        part.places.add(named.first, named.count);
        part.acknowledged_each[organization] += named.count;
    } else {
        part.unknown += asked;
        part.problem(format!("request {number}: the answer has no sequence"));
    }
    let done = named.map_or(0, |named| named.count);
    drop(part);
    local.count(|interval| {
        interval.succeeded += 1;
        if done < asked {
            let code = answer::code(answer.body).unwrap_or("an answer without sequences");
            interval.error(&format!("actions: {code}"));
        }
        if load.is_measured(slot.due, now) {
            interval.record(now - begun);
        }
        if now >= load.measure_from && now < load.end {
            interval.requests += 1;
            interval.actions += done;
            interval.answer_bytes += answer.body.len() as u64;
        }
    });
    done > 0
}

/// Counts a failure, and returns the next step.
fn refused(
    load: &LoadState,
    local: &ThreadCounts,
    answer: &LoadAnswer<'_>,
    organization: Option<usize>,
) -> SendOutcome {
    let status = answer.status;
    if status == StatusCode::TOO_MANY_REQUESTS && load.phase.limits == LimitsMode::Honour {
        let wait_s = answer.retry_after_s.unwrap_or(RETRY_AFTER_S_DEFAULT);
        load.is_limited.store(true, Ordering::Relaxed);
        local.count(|interval| interval.limited += 1);
        if let Some(organization) = organization {
            load.wait(organization, wait_s);
        }
        return SendOutcome::Limited(wait_s);
    }
    let code = answer::code(answer.body).unwrap_or(status.as_str());
    let lost_race = status == StatusCode::PRECONDITION_FAILED || code == "CONFLICT";
    if lost_race && load.phase.if_match {
        local.count(|interval| interval.conflicts += 1);
        return SendOutcome::Conflict;
    }
    let busy = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ]
    .contains(&status);
    local.count(|interval| {
        if busy {
            interval.refuse(code);
        } else {
            interval.error(code);
        }
    });
    SendOutcome::Failed { busy }
}
