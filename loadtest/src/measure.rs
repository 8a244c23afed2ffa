//! A measured run: preparation, load, and checks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kedge_client::Client;
use tokio::runtime::Runtime;

use crate::checks::log_check::{self, LogCheck, LogPlace};
use crate::checks::readers::{self, StreamFigures, StreamReaders};
use crate::checks::receipts::ReceiptTrust;
use crate::checks::receiver::{DeliveryFigures, WebhookReceiver};
use crate::connection;
use crate::error::{LoadtestError, LoadtestResult};
use crate::figures::LatencyFigures;
use crate::load::collector::{IntervalCollector, LoadFigures};
use crate::load::processes::{self, LoadOrder, OrderOutcome};
use crate::load::run::{LoadPhase, PhaseResult};
use crate::machine;
use crate::options::{OfferedRate, RunOptions, Scenario, VerifyMode};
use crate::progress;
use crate::report::{LoadRun, percentiles};
use crate::server::LoadServer;
use crate::setup::{self, LoadFleet};

/// Warm-up of the closed loop that --rate 50% refers to, in seconds.
const TOP_WARM_UP_S: u64 = 1;
/// Time for memory to settle before it is measured.
const SETTLE: Duration = Duration::from_secs(3);

/// State shared by all runs.
pub(crate) struct LoadBench {
    options: RunOptions,
    authority: String,
    client: Client,
    fleet: LoadFleet,
    receiver: Option<WebhookReceiver>,
    server_pid: Option<u32>,
    data: Option<PathBuf>,
    runtime: Runtime,
    /// Dropped last.
    _server: Option<LoadServer>,
}

/// The closed loop that a rate refers to: results, and requests a second.
type ClosedLoopResult = (PhaseResult, f64);

struct CompletedPhase {
    part: PhaseResult,
    collected: LoadFigures,
    signed_beforehand: usize,
}

/// Findings of the checks after a run.
struct RunChecks {
    log: LogCheck,
    streams: Option<StreamFigures>,
    deliveries: Option<DeliveryFigures>,
    /// Problems found by the load and by these checks.
    problems: Vec<String>,
}

impl LoadBench {
    /// Starts the server if requested, and creates accounts and objects.
    pub(crate) fn new(options: RunOptions) -> LoadtestResult<Self> {
        let runtime = Runtime::new().map_err(LoadtestError::io("starting a runtime"))?;
        let server = match &options.server {
            Some(program) => Some(LoadServer::start(program, &options)?),
            None => None,
        };
        let url = server.as_ref().map_or(&options.url[..], LoadServer::url);
        let authority = connection::authority(url)?;
        let socket = server.as_ref().map(LoadServer::admin_socket);
        let socket = socket.or_else(|| options.admin_socket.clone());
        let (client, fleet, receiver) = runtime.block_on(async {
            let client = setup::client(url, options.sequencer).await?;
            let mut fleet = LoadFleet::new(&client, &options, socket.as_deref()).await?;
            let receiver = webhooks(&mut fleet, options.webhooks).await?;
            Ok::<_, LoadtestError>((client, fleet, receiver))
        })?;
        Ok(Self {
            authority,
            client,
            fleet,
            receiver,
            server_pid: server.as_ref().map(LoadServer::pid).or(options.server_pid),
            data: server
                .as_ref()
                .map(LoadServer::data)
                .or_else(|| options.data.clone()),
            runtime,
            options,
            _server: server,
        })
    }

    /// Runs and checks one measurement.
    pub(crate) fn run(&mut self) -> LoadtestResult<LoadRun> {
        let auth = self.options.auth;
        self.runtime.block_on(self.fleet.renew_tokens(auth))?;
        let mut more = self.sync_latencies()?;
        let before = self.runtime.block_on(LogPlace::end(&self.client))?;
        let (started_at, load_average_before) = (now(), machine::load_average());
        if let Some(receiver) = &self.receiver {
            receiver.begin(before.sequence);
        }
        let streams = self.runtime.block_on(readers::open(
            &self.authority,
            &self.fleet.organizations,
            self.options.readers,
        ))?;
        let (rate, top) = self.rate(before.sequence)?;
        let mut over = if self.options.scenario == Scenario::ActorsMemory {
            self.touch_twice(before.sequence, &mut more)?
        } else {
            let phase = self.phase(before.sequence, rate);
            self.phase_over(phase, rate)?
        };
        let top_rate = top.as_ref().map(|(_, rate)| *rate);
        if let Some((part, _)) = &top {
            over.part.merge_organizations(part);
        }
        let load_average_after = machine::load_average();
        let checks = self
            .runtime
            .block_on(self.check(&before, &over.part, streams))?;
        let (part, total) = (over.part, over.collected.total);
        let seconds = part.measured_s.max(f64::MIN_POSITIVE);
        Ok(LoadRun {
            started_at,
            load_average_before,
            load_average_after,
            cores_used: over.collected.cores_used,
            actions_per_second: total.actions as f64 / seconds,
            requests_per_second: total.requests as f64 / seconds,
            offered_per_second: rate,
            top_requests_per_second: top_rate,
            latency_ms: LatencyFigures::of(&total.latency_us),
            percentiles_ms: percentiles(&total.latency_us),
            requests: total.requests,
            actions: total.actions,
            reads: total.reads,
            never_begun: part.never_begun,
            answer_bytes_mean: total.answer_bytes / total.requests.max(1),
            signed_beforehand: over.signed_beforehand,
            signed_on_the_fly: part.signed_on_the_fly,
            errors: total.errors,
            refused: total.refused,
            conflicts: total.conflicts,
            limited: total.limited,
            acknowledged: part.places.named,
            unknown: part.unknown,
            receipts_verified: part.receipts_verified,
            log: checks.log,
            streams: checks.streams,
            deliveries: checks.deliveries,
            more,
            seconds: over.collected.seconds,
            problems: checks.problems,
        })
    }

    /// Waits for outstanding deliveries of streams and webhooks, and reads the log back.
    async fn check(
        &self,
        before: &LogPlace,
        part: &PhaseResult,
        streams: StreamReaders,
    ) -> LoadtestResult<RunChecks> {
        let acknowledged = &part.acknowledged_each;
        let streams = match self.options.readers {
            0 => None,
            _ => Some(streams.finish(acknowledged).await),
        };
        let wait = Duration::from_secs(self.options.webhooks_wait_s);
        let deliveries = match &self.receiver {
            None => None,
            Some(receiver) => Some(receiver.finish(acknowledged, wait).await),
        };
        let log = log_check::check(&self.client, before, part).await?;
        let mut problems = part.problems.clone();
        problems.extend(log.problems.iter().cloned());
        if let Some(streams) = streams.filter(|streams| streams.gaps + streams.duplicates > 0) {
            problems.push(format!(
                "streams: {} gaps, {} duplicates",
                streams.gaps, streams.duplicates
            ));
        }
        if let Some(reported) = deliveries.as_ref().filter(|reported| reported.refused > 0) {
            problems.push(format!("{} webhook messages are invalid", reported.refused));
        }
        Ok(RunChecks {
            log,
            streams,
            deliveries,
            problems,
        })
    }

    /// Sync latencies of the disk alone, if the data directory is known.
    fn sync_latencies(&self) -> LoadtestResult<BTreeMap<String, f64>> {
        let Some(data) = &self.data else {
            return Ok(BTreeMap::new());
        };
        let latencies = machine::sync_latencies_ms(data).map_err(LoadtestError::io(format!(
            "syncing a file in {}",
            data.display()
        )))?;
        let at = |share: usize| latencies.get(latencies.len() * share / 100).copied();
        let named = [("fdatasync_p50_ms", at(50)), ("fdatasync_p99_ms", at(99))];
        Ok(named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect())
    }

    /// Rate of the open loop, and the closed loop that it refers to.
    fn rate(&mut self, base: u64) -> LoadtestResult<(Option<f64>, Option<ClosedLoopResult>)> {
        match self.options.rate() {
            None => Ok((None, None)),
            Some(OfferedRate::PerSecond(rate)) => Ok((Some(rate), None)),
            Some(OfferedRate::OfTop(share)) => {
                let usual = if self.options.is_batch() { 16 } else { 128 };
                let phase = LoadPhase {
                    warm_up_s: TOP_WARM_UP_S,
                    duration_s: self.options.top_s,
                    connections: self.options.connections().min(usual),
                    samples: 0,
                    ..self.phase(base, None)
                };
                let over = self.phase_over(phase, None)?;
                let top = over.collected.total.requests as f64 / over.part.measured_s;
                if top < 1.0 {
                    return Err(LoadtestError::broken(
                        "the closed loop for --rate got no answers: is the server at its limits?",
                    ));
                }
                Ok((Some(top * share), Some((over.part, top))))
            }
        }
    }

    fn phase(&self, base: u64, rate: Option<f64>) -> LoadPhase {
        let options = &self.options;
        LoadPhase {
            warm_up_s: options.warm_up_s,
            duration_s: options.duration_s,
            rate,
            slots: None,
            threads: options.threads,
            connections: options.connections(),
            limits: options.limits(),
            if_match: options.if_match,
            overload: rate.is_some() && options.scenario == Scenario::Overload,
            verify: options.verify,
            samples: if options.verify == VerifyMode::All {
                0
            } else {
                options.samples
            },
            base,
        }
    }

    /// Runs a phase to its end.
    fn phase_over(
        &mut self,
        phase: LoadPhase,
        rate: Option<f64>,
    ) -> LoadtestResult<CompletedPhase> {
        let seconds = phase.warm_up_s + phase.duration_s;
        let updated = self.runtime.block_on(self.client.update_keys());
        updated.map_err(LoadtestError::at("the sequencer's keys"))?;
        let mut collector = IntervalCollector::new(
            self.server_pid,
            self.data.clone(),
            phase.warm_up_s,
            phase.duration_s,
        );
        let slots = phase.slots.map_or(usize::MAX, |slots| slots as usize);
        let order = LoadOrder {
            options: self.options.clone(),
            organizations: self.fleet.organizations.clone(),
            hot: self.fleet.organizations[0].objects.first().copied(),
            trust: ReceiptTrust::of(&self.client),
            authority: self.authority.clone(),
            prepared: self.options.prepared(seconds, rate).min(slots),
            phase,
        };
        let OrderOutcome {
            part,
            signed_beforehand,
            rounds,
        } = processes::carry_out(order, self.options.processes, &mut collector)?;
        for (organization, rounds) in self.fleet.organizations.iter_mut().zip(rounds) {
            organization.next_nonce += rounds;
        }
        Ok(CompletedPhase {
            part,
            collected: collector.finish(),
            signed_beforehand,
        })
    }

    /// Updates each object twice. The first pass makes it live, the second only writes; the difference in memory
    /// belongs to the live objects.
    fn touch_twice(
        &mut self,
        base: u64,
        more: &mut BTreeMap<String, f64>,
    ) -> LoadtestResult<CompletedPhase> {
        let pid = self
            .server_pid
            .ok_or_else(|| LoadtestError::usage("actors-memory needs --server-pid, or --server"))?;
        let (each, batch) = (
            self.options.objects_each(),
            self.options.actions_a_request(),
        );
        let chunks = (each / batch).max(1);
        let touched = self.options.organizations * (chunks * batch).min(each);
        let mut resident = Vec::with_capacity(3);
        let mut look = || {
            let spinner = progress::spinner("memory settles".to_owned());
            std::thread::sleep(SETTLE);
            spinner.finish_and_clear();
            resident.push(machine::resident_bytes(pid) as f64);
        };
        look();
        let pass = |bench: &mut Self| {
            let phase = LoadPhase {
                warm_up_s: 0,
                slots: Some((bench.options.organizations * chunks) as u64),
                ..bench.phase(base, None)
            };
            bench.phase_over(phase, None)
        };
        let mut first = pass(self)?;
        look();
        let second = pass(self)?;
        look();
        first.part.merge_organizations(&second.part);
        let (grown, again) = (resident[1] - resident[0], resident[2] - resident[1]);
        let figures = [
            ("objects_touched", touched as f64),
            ("resident_before_mib", resident[0] / 1_048_576.0),
            ("resident_after_first_mib", resident[1] / 1_048_576.0),
            ("resident_after_second_mib", resident[2] / 1_048_576.0),
            ("bytes_per_object", grown / touched as f64),
            (
                "bytes_per_object_without_writes",
                (grown - again) / touched as f64,
            ),
        ];
        more.extend(figures.map(|(name, value)| (name.to_owned(), value)));
        Ok(first)
    }
}

/// Creates webhooks of the first organizations, and their receiver.
async fn webhooks(fleet: &mut LoadFleet, count: usize) -> LoadtestResult<Option<WebhookReceiver>> {
    if count == 0 {
        return Ok(None);
    }
    let receiver = WebhookReceiver::listen().await?;
    for number in 0..count {
        receiver.register(fleet.account(number)).await?;
        fleet.learn_nonce(number).await?;
    }
    Ok(Some(receiver))
}

/// Current time in RFC 3339.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    kedge_protocol::time::rfc3339(since.map_or(0, |since| since.as_millis() as u64))
}
