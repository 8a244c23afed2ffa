//! Reader of QLDB journals in JSON, a sequence of blocks. Documents keep their text.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{QldbBlock, Revision};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonBlock {
    /// Absent in blocks without changed documents.
    revisions: Option<Vec<JsonRevision>>,
    transaction_info: Option<TransactionInfo>,
    // Fields of a committed view's row.
    data: Option<Box<RawValue>>,
    metadata: Option<Box<RawValue>>,
    transaction_id: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct JsonRevision {
    data: Option<Box<RawValue>>,
    /// Absent in revisions that hold only a hash.
    metadata: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct TransactionInfo {
    documents: Option<BTreeMap<String, DocumentInfo>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentInfo {
    table_name: String,
}

#[derive(Deserialize)]
struct Metadata {
    id: String,
    version: u64,
}

fn revision(
    data: Option<&RawValue>,
    metadata: Option<&RawValue>,
) -> Result<Option<Revision>, serde_json::Error> {
    let Some(text) = metadata.map(RawValue::get) else {
        return Ok(None);
    };
    let Metadata { id, version } = serde_json::from_str(text)?;
    let data = data.map(RawValue::get).filter(|data| *data != "null");
    Ok(Some(Revision {
        id,
        version,
        metadata: one_line(text),
        data: data.map(one_line),
    }))
}

/// Removes line ends, which occur only between tokens.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

impl JsonBlock {
    fn block(self) -> Result<QldbBlock, String> {
        let failed = |error: serde_json::Error| error.to_string();
        let mut revisions = Vec::new();
        let is_row = self.transaction_id.is_none() && self.metadata.is_some();
        if is_row {
            revisions
                .extend(revision(self.data.as_deref(), self.metadata.as_deref()).map_err(failed)?);
        } else if self.transaction_id.is_none() {
            return Err("is neither a block of a journal nor a row of a committed view".to_owned());
        }
        for each in self.revisions.into_iter().flatten() {
            revisions
                .extend(revision(each.data.as_deref(), each.metadata.as_deref()).map_err(failed)?);
        }
        let documents = self.transaction_info.and_then(|info| info.documents);
        let tables = documents.into_iter().flatten();
        Ok(QldbBlock {
            revisions,
            tables: tables.map(|(id, info)| (id, info.table_name)).collect(),
        })
    }
}

/// Reads every block.
pub(super) fn read(
    source: impl BufRead,
    take: &mut dyn FnMut(QldbBlock) -> Result<(), String>,
) -> Result<(), String> {
    let blocks = serde_json::Deserializer::from_reader(source).into_iter::<JsonBlock>();
    for (number, block) in (1_u64..).zip(blocks) {
        let at = |why: String| format!("value {number}: {why}");
        let block = block.map_err(|error| at(error.to_string()))?;
        take(block.block().map_err(at)?)?;
    }
    Ok(())
}
