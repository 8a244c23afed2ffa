//! Check of the log after a run: every acknowledged action is in it exactly once. Reads the export from the run's first
//! batch on, line by line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kedge_client::{Client, ListQuery};
use kedge_protocol::Hash;
use kedge_protocol::export::{ExportChecker, ExportLine, ExportLineKind};
use serde::Serialize;

use crate::checks::receipts::ReceiptTrust;
use crate::error::{LoadtestError, LoadtestResult};
use crate::load::run::PhaseResult;
use crate::progress;

/// How long the next checkpoint may take; it is due each minute unless the operator says otherwise.
const CHECKPOINT_PATIENCE: Duration = Duration::from_mins(5);

/// Findings of the log check.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LogCheck {
    /// Actions added to the log during the run.
    pub(crate) log_grew_by: u64,
    /// Batches of these actions with verified signatures, roots, heads and history.
    pub(crate) batches_checked: u64,
    /// Leaves of verified receipts found at their position in the log.
    pub(crate) leaves_found: u64,
    /// Signed headers of verified receipts found in the log.
    pub(crate) headers_found: u64,
    pub(crate) problems: Vec<String>,
}

/// A position in the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogPlace {
    /// Number of batches before it.
    pub(crate) batches: u64,
    /// The last sequence before it.
    pub(crate) sequence: u64,
}

impl LogPlace {
    /// The present end of the log.
    pub(crate) async fn end(client: &Client) -> LoadtestResult<Self> {
        let query = ListQuery {
            limit: Some(1),
            descending: true,
            ..ListQuery::default()
        };
        let newest = client.batches(&query).next().await;
        let newest = newest.map_err(LoadtestError::at("the newest batch"))?;
        Ok(newest.map_or_else(Self::default, |batch| Self {
            batches: batch.number + 1,
            sequence: batch.first_sequence + u64::from(batch.action_count) - 1,
        }))
    }
}

/// Reads the log from its position before the run, and compares it with the acknowledged sequences.
pub(crate) async fn check(
    client: &Client,
    before: &LogPlace,
    part: &PhaseResult,
) -> LoadtestResult<LogCheck> {
    let spinner = progress::spinner("the log is read again".to_owned());
    let mut found = LogCheck::default();
    let mut leaves: BTreeMap<u64, Hash> = part.leaves.iter().copied().collect();
    let mut headers = part.headers.clone();
    // An export ends with a signed checkpoint.
    let end = LogPlace::end(client).await?;
    await_checkpoint(client, end.sequence).await?;
    let export = client.export(before.batches, None).await;
    let mut export = export.map_err(LoadtestError::at("the export"))?;
    // The sequencer key may have changed since the run began.
    let updated = client.update_keys().await;
    updated.map_err(LoadtestError::at("the sequencer's keys"))?;
    let trust = ReceiptTrust::of(client);
    let mut checker = ExportChecker::new(trust.domain, trust.keys);
    while let Some(line) = export
        .line()
        .await
        .map_err(LoadtestError::at("the export"))?
    {
        let text = std::str::from_utf8(&line)
            .map_err(|error| LoadtestError::answer(format_args!("the export: {error}")))?;
        let from = checker.reached().0;
        let checked = match checker.line(text) {
            Ok(checked) => checked,
            Err(error) => {
                found.problems.push(format!("the log: {error}"));
                return Ok(found);
            }
        };
        let to = checker.reached().0;
        let is_wanted = || {
            leaves.range(from + 1..=to).next().is_some()
                || headers.contains_key(&(checker.batches() - 1))
        };
        if matches!(checked, ExportLineKind::Batch) && is_wanted() {
            look_up(text, &mut leaves, &mut headers, &mut found);
        }
    }
    let reached = checker.reached().0;
    match checker.finish() {
        Ok(shown) => found.batches_checked = shown.batches,
        Err(error) => found.problems.push(format!("the log: {error}")),
    }
    spinner.finish_and_clear();
    for sequence in leaves.keys().take(3) {
        found.problems.push(format!(
            "the log does not hold the leaf that a receipt placed at sequence {sequence}"
        ));
    }
    for number in headers.keys().take(3) {
        found.problems.push(format!(
            "the log has no batch {number} with a receipt's header"
        ));
    }
    found.log_grew_by = reached - before.sequence;
    found
        .problems
        .extend(growth(found.log_grew_by, reached, part));
    Ok(found)
}

/// Waits until a checkpoint covers this sequence.
async fn await_checkpoint(client: &Client, sequence: u64) -> LoadtestResult<()> {
    let begun = Instant::now();
    loop {
        match client.checkpoint_over(sequence).await {
            Ok(_) => return Ok(()),
            Err(error)
                if error.code() == Some("SEQUENCE_NOT_REACHED")
                    && begun.elapsed() < CHECKPOINT_PATIENCE =>
            {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => return Err(LoadtestError::at("a checkpoint over the run")(error)),
        }
    }
}

/// Removes the promised leaves and headers that a batch contains.
fn look_up(
    text: &str,
    leaves: &mut BTreeMap<u64, Hash>,
    headers: &mut BTreeMap<u64, Hash>,
    found: &mut LogCheck,
) {
    let Ok(ExportLine::Batch(line)) = serde_json::from_str::<ExportLine>(text) else {
        return;
    };
    let header = &line.batch.header;
    if headers.get(&header.number) == Some(&header.hash()) {
        headers.remove(&header.number);
        found.headers_found += 1;
    }
    let first = header.first_sequence;
    let here: Vec<(u64, Hash)> = leaves
        .range(first..=header.last_sequence())
        .map(|(sequence, leaf)| (*sequence, *leaf))
        .collect();
    for (sequence, leaf) in here {
        if line.leaves.get((sequence - first) as usize) == Some(&leaf) {
            leaves.remove(&sequence);
            found.leaves_found += 1;
        }
    }
}

/// Checks that the log has grown by the acknowledged actions, each at its own position. Further growth is limited to
/// actions with a lost answer.
fn growth(grown: u64, reached: u64, part: &PhaseResult) -> Vec<String> {
    let (places, unknown) = (&part.places, part.unknown);
    let acknowledged = places.named;
    let mut problems = Vec::new();
    if places.twice > 0 {
        problems.push(format!(
            "{} sequences were acknowledged twice",
            places.twice
        ));
    }
    if places.misplaced > 0 {
        problems.push(format!(
            "{} acknowledged actions have an impossible sequence",
            places.misplaced
        ));
    }
    if places.highest > reached {
        problems.push(format!(
            "sequence {} was acknowledged, but the log ends at {reached}",
            places.highest
        ));
    }
    if grown < acknowledged {
        problems.push(format!(
            "the log grew by {grown} actions, but {acknowledged} were acknowledged: some are lost"
        ));
    } else if grown > acknowledged + unknown {
        problems.push(format!(
            "the log grew by {grown} actions, but only {acknowledged} were acknowledged: some are in it twice, or another client writes too"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::sequences::SequenceBitmap;

    fn part(places: &[(u64, u64)], unknown: u64) -> PhaseResult {
        let mut part = PhaseResult {
            places: SequenceBitmap::new(100),
            unknown,
            ..PhaseResult::default()
        };
        for (first, count) in places {
            part.places.add(*first, *count);
        }
        part
    }

    #[test]
    fn the_log_must_have_grown_by_what_was_acknowledged() {
        let check = |part: &PhaseResult, grown| growth(grown, 100 + grown, part).len();
        let all = part(&[(101, 500)], 0);
        assert_eq!(check(&all, 500), 0);
        assert_eq!(check(&all, 501), 1, "an action too many");
        assert_eq!(check(&all, 499), 2, "one lost, and beyond the end");
        assert_eq!(
            check(&part(&[(101, 500)], 10), 510),
            0,
            "answers that got lost"
        );
        assert_eq!(
            check(&part(&[(101, 5), (105, 5)], 0), 10),
            1,
            "one place twice"
        );
        assert_eq!(check(&part(&[(50, 5)], 0), 5), 1, "a place from before");
    }
}
