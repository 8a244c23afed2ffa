//! `kedge archive`.

use std::path::PathBuf;

use kedge_upkeep::private_files::make_private_from_now_on;
use serde_json::json;

use super::admin;
use super::output::{CliResult, CommandFailure, columns, print, print_json};

#[derive(clap::Args)]
pub(crate) struct ArchiveArgs {
    /// The archive: a directory outside the data directory, created if it is missing. Copies of the log need the
    /// archive as long as they exist.
    dir: PathBuf,
    /// Archive the sealed segments that hold nothing from this sequence on.
    #[arg(long, value_name = "N", required_unless_present = "keep_segments")]
    before_sequence: Option<u64>,
    /// Archive all but this many of the newest sealed segments.
    #[arg(long, value_name = "K", conflicts_with = "before_sequence")]
    keep_segments: Option<usize>,
    #[command(flatten)]
    socket: admin::SocketArgs,
}

pub(crate) async fn run(args: ArchiveArgs) -> CliResult<()> {
    make_private_from_now_on();
    let dir = std::path::absolute(&args.dir).map_err(CommandFailure::usage)?;
    let command = json!({
        "command": "archive",
        "directory": dir,
        "before_sequence": args.before_sequence,
        "keep_segments": args.keep_segments,
    });
    let answer = admin::ask_to_copy(&args.socket.socket, &command).await?;
    if args.socket.json {
        return print_json(&answer);
    }
    let number = |member: &str| {
        answer
            .get(member)
            .map_or_else(|| "-".to_owned(), ToString::to_string)
    };
    let last = match answer.get("last_sequence") {
        Some(last) if !last.is_null() => last.to_string(),
        _ => "-".to_owned(),
    };
    let mut rows = vec![
        ("archive", dir.display().to_string()),
        ("segments", number("segments")),
        ("bytes", number("bytes")),
        ("up to sequence", last),
    ];
    if answer.get("segments") == Some(&json!(0)) {
        let why = "no sealed segment is both that old and finally anchored; `kedge admin status` shows the anchors";
        rows.push(("why none", why.to_owned()));
    }
    print(&columns(&rows))
}
