//! `kedge demo`: an action's whole life on a running server, from a new key to a proof that the chain confirms. On a
//! cluster it can kill the leader meanwhile, and show that nothing is lost.

mod acknowledgement;
mod anchor;
mod failover;
mod report;
mod steps;

use std::path::PathBuf;

use kedge_chain::rpc::RpcEndpoint;
use kedge_client::{Client, RetryPolicy};

use super::output::{CliResult, CommandFailure, print, print_json, refuse_usage};

/// Limit of objects: enough to measure, within a free organization's limits. Minting takes eight batches and updating
/// takes one; ten a minute are allowed.
const OBJECTS_MAX: u32 = 4_000;
/// Time-out of a node's cluster status.
const PART_TIMEOUT_MS: u64 = 5_000;

#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// The server.
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        env = "KEDGE_URL",
        hide_env_values = true
    )]
    url: String,
    /// The server's admin socket, used to request an anchor. In a cluster that takes the leader's: `{node}` stands for
    /// its name.
    #[arg(
        long,
        value_name = "PATH",
        default_value = "data/admin.sock",
        env = "KEDGE_SOCKET",
        hide_env_values = true
    )]
    socket: PathBuf,
    /// For a node of a cluster: a shell command that kills the node that leads. `{node}` stands for its name.
    ///
    /// The demo runs it once, after its other writes and while it writes further ones through another node. Then it
    /// checks that the log holds everything that was acknowledged. Whoever runs the nodes knows how to kill one; the
    /// demo is a client and does not.
    #[arg(long, value_name = "COMMAND")]
    kill_leader_with: Option<String>,
    /// JSON-RPC URL of the chain that the server anchors on.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8545")]
    rpc: RpcEndpoint,
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

pub(crate) async fn run(args: DemoArgs) -> CliResult<()> {
    let client = connect(&args.url).await?;
    let part = kedge_client::node_part(&args.url, PART_TIMEOUT_MS).await?;
    if part.is_none() && args.kill_leader_with.is_some() {
        return refuse_usage(format!(
            "{} is a single node: --kill-leader-with is for a node of a cluster",
            args.url
        ));
    }
    let mut report = report::DemoReport::new(&client);
    let shown = steps::run(&client, args.objects, &mut report).await?;
    let account = match (&part, &args.kill_leader_with) {
        (Some(_), Some(command)) => failover::run(&shown, &args, command, &mut report).await?,
        _ => shown.person.account.clone(),
    };
    let socket = failover::socket(&args, account.client().base_url()).await?;
    anchor::run(&shown, &account, &socket, &args, &mut report).await?;
    if part.is_some() && args.kill_leader_with.is_none() {
        report
            .hints
            .push("kedge demo --kill-leader-with COMMAND loses the leader once".to_owned());
    }
    if args.json {
        print_json(&report.as_json())
    } else {
        print(&report.as_text())
    }
}

/// A client that never retries: the demo must not wait for minutes, and shows refusals immediately.
async fn connect(url: &str) -> CliResult<Client> {
    let client = Client::builder(url).retry(RetryPolicy::never()).connect();
    client.await.map_err(|error| {
        CommandFailure::refused(format!(
            "{error}\n  is the server running? `make run` starts one (--url)"
        ))
    })
}
