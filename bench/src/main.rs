//! Benches of a whole server. Each is a subcommand with a module; they share the server process, the generator, and the
//! description of the machine.

mod bare;
mod cluster;
mod compare;
mod disk;
mod drive;
mod error;
mod fleet;
mod growth;
mod report;
mod requests;
mod restart;
mod search;
mod server;
mod tracing;
mod turns;

use clap::{Parser, Subcommand};

/// The server's allocator, so that the comparison is fair.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fill a server with objects and search them over HTTP.
    Search(search::Options),
    /// Serve the bare pipeline: signatures, a hash chain and a synced log, nothing else.
    Bare(bare::Options),
    /// Compare the server with the bare pipeline, and with other stores, in turns.
    Compare(compare::Options),
    /// Compare several nodes that share a log with a single one, in turns.
    Cluster(cluster::Options),
    /// Compare a server that traces no request, one in a hundred, and every one, in turns.
    Tracing(tracing::Options),
    /// Measure the cost of an action in a large store against a small one.
    Growth(growth::Options),
    /// Measure how soon a server with a large store is ready again.
    Restart(restart::Options),
    /// Measure the bytes on the disk per update, table by table.
    Disk(disk::Options),
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let done = match Arguments::parse().command {
        Command::Search(options) => search::run(&options).await,
        Command::Bare(options) => bare::run(&options).await,
        Command::Compare(options) => compare::run(&options).await,
        Command::Cluster(options) => cluster::run(&options).await,
        Command::Tracing(options) => tracing::run(&options).await,
        Command::Growth(options) => growth::run(&options).await,
        Command::Restart(options) => restart::run(&options).await,
        Command::Disk(options) => disk::run(&options).await,
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kedge-bench: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
