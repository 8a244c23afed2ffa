//! Load for the systems that `kedge-bench compare` compares with Kedge. Each connection sends its next records when the
//! last ones are stored; a record has as many bytes as in Kedge. The result is one line of JSON. Every start drops and
//! creates its tables and streams, so use instances that exist to be measured.

mod error;
mod load;
mod nats;
mod options;
mod postgres;
mod records;
mod redis_streams;
mod wire;

use std::process::ExitCode;

use clap::Parser as _;

use crate::error::Result;
use crate::load::{Append, Measured, measure};
use crate::options::{Options, Peer};

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

async fn run<A: Append>(options: &Options, opened: Result<Vec<A>>) -> Result<Measured> {
    measure(options, opened?).await
}
