//! Result rows of a verification.

use serde_json::Value;

use crate::output::{CliResult, columns, print, print_json};

/// Names and values, for people and programs.
pub(super) type VerifyRows = Vec<(&'static str, Value)>;

pub(super) fn report(rows: &VerifyRows, as_json: bool) -> CliResult<()> {
    if as_json {
        let members: serde_json::Map<String, Value> = rows
            .iter()
            .map(|(name, value)| (name.replace(' ', "_"), value.clone()))
            .collect();
        return print_json(&members);
    }
    let lines: Vec<(&str, String)> = rows
        .iter()
        .map(|(name, value)| {
            let text = match value {
                Value::Bool(true) => "yes".to_owned(),
                Value::Bool(false) => "no".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (*name, text)
        })
        .collect();
    print(&columns(&lines))
}
