//! `kedge sign`: the headers of a signed request, for curl and for inspection.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kedge_client::random;
use kedge_client::sign::{RequestTerms, SignableAction, SignedRequest, deadline_in, sign};
use kedge_protocol::action::Kind;
use kedge_protocol::hash::sha256;
use kedge_protocol::limits::DEADLINE_AHEAD_S_MAX;
use kedge_protocol::payload::digest_text;
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::json;

use super::key::KeySourceArgs;
use super::output::{CliResult, CommandFailure, print, print_json};
use super::trust::DomainArgs;

/// Prints headers to standard output, one per line, as curl reads them:
///
///    kedge sign --kind update --target obj_… --payload body.json --nonce 7 >headers
///    curl -X PATCH -H @headers -H "Authorization: Bearer $TOKEN" \
///         -H 'Content-Type: application/json' --data-binary @body.json "$URL/objects/obj_…"
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SignArgs {
    /// The kind of action: mint, update, template.create, …
    #[arg(long, value_parser = parse_kind)]
    kind: Kind,
    /// The id of the action's target; empty for actions without one.
    #[arg(long, default_value = "")]
    target: String,
    /// File with the exact payload; - for standard input. Without it: {} on the action bus,
    /// otherwise empty.
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// Sign the payload's digest: for bodies with a secret, and for files.
    #[arg(long)]
    digest: bool,
    /// A nonce that was not used before; GET /wallets/me returns the highest used.
    #[arg(long)]
    nonce: u64,
    /// How many seconds the signature is valid.
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..=DEADLINE_AHEAD_S_MAX))]
    deadline: u64,
    /// Sign as the only action of an atomic batch.
    #[arg(long)]
    atomic: bool,
    #[command(flatten)]
    of: DomainArgs,
    /// Print headers, digest, content and the action's id as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    key: KeySourceArgs,
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    Kind::of_text(text).ok_or_else(|| "is not a kind of action; see docs/PROTOCOL.md".to_owned())
}

pub(crate) async fn run(args: SignArgs) -> CliResult<()> {
    let key = args.key.read()?;
    let mut payload = match &args.payload {
        Some(file) => read(file)?,
        None if args.kind.is_bus() => b"{}".to_vec(),
        None => Vec::new(),
    };
    if args.digest {
        payload = digest_text(&sha256(&payload)).into_bytes();
    }
    let domain = args.of.domain().await?;
    let action = SignableAction {
        kind: &args.kind,
        target: &args.target,
        payload: &payload,
    };
    let terms = RequestTerms {
        key: &key,
        domain_separator: &domain.separator(),
        nonce: args.nonce,
        deadline_s: deadline_in(Duration::from_secs(args.deadline)),
        atomic: args.atomic,
        seed: random::seed()?,
    };
    let signed = sign(&terms, std::slice::from_ref(&action))?;
    if args.json {
        return print_json(&as_json(&signed, &signed.contents[0]));
    }
    let lines = signed
        .headers()
        .map(|(name, value)| format!("{name}: {value}\n"));
    print(&lines.concat())
}

fn as_json(signed: &SignedRequest, content: &Hash) -> serde_json::Value {
    let headers: serde_json::Map<_, _> = signed
        .headers()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    json!({
        "headers": headers,
        "digest": signed.digest,
        "content": content,
        "action_id": Id::of_hash(Prefix::Action, content),
    })
}

fn read(file: &Path) -> CliResult<Vec<u8>> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(CommandFailure::unreadable(file))
}
