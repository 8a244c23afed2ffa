//! `kedge cluster`: a log's nodes, over a node's Unix socket, and its stream, while all nodes are stopped.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use kedge_cluster::node::cluster_options;
use kedge_cluster::{Cluster, ReseedError, StreamError};
use kedge_config::ConfigSources;
use kedge_log::LogReader;
use kedge_log::env::RealEnv;
use serde_json::json;

use super::admin::{SocketArgs, ask_and_print};
use super::output::{CliResult, CommandFailure, columns, print, print_json};

#[derive(Args)]
pub(crate) struct HandOverArgs {
    /// The node that is to lead. Without it, the one that is furthest.
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    #[command(flatten)]
    socket: SocketArgs,
}

#[derive(Args)]
pub(crate) struct RemoveNodeArgs {
    /// The node that will not come back.
    node: String,
    #[command(flatten)]
    socket: SocketArgs,
}

#[derive(Args)]
pub(crate) struct ReseedArgs {
    /// The configuration file of the node with the longest log.
    #[arg(long, value_name = "FILE", env = "KEDGE_CONFIG")]
    config: PathBuf,
    /// The first frame that the stream is to hold. Nodes that lack earlier ones then need a copy of another node's data.
    #[arg(long, value_name = "FRAME")]
    from: Option<u64>,
    /// Also if the stream holds frames that this log lacks: they are lost then.
    #[arg(long)]
    force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show every node: who leads, in which term, and how far each one is.
    Status(SocketArgs),
    /// Let another node lead. Ask the node that leads now.
    ///
    /// Returns once that node has taken over. Requests in flight are answered first. Writes pause for less than half a second; clients that repeat a request
    /// answered 503 notice nothing else.
    HandOver(HandOverArgs),
    /// Make the stream again from a node's own log. Stop all nodes first.
    ///
    /// For a stream that lost frames or was damaged, and to share the log that a single node has kept so far. Use the
    /// node with the longest log; `kedge verify log` names the last frame of each.
    Reseed(ReseedArgs),
    /// Forget a node that will not come back.
    ///
    /// Stop it first: one that still runs is not removed.
    Remove(RemoveNodeArgs),
}

pub(crate) async fn run(command: ClusterCommand) -> CliResult<()> {
    let (request, socket) = match command {
        ClusterCommand::Reseed(args) => return reseed(args).await,
        ClusterCommand::Status(socket) => (json!({ "command": "cluster_status" }), socket),
        ClusterCommand::HandOver(args) => (
            json!({ "command": "hand_over", "to": args.to }),
            args.socket,
        ),
        ClusterCommand::Remove(args) => (
            json!({ "command": "remove_node", "node": args.node }),
            args.socket,
        ),
    };
    ask_and_print(&request, &socket).await
}

/// Bytes of cached decompressed blocks while reading the log.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// A stream with a broken end cannot be compared with the log, so only `--force` recreates it.
fn reseed_failure(error: ReseedError, is_forced: bool) -> CommandFailure {
    match error {
        ReseedError::Stream(StreamError::Broken(broken)) if !is_forced => {
            CommandFailure::refused(format!(
                "the end of the stream cannot be read: at frame {} it holds {}, where {} is expected. So it is not known \
             whether it holds frames that this log lacks; nothing was changed\n  make sure that no other node has a longer \
             log, then add --force",
                broken.frame, broken.stream, broken.log
            ))
        }
        error => CommandFailure::refused(error),
    }
}

async fn reseed(args: ReseedArgs) -> CliResult<()> {
    let config = kedge_config::load(&ConfigSources {
        file: Some(&args.config),
        overrides: Vec::new(),
    });
    let config = config.map_err(CommandFailure::usage)?;
    let options = cluster_options(&config).ok_or_else(|| {
        CommandFailure::usage(
            "cluster_servers is not set: this is the configuration of a single node",
        )
    })?;
    let log = config.data_dir.join("log");
    let (reader, _) = LogReader::open(Arc::new(RealEnv), &log, None, CACHE_BYTES)?;
    let cluster = Cluster::connect(options, reader.identity()).await?;
    let from = args.from.unwrap_or_else(|| reader.first_frame());
    let bar = ProgressBar::new(reader.position().frame);
    let done = cluster
        .reseed(&reader, from, args.force, |frame| bar.set_position(frame))
        .await;
    bar.finish_and_clear();
    let done = done.map_err(|error| reseed_failure(error, args.force))?;
    if args.json {
        return print_json(&json!({
            "first_frame": done.first,
            "last_frame": done.last,
            "bytes": done.bytes,
        }));
    }
    print(&columns(&[
        ("first frame", done.first.to_string()),
        ("last frame", done.last.to_string()),
        ("bytes", done.bytes.to_string()),
    ]))
}
