//! Check of all records with the server's rules, before any is sent.

use std::collections::HashMap;

use indicatif::{ProgressBar, ProgressStyle};
use kedge_client::{Account, ListQuery, Properties};
use kedge_protocol::hash::sha256;
use kedge_protocol::limits::{OBJECT_PROPERTIES_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::json::merge;
use kedge_rules::schema::{self, Schema};
use kedge_rules::{FieldError, Refusal};
use serde_json::Value;

use super::csv_types::shortened;
use super::records::{ImportRecordReader, SkippedRows};
use super::rejections::RejectionLog;
use super::shape::{ImportMint, RecordFault, RecordShape};
use crate::output::{CliResult, CommandFailure};

/// Limit of reported reasons per record.
const REASONS_MAX: usize = 5;

/// A set of records' ordinals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ImportRecordSet(Vec<u64>);

impl ImportRecordSet {
    /// Adds an ordinal; false if it was present.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let word = self.0.get(number as usize / 64);
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

/// The template's requirements for its objects.
pub(super) struct ImportTemplateRules {
    properties: String,
    schema: Option<Schema>,
    schema_value: Option<Value>,
    /// Variations' properties by id, and ids by name; empty unless records name variations.
    variations: HashMap<Id, String>,
    names: HashMap<String, Id>,
}

fn as_text(properties: &Properties) -> CliResult<String> {
    serde_json::to_string(properties).map_err(CommandFailure::refused)
}

impl ImportTemplateRules {
    /// Fetches the template, and its variations if records name them.
    pub(super) async fn fetch(
        account: &Account,
        template: Id,
        with_variations: bool,
    ) -> CliResult<Self> {
        let template = account.template(template).await?;
        let schema_text = template.schema.as_ref().map(as_text).transpose()?;
        let schema = schema_text.as_deref().map(|text| {
            let why = "the template's schema cannot be read by this version of kedge";
            schema::read(text).ok_or_else(|| CommandFailure::refused(why))
        });
        let mut rules = Self {
            properties: as_text(&template.properties)?,
            schema: schema.transpose()?,
            schema_value: template.schema.map(Value::Object),
            variations: HashMap::new(),
            names: HashMap::new(),
        };
        if with_variations {
            let query = ListQuery {
                limit: Some(1_000),
                ..ListQuery::default()
            };
            let mut pages = account.variations(template.id, &query);
            while let Some(variation) = pages.next().await? {
                let properties = as_text(&variation.properties)?;
                rules.variations.insert(variation.id, properties);
                rules.names.insert(variation.name, variation.id);
            }
        }
        Ok(rules)
    }

    pub(super) fn schema_value(&self) -> Option<&Value> {
        self.schema_value.as_ref()
    }

    /// The payload of a mint, or its fault.
    pub(super) fn payload(
        &self,
        mint: &ImportMint,
        shape: &RecordShape,
    ) -> Result<String, RecordFault> {
        let variation = mint.variation.as_deref();
        let variation = variation
            .map(|text| {
                self.variation(text)
                    .ok_or_else(|| no_variation(text, shape))
            })
            .transpose()?;
        let owner = mint.owner.as_deref();
        if let Some(owner) = owner.filter(|owner| !is_wallet(owner)) {
            let reason = format!("{} is no wallet's id or address", shortened(owner));
            return Err(RecordFault::of(shape.of_owner(), reason));
        }
        let mut members = Vec::new();
        if let Some(variation) = variation {
            members.push(format!(r#""variation_id":"{variation}""#));
        }
        if mint.properties != "{}" {
            members.push(format!(r#""properties":{}"#, mint.properties));
        }
        if let Some(owner) = owner {
            members.push(format!(r#""to":"{owner}""#));
        }
        Ok(format!("{{{}}}", members.join(",")))
    }

    fn variation(&self, text: &str) -> Option<Id> {
        let by_id = Id::parse_as(Prefix::Variation, text).ok();
        let known = by_id.filter(|id| self.variations.contains_key(id));
        known.or_else(|| self.names.get(text).copied())
    }

    /// Checks what the server would check, as far as it depends on the record and the template alone.
    fn check(&self, mint: &ImportMint, shape: &RecordShape) -> Result<(), RecordFault> {
        let payload = self.payload(mint, shape)?;
        let properties = self.properties_of(mint);
        let bytes = properties.len();
        if bytes > OBJECT_PROPERTIES_BYTES_MAX || payload.len() > PAYLOAD_BYTES_MAX {
            return Err(fault_of(&Refusal::ObjectTooLarge { bytes }, shape));
        }
        match &self.schema {
            None => Ok(()),
            Some(schema) => schema
                .validate(&properties, "/properties")
                .map_err(|refusal| fault_of(&refusal, shape)),
        }
    }

    /// Properties of the resulting object.
    fn properties_of(&self, mint: &ImportMint) -> String {
        let mut properties = self.properties.clone();
        let variation = mint
            .variation
            .as_deref()
            .and_then(|text| self.variation(text));
        if let Some(own) = variation.and_then(|id| self.variations.get(&id)) {
            properties = merge(&properties, own);
        }
        if mint.properties != "{}" {
            properties = merge(&properties, &mint.properties);
        }
        properties
    }
}

fn no_variation(text: &str, shape: &RecordShape) -> RecordFault {
    let reason = format!("the template has no variation {}", shortened(text));
    RecordFault::of(shape.of_variation(), reason)
}

fn is_wallet(text: &str) -> bool {
    text.parse::<Address>().is_ok() || Id::parse_as(Prefix::Wallet, text).is_ok()
}

fn fault_of(refusal: &Refusal, shape: &RecordShape) -> RecordFault {
    match refusal {
        Refusal::Invalid(fields) => {
            let place = |field: &FieldError| (field.pointer.clone(), field.message.clone());
            let places: Vec<(String, String)> = fields.iter().map(place).collect();
            fault_of_places(&places, &refusal.message(), shape)
        }
        other => RecordFault::new(other.message()),
    }
}

/// Combines a record's faults into one: pointers into the payload, each with a message.
pub(super) fn fault_of_places(
    places: &[(String, String)],
    otherwise: &str,
    shape: &RecordShape,
) -> RecordFault {
    let column = places
        .first()
        .and_then(|(pointer, _)| shape.column_of(pointer));
    let mut reasons: Vec<String> = places
        .iter()
        .take(REASONS_MAX)
        .map(|(pointer, message)| {
            let place = pointer.strip_prefix("/properties").unwrap_or(pointer);
            match place {
                "" => message.clone(),
                place => format!("{} {message}", place.trim_start_matches('/')),
            }
        })
        .collect();
    if places.len() > REASONS_MAX {
        reasons.push(format!("and {} more", places.len() - REASONS_MAX));
    }
    let reason = if reasons.is_empty() {
        otherwise.to_owned()
    } else {
        reasons.join("; ")
    };
    RecordFault { column, reason }
}

/// Result of the check.
pub(super) struct ImportCheckResult {
    /// Number of records in the input.
    pub(super) records: u64,
    /// The invalid records.
    pub(super) bad: ImportRecordSet,
    pub(super) sha256: Hash,
    pub(super) bytes: u64,
    pub(super) skipped: SkippedRows,
    /// The first valid records.
    pub(super) sample: Vec<SampleObject>,
}

/// Number of records shown before minting.
const SAMPLE_OBJECTS: usize = 3;

/// A record as it would be minted.
pub(super) struct SampleObject {
    pub(super) line: u64,
    pub(super) owner: Option<String>,
    pub(super) variation: Option<String>,
    /// Properties as JSON, including those of the template and the variation.
    pub(super) properties: String,
}

/// Reads all records and rejects invalid ones.
pub(super) fn check(
    reader: &ImportRecordReader<'_>,
    rejected: &mut RejectionLog,
) -> CliResult<ImportCheckResult> {
    let bar = ProgressBar::new_spinner().with_message("check");
    if let Ok(style) = ProgressStyle::with_template("{msg:<8} {pos:>10} records {per_sec}") {
        bar.set_style(style);
    }
    let mut records = reader.records()?;
    let mut bad = ImportRecordSet::default();
    let mut sample = Vec::new();
    let mut count = 0;
    // A digest of each key, because keys can be long.
    let mut keys: HashMap<[u8; 16], u64> = HashMap::new();
    while let Some(item) = records.next()? {
        count += 1;
        bar.inc(1);
        let key = item.mint.as_ref().ok().and_then(|mint| mint.key.clone());
        let checked = item.mint.and_then(|mint| {
            reader.rules.check(&mint, reader.shape)?;
            if sample.len() < SAMPLE_OBJECTS {
                sample.push(SampleObject {
                    line: item.line,
                    properties: reader.rules.properties_of(&mint),
                    owner: mint.owner.clone(),
                    variation: mint.variation.clone(),
                });
            }
            let Some(key) = &mint.key else { return Ok(()) };
            let Hash(digest) = sha256(key.as_bytes());
            let (short, _) = digest.split_at(16);
            let short = <[u8; 16]>::try_from(short).unwrap_or_default();
            match keys.insert(short, item.line) {
                None => Ok(()),
                Some(first) => {
                    keys.insert(short, first);
                    let reason = format!("the key {} is that of line {first}", shortened(key));
                    Err(reader.shape.key_fault(reason))
                }
            }
        });
        if let Err(fault) = checked {
            bad.insert(item.ordinal);
            rejected.add(item.line, key.as_deref(), &fault, &item.source)?;
        }
    }
    bar.finish_and_clear();
    let seen = records.seen();
    Ok(ImportCheckResult {
        records: count,
        bad,
        sha256: seen.sha256(),
        bytes: seen.bytes,
        skipped: records.skipped().clone(),
        sample,
    })
}
