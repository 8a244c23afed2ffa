//! `kedge demo`: the whole way of an action, from a new key to a proof that the chain confirms, against a running
//! server.

mod anchor;
mod report;
mod steps;

use std::path::PathBuf;

use kedge_chain::rpc::Endpoint;
use kedge_client::{Client, RetryPolicy};

use super::output::{Failure, print, print_json};

/// Most objects of one demo: enough to measure, and few enough for a free organization's limits.
/// Minting takes eight batches and updating takes one; ten a minute are allowed.
const OBJECTS_MAX: u32 = 4_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The server's admin socket, used to request an anchor.
    #[arg(long, value_name = "PATH", default_value = "data/admin.sock")]
    socket: PathBuf,
    /// JSON-RPC URL of the chain that the server anchors on.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8545")]
    rpc: Endpoint,
    /// How many objects to mint, in batches of 500.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(OBJECTS_MAX)))]
    objects: u32,
    /// How many seconds to wait until the anchor is final on the chain.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// Where to write the proof file; the directory for temporary files if absent.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    // A demo must not wait for minutes, so it never retries and shows refusals at once.
    let client = Client::builder(&args.url)
        .retry(RetryPolicy::never())
        .connect()
        .await
        .map_err(|error| {
            Failure::refused(format!(
                "{error}\n  is the server running? `make run` starts one (--url)"
            ))
        })?;
    let mut report = report::Report::new(&client);
    let shown = steps::run(&client, args.objects, &mut report).await?;
    anchor::run(&shown, &args, &client, &mut report).await?;
    if args.json {
        print_json(&report.as_json())
    } else {
        print(&report.as_text())
    }
}
