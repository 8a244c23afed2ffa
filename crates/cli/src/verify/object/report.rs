//! What a verified history shows, for people and programs.

use kedge_protocol::SequencerKeys;
use serde_json::{Map, Value, json};

use super::check::ShownHistory;
use crate::output::CliResult;
use crate::verify::rows::{VerifyRows, report};
use crate::verify::state::checkpoint_rows;

pub(super) fn print(
    shown: &ShownHistory,
    keys: &SequencerKeys,
    anchored: &str,
    as_json: bool,
) -> CliResult<()> {
    let mut rows = rows(shown, as_json);
    rows.extend(checkpoint_rows(&shown.checkpoint, keys, anchored));
    report(&rows, as_json)
}

fn rows(shown: &ShownHistory, as_json: bool) -> VerifyRows {
    let (id, sequence) = (shown.id, shown.checkpoint.sequence);
    let mut rows = vec![("valid", json!(true))];
    let Some(entry) = &shown.entry else {
        let shows = format!("after sequence {sequence}, the log had made nothing under {id}");
        rows.extend([
            ("shows", json!(shows)),
            ("key", json!(id)),
            ("present", json!(false)),
        ]);
        return rows;
    };
    let actions = shown.sequences.len();
    let shows = format!(
        "after sequence {sequence}, {id} is at version {}, and is what its {actions} actions made",
        entry.version
    );
    let names = |names: &[String]| {
        if as_json {
            json!(names)
        } else if names.is_empty() {
            json!("none")
        } else {
            json!(names.join(", "))
        }
    };
    rows.extend([
        ("shows", json!(shows)),
        ("key", json!(id)),
        ("present", json!(true)),
        ("actions", json!(actions)),
        ("first sequence", json!(shown.sequences.first())),
        ("last sequence", json!(shown.sequences.last())),
        ("integrity", json!(entry.integrity)),
        ("signatures checked", json!(shown.signatures)),
        ("fields compared", names(&shown.comparison.fields)),
        ("texts compared", names(&shown.comparison.texts)),
        ("not shown", unshown(shown, as_json)),
    ]);
    if shown.later > 0 {
        rows.push(("later actions left out", json!(shown.later)));
    }
    rows
}

/// What the history leaves open.
fn unshown(shown: &ShownHistory, as_json: bool) -> Value {
    let signatures = shown.sequences.len() - shown.signatures;
    let mut all: Vec<(&str, String)> = shown
        .unshown
        .iter()
        .map(|field| (field.name, field.why.clone()))
        .collect();
    if signatures > 0 {
        let why = format!(
            "{signatures} proof files are without: the organizations that signed show them to themselves alone"
        );
        all.push(("signatures", why));
    }
    all.push((
        "later actions",
        "one before the checkpoint that the state ignores shows only if its proof is among the files".to_owned(),
    ));
    if as_json {
        let members = all
            .into_iter()
            .map(|(name, why)| (name.replace(' ', "_"), json!(why)));
        return Value::Object(members.collect::<Map<String, Value>>());
    }
    let lines: Vec<String> = all
        .iter()
        .map(|(name, why)| format!("{name} ({why})"))
        .collect();
    json!(lines.join("; "))
}
