//! Benches of a whole server. Each is a subcommand with a module; they share the server process, the generator, and the
//! description of the machine.

mod bare;
mod cluster;
mod compare;
mod disk;
mod error;
mod fleet;
mod generator;
mod growth;
mod proofs;
mod report;
mod requests;
mod restart;
mod rounds;
mod search;
mod server;
mod tracing;

use clap::{Parser, Subcommand};

/// The server's allocator, so that the comparison is fair.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(version, about)]
struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Fill a server with objects and search them over HTTP.
    Search(search::SearchBenchOptions),
    /// Serve the bare pipeline: signatures, a hash chain and a synced log, nothing else.
    Bare(bare::BareOptions),
    /// Compare the server with the bare pipeline, and with other stores, in turns.
    Compare(compare::CompareOptions),
    /// Compare several nodes that share a log with a single one, in turns.
    Cluster(cluster::ClusterBenchOptions),
    /// Compare a server that traces no request, one in a hundred, and every one, in turns.
    Tracing(tracing::TracingBenchOptions),
    /// Read objects with and without their proofs over HTTP, in turns.
    Proofs(proofs::ProofBenchOptions),
    /// Measure the cost of an action in a large store against a small one.
    Growth(growth::GrowthOptions),
    /// Measure how soon a server with a large store is ready again.
    Restart(restart::RestartOptions),
    /// Measure the bytes on the disk per update, table by table.
    Disk(disk::DiskBenchOptions),
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let done = match BenchArgs::parse().command {
        BenchCommand::Search(options) => search::run(&options).await,
        BenchCommand::Bare(options) => bare::run(&options).await,
        BenchCommand::Compare(options) => compare::run(&options).await,
        BenchCommand::Cluster(options) => cluster::run(&options).await,
        BenchCommand::Tracing(options) => tracing::run(&options).await,
        BenchCommand::Proofs(options) => proofs::run(&options).await,
        BenchCommand::Growth(options) => growth::run(&options).await,
        BenchCommand::Restart(options) => restart::run(&options).await,
        BenchCommand::Disk(options) => disk::run(&options).await,
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kedge-bench: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
