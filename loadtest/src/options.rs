//! What a run is told on the command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use serde::Serialize;

use crate::error::{Error, Result};

/// Access tokens are good for 15 minutes, and a run does not renew them.
const RUN_S_MAX: u64 = 14 * 60;
/// The target, and a payload that holds the five properties and little else.
const ACTION_BYTES_MIN: usize = 160;

/// What is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scenario {
    /// Requests of many updates under one signature.
    BatchUpdates,
    /// Requests of one update each.
    SingleUpdates,
}

/// Closed-loop load for a Kedge server: each connection sends its next request when the last one
/// is answered. Registers its own organizations, so it needs nothing but the server's URL. It sends
/// far more than any tier allows: start the server with --set rate_limits=off.
#[derive(Clone, Debug, Parser, Serialize)]
#[command(version)]
pub(crate) struct Options {
    /// What is sent.
    #[arg(value_enum)]
    pub(crate) scenario: Scenario,
    /// The server, over plain HTTP.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub(crate) url: String,
    /// Organizations, each with one wallet and one template.
    #[arg(long, default_value_t = 100)]
    pub(crate) organizations: usize,
    /// Objects, shared out evenly.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
    /// Connections [default: 16 for batches, 128 for single updates]
    #[arg(long)]
    connections: Option<usize>,
    /// Actions in a request of batch-updates.
    #[arg(long, default_value_t = BATCH_ACTIONS_MAX)]
    batch: usize,
    /// Bytes of an action's target and payload.
    #[arg(long, default_value_t = 286)]
    pub(crate) action_bytes: usize,
    /// Ask for short answers (Prefer: return=minimal).
    #[arg(long)]
    pub(crate) minimal: bool,
    /// Seconds before the measure.
    #[arg(long, default_value_t = 3)]
    pub(crate) warm_up_s: u64,
    /// Seconds of the measure.
    #[arg(long, default_value_t = 15)]
    pub(crate) duration_s: u64,
    /// How often the measure is repeated.
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: usize,
    /// Requests signed before each run, at about 100 bytes each; what goes beyond is signed on the
    /// fly, and 0 signs everything so [default: 800 a second for batches, 25,000 for single updates]
    #[arg(long)]
    prepared: Option<usize>,
    /// Answers whose receipts are verified, and looked up in the log, in each run.
    #[arg(long, default_value_t = 100)]
    pub(crate) samples: u32,
    /// Leave out the round of updates that finds every object once before the first run.
    #[arg(long)]
    pub(crate) cold: bool,
    /// Threads that send.
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// The server's process id, if it runs on this machine: its processor time is reported too.
    #[arg(long)]
    pub(crate) server_pid: Option<u32>,
    /// File for the report in JSON.
    #[arg(long)]
    #[serde(skip)]
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    /// Refuses what cannot be run.
    pub(crate) fn check(&self) -> Result<()> {
        let counts = [
            ("organizations", self.organizations),
            ("connections", self.connections()),
            ("batch", self.batch),
            ("runs", self.runs),
            ("threads", self.threads),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Error::Usage(format!("--{name} must be at least 1")));
        }
        if self.batch > BATCH_ACTIONS_MAX {
            return Err(Error::Usage(format!(
                "--batch must be at most {BATCH_ACTIONS_MAX}"
            )));
        }
        if self.objects_each() < self.actions_a_request() {
            return Err(Error::Usage(
                "each organization needs as many objects as a request has actions".to_owned(),
            ));
        }
        if self.action_bytes < ACTION_BYTES_MIN {
            return Err(Error::Usage(format!(
                "--action-bytes must be at least {ACTION_BYTES_MIN}"
            )));
        }
        if self.duration_s == 0 || self.warm_up_s + self.duration_s > RUN_S_MAX {
            return Err(Error::Usage(format!(
                "a run takes 1 to {RUN_S_MAX} seconds with its warm-up: access tokens last no longer"
            )));
        }
        Ok(())
    }

    /// Connections in use.
    pub(crate) fn connections(&self) -> usize {
        self.connections.unwrap_or(match self.scenario {
            Scenario::BatchUpdates => 16,
            Scenario::SingleUpdates => 128,
        })
    }

    /// Actions in one request.
    pub(crate) fn actions_a_request(&self) -> usize {
        match self.scenario {
            Scenario::BatchUpdates => self.batch,
            Scenario::SingleUpdates => 1,
        }
    }

    /// Objects of each organization.
    pub(crate) fn objects_each(&self) -> usize {
        self.objects / self.organizations
    }

    /// Requests that are signed before a run.
    pub(crate) fn prepared(&self) -> usize {
        let a_second = match self.scenario {
            Scenario::BatchUpdates => 800,
            Scenario::SingleUpdates => 25_000,
        };
        let seconds = (self.warm_up_s + self.duration_s) as usize;
        self.prepared.unwrap_or(a_second * seconds)
    }

    /// The endpoint of the scenario.
    pub(crate) fn path(&self) -> &'static str {
        match self.scenario {
            Scenario::BatchUpdates => "/ebus/actions/batch",
            Scenario::SingleUpdates => "/ebus/actions",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Options {
        let arguments = std::iter::once("kedge-load").chain(arguments.split(' '));
        Options::try_parse_from(arguments).unwrap()
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        assert!(parse("batch-updates").check().is_ok());
        assert!(parse("single-updates --objects 100").check().is_ok());
        for bad in [
            "batch-updates --objects 49999",
            "batch-updates --batch 501",
            "batch-updates --batch 0",
            "single-updates --organizations 0",
            "single-updates --duration-s 0",
            "single-updates --duration-s 900",
            "single-updates --action-bytes 100",
        ] {
            assert!(matches!(parse(bad).check(), Err(Error::Usage(_))), "{bad}");
        }
    }
}
