//! Bench of searches among a million objects.

mod fixture;
mod queries;

use std::path::PathBuf;
use std::time::Duration;

use kedge_load::connection::LoadConnection;
use kedge_load::figures::print;
use kedge_load::machine::load_average;

use crate::error::BenchResult;
use crate::report::BenchReport;
use crate::server::BenchServer;

/// The options of the search bench.
#[derive(clap::Args, serde::Serialize)]
pub(crate) struct SearchBenchOptions {
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

#[derive(serde::Serialize)]
struct SearchFigures {
    filled: fixture::SearchFixture,
    measures: Vec<queries::QueryFigures>,
}

/// Fills a server, restarts it, and measures one kind of search after the other.
pub(crate) async fn run(options: &SearchBenchOptions) -> BenchResult<()> {
    let scratch = tempfile::tempdir()?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => scratch.path().join("data"),
    };
    let load_average_before = load_average();
    let server = BenchServer::start(&options.server, &data)?;
    let filled = fixture::fill(&server.url, options.objects).await?;
    // The last writes are only in memory; a restart writes them to files and loads them like any other.
    server.stop()?;
    let server = BenchServer::start(&options.server, &data)?;
    let token = fixture::log_in(&server.url).await?;
    let mut measures = Vec::new();
    for query in queries::ALL {
        for &connections in &options.connections {
            let duration = Duration::from_secs(options.duration_s);
            let asked = queries::SearchBenchTarget {
                url: &server.url,
                token: &token,
                template: &filled.template,
                objects: options.objects,
            };
            let measure = queries::measure(&asked, query, connections, duration).await?;
            print(&measure.line())?;
            measures.push(measure);
        }
    }
    server.stop()?;
    let figures = SearchFigures { filled, measures };
    let report = BenchReport::new("kedge-bench search", options, load_average_before, figures);
    report.write("", options.output.as_deref())
}

/// Sends a JSON body and returns the answer's body. Any status but 200 is an error.
async fn post<'a>(
    connection: &'a mut LoadConnection,
    authority: &str,
    path: &str,
    token: Option<&str>,
    body: &str,
) -> BenchResult<&'a [u8]> {
    let credentials = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {authority}\r\n{credentials}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = connection
        .exchange(head.as_bytes(), body.as_bytes())
        .await?;
    if answer.status.is_success() {
        Ok(answer.body)
    } else {
        let body = String::from_utf8_lossy(answer.body);
        Err(format!("{path}: {}: {body}", answer.status).into())
    }
}
