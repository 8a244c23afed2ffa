//! Disputes: submission of evidence and claims, and their verdicts.

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::claim::ClaimFile;
use kedge_protocol::evidence::{EvidenceFile, Fault};
use kedge_protocol::{Hash, Id};
use serde::{Deserialize, Serialize};

use crate::account::{Account, to_json};
use crate::error::{ClientResult, VerificationError, VerificationResult};
use crate::page::{ListQuery, PageSource, Pages};

/// Subject of a dispute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeCategory {
    /// A fault of the sequencer.
    Fault,
    /// A claim about an action.
    Claim,
}

/// A decided dispute. Lists omit evidence and claims.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct DisputeResource {
    /// Its identifier.
    pub id: Id,
    /// The organization that submitted it.
    pub organization_id: Id,
    /// Subject of the dispute.
    pub kind: DisputeCategory,
    /// The proven fault; only for a fault.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// The batch or anchor of a fault, or the action of a claim.
    pub subject_id: Id,
    /// Number of the batch in question.
    pub batch: u64,
    /// The evidence; only for a fault.
    #[serde(default)]
    pub evidence: Option<EvidenceFile>,
    /// The claim file; only for a claim.
    #[serde(default)]
    pub claim: Option<ClaimFile>,
    /// SHA-256 of the normalized evidence; only for a fault.
    #[serde(default)]
    pub evidence_digest: Option<Hash>,
    /// SHA-256 of the normalized claim file; only for a claim.
    #[serde(default)]
    pub claim_digest: Option<Hash>,
    /// Time of the verdict, RFC 3339.
    pub created_at: String,
    /// Sequence of the verdict's action.
    pub sequence: u64,
}

/// Result of a submission.
#[derive(Clone, PartialEq, Debug)]
pub struct SubmittedDispute {
    /// The decided dispute.
    pub dispute: DisputeResource,
    /// False if an earlier submission had the same verdict.
    pub is_new: bool,
}

impl Account {
    /// Submits evidence of a fault. The server refuses a file that shows no fault, so check it first.
    pub async fn bring_evidence(&self, file: &EvidenceFile) -> ClientResult<SubmittedDispute> {
        let brought = self.bring(file).await?;
        let reported = &brought.dispute;
        same(reported.evidence.as_ref() == Some(file))?;
        same(reported.subject_id == file.evidence.subject())?;
        Ok(brought)
    }

    /// Submits a claim. The account's wallet must hold the claimant's key.
    pub async fn bring_claim(&self, file: &ClaimFile) -> ClientResult<SubmittedDispute> {
        let brought = self.bring(file).await?;
        let reported = &brought.dispute;
        same(reported.claim.as_ref() == Some(file))?;
        same(reported.subject_id == file.subject())?;
        Ok(brought)
    }

    async fn bring<T: Serialize>(&self, file: &T) -> ClientResult<SubmittedDispute> {
        let body = to_json(file)?;
        let answer = self.send_unsigned(Method::POST, "/disputes", body).await?;
        Ok(SubmittedDispute {
            is_new: answer.status == 201,
            dispute: answer.read("submitting a dispute")?,
        })
    }

    /// Reads a dispute of the account's organization.
    pub async fn dispute(&self, id: Id) -> ClientResult<DisputeResource> {
        let path = format!("/disputes/{id}");
        self.ask(Method::GET, &path, Bytes::new(), "a dispute")
            .await
    }

    /// Lists the disputes of the account's organization.
    pub fn disputes(&self, query: &ListQuery) -> Pages<DisputeResource> {
        Pages::new(
            PageSource::Account(self.clone()),
            "/disputes".to_owned(),
            query,
        )
    }
}

fn same(is_so: bool) -> VerificationResult {
    if is_so {
        Ok(())
    } else {
        let message = "the dispute is not about the submitted evidence or claim";
        Err(VerificationError::Inconsistent(message))
    }
}
