//! `kedge admin`: the operator's commands, over the server's Unix socket. Requests and answers are one line of JSON
//! each: `{"command": …}`, then `{"ok": true, …}` or `{"ok": false, "error": …}`.

mod tiers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use kedge_protocol::resource::CustomLimits;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::output::{CliResult, CommandFailure, columns, print, print_json, refuse};
use tiers::TiersArgs;

/// Time-out of an answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// Time-out of commands that copy the log.
const COPY_PATIENCE: Duration = Duration::from_hours(24);

#[derive(Args)]
pub(crate) struct SocketArgs {
    /// The server's admin socket (its option admin_socket).
    #[arg(
        long,
        value_name = "PATH",
        default_value = "data/admin.sock",
        env = "KEDGE_SOCKET",
        hide_env_values = true
    )]
    pub(crate) socket: PathBuf,
    /// Print the answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct TierArgs {
    /// The organization's id.
    organization_id: String,
    /// free, developer, enterprise or custom.
    tier: String,
    /// All requests per minute; a limit that is not given is unlimited. Only for the custom tier,
    /// like the other limits.
    #[arg(long, value_name = "N")]
    requests_per_minute: Option<u64>,
    /// All requests per day.
    #[arg(long, value_name = "N")]
    requests_per_day: Option<u64>,
    /// Creating and changing objects, per minute.
    #[arg(long, value_name = "N")]
    object_writes_per_minute: Option<u64>,
    /// Batches of actions, per minute.
    #[arg(long, value_name = "N")]
    action_batches_per_minute: Option<u64>,
    /// Uploads, per minute.
    #[arg(long, value_name = "N")]
    file_uploads_per_minute: Option<u64>,
    /// Creating templates, per minute.
    #[arg(long, value_name = "N")]
    template_writes_per_minute: Option<u64>,
    /// Reading the lists of objects, templates and batches, per minute.
    #[arg(long, value_name = "N")]
    list_reads_per_minute: Option<u64>,
    /// Bytes in the log.
    #[arg(long, value_name = "N")]
    log_bytes: Option<u64>,
    #[command(flatten)]
    socket: SocketArgs,
}

impl TierArgs {
    fn command(&self) -> Value {
        json!({
            "command": "tier",
            "organization_id": self.organization_id,
            "tier": self.tier,
            "limits": CustomLimits {
                requests_per_minute: self.requests_per_minute,
                requests_per_day: self.requests_per_day,
                object_writes_per_minute: self.object_writes_per_minute,
                action_batches_per_minute: self.action_batches_per_minute,
                file_uploads_per_minute: self.file_uploads_per_minute,
                template_writes_per_minute: self.template_writes_per_minute,
                list_reads_per_minute: self.list_reads_per_minute,
                log_bytes: self.log_bytes,
            },
        })
    }
}

#[derive(Args)]
pub(crate) struct RotateTokenArgs {
    /// Sign with the new key now: verifiers that keep the published keys refuse its tokens until they ask again.
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    socket: SocketArgs,
}

#[derive(Args)]
pub(crate) struct RetireTokenKeyArgs {
    /// The key's id: the `kid` of the tokens that it signed. Without it, all keys; a node among several needs it.
    id: Option<String>,
    #[command(flatten)]
    socket: SocketArgs,
}

#[derive(Args)]
pub(crate) struct ClockArgs {
    /// The right time, in UTC: 2026-01-31T08:15:00Z.
    #[arg(long, value_name = "TIME")]
    confirm: Option<String>,
    #[command(flatten)]
    socket: SocketArgs,
}

impl ClockArgs {
    fn command(&self) -> Value {
        json!({ "command": "clock", "confirm": self.confirm })
    }
}

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    /// Anchor the newest checkpoint now instead of at the next interval.
    ///
    /// Returns once a block contains the anchor, or, with the status `submitted`, after 25 seconds in which
    /// its transaction was sent. Fails with the reason if it was not.
    AnchorNow(SocketArgs),
    /// Sign new access tokens with a new key; the old key still verifies existing tokens.
    ///
    /// GET /.well-known/jwks.json shows the new key now. It signs five and a half minutes later, when every verifier has
    /// asked for the published keys again. On several nodes, copy the file to all of them within that time.
    RotateTokenKey(RotateTokenArgs),
    /// Seal the log's side entries with a new key from now on.
    ///
    /// Makes the next data/keys/side-entries-<n>.key; the running server seals with it at once, without a restart. Keep
    /// the older keys as long as segments that name them are kept: what a key sealed opens under that key alone. `kedge
    /// verify log` prints which keys a log names.
    RotateSideKey(SocketArgs),
    /// Refuse at once all tokens that a stolen key signed, and delete the key.
    ///
    /// If no key would be left, a new one is made first. Callers whose access tokens are no longer
    /// valid get new ones with their refresh tokens.
    RetireTokenKey(RetireTokenKeyArgs),
    /// Check the chain again after trouble with it, and continue if nothing stands in the way.
    ///
    /// A store that the chain contradicts accepts no writes. Once the right chain answers again, or
    /// the right store is in place, this command makes it accept writes again and anchors what is
    /// new.
    Recover(SocketArgs),
    /// Report the state of the server's clock, and confirm it.
    ///
    /// The server does not trust a clock that is far ahead of everything it knows of the time, and refuses writes. If
    /// the clock is right nevertheless (the log was idle for long and no node answers), confirm it: --confirm with the
    /// time as you know it from elsewhere.
    Clock(ClockArgs),
    /// Set an organization's tier: free, developer, enterprise, or custom with limits.
    Tier(TierArgs),
    /// Show the tiers: what each allows, how many organizations it has, and which are nearest to a limit.
    ///
    /// Also how much of the log is raw, sealed (compressed) or archived. Organizations are counted at most once a minute,
    /// and at most 100,000 of them. With several nodes, ask the one that leads: it counts requests for all.
    Tiers(TiersArgs),
    /// Show the server's state: its log, its anchors, its chain.
    Status(SocketArgs),
}

pub(crate) async fn run(command: AdminCommand) -> CliResult<()> {
    let plain = |name: &str| json!({ "command": name });
    let (request, args) = match &command {
        AdminCommand::AnchorNow(args) => (plain("anchor_now"), args),
        AdminCommand::RotateTokenKey(args) => (
            json!({ "command": "rotate_token_key", "now": args.now }),
            &args.socket,
        ),
        AdminCommand::RotateSideKey(args) => (plain("rotate_side_key"), args),
        AdminCommand::RetireTokenKey(args) => (
            json!({ "command": "retire_token_key", "id": args.id }),
            &args.socket,
        ),
        AdminCommand::Status(args) => (plain("status"), args),
        AdminCommand::Recover(args) => (plain("recover"), args),
        AdminCommand::Clock(args) => (args.command(), &args.socket),
        AdminCommand::Tier(args) => (args.command(), &args.socket),
        AdminCommand::Tiers(args) => return tiers::run(args).await,
    };
    ask_and_print(&request, args).await
}

/// Sends a command and prints its answer's members.
pub(crate) async fn ask_and_print(request: &Value, args: &SocketArgs) -> CliResult<()> {
    let answer = ask_with(&args.socket, request).await?;
    if args.json {
        return print_json(&answer);
    }
    let mut rows = Vec::new();
    for (member, value) in answer.iter().filter(|(member, _)| *member != "ok") {
        push_rows(&mut rows, member, value);
    }
    let rows: Vec<(&str, String)> = rows
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    if rows.is_empty() {
        return print("ok\n");
    }
    print(&columns(&rows))
}

/// Adds one row for a value, or one per member of an object.
fn push_rows(rows: &mut Vec<(String, String)>, name: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                push_rows(rows, &format!("{name}.{member}"), value);
            }
        }
        other => rows.push((name.to_owned(), text(other))),
    }
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Sends a command without members; returns its answer's members.
pub(crate) async fn ask(socket: &Path, command: &str) -> CliResult<Map<String, Value>> {
    ask_with(socket, &json!({ "command": command })).await
}

/// Sends a command that copies parts of the log; returns its answer's members.
pub(crate) async fn ask_to_copy(socket: &Path, command: &Value) -> CliResult<Map<String, Value>> {
    ask_within(socket, command, COPY_PATIENCE).await
}

/// Sends a command; returns its answer's members.
pub(crate) async fn ask_with(socket: &Path, command: &Value) -> CliResult<Map<String, Value>> {
    ask_within(socket, command, PATIENCE).await
}

async fn ask_within(
    socket: &Path,
    command: &Value,
    patience: Duration,
) -> CliResult<Map<String, Value>> {
    let line = tokio::time::timeout(patience, exchange(socket, command))
        .await
        .map_err(|_| {
            let (path, minutes) = (socket.display(), patience.as_secs() / 60);
            CommandFailure::refused(format!("no answer on {path} within {minutes} minutes"))
        })?
        .map_err(|error| {
            let path = socket.display();
            CommandFailure::refused(format!(
                "{path}: {error}\n  is the server running, and is this its admin_socket? (--socket)"
            ))
        })?;
    let answer: Map<String, Value> = serde_json::from_str(&line).map_err(|error| {
        CommandFailure::refused(format!("the server's answer is unreadable: {error}"))
    })?;
    if answer.get("ok") == Some(&Value::Bool(true)) {
        return Ok(answer);
    }
    let error = answer
        .get("error")
        .map_or_else(|| "no reason given".to_owned(), text);
    let name = command["command"].as_str().unwrap_or_default();
    refuse(format!("{name}: {error}"))
}

async fn exchange(socket: &Path, command: &Value) -> std::io::Result<String> {
    let stream = UnixStream::connect(socket).await?;
    let mut stream = BufReader::new(stream);
    let request = format!("{command}\n");
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    async fn answered_with(line: &'static str) -> CliResult<Map<String, Value>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("admin.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut request = String::new();
            stream.read_line(&mut request).await.unwrap();
            assert_eq!(request, "{\"command\":\"status\"}\n");
            stream.write_all(line.as_bytes()).await.unwrap();
        });
        let answer = ask(&path, "status").await;
        server.await.unwrap();
        answer
    }

    #[tokio::test]
    async fn answers_and_refusals() {
        let answer = answered_with("{\"ok\":true,\"batches\":3}\n")
            .await
            .unwrap();
        assert_eq!(answer["batches"], 3);
        let refusal = answered_with("{\"ok\":false,\"error\":\"not now\"}\n")
            .await
            .unwrap_err();
        assert_eq!((refusal.code(), refusal.message()), (1, "status: not now"));
        assert_eq!(answered_with("").await.unwrap_err().code(), 1);
        assert_eq!(answered_with("hello\n").await.unwrap_err().code(), 1);
    }

    #[test]
    fn members_of_members_are_rows() {
        let mut rows = Vec::new();
        push_rows(
            &mut rows,
            "a",
            &json!({"b": 1, "c": {"d": null, "e": "text"}}),
        );
        let expected = [("a.b", "1"), ("a.c.d", "-"), ("a.c.e", "text")];
        assert_eq!(rows, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[tokio::test]
    async fn no_socket() {
        let refusal = ask(Path::new("/nonexistent.sock"), "status")
            .await
            .unwrap_err();
        assert!(refusal.message().contains("is the server running"));
    }
}
