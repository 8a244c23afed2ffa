//! Content of disputes: evidence of a fault, or a demand on the operator.

use kedge_chain::contract::bond::{
    AnchoredAction, AnchoredHeader, EntryClaim, action_case_id, challenge_action_calldata,
    challenge_entry_calldata, demand_inclusion_calldata, demand_leaves_calldata,
    demand_made_state_calldata, demand_state_calldata, entry_case_id, inclusion_case_id,
    leaves_case_id, report_calldata, state_case_id,
};
use kedge_chain::contract::{evidence_calldata, state_evidence_calldata};
use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::evidence::{Evidence, StateEvidence};
use kedge_protocol::hash::keccak;

use crate::tower::{
    ActionChallenge, EntryChallenge, Finding, StateDemand, StateDemandBasis, WithheldLeaves,
};
use serde::{Deserialize, Serialize};

use crate::chain::WatchedContracts;
use crate::report::WatchError;

/// Content of a dispute.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DisputeSubject {
    /// Reports a fault.
    Report(Box<Evidence>),
    /// Demands the anchoring of a signed header.
    Demand(Box<SignedBatch>),
    /// Demands the leaves of an anchored batch.
    Leaves(WithheldLeaves),
    /// Challenges an action.
    Challenge(Box<ActionChallenge>),
    /// Reports a fault of the state.
    StateReport(Box<StateEvidence>),
    /// Demands the state of an id.
    State(Box<StateDemand>),
    /// Challenges an entry of the state.
    Entry(Box<EntryChallenge>),
}

/// A dispute, as stored on disk.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FiledDispute {
    pub(crate) subject: DisputeSubject,
    pub(crate) salt: Hash,
    /// Ended disputes stay, because their deposits still count.
    #[serde(default)]
    pub(crate) is_over: bool,
}

impl FiledDispute {
    pub(crate) fn new(finding: &Finding) -> Result<Self, WatchError> {
        Ok(Self {
            subject: match finding {
                Finding::Fault(evidence) => DisputeSubject::Report(evidence.clone()),
                Finding::Missing(batch) | Finding::Overdue(batch) => {
                    DisputeSubject::Demand(batch.clone())
                }
                Finding::Withheld(withheld) => DisputeSubject::Leaves(*withheld),
                Finding::Unauthorised(challenge) => DisputeSubject::Challenge(challenge.clone()),
                Finding::StateFault(evidence) => DisputeSubject::StateReport(evidence.clone()),
                Finding::HiddenState(demand) => DisputeSubject::State(demand.clone()),
                Finding::UnexplainedEntry(challenge) => DisputeSubject::Entry(challenge.clone()),
            },
            salt: Hash(kedge_client::random::bytes()?),
            is_over: false,
        })
    }

    /// Hash for the commitment.
    pub(crate) fn subject_hash(&self) -> Hash {
        match &self.subject {
            DisputeSubject::Report(evidence) => keccak(&evidence_calldata(evidence)),
            DisputeSubject::Demand(batch) => inclusion_case_id(batch.header.hash()),
            DisputeSubject::Leaves(withheld) => leaves_case_id(withheld.number),
            DisputeSubject::Challenge(challenge) => {
                let action = &challenge.action;
                action_case_id(action.batch.header.hash(), action.leaf.hash())
            }
            DisputeSubject::StateReport(evidence) => keccak(&state_evidence_calldata(evidence)),
            DisputeSubject::State(demand) => state_case_id(demand.anchored_batches, &demand.key),
            DisputeSubject::Entry(challenge) => entry_case_id(&claim_of(challenge)),
        }
    }

    /// Calldata that opens the case.
    pub(crate) async fn opening(
        &self,
        contracts: &WatchedContracts,
    ) -> Result<Vec<u8>, WatchError> {
        match &self.subject {
            DisputeSubject::Report(evidence) => {
                Ok(report_calldata(&evidence_calldata(evidence), self.salt))
            }
            DisputeSubject::Demand(batch) => {
                let key_index = key_index(contracts, batch).await?;
                Ok(demand_inclusion_calldata(batch, key_index, self.salt))
            }
            DisputeSubject::Leaves(withheld) => Ok(demand_leaves_calldata(
                withheld.anchored_batches,
                withheld.number,
                self.salt,
            )),
            DisputeSubject::Challenge(challenge) => {
                let action = AnchoredAction {
                    anchored_batches: challenge.anchored_batches,
                    header: &challenge.action.batch.header,
                    leaf: &challenge.action.leaf,
                    leaf_path: &challenge.action.path,
                    batch_path: &challenge.batch_path,
                };
                Ok(challenge_action_calldata(&action, self.salt))
            }
            DisputeSubject::StateReport(evidence) => Ok(report_calldata(
                &state_evidence_calldata(evidence),
                self.salt,
            )),
            DisputeSubject::State(demand) => Ok(self.state_opening(demand)),
            DisputeSubject::Entry(challenge) => {
                let holder = AnchoredHeader {
                    anchored_batches: challenge.anchored_batches,
                    header: &challenge.header,
                    path: &challenge.path,
                };
                let (batches, proof) = (challenge.anchored_batches, &challenge.entry.proof);
                Ok(challenge_entry_calldata(batches, proof, &holder, self.salt))
            }
        }
    }

    fn state_opening(&self, demand: &StateDemand) -> Vec<u8> {
        let batches = demand.anchored_batches;
        match &demand.basis {
            StateDemandBasis::Entry(known) => demand_state_calldata(batches, known, self.salt),
            StateDemandBasis::Maker(maker) => {
                demand_made_state_calldata(batches, &demand.key, maker, 0, self.salt)
            }
        }
    }

    /// The name of the fault that a report shows; `None` for a case.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match &self.subject {
            DisputeSubject::Report(evidence) => Some(evidence.fault().text()),
            DisputeSubject::StateReport(evidence) => Some(evidence.fault().text()),
            _ => None,
        }
    }

    /// Id of the case against the operator; `None` for a report of a fault.
    pub(crate) fn case(&self) -> Option<Hash> {
        match self.subject {
            DisputeSubject::Report(_) | DisputeSubject::StateReport(_) => None,
            DisputeSubject::Demand(_)
            | DisputeSubject::Leaves(_)
            | DisputeSubject::Challenge(_)
            | DisputeSubject::State(_)
            | DisputeSubject::Entry(_) => Some(self.subject_hash()),
        }
    }

    /// The batch whose leaves are public after the case is answered.
    pub(crate) fn published(&self) -> Option<u64> {
        match self.subject {
            DisputeSubject::Leaves(withheld) => Some(withheld.number),
            _ => None,
        }
    }

    /// Description of the demand, for people.
    pub(crate) fn asked(&self) -> String {
        match &self.subject {
            DisputeSubject::Report(evidence) => evidence.fault().to_string(),
            DisputeSubject::Demand(batch) => {
                format!("the anchoring of batch {}", batch.header.number)
            }
            DisputeSubject::Leaves(withheld) => format!("the leaves of batch {}", withheld.number),
            DisputeSubject::Challenge(challenge) => {
                format!("the request of action {}", challenge.action.leaf.sequence)
            }
            DisputeSubject::StateReport(evidence) => evidence.fault().to_string(),
            DisputeSubject::State(demand) => {
                let (key, batches) = (demand.key, demand.anchored_batches);
                format!("the state of {key} after {batches} batches")
            }
            DisputeSubject::Entry(challenge) => format!(
                "the action {} that {} tells of",
                challenge.sequence, challenge.entry.proof.key
            ),
        }
    }
}

fn claim_of(challenge: &EntryChallenge) -> EntryClaim {
    EntryClaim {
        key: challenge.entry.proof.key,
        is_first: challenge.is_first,
        sequence: challenge.sequence,
        integrity: challenge.integrity,
    }
}

/// Index of a header's signing key in the contract's list.
async fn key_index(contracts: &WatchedContracts, batch: &SignedBatch) -> Result<u32, WatchError> {
    let digest = batch.header.digest(&contracts.domain.separator());
    let signer = batch
        .signature
        .recover(&digest)
        .map_err(WatchError::failed)?;
    let keys = contracts
        .anchor
        .key_terms()
        .await
        .map_err(WatchError::contract)?;
    let place = keys.iter().position(|term| term.key == signer);
    let place = place.and_then(|place| u32::try_from(place).ok());
    place.ok_or_else(|| WatchError::failed("the header is not signed by any key of the contract"))
}
