//! `kedge health`: a single request to a running server, for container health checks and scripts.

use kedge_client::{ServerProbe, probe};

use super::output::{CliResult, CommandFailure, print_line};

#[derive(clap::Args)]
pub(crate) struct HealthArgs {
    /// The server.
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        env = "KEDGE_URL",
        hide_env_values = true
    )]
    url: String,
    /// Ask whether the server accepts changes (/readyz), not only whether it answers (/healthz).
    #[arg(long)]
    ready: bool,
    /// How many seconds to wait for the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
}

pub(crate) async fn run(args: HealthArgs) -> CliResult<()> {
    let (asked, yes) = if args.ready {
        (ServerProbe::Ready, "ready")
    } else {
        (ServerProbe::Alive, "ok")
    };
    match probe(&args.url, asked, args.timeout * 1_000).await {
        Ok(None) => print_line(yes),
        Ok(Some(reason)) => Err(CommandFailure::Refused(format!(
            "{} is not ready: {reason}",
            args.url
        ))),
        Err(error) => Err(CommandFailure::Refused(format!("{}: {error}", args.url))),
    }
}
