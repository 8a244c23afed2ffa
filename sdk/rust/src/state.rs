//! State proofs: what the log has made of a resource, verified before it is returned.

use kedge_protocol::Id;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::state::answer::{StateAnswer, StateAnswerError, StateStatement};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::account::Account;
use crate::client::Client;
use crate::error::{ClientError, ClientResult, VerificationError};
use crate::transport::HttpCall;
use crate::types::ObjectResource;

/// Which checkpoint a state proof is of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StateQuery {
    /// The batches of a kept checkpoint; the newest if absent.
    pub checkpoint: Option<u64>,
    /// A sequence that the checkpoint has to cover.
    pub min_sequence: Option<u64>,
    /// Seconds that the server may wait for such a checkpoint; 5 if absent.
    pub wait_s: Option<u64>,
}

impl StateQuery {
    /// The newest checkpoint that covers this sequence, for which the server may wait up to 20 seconds.
    pub fn over(sequence: u64) -> Self {
        Self {
            min_sequence: Some(sequence),
            wait_s: Some(20),
            ..Self::default()
        }
    }

    fn text(self) -> String {
        let members = [
            ("checkpoint", self.checkpoint),
            ("min_sequence", self.min_sequence),
            ("wait", self.wait_s),
        ];
        let given = members
            .iter()
            .filter_map(|(name, value)| Some((name, (*value)?)));
        let texts: Vec<String> = given
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        texts.join("&")
    }
}

/// A verified state proof: the answer, to pass on, and what it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProvenAnswer {
    /// The answer as the server sent it; others can verify it.
    pub answer: StateAnswer,
    /// What it shows.
    pub statement: StateStatement,
}

/// An object as it was at a checkpoint, and its verified proof.
#[derive(Clone, PartialEq, Debug)]
pub struct ProvenObject {
    /// The object; its times of creation and change are not proven.
    pub object: ObjectResource,
    /// The proof.
    pub proven: ProvenAnswer,
}

#[derive(Deserialize)]
struct ObjectWithProof {
    #[serde(flatten)]
    object: ObjectResource,
    state_proof: StateAnswer,
}

impl Client {
    /// Reads a state proof with an access token and without any check, for a reader who looks for faults.
    pub async fn unverified_state(
        &self,
        id: Id,
        query: StateQuery,
        access_token: &str,
    ) -> ClientResult<StateAnswer> {
        let path = format!("/state/{id}?{}", query.text());
        self.unverified(&path, access_token, "a state proof").await
    }

    /// Reads the proof file of the action with this sequence, with an access token and without any check.
    pub async fn unverified_proof(
        &self,
        sequence: u64,
        access_token: &str,
    ) -> ClientResult<ProofFile> {
        let path = format!("/ebus/actions/{sequence}/proof");
        self.unverified(&path, access_token, "a proof file").await
    }

    async fn unverified<T: DeserializeOwned>(
        &self,
        path: &str,
        access_token: &str,
        what: &'static str,
    ) -> ClientResult<T> {
        let bearer = [("authorization", format!("Bearer {access_token}"))];
        let call = HttpCall::get(path);
        let answer = self.transport().exchange(&call, &bearer).await?;
        answer.read(what)
    }
}

impl Account {
    /// Reads and verifies the state of an object.
    pub async fn object_state(&self, id: Id, query: StateQuery) -> ClientResult<ProvenAnswer> {
        let path = format!("/objects/{id}/state-proof?{}", query.text());
        self.proven_answer(&path, (id, query)).await
    }

    /// Reads and verifies the state of a template, with the counts of its objects.
    pub async fn template_state(&self, id: Id, query: StateQuery) -> ClientResult<ProvenAnswer> {
        let path = format!("/templates/{id}/state-proof?{}", query.text());
        self.proven_answer(&path, (id, query)).await
    }

    /// Reads and verifies the state of any id with entries.
    pub async fn state(&self, id: Id, query: StateQuery) -> ClientResult<ProvenAnswer> {
        let path = format!("/state/{id}?{}", query.text());
        self.proven_answer(&path, (id, query)).await
    }

    /// Reads an object as it was at the newest checkpoint, and verifies that its state is what the object says.
    pub async fn proven_object(&self, id: Id, query: StateQuery) -> ClientResult<ProvenObject> {
        let path = format!("/objects/{id}?prove=true&{}", query.text());
        let what = "an object with its proof";
        // The numbers of the properties are compared as they were sent.
        let text: Box<RawValue> = self.get(&path, what).await?;
        let read = serde_json::from_str(text.get());
        let ObjectWithProof {
            object,
            state_proof,
        } = read.map_err(|error| ClientError::Answer { what, error })?;
        let proven = self.verified(state_proof, (id, query)).await?;
        let checked = proven.statement.check_item(&text, &proven.answer.texts);
        checked.map_err(VerificationError::from)?;
        Ok(ProvenObject { object, proven })
    }

    /// Reads the state of any id with entries as the server sends it. Nothing of it is verified.
    pub async fn state_as_sent(&self, id: Id, query: StateQuery) -> ClientResult<StateAnswer> {
        let path = format!("/state/{id}?{}", query.text());
        self.get(&path, "a state proof").await
    }

    async fn proven_answer(
        &self,
        path: &str,
        asked: (Id, StateQuery),
    ) -> ClientResult<ProvenAnswer> {
        let answer: StateAnswer = self.get(path, "a state proof").await?;
        self.verified(answer, asked).await
    }

    async fn verified(
        &self,
        answer: StateAnswer,
        (id, query): (Id, StateQuery),
    ) -> ClientResult<ProvenAnswer> {
        let client = self.client();
        let domain = client.domain();
        let checked = answer.verify(&domain, &client.sequencer_keys());
        let checked = match checked {
            // The log may name a newer key than this client knows.
            Err(StateAnswerError::OtherSequencer { .. }) => {
                client.update_keys().await?;
                answer.verify(&domain, &client.sequencer_keys())
            }
            checked => checked,
        };
        let statement = checked.map_err(VerificationError::from)?;
        if statement.key != id {
            let (expected, found) = (id, statement.key);
            return Err(VerificationError::OtherId { expected, found }.into());
        }
        let checkpoint = &statement.checkpoint;
        let is_asked = query
            .checkpoint
            .is_none_or(|batches| batches == checkpoint.batches)
            && query
                .min_sequence
                .is_none_or(|least| least <= checkpoint.sequence);
        if !is_asked {
            let what = "the state proof is of another checkpoint than the one asked for";
            return Err(VerificationError::Inconsistent(what).into());
        }
        Ok(ProvenAnswer { answer, statement })
    }
}
