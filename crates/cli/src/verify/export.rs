//! `kedge verify export`: a third party's check of the log's export.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use kedge_chain::contract::LatestCheckpoint;
use kedge_chain::rpc::BlockTag;
use kedge_client::Client;
use kedge_protocol::Hash;
use kedge_protocol::export::{ExportChecker, ExportLine, ExportLineKind, ExportSummary, LogLine};
use kedge_protocol::record::RequestRecord;
use kedge_protocol::time::rfc3339;
use kedge_rules::fold::FoldState;
use serde_json::json;

use super::super::output::{CliResult, CommandFailure, refuse};
use super::super::trust::{CliTrust, TrustArgs, read_failure};
use super::rows::{VerifyRows, report};

#[derive(clap::Args)]
pub(crate) struct VerifyExportArgs {
    /// The file; or the server's URL, to check an export while it is received.
    source: String,
    /// The number of the first batch, for an export from a server.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// File with an access token: the server then includes its organization's requests.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what the export shows as JSON.
    #[arg(long)]
    json: bool,
}

/// Source of the export's lines.
enum VerifyExportSource {
    File(BufReader<File>),
    Server(Box<kedge_client::Export>),
}

impl VerifyExportSource {
    async fn open(args: &VerifyExportArgs) -> CliResult<Self> {
        let unreadable = |path: &str, error| CommandFailure::usage(format!("{path}: {error}"));
        if !args.source.starts_with("http://") && !args.source.starts_with("https://") {
            let file = File::open(&args.source);
            let file = file.map_err(|error| unreadable(&args.source, error))?;
            return Ok(Self::File(BufReader::new(file)));
        }
        let token = match &args.token_file {
            None => None,
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .map_err(|error| unreadable(&path.display().to_string(), error))?,
            ),
        };
        let client = Client::builder(&args.source).connect().await?;
        let export = client.export(args.from, token.as_deref().map(str::trim));
        Ok(Self::Server(Box::new(export.await?)))
    }

    async fn line(&mut self) -> CliResult<Option<String>> {
        let bytes = match self {
            Self::Server(export) => match export.line().await? {
                None => return Ok(None),
                Some(line) => line.to_vec(),
            },
            Self::File(file) => {
                let mut line = Vec::new();
                file.read_until(b'\n', &mut line)?;
                if line.is_empty() {
                    return Ok(None);
                }
                line
            }
        };
        // Text that is not UTF-8 is not JSON either: the checker reports it with the line's number.
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

pub(crate) async fn run(args: VerifyExportArgs) -> CliResult<()> {
    let mut source = VerifyExportSource::open(&args).await?;
    let first = source.line().await?;
    let first = first.ok_or_else(|| CommandFailure::refused("the export is empty"))?;
    let log = match serde_json::from_str(&first) {
        Ok(ExportLine::Log(log)) => log,
        Ok(_) => {
            let what = "line 1: an export begins with the line `log`";
            return refuse(what);
        }
        Err(error) => {
            return refuse(format!("line 1: not a line of an export: {error}"));
        }
    };
    let trust = args.trust.resolve().await?;
    let (domain, keys) = trust.of(log.domain).await?;
    let mut chain = ExportAnchorCheck::ask(&trust).await?;
    let mut checker = ExportChecker::new(domain, keys);
    let mut replay = VerifyExportReplay::of(&log);
    let mut next = Some(first);
    while let Some(line) = next {
        match checker.line(&line)? {
            ExportLineKind::Request(record) => replay.request(&record)?,
            ExportLineKind::Log(_) | ExportLineKind::Batch => chain.compare(&checker)?,
            ExportLineKind::Checkpoint => {}
        }
        next = source.line().await?;
    }
    let shown = checker.finish()?;
    let anchored = chain.finish(&shown)?;
    report(&rows(&shown, replay.is_whole(&shown), &anchored), args.json)
}

fn rows(shown: &ExportSummary, replayed: bool, anchored: &str) -> VerifyRows {
    let checkpoint = &shown.checkpoint.checkpoint;
    vec![
        ("valid", json!(true)),
        ("first batch", json!(shown.from)),
        ("batches", json!(shown.batches)),
        ("actions", json!(shown.actions)),
        ("requests checked", json!(shown.requests)),
        ("actions opened", json!(shown.opened)),
        (
            "key additions without consent",
            json!(shown.additions_without_consent),
        ),
        ("rules replayed", json!(replayed)),
        ("sequence", json!(checkpoint.sequence)),
        ("head", json!(checkpoint.head)),
        ("history", json!(checkpoint.history)),
        ("signed at", json!(rfc3339(checkpoint.issued_at_ms))),
        ("anchored", json!(anchored)),
    ]
}

/// Replays the rules until a request is missing.
struct VerifyExportReplay {
    state: Option<FoldState>,
    sequence: u64,
}

impl VerifyExportReplay {
    fn of(log: &LogLine) -> Self {
        let begins = log.from == 0 && log.organization_id.is_some();
        Self {
            state: begins.then(|| FoldState::new(log.operators.clone())),
            sequence: 0,
        }
    }

    fn request(&mut self, record: &RequestRecord<'_>) -> CliResult<()> {
        if record.first_sequence != self.sequence + 1 {
            // Another organization's request is missing here, and its effect is unknown.
            self.state = None;
        }
        if let Some(state) = &mut self.state {
            state.apply(record)?;
            self.sequence = record.last_sequence();
        }
        Ok(())
    }

    fn is_whole(&self, shown: &ExportSummary) -> bool {
        self.state.is_some() && self.sequence == shown.checkpoint.checkpoint.sequence
    }
}

/// The contract's newest checkpoint, which the export must reach.
struct ExportAnchorCheck {
    newest: Option<LatestCheckpoint>,
    /// The checkpoint's head, if the node still has the event.
    head: Option<Hash>,
    met: bool,
}

impl ExportAnchorCheck {
    async fn ask(trust: &CliTrust) -> CliResult<Self> {
        let mut chain = Self {
            newest: None,
            head: None,
            met: false,
        };
        if let Some(contract) = trust.contract() {
            let newest = contract
                .latest(BlockTag::Finalized)
                .await
                .map_err(read_failure)?;
            let event = contract.anchored_event(newest.batches);
            let event = event.await.map_err(read_failure)?;
            chain.head = event.map(|event| event.checkpoint.head);
            chain.newest = Some(newest);
        }
        Ok(chain)
    }

    fn compare(&mut self, checker: &ExportChecker) -> CliResult<()> {
        let Some(newest) = &self.newest else {
            return Ok(());
        };
        if newest.batches != checker.batches() {
            return Ok(());
        }
        let (sequence, head, history) = checker.reached();
        let same = (newest.sequence, newest.history) == (sequence, history)
            && self.head.is_none_or(|anchored| anchored == head);
        if newest.batches > 0 && !same {
            return refuse(format!(
                "at {} batches the contract holds another log: sequence {} and history {}, not \
                 {sequence} and {history} with head {head}",
                newest.batches, newest.sequence, newest.history
            ));
        }
        self.met = true;
        Ok(())
    }

    fn finish(&self, shown: &ExportSummary) -> CliResult<String> {
        let batches = shown.checkpoint.checkpoint.batches;
        match &self.newest {
            None => Ok("not asked; --rpc asks the chain".to_owned()),
            Some(newest) if newest.batches == 0 => Ok("nothing yet, by the contract".to_owned()),
            Some(newest) if self.met => Ok(format!(
                "{} of {batches} batches, by the contract's finalized checkpoint",
                newest.batches
            )),
            Some(newest) if newest.batches < shown.from => {
                Ok("the contract's newest checkpoint is older than this export".to_owned())
            }
            Some(newest) => refuse(format!(
                "the contract holds {} batches, the export only {batches}: the export is old or was \
                 shortened",
                newest.batches
            )),
        }
    }
}
