//! The check of a history: its proofs, its completeness, its replay, and the comparison.

use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::history::{HistoryError, PlacedProof, ProvenActions, ResourceHistory};
use kedge_protocol::state::{StateAnswer, StateAnswerError, StateEntry};
use kedge_protocol::{Id, Prefix, SequencerKeys};
use kedge_rules::history::{
    FieldDifference, HistoryComparison, HistoryReplayError, ProvenResource, UnshownField, replay,
};
use serde_json::{Map, Value};

use super::files::HistoryFiles;
use crate::output::CommandFailure;

/// Why a history does not show the state.
pub(super) enum CheckFailure {
    /// The rules give no resource, or need more.
    Replay(HistoryReplayError),
    /// Anything else, for people.
    Other(String),
}

impl From<HistoryReplayError> for CheckFailure {
    fn from(error: HistoryReplayError) -> Self {
        Self::Replay(error)
    }
}

impl From<HistoryError> for CheckFailure {
    fn from(error: HistoryError) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<CheckFailure> for CommandFailure {
    fn from(failure: CheckFailure) -> Self {
        match failure {
            CheckFailure::Replay(error) => Self::refused(error),
            CheckFailure::Other(why) => Self::Refused(why),
        }
    }
}

/// Files of a history, and what the caller trusts.
pub(super) struct HistoryCheck<'a> {
    pub(super) files: &'a HistoryFiles,
    pub(super) domain: &'a Domain,
    pub(super) keys: &'a SequencerKeys,
}

/// What a history shows.
pub(super) struct ShownHistory {
    pub(super) id: Id,
    pub(super) checkpoint: Checkpoint,
    pub(super) is_anchored: bool,
    /// `None` if the log had made nothing under the id.
    pub(super) entry: Option<StateEntry>,
    /// Sequences of the actions, oldest first.
    pub(super) sequences: Vec<u64>,
    /// Number of actions whose signatures were checked.
    pub(super) signatures: usize,
    /// Number of files of actions after the checkpoint.
    pub(super) later: usize,
    pub(super) comparison: HistoryComparison,
    pub(super) unshown: Vec<UnshownField>,
}

/// A resource of the files, with its entry at the checkpoint.
struct KnownState<'a> {
    answer: &'a StateAnswer,
    entry: StateEntry,
    /// Why the files are not its history, or its history.
    history: Result<ResourceHistory<'a>, HistoryError>,
}

impl KnownState<'_> {
    fn proven(&self) -> ProvenResource<'_> {
        ProvenResource {
            id: self.answer.key,
            entry: &self.entry,
            texts: &self.answer.texts,
            history: self.history.as_ref().ok(),
        }
    }
}

impl<'a> HistoryCheck<'a> {
    pub(super) fn run(&self, id: Id) -> Result<ShownHistory, CommandFailure> {
        Ok(self.shown(id)?)
    }

    /// Checks everything about one resource.
    pub(super) fn shown(&self, id: Id) -> Result<ShownHistory, CheckFailure> {
        let answer = self.files.state_of(id).ok_or_else(|| {
            CheckFailure::Other(format!(
                "the files hold no state proof of {id}: add the answer of GET /state/{id}"
            ))
        })?;
        let (checkpoint, entry) = self.entry_of(answer)?;
        let shown = |entry| ShownHistory {
            id,
            checkpoint,
            is_anchored: answer.anchor.is_some(),
            entry,
            sequences: Vec::new(),
            signatures: 0,
            later: 0,
            comparison: HistoryComparison::default(),
            unshown: Vec::new(),
        };
        let Some(entry) = entry else {
            return Ok(shown(None));
        };
        let (proofs, consistency) = (&self.files.proofs, &self.files.consistency);
        let actions = ProvenActions::new(proofs, consistency, &checkpoint, self.domain, self.keys)?;
        let history = actions.history(id, &entry)?;
        let around = self.around(id, &checkpoint, &actions)?;
        check_outside(&history, &actions, &around)?;
        let proven: Vec<ProvenResource<'_>> = around.iter().map(KnownState::proven).collect();
        let subject = ProvenResource {
            id,
            entry: &entry,
            texts: &answer.texts,
            history: Some(&history),
        };
        let comparison = compare(&subject, &proven)?;
        for template in proven
            .iter()
            .filter(|known| known.id.prefix == Prefix::Template)
        {
            if template.history.is_some() {
                compare(template, &proven)?;
            }
        }
        let (comparison, unshown) = comparison;
        let signed = history
            .actions
            .iter()
            .filter(|placed| placed.is_signature_checked);
        Ok(ShownHistory {
            sequences: history.actions.iter().map(PlacedProof::sequence).collect(),
            signatures: signed.count(),
            later: actions.later(),
            comparison,
            unshown,
            ..shown(Some(entry))
        })
    }

    /// The checkpoint of a state proof, and the entry that it proves.
    fn entry_of(
        &self,
        answer: &StateAnswer,
    ) -> Result<(Checkpoint, Option<StateEntry>), CheckFailure> {
        let checked = answer.verify(self.domain, self.keys);
        let shown = checked.map_err(|error| {
            CheckFailure::Other(match &error {
                StateAnswerError::Differs { key, .. } => different(
                    &format!("the answer about {key} is not what its own proof shows"),
                    ("the answer says", "the proof shows"),
                    &answer_differences(answer),
                ),
                other => format!("the state proof of {}: {other}", answer.key),
            })
        })?;
        Ok((shown.checkpoint, shown.entry))
    }

    /// The other resources of the files.
    fn around(
        &self,
        id: Id,
        checkpoint: &Checkpoint,
        actions: &ProvenActions<'a>,
    ) -> Result<Vec<KnownState<'a>>, CheckFailure> {
        let mut around: Vec<KnownState<'a>> = Vec::new();
        for answer in self.files.states.iter().filter(|answer| answer.key != id) {
            let (other, entry) = self.entry_of(answer)?;
            let is_same = (other.batches, other.sequence, other.state)
                == (checkpoint.batches, checkpoint.sequence, checkpoint.state);
            if !is_same {
                return Err(CheckFailure::Other(format!(
                    "the state proof of {} is of the checkpoint of {} batches, that of {id} of {} batches: ask for it \
                     again with ?checkpoint={}",
                    answer.key, other.batches, checkpoint.batches, checkpoint.batches
                )));
            }
            if let Some(entry) = entry {
                around.push(KnownState {
                    answer,
                    history: actions.history(answer.key, &entry),
                    entry,
                });
            }
        }
        Ok(around)
    }
}

/// Refuses actions that are in no history of the files.
fn check_outside(
    history: &ResourceHistory<'_>,
    actions: &ProvenActions<'_>,
    around: &[KnownState<'_>],
) -> Result<(), CheckFailure> {
    let others = around
        .iter()
        .filter_map(|known| known.history.as_ref().ok());
    let histories: Vec<&ResourceHistory<'_>> = std::iter::once(history).chain(others).collect();
    let outside = actions.outside(&histories);
    if outside.is_empty() {
        return Ok(());
    }
    let incomplete = around.iter().find_map(|known| {
        let is_about = outside
            .iter()
            .any(|placed| placed.is_about(&known.answer.key));
        known.history.as_ref().err().filter(|_| is_about)
    });
    let sequences = outside.iter().map(|placed| placed.sequence().to_string());
    let sequences = sequences.collect::<Vec<String>>().join(", ");
    Err(CheckFailure::Other(match incomplete {
        Some(why) => format!(
            "the files hold actions outside the history of {}, at sequence {sequences}: {why}",
            history.id
        ),
        None => format!(
            "the files hold actions that are not on {}, at sequence {sequences}: leave out their proof files, or add the \
             state proof and all actions of what they are on",
            history.id
        ),
    }))
}

/// Replays a resource, and compares it with its proven entry.
fn compare(
    subject: &ProvenResource<'_>,
    around: &[ProvenResource<'_>],
) -> Result<(HistoryComparison, Vec<UnshownField>), CheckFailure> {
    let replayed = replay(subject, around)?;
    let comparison = HistoryComparison::of(subject.entry, subject.texts, &replayed);
    if comparison.differences.is_empty() {
        return Ok((comparison, replayed.unshown));
    }
    Err(CheckFailure::Other(different(
        &format!(
            "the proven state of {} is not what its history makes; keep the files, they show it",
            subject.id
        ),
        ("the state says", "the history gives"),
        &comparison.differences,
    )))
}

/// A refusal with a line for each difference.
fn different(what: &str, (one, other): (&str, &str), differences: &[FieldDifference]) -> String {
    let line = |difference: &FieldDifference| {
        let FieldDifference {
            name,
            proven,
            replayed,
        } = difference;
        format!("\n  {name}: {one} {proven}, {other} {replayed}")
    };
    let lines: String = differences.iter().map(line).collect();
    format!("{what}:{lines}")
}

/// What an answer says otherwise than its own entry.
fn answer_differences(answer: &StateAnswer) -> Vec<FieldDifference> {
    let sequence = answer.checkpoint.checkpoint.sequence;
    let entry = StateEntry::decode(&answer.key, &answer.entry, sequence).ok();
    let entry = entry.and_then(|entry| {
        let texts = answer.texts.differing(&entry);
        match serde_json::to_value(&entry) {
            Ok(Value::Object(members)) => Some((members, texts)),
            Ok(_) | Err(_) => None,
        }
    });
    let Some((own, texts)) = entry else {
        return Vec::new();
    };
    let shown = answer.fields.clone().unwrap_or_default();
    let value = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or(Value::Null);
    let names = own
        .keys()
        .chain(shown.keys().filter(|name| !own.contains_key(*name)));
    let fields = names.map(|name| FieldDifference {
        name: name.clone(),
        proven: value(&shown, name),
        replayed: value(&own, name),
    });
    let said = serde_json::to_value(&answer.texts).unwrap_or_default();
    let texts = texts.iter().map(|name| FieldDifference {
        name: format!("texts.{name}"),
        proven: said[name].clone(),
        replayed: Value::String("another text, by its hash".to_owned()),
    });
    let all = fields.filter(|field| field.proven != field.replayed);
    all.chain(texts).collect()
}
