//! Bench of proofs of the state over HTTP, next to reads of the same objects without one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use kedge_client::Client;
use kedge_load::connection::{LoadConnection, authority};
use kedge_load::figures::{LatencyFigures, RunSpread, grouped, table};
use kedge_load::machine::load_average;
use serde::Serialize;

use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::report::BenchReport;
use crate::rounds::RoundOptions;
use crate::server::{BenchOptions, BenchServer};

/// Steps between the objects that one connection reads, so that no two of them are neighbours.
const STRIDE: usize = 104_729;

/// Time between looks for a checkpoint that is not due yet.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Who reads, and for how long.
#[derive(clap::Args, Serialize)]
pub(crate) struct ProofBenchOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    #[command(flatten)]
    size: FleetSize,
    #[command(flatten)]
    rounds: RoundOptions,
    /// Connections, each with one read at a time.
    #[arg(long, default_value_t = 8)]
    connections: usize,
}

/// What is read of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ReadKind {
    Object,
    StateProof,
}

impl ReadKind {
    const ALL: [Self; 2] = [Self::Object, Self::StateProof];

    fn suffix(self) -> &'static str {
        match self {
            Self::Object => "",
            Self::StateProof => "/state-proof",
        }
    }
}

#[derive(Serialize)]
struct ReadFigures {
    kind: ReadKind,
    reads_per_second: f64,
    bytes_on_average: f64,
    latency_ms: LatencyFigures,
}

#[derive(Serialize)]
struct ProofFigures {
    reads: Vec<ReadFigures>,
}

/// Fills a server, waits for a root over everything, restarts it, and reads in turns.
pub(crate) async fn run(options: &ProofBenchOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    let data = scratch.path().join("data");
    let load_average_before = load_average();
    let settings = ["checkpoint_interval_s=1".to_owned()];
    let server = BenchServer::start_set(&options.bench.server, &data, &settings)?;
    let fleet = Arc::new(BenchFleet::make(&server, options.size).await?);
    rooted(&server).await?;
    // The last writes are only in memory; a restart reads them from files like any other.
    server.stop()?;
    let server = BenchServer::start_set(&options.bench.server, &data, &settings)?;
    server.ready().await?;
    rooted(&server).await?;
    let mut reads = Vec::new();
    for place in options.rounds.order(ReadKind::ALL.len()) {
        reads.push(measure(&server.url, &fleet, ReadKind::ALL[place], options).await?);
    }
    server.stop()?;
    let figures = ProofFigures { reads };
    let table = figures.table();
    let report = BenchReport::new("kedge-bench proofs", options, load_average_before, figures);
    report.write(&table, options.bench.json.as_deref())
}

/// Waits for a checkpoint over the whole log.
async fn rooted(server: &BenchServer) -> BenchResult<()> {
    let client = Client::builder(&server.url).connect().await?;
    let sequence = server.sequence().await?;
    loop {
        match client.checkpoint_over(sequence).await {
            Err(error) if error.code() == Some("SEQUENCE_NOT_REACHED") => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            done => return Ok(done.map(drop)?),
        }
    }
}

async fn measure(
    url: &str,
    fleet: &Arc<BenchFleet>,
    kind: ReadKind,
    options: &ProofBenchOptions,
) -> BenchResult<ReadFigures> {
    let counted_from = Instant::now() + Duration::from_secs(options.rounds.warm_up_s);
    let until = counted_from + options.rounds.duration();
    let mut tasks = Vec::new();
    for number in 0..options.connections {
        let (address, fleet) = (authority(url)?, Arc::clone(fleet));
        let reader = read(address, fleet, kind, number, counted_from, until);
        tasks.push(tokio::spawn(reader));
    }
    let (mut latencies_us, mut bytes) = (Histogram::<u64>::new(3)?, 0);
    for task in tasks {
        let (seen, read) = task.await??;
        latencies_us.add(&seen)?;
        bytes += read;
    }
    let reads = latencies_us.len() as f64;
    Ok(ReadFigures {
        kind,
        reads_per_second: reads / options.rounds.duration().as_secs_f64(),
        bytes_on_average: bytes as f64 / reads,
        latency_ms: LatencyFigures::of(&latencies_us),
    })
}

/// Reads one object after the other. Returns the latencies, and the bytes of all bodies.
async fn read(
    address: String,
    fleet: Arc<BenchFleet>,
    kind: ReadKind,
    number: usize,
    counted_from: Instant,
    until: Instant,
) -> BenchResult<(Histogram<u64>, u64)> {
    let mut connection = LoadConnection::open(&address).await?;
    let (mut latencies_us, mut bytes) = (Histogram::new(3)?, 0);
    let mut next = number;
    loop {
        let organization = &fleet.organizations[next % fleet.organizations.len()];
        let object = organization.objects[next / 7 % organization.objects.len()];
        next = next.wrapping_add(STRIDE);
        let head = format!(
            "GET /objects/{object}{} HTTP/1.1\r\nhost: {address}\r\nx-api-key: {}\r\n\r\n",
            kind.suffix(),
            organization.api_key
        );
        let begun = Instant::now();
        if begun >= until {
            return Ok((latencies_us, bytes));
        }
        let answer = connection.exchange(head.as_bytes(), &[]).await?;
        if !answer.status.is_success() {
            let text = String::from_utf8_lossy(answer.body);
            return Err(format!("a read was refused: {text}").into());
        }
        if begun >= counted_from {
            latencies_us.record(begun.elapsed().as_micros() as u64)?;
            bytes += answer.body.len() as u64;
        }
    }
}

impl ProofFigures {
    fn table(&self) -> String {
        let rows = ReadKind::ALL.map(|kind| {
            let of = || self.reads.iter().filter(|read| read.kind == kind);
            let rate = RunSpread::of(of().map(|read| read.reads_per_second));
            let p50 = RunSpread::of(of().map(|read| read.latency_ms.p50));
            let p99 = RunSpread::of(of().map(|read| read.latency_ms.p99));
            let bytes = RunSpread::of(of().map(|read| read.bytes_on_average));
            let [median, range] = rate.reported();
            vec![
                format!("/objects/{{id}}{}", kind.suffix()),
                median,
                range,
                format!("{:.2}", p50.median),
                format!("{:.2}", p99.median),
                grouped(bytes.median),
            ]
        });
        let head = ["read", "a second", "spread", "p50 ms", "p99 ms", "bytes"];
        format!("\n{}", table(&head, &rows))
    }
}
