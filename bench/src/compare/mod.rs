//! The server against the bare pipeline and other stores: in turns, on one machine, with the same records, each
//! answered when it is durable.

mod peers;
mod report;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kedge_load::figures::print;
use kedge_load::machine::load_average;
use serde::Serialize;

use self::peers::PeerOptions;
use self::report::{CompareFigures, CompareRun};
use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::generator::measure;
use crate::requests::{RequestPlan, RequestShape};
use crate::rounds::{RoundOptions, SETTLE};
use crate::server::{BenchLimits, BenchOptions, BenchServer};

/// What to compare, and for how long.
#[derive(clap::Args, Serialize)]
pub(crate) struct CompareOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    #[command(flatten)]
    size: FleetSize,
    /// The content of requests; both, one after the other, by default.
    #[arg(long)]
    shape: Vec<RequestShape>,
    #[command(flatten)]
    #[serde(flatten)]
    turns: RoundOptions,
    #[command(flatten)]
    peers: PeerOptions,
    /// An earlier build of this program, whose bare pipeline is measured too: a ceiling that does not move.
    #[arg(long, value_name = "PROGRAM")]
    #[serde(skip)]
    earlier_bare: Option<PathBuf>,
    /// Where to write the tables as Markdown.
    #[arg(long)]
    #[serde(skip)]
    markdown: Option<PathBuf>,
}

/// The compared systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ComparedSystem {
    Kedge,
    Bare,
    BareFrames,
    BareEarlier,
    PostgresCopy,
    PostgresChain,
    RedisStreams,
    NatsJetstream,
}

/// Measures all systems in turns.
pub(crate) async fn run(options: &CompareOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    let data = scratch.path().join("kedge");
    print(&format!(
        "making {} organizations, {} objects\n",
        options.size.organizations, options.size.objects
    ))?;
    // Limits are off only now, because a thousand organizations are created from one address.
    let server = BenchServer::start(&options.bench.server, &data)?;
    let fleet = Arc::new(BenchFleet::make(&server, options.size).await?);
    server.stop()?;
    let server = BenchServer::start_with(&options.bench.server, &data, BenchLimits::On)?;
    server.ready().await?;

    let mut subjects = vec![
        ComparedSystem::Kedge,
        ComparedSystem::Bare,
        ComparedSystem::BareFrames,
    ];
    subjects.extend(
        options
            .earlier_bare
            .is_some()
            .then_some(ComparedSystem::BareEarlier),
    );
    subjects.extend(options.peers.subjects());
    let both = [RequestShape::Batch, RequestShape::Single];
    let shapes = if options.shape.is_empty() {
        &both[..]
    } else {
        &options.shape
    };
    let load_average_before = load_average();
    let mut runs = Vec::new();
    for &shape in shapes {
        let plan = Arc::new(RequestPlan::new(&fleet, shape));
        for at in options.turns.order(subjects.len()) {
            let subject = subjects[at];
            tokio::time::sleep(SETTLE).await;
            let run = match subject {
                ComparedSystem::Kedge => of_server(&server, &plan, options).await?,
                ComparedSystem::Bare | ComparedSystem::BareFrames | ComparedSystem::BareEarlier => {
                    of_bare(scratch.path(), &fleet, &plan, subject, options).await?
                }
                peer => options.peers.run(peer, shape, options)?,
            };
            print(&report::line(subject, shape, &run))?;
            runs.push(run);
        }
    }
    server.stop()?;
    report::write(options, load_average_before, CompareFigures { runs })
}

async fn of_server(
    server: &BenchServer,
    plan: &Arc<RequestPlan>,
    options: &CompareOptions,
) -> BenchResult<CompareRun> {
    let before = server.sequence().await?;
    let driven = measure(server, plan, options.turns.end()).await?;
    let grown = server.sequence().await? - before;
    let acknowledged = driven.acknowledged * plan.shape.actions() as u64;
    if grown != acknowledged {
        return Err(format!(
            "{acknowledged} actions were acknowledged, but the log grew by {grown}"
        )
        .into());
    }
    Ok(CompareRun::driven(
        ComparedSystem::Kedge,
        plan.shape,
        &driven,
    ))
}

async fn of_bare(
    scratch: &Path,
    fleet: &BenchFleet,
    plan: &Arc<RequestPlan>,
    subject: ComparedSystem,
    options: &CompareOptions,
) -> BenchResult<CompareRun> {
    let program = match (&options.earlier_bare, subject) {
        (Some(earlier), ComparedSystem::BareEarlier) => earlier.clone(),
        _ => std::env::current_exe()?,
    };
    let data = tempfile::tempdir_in(scratch)?;
    let mut command = Command::new(program);
    command
        .args(["bare", "--listen", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .args(["--chain-id", &fleet.domain.chain_id.to_string()])
        .args([
            "--verifying-contract",
            &fleet.domain.verifying_contract.to_string(),
        ]);
    // Earlier builds lack this option and use rows.
    if subject == ComparedSystem::BareFrames {
        command.args(["--files", "frames"]);
    }
    let bare = BenchServer::spawn(command, PathBuf::new())?;
    let driven = measure(&bare, plan, options.turns.end()).await?;
    bare.stop()?;
    Ok(CompareRun::driven(subject, plan.shape, &driven))
}
