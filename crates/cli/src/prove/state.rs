//! `kedge prove state`: a state proof from a data directory.

use std::path::PathBuf;

use kedge_protocol::Id;
use kedge_protocol::state::StateAnswer;
use kedge_protocol::state::entry::has_entries;
use kedge_upkeep::prove::StateSource;
use kedge_upkeep::verify::StoreVerifier;

use super::super::output::{CliResult, CommandFailure, progress_bar, refuse_usage};
use super::super::trust::TrustArgs;
use super::super::verify::bounds::BoundsArgs;
use super::super::verify::data::development;

#[derive(clap::Args)]
pub(crate) struct ProveStateArgs {
    /// The id: of an object, a wallet, an organization, a template, a variation, an API key, a webhook, a file or a
    /// dispute, or of the action that named a sequencer key.
    id: Id,
    /// Prove it at the first kept checkpoint at or after this sequence; at the newest one if this is absent.
    #[arg(long, value_name = "N")]
    at_sequence: Option<u64>,
    /// The data directory of a stopped server, or a copy of one, such as a backup.
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// The archive's directory, if segments of the log were archived.
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// A development server's directory: read its contract and its key from the directory itself.
    #[arg(long, conflicts_with_all = ["url", "domain", "sequencer", "rpc"])]
    dev: bool,
    #[command(flatten)]
    bounds: BoundsArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

pub(super) async fn prove(args: ProveStateArgs) -> CliResult<StateAnswer> {
    if !has_entries(args.id.prefix) {
        return refuse_usage(format!(
            "the state has no ids that begin with {}_: name a resource",
            args.id.prefix.text()
        ));
    }
    let (domain, keys) = if args.dev {
        let (domain, first) = development(&args.data)?;
        (domain, first.into())
    } else {
        args.trust.resolve().await?.of_log().await?
    };
    let (store, bounds) = (args.data.join("store"), args.bounds.bounds());
    let verifier = StoreVerifier::open(&store, domain, keys, bounds.clone())?;
    // The log continues the trusted keys, which may be the first ones.
    let keys = verifier.sequencer_keys()?;
    let found = verifier.checkpoint_at(args.at_sequence)?;
    let checkpoint = found.ok_or_else(|| no_checkpoint(args.at_sequence))?;
    let source = StateSource {
        data: &args.data,
        archive: args.archive.as_deref(),
        bounds,
    };
    let bar = progress_bar("folding");
    bar.set_length(checkpoint.checkpoint.batches);
    let proven = verifier.prove(args.id, checkpoint, &source, |at| bar.set_position(at))?;
    bar.finish_and_clear();
    let root = (proven.checkpoint, proven.anchor);
    let answer = StateAnswer::new(proven.proof, proven.texts, root)?;
    answer.verify(&domain, &keys)?;
    Ok(answer)
}

fn no_checkpoint(at_sequence: Option<u64>) -> CommandFailure {
    CommandFailure::refused(match at_sequence {
        None => "the store holds no signed checkpoint with a root of the state: the server signs one after its first \
                 batches, and an upgraded one once all nodes run the new program"
            .to_owned(),
        Some(sequence) => format!(
            "the store holds no signed checkpoint at or after sequence {sequence}: leave out --at-sequence for the newest, \
             or copy the directory again later"
        ),
    })
}
