//! Command line of a run.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};
use kedge_protocol::Address;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use serde::{Deserialize, Serialize};

use crate::error::{LoadtestError, LoadtestResult};
use crate::report::targets::FigureTarget;

/// Access tokens are valid for 15 minutes, and a run does not renew them.
const BEARER_RUN_S_MAX: u64 = 14 * 60;
/// Limit on the length of a run; signatures can be made a day ahead.
const RUN_S_MAX: u64 = 12 * 60 * 60;
/// Target, and a payload with the five properties and little else.
const ACTION_BYTES_MIN: usize = 160;

/// What to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scenario {
    /// Requests of many updates under one signature.
    BatchUpdates,
    /// Requests of one update each.
    SingleUpdates,
    /// Requests of many mints (--max-supply: of a template that has one).
    BatchMints,
    /// Requests of many transfers.
    BatchTransfers,
    /// Single updates and reads of objects (--reads-percent).
    Mixed,
    /// Single updates of one object by all connections (--if-match: each based on what was read).
    HotObject,
    /// Reads of objects (--cold: each only once).
    Reads,
    /// Proof files of the actions of the last batches (--batches).
    ProofFiles,
    /// More than the server can do, open loop: --rate is 10x unless given, --of chooses the requests. Latencies are
    /// those of completed requests, measured from sending.
    Overload,
    /// Memory of live objects: each is updated once, then once more.
    ActorsMemory,
}

/// How requests identify their caller, in addition to their signatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AuthMode {
    /// An access token.
    Bearer,
    /// An API key.
    #[default]
    Key,
    /// Both.
    Both,
}

/// How to handle the server's rate limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LimitsMode {
    /// Respect them: wait as 429 and its Retry-After require, and send again.
    Honour,
    /// The operator gives each organization a tier without narrow limits, over the admin socket.
    Operator,
}

/// When requests are signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SigningMode {
    /// Before the run, as many as it may need.
    #[default]
    Beforehand,
    /// Each just before it is sent.
    Live,
}

/// Which receipts are verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum VerifyMode {
    /// Some, after the run (--samples).
    #[default]
    Sample,
    /// All, during the run: this costs the generator's own time.
    All,
}

/// Rate of an open loop.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OfferedRate {
    /// Requests a second.
    PerSecond(f64),
    /// Multiple of the rate that a closed loop reached just before.
    OfTop(f64),
}

impl FromStr for OfferedRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number > 0.0)
                .ok_or_else(|| format!("{text:?} is not a rate: use 5000, 50% or 10x"))
        };
        if let Some(percent) = text.strip_suffix('%') {
            return Ok(Self::OfTop(number(percent)? / 100.0));
        }
        if let Some(times) = text.strip_suffix('x') {
            return Ok(Self::OfTop(number(times)?));
        }
        number(text).map(Self::PerSecond)
    }
}

/// Load for a Kedge server: closed loop (each connection sends its next request when the previous one is answered) or
/// open loop (--rate: a constant rate, latency counted from when each request was due). Makes its own accounts through
/// the API. With --server it starts a server for the run.
#[derive(Clone, Debug, Parser, Serialize, Deserialize)]
#[command(version)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct RunOptions {
    /// What to send.
    #[arg(value_enum)]
    pub(crate) scenario: Scenario,
    /// The server, over plain HTTP.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub(crate) url: String,
    /// The log's first sequencer key. Later keys are trusted if the log itself names them. Without this option, the
    /// list that the server states is trusted.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) sequencer: Option<Address>,
    /// Start this server program on fresh data for the run, instead of using a running server.
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["url", "server_pid", "data", "admin_socket"])]
    #[serde(skip)]
    pub(crate) server: Option<PathBuf>,
    /// Another option for that server, as for `kedge serve --set`.
    #[arg(long, value_name = "NAME=VALUE", requires = "server")]
    pub(crate) server_set: Vec<String>,
    /// Where to create that server's data directory: on the disk to be measured [default: the
    /// system's directory of temporary files]
    #[arg(long, value_name = "DIRECTORY", requires = "server")]
    #[serde(skip)]
    pub(crate) server_disk: Option<PathBuf>,
    /// Organizations, each with one wallet, one template and one API key; up to 10,000.
    #[arg(long, default_value_t = 100)]
    pub(crate) organizations: usize,
    /// Objects, distributed evenly.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
    /// How requests identify their caller.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) auth: AuthMode,
    /// How to handle rate limits [default: operator if the admin socket is known, else honour]
    #[arg(long, value_enum)]
    limits: Option<LimitsMode>,
    /// The server's admin socket, for --limits operator.
    #[arg(long, value_name = "PATH")]
    #[serde(skip)]
    pub(crate) admin_socket: Option<PathBuf>,
    /// Open loop: requests a second (5000), or a share or multiple of what a closed loop reaches in
    /// the --top-s seconds before (50%, 10x).
    #[arg(long)]
    rate: Option<OfferedRate>,
    /// Seconds of the closed loop that --rate 50% refers to.
    #[arg(long, default_value_t = 5)]
    pub(crate) top_s: u64,
    /// Connections [default: 16 for batches, 128 for others, 256 in an open loop, 4,096 in overload]
    #[arg(long)]
    connections: Option<usize>,
    /// Actions per request in the batch scenarios.
    #[arg(long, default_value_t = BATCH_ACTIONS_MAX)]
    batch: usize,
    /// Bytes of an update's target and payload.
    #[arg(long, default_value_t = 286)]
    pub(crate) action_bytes: usize,
    /// Request short answers (Prefer: return=minimal).
    #[arg(long)]
    pub(crate) minimal: bool,
    /// batch-mints: use templates with a maximum supply.
    #[arg(long)]
    pub(crate) max_supply: bool,
    /// mixed: how many requests out of a hundred read.
    #[arg(long, default_value_t = 80)]
    pub(crate) reads_percent: u8,
    /// hot-object: read, then PATCH with If-Match; a request that loses the race reads and tries
    /// again.
    #[arg(long)]
    pub(crate) if_match: bool,
    /// proof-files: how many batches at the log's end to use.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) batches: usize,
    /// overload: batch-updates or single-updates.
    #[arg(long, value_enum, default_value = "single-updates")]
    of: Scenario,
    /// Webhooks of this many organizations, sent to a receiver inside this program that checks each
    /// message; an external server must allow its network (webhook_allowed_networks).
    #[arg(long, default_value_t = 0)]
    pub(crate) webhooks: usize,
    /// Seconds to wait for outstanding deliveries after the measurement.
    #[arg(long, default_value_t = 30)]
    pub(crate) webhooks_wait_s: u64,
    /// Event streams to read during the run; gaps and duplicates are counted.
    #[arg(long, default_value_t = 0)]
    pub(crate) readers: usize,
    /// Seconds before the measurement.
    #[arg(long, default_value_t = 3)]
    pub(crate) warm_up_s: u64,
    /// Seconds of the measurement.
    #[arg(long, default_value_t = 15)]
    pub(crate) duration_s: u64,
    /// How often to repeat the measurement.
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: usize,
    /// When requests are signed.
    #[arg(long, value_enum, default_value_t)]
    sign: SigningMode,
    /// Requests signed before each run, at about 100 bytes each; any more are signed on the fly
    /// [default: 800 a second for batches, 25,000 for single actions, or according to --rate]
    #[arg(long)]
    prepared: Option<usize>,
    /// Which receipts are verified.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) verify: VerifyMode,
    /// Answers whose receipts are verified, and looked up in the log, with --verify sample.
    #[arg(long, default_value_t = 100)]
    pub(crate) samples: u32,
    /// Skip the round that updates every object once before the first run; with reads: read each
    /// object only once.
    #[arg(long)]
    pub(crate) cold: bool,
    /// Sending threads of each process.
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Processes that share the load; each has its share of organizations and connections.
    #[arg(long, default_value_t = 1)]
    pub(crate) processes: usize,
    /// The server's process id, if it runs on this machine: its processor time, memory and writes
    /// are then reported too.
    #[arg(long)]
    pub(crate) server_pid: Option<u32>,
    /// The server's data directory, if it is on this machine: its size is then reported too.
    #[arg(long, value_name = "DIRECTORY")]
    #[serde(skip)]
    pub(crate) data: Option<PathBuf>,
    /// What the medians of the runs must reach, such as actions_per_s>=350000 or
    /// p99_ms<=5+2*fdatasync_p99_ms; the exit status shows whether they do.
    #[arg(long = "target", value_name = "FIGURE<=LIMIT")]
    pub(crate) targets: Vec<FigureTarget>,
    /// File for the report in JSON.
    #[arg(long)]
    #[serde(skip)]
    pub(crate) json: Option<PathBuf>,
    /// File for the report as a page, with plots.
    #[arg(long)]
    #[serde(skip)]
    pub(crate) html: Option<PathBuf>,
}

impl RunOptions {
    /// Refuses options that cannot run.
    pub(crate) fn check(&self) -> LoadtestResult<()> {
        let counts = [
            ("organizations", self.organizations),
            ("connections", self.connections()),
            ("batch", self.batch),
            ("batches", self.batches),
            ("runs", self.runs),
            ("threads", self.threads),
            ("processes", self.processes),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return usage(format_args!("--{name} must be at least 1"));
        }
        let sends = self.sends();
        if !matches!(self.of, Scenario::BatchUpdates | Scenario::SingleUpdates) {
            return usage("--of must be batch-updates or single-updates");
        }
        if self.batch > BATCH_ACTIONS_MAX {
            return usage(format_args!("--batch must be at most {BATCH_ACTIONS_MAX}"));
        }
        if self.objects_each() == 0 {
            return usage("each organization needs an object");
        }
        if self.action_bytes < ACTION_BYTES_MIN {
            return usage(format_args!(
                "--action-bytes must be at least {ACTION_BYTES_MIN}"
            ));
        }
        let longest = match self.auth {
            AuthMode::Key => RUN_S_MAX,
            AuthMode::Bearer | AuthMode::Both => BEARER_RUN_S_MAX,
        };
        let run_s = self.warm_up_s + self.duration_s + self.top_s;
        if self.duration_s == 0 || self.top_s == 0 || run_s > longest {
            return usage(format_args!(
                "a run takes 1 to {longest} seconds with warm-up and --top-s: access tokens last 15 minutes, signatures a day (use --auth key for long runs)"
            ));
        }
        if self.processes > self.organizations || self.processes > self.connections() {
            return usage("each process needs an organization and a connection");
        }
        if self.limits == Some(LimitsMode::Operator) && !self.knows_socket() {
            return usage("--limits operator needs --admin-socket (data/admin.sock), or --server");
        }
        if self.reads_percent > 100 || (self.reads_percent == 100 && sends == Scenario::Mixed) {
            return usage("--reads-percent must be below 100; see also: reads");
        }
        if self.webhooks.max(self.readers) > self.organizations {
            return usage("--readers and --webhooks allow at most one per organization");
        }
        if sends == Scenario::HotObject && self.readers + self.webhooks > 0 {
            let why = "only the hot object's organization gets its events: leave out --readers and --webhooks";
            return usage(why);
        }
        let open = self.rate().is_some();
        if open && (self.if_match || self.scenario == Scenario::ActorsMemory) {
            return usage("--if-match and actors-memory are closed loops: leave out --rate");
        }
        Ok(())
    }

    fn knows_socket(&self) -> bool {
        self.server.is_some() || self.admin_socket.is_some()
    }

    /// Effective handling of rate limits.
    pub(crate) fn limits(&self) -> LimitsMode {
        self.limits.unwrap_or(if self.knows_socket() {
            LimitsMode::Operator
        } else {
            LimitsMode::Honour
        })
    }

    /// The scenario that decides the requests.
    pub(crate) fn sends(&self) -> Scenario {
        match self.scenario {
            Scenario::Overload => self.of,
            Scenario::ActorsMemory => Scenario::BatchUpdates,
            other => other,
        }
    }

    /// Whether requests hold many actions.
    pub(crate) fn is_batch(&self) -> bool {
        matches!(
            self.sends(),
            Scenario::BatchUpdates | Scenario::BatchMints | Scenario::BatchTransfers
        )
    }

    /// The open loop's rate.
    pub(crate) fn rate(&self) -> Option<OfferedRate> {
        let overload = self.scenario == Scenario::Overload;
        self.rate.or(overload.then_some(OfferedRate::OfTop(10.0)))
    }

    /// Connections of all processes together.
    pub(crate) fn connections(&self) -> usize {
        let usual = match (self.scenario, self.is_batch(), self.rate()) {
            (Scenario::Overload, ..) => 4_096,
            (_, true, None) => 16,
            (_, false, None) => 128,
            (_, _, Some(_)) => 256,
        };
        self.connections.unwrap_or(usual)
    }

    /// Actions per request; 0 for reads.
    pub(crate) fn actions_a_request(&self) -> usize {
        match self.sends() {
            Scenario::Reads | Scenario::ProofFiles => 0,
            _ if self.is_batch() => self.batch,
            _ => 1,
        }
    }

    /// Objects of each organization.
    pub(crate) fn objects_each(&self) -> usize {
        self.objects / self.organizations
    }

    /// Requests to sign before a phase of this many seconds.
    pub(crate) fn prepared(&self, seconds: u64, rate: Option<f64>) -> usize {
        if self.sign == SigningMode::Live || self.actions_a_request() == 0 || self.if_match {
            return 0;
        }
        let usual = if self.is_batch() { 800.0 } else { 25_000.0 };
        let a_second = rate.map_or(usual, |rate| rate.min(4.0 * usual));
        let all = self
            .prepared
            .unwrap_or((a_second * seconds as f64) as usize);
        let writes = match self.sends() {
            Scenario::Mixed => all * (100 - usize::from(self.reads_percent)) / 100,
            _ => all,
        };
        writes / self.processes
    }
}

fn usage(why: impl Display) -> LoadtestResult<()> {
    Err(LoadtestError::usage(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> RunOptions {
        let arguments = std::iter::once("kedge-load").chain(arguments.split(' '));
        RunOptions::try_parse_from(arguments).unwrap()
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        assert!(parse("batch-updates").check().is_ok());
        assert!(parse("single-updates --objects 100").check().is_ok());
        assert!(parse("single-updates --duration-s 1200").check().is_ok());
        for bad in [
            "batch-updates --objects 99",
            "batch-updates --batch 501",
            "batch-updates --batch 0",
            "single-updates --organizations 0",
            "single-updates --duration-s 0",
            "single-updates --duration-s 900 --auth bearer",
            "single-updates --action-bytes 100",
            "single-updates --limits operator",
            "single-updates --processes 200 --connections 100",
            "mixed --reads-percent 100",
            "overload --of reads",
            "actors-memory --rate 5",
            "hot-object --readers 1",
            "reads --readers 101",
        ] {
            assert!(
                matches!(parse(bad).check(), Err(LoadtestError::Usage(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn rates() {
        assert_eq!("5000".parse(), Ok(OfferedRate::PerSecond(5000.0)));
        assert_eq!("50%".parse(), Ok(OfferedRate::OfTop(0.5)));
        assert_eq!("10x".parse(), Ok(OfferedRate::OfTop(10.0)));
        for bad in ["", "x", "-1", "0", "inf", "5 %"] {
            assert!(bad.parse::<OfferedRate>().is_err(), "{bad}");
        }
        assert_eq!(parse("overload").rate(), Some(OfferedRate::OfTop(10.0)));
        assert_eq!(parse("reads").rate(), None);
    }

    #[test]
    fn limits_are_the_operators_where_its_socket_is_known() {
        assert_eq!(parse("reads").limits(), LimitsMode::Honour);
        assert_eq!(
            parse("reads --admin-socket a").limits(),
            LimitsMode::Operator
        );
        assert_eq!(parse("reads --server kedge").limits(), LimitsMode::Operator);
    }
}
