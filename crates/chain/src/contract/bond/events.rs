//! Decoding of the bond's events.

use ethers_core::abi::Token;
use ethers_core::types::Log;
use kedge_protocol::{Address, Hash, Id};

use super::{CaseKind, EntryClaim, entry_case_id};
use crate::contract::artifact::BOND;
use crate::contract::{to_address, to_hash, to_number, to_wei};

/// A case opened against the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseOpened {
    pub id: Hash,
    pub opener: Address,
    /// What the operator is asked for.
    pub subject: CaseSubject,
    pub deadline_s: u64,
}

/// What a case is about, as its event shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseSubject {
    /// The request of an action in an anchored batch.
    Action {
        number: u64,
        batch_hash: Hash,
        leaf: Hash,
        sequence: u64,
    },
    /// The anchoring of a signed header.
    Inclusion { number: u64, batch_hash: Hash },
    /// The leaves of an anchored batch.
    Leaves { number: u64 },
    /// The leaf that an entry of an anchored state tells of.
    Entry(EntryClaim),
    /// What the anchored state after `batches` batches holds under a key.
    State { batches: u64, key: Id },
}

impl CaseSubject {
    pub fn kind(&self) -> CaseKind {
        match self {
            Self::Action { .. } => CaseKind::Action,
            Self::Inclusion { .. } => CaseKind::Inclusion,
            Self::Leaves { .. } => CaseKind::Leaves,
            Self::Entry(_) => CaseKind::Entry,
            Self::State { .. } => CaseKind::State,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BondEvent {
    CaseOpened(CaseOpened),
    CaseAnswered(Hash),
    /// The case was settled.
    CaseClosed(Hash),
    /// A fault was proven, and the bond is lost.
    FaultProven {
        reporter: Address,
        /// keccak256 of the evidence.
        evidence: Hash,
    },
    Slashed {
        /// The reward's recipient.
        reporter: Address,
        burnt_wei: u128,
        reward_wei: u128,
    },
}

/// Decodes an event; `None` for events that this crate does not use.
pub(super) fn read(log: &Log) -> Option<BondEvent> {
    let case_id = |name| BOND.read_event(name, log)?.get("id", to_hash);
    opened(log)
        .or_else(|| state_opened(log))
        .map(BondEvent::CaseOpened)
        .or_else(|| case_id("CaseAnswered").map(BondEvent::CaseAnswered))
        .or_else(|| case_id("CaseClosed").map(BondEvent::CaseClosed))
        .or_else(|| proven(log))
        .or_else(|| slashed(log))
}

fn opened(log: &Log) -> Option<CaseOpened> {
    let values = BOND.read_event("CaseOpened", log)?;
    let kind = values.get("kind", to_number)?;
    let number = values.get("number", to_number)?;
    let batch_hash = values.get("batchHash", to_hash)?;
    let subject = if kind == CaseKind::Action as u64 {
        CaseSubject::Action {
            number,
            batch_hash,
            leaf: values.get("leafHash", to_hash)?,
            sequence: values.get("sequence", to_number)?,
        }
    } else if kind == CaseKind::Inclusion as u64 {
        CaseSubject::Inclusion { number, batch_hash }
    } else if kind == CaseKind::Leaves as u64 {
        CaseSubject::Leaves { number }
    } else {
        return None;
    };
    Some(CaseOpened {
        id: values.get("id", to_hash)?,
        opener: values.get("opener", to_address)?,
        subject,
        deadline_s: values.get("deadline", to_number)?,
    })
}

fn state_opened(log: &Log) -> Option<CaseOpened> {
    let values = BOND.read_event("StateCaseOpened", log)?;
    let id = values.get("id", to_hash)?;
    let kind = values.get("kind", to_number)?;
    // The contract opens cases about ids only.
    let key: Id = values.get("key", Token::into_string)?.parse().ok()?;
    let subject = if kind == CaseKind::Entry as u64 {
        let claim = |is_first| {
            Some(EntryClaim {
                key,
                is_first,
                sequence: values.get("sequence", to_number)?,
                integrity: values.get("integrity", to_hash)?,
            })
        };
        // The event does not show whether the version is an organization's first, but the case's id depends on it.
        let mut claims = [claim(false)?, claim(true)?].into_iter();
        CaseSubject::Entry(claims.find(|claim| entry_case_id(claim) == id)?)
    } else if kind == CaseKind::State as u64 {
        let batches = values.get("anchoredBatches", to_number)?;
        CaseSubject::State { batches, key }
    } else {
        return None;
    };
    Some(CaseOpened {
        id,
        opener: values.get("opener", to_address)?,
        subject,
        deadline_s: values.get("deadline", to_number)?,
    })
}

fn proven(log: &Log) -> Option<BondEvent> {
    let values = BOND.read_event("FaultProven", log)?;
    Some(BondEvent::FaultProven {
        reporter: values.get("reporter", to_address)?,
        evidence: values.get("evidence", to_hash)?,
    })
}

fn slashed(log: &Log) -> Option<BondEvent> {
    let values = BOND.read_event("Slashed", log)?;
    Some(BondEvent::Slashed {
        reporter: values.get("reporter", to_address)?,
        burnt_wei: values.get("burnt", to_wei)?,
        reward_wei: values.get("reward", to_wei)?,
    })
}
