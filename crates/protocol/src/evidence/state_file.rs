//! Files with evidence of a fault of the state, and files with evidence of any fault.

use serde::{Deserialize, Serialize};

use super::{
    ContractView, EVIDENCE_FORMAT, EVIDENCE_VERSION, EvidenceFile, EvidenceFileError, NoFault,
    NoStateFault, StateEvidence, StateFault, judge_state,
};
use crate::eip712::Domain;
use crate::json::{JsonObject, object};
use crate::limits::STATE_EVIDENCE_BYTES_MAX;

/// A file with evidence of a fault of the state: of the same format and version as [`EvidenceFile`], and known by
/// the name of its fault.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateEvidenceFile {
    format: String,
    version: u32,
    /// The log's domain.
    #[serde(deserialize_with = "object")]
    pub domain: Domain,
    /// The records that show the fault.
    #[serde(deserialize_with = "object")]
    pub evidence: StateEvidence,
}

impl StateEvidenceFile {
    /// A file with this evidence, for the log of this domain.
    pub fn new(domain: Domain, evidence: StateEvidence) -> Self {
        Self {
            format: EVIDENCE_FORMAT.to_owned(),
            version: EVIDENCE_VERSION,
            domain,
            evidence,
        }
    }

    /// Parses a file as strictly as [`EvidenceFile::parse`].
    ///
    /// # Errors
    /// The text is not a file with evidence of a fault of the state.
    pub fn parse(text: &str) -> Result<Self, EvidenceFileError> {
        require_length(text, STATE_EVIDENCE_BYTES_MAX)?;
        let JsonObject(file): JsonObject<Self> = serde_json::from_str(text)?;
        if file.format != EVIDENCE_FORMAT {
            return Err(EvidenceFileError::Format(file.format));
        }
        if file.version != EVIDENCE_VERSION {
            return Err(EvidenceFileError::Version(file.version));
        }
        Ok(file)
    }

    /// Checks the evidence against the log that the caller trusts.
    ///
    /// # Errors
    /// Why the evidence shows no fault.
    pub fn check(&self, trust: &ContractView) -> Result<StateFault, NoStateFault> {
        if self.domain != trust.domain {
            return Err(NoFault::OtherDomain.into());
        }
        judge_state(&self.evidence, trust)
    }
}

/// A file with evidence of any fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultFile {
    /// Of a fault of headers, checkpoints or leaves.
    Log(Box<EvidenceFile>),
    /// Of a fault of the state.
    State(Box<StateEvidenceFile>),
}

/// The name of a file's fault; other members are read later.
#[derive(Deserialize)]
struct NamedFile {
    evidence: NamedEvidence,
}

#[derive(Deserialize)]
struct NamedEvidence {
    fault: String,
}

impl FaultFile {
    /// Parses a file of either sort.
    ///
    /// # Errors
    /// The text is no evidence file.
    pub fn parse(text: &str) -> Result<Self, EvidenceFileError> {
        require_length(text, STATE_EVIDENCE_BYTES_MAX)?;
        let named: Result<NamedFile, _> = serde_json::from_str(text);
        let is_of_state =
            named.is_ok_and(|file| StateFault::of_text(&file.evidence.fault).is_some());
        if is_of_state {
            return StateEvidenceFile::parse(text).map(|file| Self::State(Box::new(file)));
        }
        EvidenceFile::parse(text).map(|file| Self::Log(Box::new(file)))
    }

    /// The log's domain, as the file states it.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Log(file) => file.domain,
            Self::State(file) => file.domain,
        }
    }

    /// Batch counts of the anchored checkpoints that the evidence refers to, ascending and without repeats.
    pub fn anchored_batches(&self) -> Vec<u64> {
        match self {
            Self::Log(file) => file.evidence.anchored_batches(),
            Self::State(file) => file.evidence.anchored_batches(),
        }
    }
}

pub(super) fn require_length(text: &str, most: usize) -> Result<(), EvidenceFileError> {
    if text.len() > most {
        let bytes = text.len();
        return Err(EvidenceFileError::TooLong { bytes, most });
    }
    Ok(())
}
