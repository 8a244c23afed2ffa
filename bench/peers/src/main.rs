//! Load for what Kedge is compared with, as `kedge-bench compare` starts it: connections that each send their next
//! records when the last ones are stored, with the same bytes in a record. One line of JSON reports the result. What it
//! makes in a database it drops and makes again at every start: it is for instances that exist to be measured.

mod load;
mod nats;
mod postgres;
mod records;
mod redis_streams;
mod wire;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::load::{Measured, measure};

/// Any error, reported once at the end.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Clone, Copy, ValueEnum)]
enum Peer {
    /// COPY of all records in a transaction; INSERT for a single one.
    PostgresCopy,
    /// A function that chains the records with SHA-256 and inserts them.
    PostgresChain,
    /// XADD, all of them in one pipeline.
    RedisStreams,
    /// Messages to a stream on disk, all of them before the first acknowledgement.
    NatsJetstream,
}

/// Appends records to a store and counts.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The store to measure.
    peer: Peer,
    /// Its address: a connection string for PostgreSQL, host:port for the others.
    address: String,
    /// Records to append at a time.
    #[arg(long, default_value_t = 500)]
    records: usize,
    /// Bytes of a record.
    #[arg(long, default_value_t = 286)]
    bytes: usize,
    /// Connections.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Seconds before the measurement.
    #[arg(long, default_value_t = 2)]
    warm_up_s: u64,
    /// Seconds of the measurement.
    #[arg(long, default_value_t = 8)]
    duration_s: u64,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    let reported = match options.peer {
        Peer::PostgresCopy if options.records == 1 => {
            run(&options, postgres::Insert::open(&options).await).await
        }
        Peer::PostgresCopy => run(&options, postgres::Copy::open(&options).await).await,
        Peer::PostgresChain => run(&options, postgres::Chain::open(&options).await).await,
        Peer::RedisStreams => run(&options, redis_streams::Stream::open(&options).await).await,
        Peer::NatsJetstream => run(&options, nats::Publisher::open(&options).await).await,
    };
    match reported {
        Ok(reported) => {
            println!("{}", reported.json());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kedge-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run<A: load::Append>(options: &Options, opened: Result<Vec<A>>) -> Result<Measured> {
    measure(options, opened?).await
}
