//! Decoding of the bond's events.

use ethers_core::types::Log;
use kedge_protocol::{Address, Hash};

use super::CaseKind;
use crate::contract::artifact::BOND;
use crate::contract::{to_address, to_hash, to_number, to_wei};

/// A case opened against the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseOpened {
    pub id: Hash,
    pub kind: CaseKind,
    pub opener: Address,
    /// The batch's number.
    pub number: u64,
    /// The batch's hash; zero if the opener need not know it.
    pub batch_hash: Hash,
    /// The challenged action's leaf; zero for a demand.
    pub leaf: Hash,
    /// The challenged action's sequence; zero for a demand.
    pub sequence: u64,
    pub deadline_s: u64,
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
        .map(BondEvent::CaseOpened)
        .or_else(|| case_id("CaseAnswered").map(BondEvent::CaseAnswered))
        .or_else(|| case_id("CaseClosed").map(BondEvent::CaseClosed))
        .or_else(|| proven(log))
        .or_else(|| slashed(log))
}

fn opened(log: &Log) -> Option<CaseOpened> {
    let values = BOND.read_event("CaseOpened", log)?;
    Some(CaseOpened {
        id: values.get("id", to_hash)?,
        kind: match values.get("kind", to_number)? {
            0 => CaseKind::Action,
            1 => CaseKind::Inclusion,
            2 => CaseKind::Leaves,
            _ => return None,
        },
        opener: values.get("opener", to_address)?,
        number: values.get("number", to_number)?,
        batch_hash: values.get("batchHash", to_hash)?,
        leaf: values.get("leafHash", to_hash)?,
        sequence: values.get("sequence", to_number)?,
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
