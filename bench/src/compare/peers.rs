//! Other stores of records. Their clients are in a separate program (bench/peers), which keeps their dependencies out
//! of the server's workspace.

use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::report::CompareRun;
use super::{CompareOptions, ComparedSystem};
use crate::error::BenchResult;
use crate::generator::DriveLatency;
use crate::requests::{ACTION_BYTES, RequestShape};

/// Their addresses; those without one are left out.
#[derive(clap::Args, Serialize)]
pub(crate) struct PeerOptions {
    /// The program with their clients.
    #[arg(long)]
    #[serde(skip)]
    peers: Option<PathBuf>,
    /// PostgreSQL, as a connection string.
    #[arg(long)]
    #[serde(skip)]
    postgres: Option<String>,
    /// Redis: host:port.
    #[arg(long)]
    #[serde(skip)]
    redis: Option<String>,
    /// NATS with JetStream: host:port.
    #[arg(long)]
    #[serde(skip)]
    nats: Option<String>,
    /// A note about them for the report, such as their versions.
    #[arg(long)]
    pub(super) peers_note: Option<String>,
}

#[derive(Deserialize)]
struct PeerFigures {
    records_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

impl PeerOptions {
    /// The stores with an address.
    pub(super) fn subjects(&self) -> Vec<ComparedSystem> {
        let mut subjects = Vec::new();
        if self.postgres.is_some() {
            subjects.extend([ComparedSystem::PostgresCopy, ComparedSystem::PostgresChain]);
        }
        subjects.extend(self.redis.as_ref().map(|_| ComparedSystem::RedisStreams));
        subjects.extend(self.nats.as_ref().map(|_| ComparedSystem::NatsJetstream));
        subjects
    }

    /// Measures one store.
    pub(super) fn run(
        &self,
        subject: ComparedSystem,
        shape: RequestShape,
        options: &CompareOptions,
    ) -> BenchResult<CompareRun> {
        let (name, address) = match subject {
            ComparedSystem::PostgresCopy => ("postgres-copy", &self.postgres),
            ComparedSystem::PostgresChain => ("postgres-chain", &self.postgres),
            ComparedSystem::RedisStreams => ("redis-streams", &self.redis),
            ComparedSystem::NatsJetstream => ("nats-jetstream", &self.nats),
            _ => return Err("not a peer".into()),
        };
        let program = self
            .peers
            .as_ref()
            .ok_or("--peers must name their program")?;
        let address = address.as_ref().ok_or("its address is missing")?;
        let numbers = [
            ("--records", shape.actions()),
            ("--bytes", ACTION_BYTES),
            ("--connections", shape.connections()),
            ("--warm-up-s", options.turns.warm_up_s as usize),
            ("--duration-s", options.turns.duration_s as usize),
        ];
        let mut command = Command::new(program);
        command.args([name, address]);
        for (option, number) in numbers {
            command.args([option, &number.to_string()]);
        }
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{name}: its client ended with {}", output.status).into());
        }
        let reported: PeerFigures = serde_json::from_slice(&output.stdout)?;
        Ok(CompareRun {
            subject,
            shape,
            per_second: reported.records_per_second,
            latency_ms: DriveLatency {
                p50: reported.p50_ms,
                p99: reported.p99_ms,
                max: reported.max_ms,
            },
            server_cores: None,
            generator_cores: None,
        })
    }
}
