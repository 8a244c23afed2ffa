//! Options of `kedge import`.

use std::path::PathBuf;

use clap::ValueEnum;
use kedge_protocol::limits::{BATCH_ACTIONS_MAX, DEADLINE_AHEAD_S_MAX};
use kedge_protocol::{Id, Prefix};

use super::access::ImportAccessArgs;
use crate::key::KeySourceArgs;

/// How records are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum ImportFormat {
    /// A JSON object on each line.
    Ndjson,
    /// RFC 4180, with a header.
    Csv,
    /// Blocks of a QLDB journal as its export writes them (Ion text, Ion binary or JSON), or rows of a committed view:
    /// the last revision of each document. FILE may be the folder of an export.
    Qldb,
}

/// What an empty CSV field means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum EmptyCsvField {
    /// The template's default stands.
    Omit,
    /// The object has no such property, whatever the template's default is.
    Null,
    /// A text without characters.
    Text,
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum ColumnType {
    /// A text, as it is.
    Text,
    /// A number, as JSON writes it.
    Number,
    /// true, false, t, f, yes, no, y, n, 1 or 0.
    Boolean,
    /// A JSON object or array.
    Json,
}

/// What happens to records that are not valid, or that the server refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum ImportErrorPolicy {
    /// Mint nothing if a record is not valid; stop when the server refuses one.
    Stop,
    /// Mint the others, and write these to --rejected.
    Skip,
}

/// Whether to mint.
#[derive(clap::Args)]
pub(super) struct Consent {
    /// Check every record, show the first objects as they would be minted, and send nothing.
    #[arg(long)]
    pub(super) check: bool,
    /// Mint without asking. Otherwise the command shows the first objects and asks.
    #[arg(long, short = 'y')]
    pub(super) yes: bool,
}

#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    /// The records: NDJSON (a JSON object on each line), CSV with a header, or an export of a QLDB journal (with --format
    /// qldb), also compressed by gzip; - for standard input.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// The server.
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        env = "KEDGE_URL",
        hide_env_values = true
    )]
    pub(super) url: String,
    /// The template that the objects are minted from.
    #[arg(long, value_name = "ID", value_parser = parse_template)]
    pub(super) template: Id,
    /// The input's format, if its name does not end in .csv, .tsv, .ndjson, .jsonl or .json (and .gz).
    #[arg(long)]
    pub(super) format: Option<ImportFormat>,
    /// The column that identifies a record: it must be there, and no two records may share its value.
    #[arg(long, value_name = "COLUMN")]
    pub(super) key: Option<String>,
    /// A property that is not named as its column: --map FIELD=COLUMN, several times. A FIELD such as /address/city is
    /// a place within the properties; a COLUMN such as /metadata/id is a place within an NDJSON record.
    #[arg(long = "map", value_name = "FIELD=COLUMN", value_parser = parse_pair)]
    pub(super) maps: Vec<(String, String)>,
    /// A column that becomes no property; several times.
    #[arg(long, value_name = "COLUMN")]
    pub(super) omit: Vec<String>,
    /// The place within an NDJSON record of the object that becomes the properties, such as /data.
    #[arg(long, value_name = "POINTER")]
    pub(super) properties: Option<String>,
    /// The column with the object's owner: a wallet's id or address. Without it the objects are the caller's.
    #[arg(long, value_name = "COLUMN")]
    pub(super) owner: Option<String>,
    /// The column with the variation of the template: its id or its name.
    #[arg(long, value_name = "COLUMN")]
    pub(super) variation: Option<String>,
    /// The type of a CSV column, where the template's schema does not state it; several times.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = parse_type)]
    pub(super) types: Vec<(String, ColumnType)>,
    /// What an empty CSV field means: omit leaves the template's default, null leaves the property out altogether, text
    /// is an empty text.
    #[arg(long, value_name = "MEANING", default_value = "omit")]
    pub(super) empty: EmptyCsvField,
    /// The character between CSV fields; a comma, or a tab for .tsv. \t is a tab.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    pub(super) delimiter: Option<u8>,
    /// The names of the CSV columns, separated by commas, for a file without a header.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) columns: Vec<String>,
    /// The table of a QLDB export whose documents are imported; needed if the export has several.
    #[arg(long, value_name = "NAME")]
    pub(super) table: Option<String>,
    /// Take columns and members that the template's schema does not name.
    #[arg(long)]
    pub(super) allow_extra: bool,
    #[command(flatten)]
    pub(super) consent: Consent,
    /// What happens to records that are not valid, or that the server refuses.
    #[arg(long, default_value = "stop")]
    pub(super) on_error: ImportErrorPolicy,
    /// The file for rejected records, in the input's format. The reasons are written next to it, in FILE.reasons.
    #[arg(long, value_name = "FILE")]
    pub(super) rejected: Option<PathBuf>,
    /// The progress file, which makes the import resumable; FILE.kedge-import by default.
    #[arg(long, value_name = "FILE")]
    pub(super) progress: Option<PathBuf>,
    /// The file for the ids of the minted objects: line, key, object id and sequence of each record. CSV if its name
    /// ends in .csv, otherwise NDJSON.
    #[arg(long, value_name = "FILE")]
    pub(super) objects: Option<PathBuf>,
    /// The file for the report, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Records in one batch at most.
    #[arg(long, value_name = "COUNT", default_value_t = BATCH_ACTIONS_MAX,
          value_parser = parse_batch_size)]
    pub(super) batch_size: usize,
    /// Batches in flight at one time.
    #[arg(long, value_name = "COUNT", default_value_t = 4,
          value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(super) in_flight: u8,
    /// How many seconds a batch's signature is valid.
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600,
          value_parser = clap::value_parser!(u64).range(10..=DEADLINE_AHEAD_S_MAX))]
    pub(super) deadline: u64,
    /// How many seconds the server may be away, or ask to wait, before the import ends. It can be run again.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(super) patience: u64,
    #[command(flatten)]
    pub(super) key_args: KeySourceArgs,
    #[command(flatten)]
    pub(super) access: ImportAccessArgs,
}

fn parse_template(text: &str) -> Result<Id, String> {
    Id::parse_as(Prefix::Template, text).map_err(|error| error.to_string())
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => {
            Ok((left.to_owned(), right.to_owned()))
        }
        _ => Err("must look like FIELD=COLUMN".to_owned()),
    }
}

fn parse_type(text: &str) -> Result<(String, ColumnType), String> {
    let (column, name) = text.rsplit_once('=').ok_or("must look like COLUMN=TYPE")?;
    Ok((column.to_owned(), ColumnType::from_str(name, true)?))
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("must be one ASCII character, or \\t".to_owned()),
    }
}

fn parse_batch_size(text: &str) -> Result<usize, String> {
    let count = text.parse().ok();
    count
        .filter(|count| (1..=BATCH_ACTIONS_MAX).contains(count))
        .ok_or_else(|| format!("must be 1 to {BATCH_ACTIONS_MAX}"))
}
