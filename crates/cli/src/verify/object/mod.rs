//! `kedge verify object`: replays one resource's own history, and compares every field and text with its state proof.

mod check;
mod collection;
mod files;
mod report;

use std::path::PathBuf;

use kedge_protocol::Id;

use self::check::HistoryCheck;
use self::collection::{CollectionArgs, HistoryServer};
use self::files::HistoryFiles;
use crate::input::read;
use crate::output::{CliResult, CommandFailure, refuse_usage};
use crate::trust::TrustArgs;

#[derive(clap::Args)]
pub(crate) struct VerifyObjectArgs {
    /// The resource's id, to ask a server for its history; or files that hold it.
    ///
    /// A file holds any number of answers of GET /state/{id}, /ebus/actions/{id}/proof and /consistency, one after
    /// another; - is standard input. The first state proof is that of the resource to verify, unless an id is given too.
    #[arg(required = true, value_name = "ID|FILE")]
    subject: Vec<String>,
    #[command(flatten)]
    collection: CollectionArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what the history shows as JSON.
    #[arg(long)]
    json: bool,
}

/// Where the history comes from.
enum HistoryPlace {
    Server(Id),
    Files(Option<Id>, Vec<PathBuf>),
}

impl HistoryPlace {
    fn of(subject: &[String]) -> CliResult<Self> {
        let ids: Vec<Id> = subject
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect();
        let names = subject.iter().filter(|text| text.parse::<Id>().is_err());
        let files: Vec<PathBuf> = names.map(PathBuf::from).collect();
        match (ids.as_slice(), files.is_empty()) {
            ([id], true) => Ok(Self::Server(*id)),
            ([], false) => Ok(Self::Files(None, files)),
            ([id], false) => Ok(Self::Files(Some(*id), files)),
            _ => {
                refuse_usage("name one resource: the histories of several are verified one by one")
            }
        }
    }
}

pub(crate) async fn run(args: VerifyObjectArgs) -> CliResult<()> {
    let place = HistoryPlace::of(&args.subject)?;
    let stated = args.trust.url().map(str::to_owned);
    if let HistoryPlace::Files(..) = place
        && let Some(option) = args.collection.given()
    {
        return refuse_usage(format!(
            "{option} is for a history that a server is asked for, by an id alone"
        ));
    }
    let trust = args.trust.resolve().await?;
    let (domain, keys) = trust.of_log().await?;
    let (files, id) = match place {
        HistoryPlace::Files(id, names) => {
            let mut files = HistoryFiles::default();
            for name in &names {
                let added = files.add(&read(name)?);
                added.map_err(|failure| CommandFailure::at(name)(failure.message()))?;
            }
            let id = id.map_or_else(|| files.first(), Ok)?;
            (files, id)
        }
        HistoryPlace::Server(id) => {
            let server = HistoryServer::connect(&args.collection, stated, (domain, keys.clone()));
            let server = server.await?;
            let collected = server.collect(id).await;
            let (files, failed) = collected.into_parts();
            if let Some(path) = &args.collection.save {
                // What a failed check was about is kept too.
                files.write(path)?;
            }
            if let Some(failure) = failed {
                return Err(failure);
            }
            (files, id)
        }
    };
    let check = HistoryCheck {
        files: &files,
        domain: &domain,
        keys: &keys,
    };
    let shown = check.run(id)?;
    let anchored = super::state::anchored(&shown.checkpoint, shown.is_anchored, &trust).await?;
    report::print(&shown, &keys, &anchored, args.json)
}
