//! Searches among a million objects.

mod fill;
mod queries;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Result;
use crate::machine;
use crate::server::Server;

/// The options of the search bench.
#[derive(clap::Args, serde::Serialize)]
pub(crate) struct Options {
    /// The server's program.
    #[arg(long, default_value = "target/release/kedge")]
    server: PathBuf,
    /// The server's directory; an existing one is not filled again.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Objects to mint.
    #[arg(long, default_value_t = 1_000_000)]
    objects: u64,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 15)]
    duration_s: u64,
    /// Connections that search at the same time, one measurement for each number.
    #[arg(long, default_values_t = [1, 4])]
    connections: Vec<usize>,
    /// Where to write the figures as JSON.
    #[arg(long)]
    output: Option<PathBuf>,
}

/// Fills a server, restarts it, and measures one kind of search after the other.
pub(crate) async fn run(options: &Options) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => scratch.path().join("data"),
    };
    let load_average_before = machine::load_average();
    let server = Server::start(&options.server, &data)?;
    let filled = fill::fill(&server.url, options.objects).await?;
    // The last writes are still only in memory; a start loads them as any other start would.
    server.stop()?;
    let server = Server::start(&options.server, &data)?;
    let token = fill::log_in(&server.url).await?;
    let mut measures = Vec::new();
    for query in queries::ALL {
        for &connections in &options.connections {
            let duration = Duration::from_secs(options.duration_s);
            let asked = queries::Asked {
                url: &server.url,
                token: &token,
                template: &filled.template,
                objects: options.objects,
            };
            let measure = queries::measure(&asked, query, connections, duration).await?;
            report::line(&measure)?;
            measures.push(measure);
        }
    }
    server.stop()?;
    let report = report::Report {
        program: "kedge-bench search",
        version: env!("CARGO_PKG_VERSION"),
        options,
        machine: machine::Machine::here(),
        load_average_before,
        load_average_after: machine::load_average(),
        filled,
        measures,
    };
    report::write(&report, options.output.as_deref())
}
