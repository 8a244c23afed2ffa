//! Benches that need a whole server. Each is a subcommand and a module of its own; they share the
//! server's process, the connection, and what is told of the machine.

mod connection;
mod machine;
mod search;
mod server;

use clap::{Parser, Subcommand};

/// What can go wrong, said once at the end.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

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
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let done = match Arguments::parse().command {
        Command::Search(options) => search::run(&options).await,
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kedge-bench: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
