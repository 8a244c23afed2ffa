//! The files of a history: answers of the server, one after another.

use std::fmt::Write as _;
use std::path::Path;

use kedge_protocol::Id;
use kedge_protocol::history::ConsistencyProof;
use kedge_protocol::json::JsonObject;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::state::StateAnswer;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::input::parse;
use crate::output::{CliResult, CommandFailure, refuse};

/// State proofs, proof files and consistency proofs, in the order in which they came.
#[derive(Default)]
pub(super) struct HistoryFiles {
    pub(super) states: Vec<StateAnswer>,
    pub(super) proofs: Vec<ProofFile>,
    pub(super) consistency: Vec<ConsistencyProof>,
}

/// Members that tell the answers apart.
#[derive(Deserialize)]
struct AnswerProbe<'a> {
    #[serde(borrow)]
    state_proof: Option<&'a RawValue>,
    #[serde(borrow)]
    entry: Option<&'a RawValue>,
    #[serde(borrow)]
    inclusion: Option<&'a RawValue>,
    #[serde(borrow)]
    first_root: Option<&'a RawValue>,
}

impl HistoryFiles {
    /// Adds the answers of a text.
    pub(super) fn add(&mut self, text: &str) -> CliResult<()> {
        let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        for (value, number) in values.zip(1..) {
            let value =
                value.map_err(|error| CommandFailure::refused(format!("not JSON: {error}")))?;
            let added = self.answer(value.get());
            added.map_err(|failure| {
                CommandFailure::refused(format!("value {number}: {}", failure.message()))
            })?;
        }
        Ok(())
    }

    fn answer(&mut self, text: &str) -> CliResult<()> {
        let what = "a state proof, a proof file or a consistency proof";
        let JsonObject(probe): JsonObject<AnswerProbe<'_>> = parse(text, what)?;
        if let Some(text) = probe.state_proof {
            return self.state(text.get());
        }
        if probe.entry.is_some() {
            return self.state(text);
        }
        if probe.inclusion.is_some() {
            let JsonObject(proof) = parse(text, "a proof file")?;
            self.proofs.push(proof);
            return Ok(());
        }
        if probe.first_root.is_some() {
            let JsonObject(proof) = parse(text, "a consistency proof")?;
            self.consistency.push(proof);
            return Ok(());
        }
        refuse(format!(
            "not {what}: save the answers of GET /state/{{id}}, /ebus/actions/{{id}}/proof?form=authorship and /consistency"
        ))
    }

    fn state(&mut self, text: &str) -> CliResult<()> {
        let JsonObject(answer) = parse(text, "a state proof")?;
        self.states.push(answer);
        Ok(())
    }

    /// The id of the first state proof.
    pub(super) fn first(&self) -> CliResult<Id> {
        match self.states.first() {
            Some(answer) => Ok(answer.key),
            None => refuse("the files hold no state proof: add the answer of GET /state/{id}"),
        }
    }

    /// The state proof of an id.
    pub(super) fn state_of(&self, id: Id) -> Option<&StateAnswer> {
        self.states.iter().find(|answer| answer.key == id)
    }

    /// Writes all answers to a file, each on its line.
    pub(super) fn write(&self, path: &Path) -> CliResult<()> {
        let states = self.states.iter().map(serde_json::to_string);
        let proofs = self.proofs.iter().map(serde_json::to_string);
        let consistency = self.consistency.iter().map(serde_json::to_string);
        let mut text = String::new();
        for line in states.chain(proofs).chain(consistency) {
            let line = line?;
            // A text takes every line.
            let _ = writeln!(text, "{line}");
        }
        std::fs::write(path, text).map_err(CommandFailure::at(path))
    }
}
