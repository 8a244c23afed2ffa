//! Second implementation of the bond: accepted cases and answers, and view calls. Of the money it models only deposits.

use std::collections::BTreeMap;

use kedge_chain::contract::bond::BondTerms;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Address, Hash};

use super::bond_actions::ChallengedAction;
use super::bond_calls::{BondCall, CheckpointedBatch};
use super::contract::{RevertBytes, SimulatedContract, address_word, error, selector, word};

/// Address of the bond.
pub(super) const BOND: Address = Address([0xb0; 20]);

/// Kind of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DemandKind {
    Action = 0,
    Inclusion = 1,
    Leaves = 2,
}

/// Subject of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DemandSubject {
    pub(super) kind: DemandKind,
    /// Number of the batch.
    pub(super) number: u64,
    /// Hash of the batch; zero for leaves.
    pub(super) batch_hash: Hash,
    /// Leaf and sequence of the action; zero for a demand.
    pub(super) leaf: Hash,
    pub(super) sequence: u64,
}

impl DemandSubject {
    pub(super) fn action(header: &BatchHeader, leaf: Hash, sequence: u64) -> Self {
        Self {
            kind: DemandKind::Action,
            leaf,
            sequence,
            ..Self::inclusion(header)
        }
    }

    pub(super) fn inclusion(header: &BatchHeader) -> Self {
        Self {
            kind: DemandKind::Inclusion,
            batch_hash: header.hash(),
            ..Self::leaves(header.number)
        }
    }

    pub(super) fn leaves(number: u64) -> Self {
        Self {
            kind: DemandKind::Leaves,
            number,
            batch_hash: Hash::ZERO,
            leaf: Hash::ZERO,
            sequence: 0,
        }
    }

    pub(super) fn id(&self) -> Hash {
        match self.kind {
            DemandKind::Action => action_id(self.batch_hash, self.leaf),
            DemandKind::Inclusion => keccak_parts(&[&word(self.kind as u64), &self.batch_hash.0]),
            DemandKind::Leaves => keccak_parts(&[&word(self.kind as u64), &word(self.number)]),
        }
    }
}

/// Id of a case about an action.
pub(super) fn action_id(batch_hash: Hash, leaf: Hash) -> Hash {
    keccak_parts(&[&word(DemandKind::Action as u64), &batch_hash.0, &leaf.0])
}

/// State of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DemandState {
    Open = 1,
    Answered = 2,
    Closed = 3,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DemandCase {
    pub(super) subject: DemandSubject,
    opener: Address,
    pub(super) deadline_s: u64,
    pub(super) state: DemandState,
    deposit_wei: u128,
    pub(super) opened_at_s: u64,
}

/// Effect of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) enum BondEffect {
    Committed(Hash, Address),
    Opened(Hash, DemandCase),
    Answered(Hash),
    Closed(Hash),
}

/// Sender, value and time of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct BondCallContext {
    pub(super) from: Address,
    pub(super) value_wei: u128,
    pub(super) timestamp_s: u64,
}

/// State of the bond after a block.
#[derive(Clone, Debug)]
pub(super) struct SimulatedBond {
    address: Address,
    chain_id: u64,
    pub(super) terms: BondTerms,
    pub(super) cases: BTreeMap<Hash, DemandCase>,
    committed_at_s: BTreeMap<Hash, u64>,
}

impl SimulatedBond {
    pub(super) fn new(address: Address, chain_id: u64, terms: BondTerms) -> Self {
        Self {
            address,
            chain_id,
            terms,
            cases: BTreeMap::new(),
            committed_at_s: BTreeMap::new(),
        }
    }

    fn open_cases(&self) -> u64 {
        let cases = self.cases.values();
        cases.filter(|case| case.state == DemandState::Open).count() as u64
    }

    /// Deposit for the next case.
    pub(super) fn deposit_wei(&self) -> u128 {
        self.terms.case_deposit_wei * u128::from(self.open_cases() + 1)
    }

    /// Commitment of an opener to a case.
    pub(super) fn commitment(&self, of: Address, case: Hash, salt: Hash) -> Hash {
        let (address, of) = (address_word(self.address), address_word(of));
        keccak_parts(&[&word(self.chain_id), &address, &of, &case.0, &salt.0])
    }

    /// Time of a commitment; `None` if there is none, or it is used up.
    pub(super) fn committed_at_s(&self, commitment: Hash) -> Option<u64> {
        self.committed_at_s.get(&commitment).copied()
    }

    /// Executes a transaction in a block.
    pub(super) fn carry_out(
        &mut self,
        data: &[u8],
        sending: BondCallContext,
        anchor: &mut SimulatedContract,
    ) -> Result<BondEffect, RevertBytes> {
        let call = BondCall::read(data).ok_or_else(Vec::new)?;
        match call {
            BondCall::Commit(commitment) => {
                let at_s = self.committed_at_s.entry(commitment);
                at_s.or_insert(sending.timestamp_s);
                Ok(BondEffect::Committed(commitment, sending.from))
            }
            BondCall::Settle(id) => self.settle(id, sending, anchor),
            _ if anchor.is_frozen => Err(error("AlreadyFrozen()", &[])),
            BondCall::ChallengeAction { action, salt } => {
                let subject = self.challenged(&action, sending, anchor)?;
                self.open(subject, salt, sending, anchor)
            }
            BondCall::DemandLeaves {
                anchored,
                number,
                salt,
            } => {
                let out_of_reach = || error("BatchOutOfReach(uint64)", &[word(number)]);
                if number == u64::MAX {
                    return Err(out_of_reach());
                }
                anchor.record(anchored)?;
                if number >= anchored {
                    return Err(out_of_reach());
                }
                self.open(DemandSubject::leaves(number), salt, sending, anchor)
            }
            BondCall::DemandInclusion {
                batch,
                key_index,
                salt,
            } => {
                if key_index != 0 {
                    return Err(Vec::new());
                }
                let subject = signed(&batch, anchor)?;
                self.open(subject, salt, sending, anchor)
            }
            BondCall::AnswerAction { .. }
            | BondCall::AnswerStale { .. }
            | BondCall::AnswerLeaves { .. }
            | BondCall::AnswerInclusion(_) => {
                let id = self.shown(&call, anchor)?;
                self.answer(id, sending)
            }
        }
    }

    /// The case that an answer closes, if the answer is valid.
    fn shown(&self, call: &BondCall, anchor: &SimulatedContract) -> Result<Hash, RevertBytes> {
        let verify =
            |held: &CheckpointedBatch| anchor.verify_batch(held.anchored, &held.header, &held.path);
        match call {
            BondCall::AnswerAction {
                batch_hash,
                leaf,
                opened,
            } => {
                opened.authorises(leaf, &anchor.trusts().1)?;
                Ok(action_id(*batch_hash, leaf.hash()))
            }
            BondCall::AnswerStale { answer, leaf } => {
                let id = action_id(verify(answer)?, *leaf);
                let closed_at_s = self.window_end_s(answer.anchored, anchor)?;
                let opened_at_s = self.cases.get(&id).map_or(0, |case| case.opened_at_s);
                if opened_at_s <= closed_at_s {
                    return Err(error("WindowOpen(uint256)", &[word(closed_at_s)]));
                }
                Ok(id)
            }
            BondCall::AnswerLeaves { answer, leaves } => {
                verify(answer)?;
                let header = &answer.header;
                let is_whole = !leaves.is_empty()
                    && leaves.len() == header.count as usize
                    && BatchTree::new(leaves).root() == header.root;
                if !is_whole {
                    let words = [word(header.number)];
                    return Err(error("LeavesOfAnotherBatch(uint64)", &words));
                }
                Ok(DemandSubject::leaves(header.number).id())
            }
            BondCall::AnswerInclusion(answer) => {
                verify(answer)?;
                Ok(DemandSubject::inclusion(&answer.header).id())
            }
            _ => Err(Vec::new()),
        }
    }

    fn challenged(
        &self,
        action: &ChallengedAction,
        sending: BondCallContext,
        anchor: &SimulatedContract,
    ) -> Result<DemandSubject, RevertBytes> {
        let ChallengedAction { header, leaf, .. } = action;
        if header.number == u64::MAX {
            return Err(error("BatchOutOfReach(uint64)", &[word(header.number)]));
        }
        let batch = (header, &action.batch_path[..]);
        anchor.verify_action(action.anchored, batch, (leaf, &action.leaf_path))?;
        let closes_at_s = self.window_end_s(action.anchored, anchor)?;
        if sending.timestamp_s > closes_at_s {
            return Err(error("WindowClosed(uint256)", &[word(closes_at_s)]));
        }
        Ok(DemandSubject::action(header, leaf.hash(), leaf.sequence))
    }

    /// End of the time in which this checkpoint can be used to challenge its actions.
    pub(super) fn window_end_s(
        &self,
        anchored: u64,
        anchor: &SimulatedContract,
    ) -> Result<u64, RevertBytes> {
        Ok(anchor.anchored_at_s(anchored)? + self.terms.challenge_window_s)
    }

    fn open(
        &mut self,
        subject: DemandSubject,
        salt: Hash,
        sending: BondCallContext,
        anchor: &SimulatedContract,
    ) -> Result<BondEffect, RevertBytes> {
        let id = subject.id();
        if anchor.bond != self.address {
            return Err(error("NotNamed()", &[]));
        }
        if self.cases.contains_key(&id) {
            return Err(error("CaseKnown(bytes32)", &[id.0]));
        }
        if self.open_cases() >= u64::from(self.terms.open_cases_max) {
            return Err(error("TooManyCases()", &[]));
        }
        let needed_wei = self.deposit_wei();
        if sending.value_wei < needed_wei {
            let words = [sending.value_wei, needed_wei].map(amount);
            return Err(error("DepositTooSmall(uint256,uint256)", &words));
        }
        self.use_commitment(id, salt, sending)?;
        let case = DemandCase {
            subject,
            opener: sending.from,
            deadline_s: sending.timestamp_s + self.terms.response_time_s,
            state: DemandState::Open,
            deposit_wei: sending.value_wei,
            opened_at_s: sending.timestamp_s,
        };
        self.cases.insert(id, case);
        Ok(BondEffect::Opened(id, case))
    }

    fn use_commitment(
        &mut self,
        id: Hash,
        salt: Hash,
        by: BondCallContext,
    ) -> Result<(), RevertBytes> {
        let commitment = self.commitment(by.from, id, salt);
        let too_early = |ready_at_s| error("NotCommitted(uint256)", &[word(ready_at_s)]);
        let at_s = self.committed_at_s.get(&commitment);
        let ready_at_s = at_s.ok_or_else(|| too_early(0))? + self.terms.reveal_delay_s;
        if by.timestamp_s < ready_at_s {
            return Err(too_early(ready_at_s));
        }
        self.committed_at_s.remove(&commitment);
        Ok(())
    }

    fn open_case(&mut self, id: Hash) -> Result<&mut DemandCase, RevertBytes> {
        let case = self.cases.get_mut(&id);
        let case = case.filter(|case| case.state == DemandState::Open);
        case.ok_or_else(|| error("CaseNotOpen(bytes32)", &[id.0]))
    }

    fn answer(&mut self, id: Hash, sending: BondCallContext) -> Result<BondEffect, RevertBytes> {
        let case = self.open_case(id)?;
        if sending.timestamp_s > case.deadline_s {
            return Err(error("AnswerTooLate(uint64)", &[word(case.deadline_s)]));
        }
        case.state = DemandState::Answered;
        Ok(BondEffect::Answered(id))
    }

    fn settle(
        &mut self,
        id: Hash,
        sending: BondCallContext,
        anchor: &mut SimulatedContract,
    ) -> Result<BondEffect, RevertBytes> {
        let case = self.open_case(id)?;
        if !anchor.is_frozen && sending.timestamp_s <= case.deadline_s {
            let words = [word(case.deadline_s)];
            return Err(error("AnswerStillPossible(uint64)", &words));
        }
        case.state = DemandState::Closed;
        anchor.is_frozen = true;
        Ok(BondEffect::Closed(id))
    }

    /// Executes a view call.
    pub(super) fn view(&self, data: &[u8], anchor: Address) -> Result<Vec<u8>, RevertBytes> {
        let (function, arguments) = data.split_first_chunk::<4>().ok_or_else(Vec::new)?;
        let is = |signature| *function == selector(signature);
        let words = if is("anchorContract()") {
            vec![address_word(anchor)]
        } else if is("terms()") {
            let terms = &self.terms;
            vec![
                word(terms.withdrawal_delay_s),
                word(terms.challenge_window_s),
                word(terms.response_time_s),
                word(terms.reveal_delay_s),
                amount(terms.case_deposit_wei),
                word(u64::from(terms.open_cases_max)),
            ]
        } else if is("caseOf(bytes32)") {
            let id = arguments.try_into().map_err(|_| Vec::new())?;
            self.case_words(Hash(id))
        } else if is("openCases()") {
            vec![word(self.open_cases())]
        } else if is("caseDeposit()") {
            vec![amount(self.deposit_wei())]
        } else {
            return Err(Vec::new());
        };
        Ok(words.concat())
    }

    fn case_words(&self, id: Hash) -> Vec<[u8; 32]> {
        let Some(case) = self.cases.get(&id) else {
            return vec![[0; 32]; 5];
        };
        vec![
            address_word(case.opener),
            word(case.deadline_s),
            word(case.state as u64),
            amount(case.deposit_wei),
            word(case.opened_at_s),
        ]
    }
}

/// Subject of a case about a signed header.
fn signed(batch: &SignedBatch, anchor: &SimulatedContract) -> Result<DemandSubject, RevertBytes> {
    let header = batch.header;
    let (key, domain) = anchor.trusts();
    let signer = batch.signature.recover(&header.digest(&domain));
    if signer != Ok(key) {
        let signer = address_word(signer.unwrap_or_default());
        let words = [word(header.number), signer];
        return Err(error("NotSigned(uint64,address)", &words));
    }
    Ok(DemandSubject::inclusion(&header))
}

/// An amount as a word.
fn amount(wei: u128) -> [u8; 32] {
    let mut word = [0; 32];
    word[16..].copy_from_slice(&wei.to_be_bytes());
    word
}

/// Whether an answer about a case lets the server forget it: the case no longer exists, or it is over in a block
/// requested by number.
pub(super) fn is_over(words: &[u8], is_newest: bool, time_s: u64) -> bool {
    let number = |index: usize| {
        let bytes = words.get(32 * index + 24..32 * index + 32)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    };
    match number(2) {
        Some(0) => true,
        Some(1) => is_newest && number(1).is_some_and(|deadline_s| deadline_s < time_s),
        _ => !is_newest,
    }
}

/// The case that a view call asks for.
pub(super) fn asked_case(data: &[u8]) -> Option<Hash> {
    let id = data.strip_prefix(&selector("caseOf(bytes32)"))?;
    id.try_into().ok().map(Hash)
}

impl BondEffect {
    /// Topics and data of the event.
    pub(super) fn log(&self) -> (Vec<Hash>, Vec<u8>) {
        let topic = |signature: &str| keccak(signature.as_bytes());
        match *self {
            Self::Committed(commitment, by) => {
                let topics = vec![
                    topic("Committed(bytes32,address)"),
                    commitment,
                    Hash(address_word(by)),
                ];
                (topics, Vec::new())
            }
            Self::Opened(id, case) => {
                let signature =
                    "CaseOpened(bytes32,uint8,address,uint64,bytes32,bytes32,uint64,uint64)";
                let topics = vec![
                    topic(signature),
                    id,
                    Hash(word(case.subject.kind as u64)),
                    Hash(address_word(case.opener)),
                ];
                let data = [
                    word(case.subject.number),
                    case.subject.batch_hash.0,
                    case.subject.leaf.0,
                    word(case.subject.sequence),
                    word(case.deadline_s),
                ];
                (topics, data.concat())
            }
            Self::Answered(id) => (vec![topic("CaseAnswered(bytes32)"), id], Vec::new()),
            Self::Closed(id) => (vec![topic("CaseClosed(bytes32)"), id], Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests;
