//! Reader of QLDB journals in Ion, text or binary, with a conversion to JSON.
//!
//! The conversion follows QLDB: symbols and timestamps become texts, blobs and clobs base64, s-expressions lists;
//! annotations are lost; a float that is not a number becomes null. Integers and decimals keep every digit.

use std::io::{BufRead, BufReader};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ion_rs::{Decimal, Element, Struct, Timestamp, Value};

use super::{QldbBlock, Revision, quoted};

/// Limit of a decimal's written-out zeros: 1d400000000 is 11 bytes of Ion, and would be 400 MB of digits.
const ZEROS_MAX: u64 = 40;

/// Reads every block.
pub(super) fn read(
    source: impl BufRead,
    take: &mut dyn FnMut(QldbBlock) -> Result<(), String>,
) -> Result<(), String> {
    let values = Element::iter(BufReader::new(source)).map_err(|error| error.to_string())?;
    for (number, value) in (1_u64..).zip(values) {
        let at = |why: String| format!("value {number}: {why}");
        let value = value.map_err(|error| at(error.to_string()))?;
        take(block(&value).map_err(at)?)?;
    }
    Ok(())
}

fn block(value: &Element) -> Result<QldbBlock, String> {
    const UNKNOWN: &str = "is neither a block of a journal nor a row of a committed view";
    let fields = value.as_struct().ok_or(UNKNOWN)?;
    if fields.get("transactionId").is_none() {
        let row = revision(fields)?;
        return Ok(QldbBlock {
            revisions: vec![row.ok_or(UNKNOWN)?],
            tables: Vec::new(),
        });
    }
    let mut block = QldbBlock::default();
    let revisions = fields.get("revisions").and_then(Element::as_sequence);
    for each in revisions.into_iter().flat_map(|all| all.iter()) {
        let fields = each.as_struct().ok_or("a revision is no struct")?;
        block.revisions.extend(revision(fields)?);
    }
    let info = fields.get("transactionInfo").and_then(Element::as_struct);
    let documents = info.and_then(|info| info.get("documents")?.as_struct());
    for (id, document) in documents.into_iter().flat_map(Struct::fields) {
        let table = document.as_struct().and_then(|info| info.get("tableName"));
        if let (Some(id), Some(table)) = (id.text(), table.and_then(Element::as_text)) {
            block.tables.push((id.to_owned(), table.to_owned()));
        }
    }
    Ok(block)
}

/// A revision; `None` if it holds only a hash.
fn revision(fields: &Struct) -> Result<Option<Revision>, String> {
    let Some(element) = fields.get("metadata") else {
        return Ok(None);
    };
    let metadata = element.as_struct().ok_or("its metadata is no struct")?;
    let id = metadata.get("id").and_then(Element::as_text);
    let version = metadata.get("version").and_then(Element::as_i64);
    let version = version.and_then(|version| u64::try_from(version).ok());
    let data = fields.get("data").filter(|data| !data.is_null());
    Ok(Some(Revision {
        id: id.ok_or("its metadata has no id")?.to_owned(),
        version: version.ok_or("its metadata has no version")?,
        metadata: json(element),
        data: data.map(json),
    }))
}

/// Converts a value to JSON.
fn json(element: &Element) -> String {
    let mut text = String::new();
    write(element, &mut text);
    text
}

pub(super) fn write(element: &Element, to: &mut String) {
    match element.value() {
        Value::Bool(value) => to.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => to.push_str(&value.to_string()),
        Value::Float(value) if value.is_finite() => {
            to.push_str(&serde_json::Value::from(*value).to_string());
        }
        Value::Null(_) | Value::Float(_) => to.push_str("null"),
        Value::Decimal(value) => to.push_str(&decimal(value)),
        Value::Timestamp(value) => to.push_str(&quoted(&timestamp(value))),
        Value::Symbol(value) => to.push_str(&quoted(value.text().unwrap_or_default())),
        Value::String(value) => to.push_str(&quoted(value.text())),
        Value::Clob(bytes) | Value::Blob(bytes) => {
            to.push_str(&quoted(&STANDARD.encode(bytes.as_ref())));
        }
        Value::List(values) | Value::SExp(values) => {
            to.push('[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    to.push(',');
                }
                write(value, to);
            }
            to.push(']');
        }
        Value::Struct(fields) => {
            to.push('{');
            for (place, (name, value)) in fields.fields().enumerate() {
                if place > 0 {
                    to.push(',');
                }
                to.push_str(&quoted(name.text().unwrap_or_default()));
                to.push(':');
                write(value, to);
            }
            to.push('}');
        }
    }
}

/// Formats a timestamp per RFC 3339: `Z` for UTC, and a date without Ion's trailing `T`. Years and months alone, which
/// RFC 3339 lacks, keep Ion's form.
fn timestamp(value: &Timestamp) -> String {
    let text = value.to_string();
    if let Some(time) = text.strip_suffix("+00:00") {
        return format!("{time}Z");
    }
    match text.strip_suffix('T') {
        Some(date) if date.len() == "2000-01-01".len() => date.to_owned(),
        _ => text,
    }
}

/// Keeps every digit: 1250d-2 is 12.50.
fn decimal(value: &Decimal) -> String {
    let coefficient = value.coefficient();
    let sign = if coefficient.is_negative() { "-" } else { "" };
    let digits = coefficient.magnitude().to_string();
    let exponent = value.exponent();
    let point = exponent.unsigned_abs();
    if exponent >= 0 && point <= ZEROS_MAX {
        let zeros = if digits == "0" { 0 } else { point as usize };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    }
    if exponent < 0 && point <= digits.len() as u64 + ZEROS_MAX {
        let point = point as usize;
        let padded = format!(
            "{}{digits}",
            "0".repeat((point + 1).saturating_sub(digits.len()))
        );
        let (whole, fraction) = padded.split_at(padded.len() - point);
        return format!("{sign}{whole}.{fraction}");
    }
    format!("{sign}{digits}e{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_every_digit() {
        let cases = [
            ("12.50", "12.50"),
            ("-0.001", "-0.001"),
            ("12d3", "12000"),
            ("0d5", "0"),
            ("-0.", "-0"),
            ("1d400000000", "1e400000000"),
            ("1d-400000000", "1e-400000000"),
            ("12345678901234567890123", "12345678901234567890123"),
            (
                "123456789012345678901234567890.123",
                "123456789012345678901234567890.123",
            ),
            ("1.5e0", "1.5"),
            ("nan", "null"),
            ("null.int", "null"),
            ("'a symbol'", "\"a symbol\""),
            ("2011-06-05T", "\"2011-06-05\""),
            ("2011-06T", "\"2011-06T\""),
            ("2011-06-05T10:00+02:00", "\"2011-06-05T10:00+02:00\""),
            ("2019-06-05T16:53:23.5Z", "\"2019-06-05T16:53:23.5Z\""),
            ("{{aGk=}}", "\"aGk=\""),
            ("note::[1, (2 x)]", "[1,[2,\"x\"]]"),
            (
                "{a: \"b\\\"\\n\", 'c d': true}",
                "{\"a\":\"b\\\"\\n\",\"c d\":true}",
            ),
        ];
        for (ion, expected) in cases {
            let value = Element::read_one(ion).unwrap();
            assert_eq!(json(&value), expected, "{ion}");
        }
    }
}
