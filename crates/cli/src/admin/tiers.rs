//! `kedge admin tiers`: each tier's limits and usage, and the log's size by form.

use clap::Args;
use serde_json::{Map, Value, json};

use super::{SocketArgs, ask_with};
use crate::output::{CliResult, print, print_json, table};

/// Displayed limits: their names in the answer and in the table.
const LIMITS: [(&str, &str); 3] = [
    ("requests_per_minute", "requests/min"),
    ("requests_per_day", "requests/day"),
    ("log_bytes", "log bytes"),
];

#[derive(Args)]
pub(crate) struct TiersArgs {
    /// How many of the organizations that are nearest to a limit are shown, at most 100.
    #[arg(long, value_name = "N", default_value_t = 10)]
    nearest: usize,
    #[command(flatten)]
    socket: SocketArgs,
}

pub(crate) async fn run(args: &TiersArgs) -> CliResult<()> {
    let command = json!({ "command": "tiers", "nearest": args.nearest });
    let answer = ask_with(&args.socket.socket, &command).await?;
    if args.socket.json {
        return print_json(&answer);
    }
    print(&shown(&answer))
}

fn shown(answer: &Map<String, Value>) -> String {
    let sample = if answer.get("all_counted") == Some(&Value::Bool(false)) {
        "; there are more: these are a sample"
    } else {
        ""
    };
    format!(
        "{}{} organizations, counted {}{sample}\n\nNearest to a limit\n{}\nThe log\n{}",
        table(&tiers(&answer["tiers"])),
        cell(&answer["organizations"]),
        cell(&answer["counted_at"]),
        nearest(&answer["nearest"]),
        table(&log(&answer["log"])),
    )
}

fn cell(value: &Value) -> String {
    match value {
        // Organizations choose their names, so control characters must not reach the terminal.
        Value::String(text) => text.replace(char::is_control, "\u{fffd}"),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

fn rows(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn tiers(tiers: &Value) -> Vec<Vec<String>> {
    let names = LIMITS.iter().map(|(_, name)| *name);
    let head = ["tier", "organizations"].into_iter().chain(names);
    let mut lines = vec![head.chain(["price"]).map(str::to_owned).collect()];
    for tier in rows(tiers) {
        let limits = &tier["limits"];
        let limit = |(name, _): &(&str, &str)| match (limits, &limits[*name]) {
            (Value::Null, _) => "as agreed".to_owned(),
            (_, Value::Null) => "unlimited".to_owned(),
            (_, limit) => limit.to_string(),
        };
        let mut line = vec![cell(&tier["tier"]), cell(&tier["organizations"])];
        line.extend(LIMITS.iter().map(limit));
        line.push(cell(&tier["price"]));
        lines.push(line);
    }
    lines
}

fn nearest(nearest: &Value) -> String {
    let head = ["organization", "name", "tier", "limit", "used", "of"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for organization in rows(nearest) {
        let members = ["organization_id", "name", "tier", "policy", "used", "limit"];
        lines.push(members.map(|member| cell(&organization[member])).to_vec());
    }
    match lines.len() {
        1 => "none: no organization has used any of its limits\n".to_owned(),
        _ => table(&lines),
    }
}

fn log(log: &Value) -> Vec<Vec<String>> {
    let mut lines = vec![
        ["kept as", "segments", "bytes", ""]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (form, note) in [
        ("raw", String::new()),
        (
            "sealed",
            format!(
                "uncompressed: {}",
                cell(&log["sealed"]["uncompressed_bytes"])
            ),
        ),
        ("archived", cell(&log["archived"]["place"])),
    ] {
        let part = &log[form];
        lines.push(vec![
            form.to_owned(),
            cell(&part["segments"]),
            cell(&part["bytes"]),
            note,
        ]);
    }
    lines.push(vec![
        "store".to_owned(),
        String::new(),
        cell(&log["store_bytes"]),
        String::new(),
    ]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_shown_as_tables() {
        let answer = json!({
            "organizations": 3, "all_counted": false, "counted_at": "2026-01-31T08:15:00.000Z",
            "tiers": [
                { "tier": "enterprise", "price": "Custom", "organizations": 2,
                  "limits": { "requests_per_minute": 5000, "requests_per_day": null, "log_bytes": null } },
                { "tier": "custom", "price": "Custom", "organizations": 1, "limits": null },
            ],
            "nearest": [{ "organization_id": "org_1", "name": "Anna’s", "tier": "free",
                          "policy": "tier-day", "used": 9, "limit": 10 }],
            "log": { "raw": { "segments": 1, "bytes": 67_108_864 }, "store_bytes": 7,
                     "sealed": { "segments": 2, "bytes": 10, "uncompressed_bytes": 40 },
                     "archived": { "segments": 0, "bytes": 0, "place": null } },
        });
        let text = shown(answer.as_object().unwrap());
        let expected = "\
tier        organizations  requests/min  requests/day  log bytes  price
enterprise  2              5000          unlimited     unlimited  Custom
custom      1              as agreed     as agreed     as agreed  Custom
3 organizations, counted 2026-01-31T08:15:00.000Z; there are more: these are a sample

Nearest to a limit
organization  name    tier  limit     used  of
org_1         Anna’s  free  tier-day  9     10

The log
kept as   segments  bytes
raw       1         67108864
sealed    2         10        uncompressed: 40
archived  0         0         -
store               7
";
        assert_eq!(text, expected);
        assert!(nearest(&json!([])).starts_with("none"));
    }
}
