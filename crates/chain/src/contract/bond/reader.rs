//! Read access to a bond contract.

use ethers_core::abi::Token;
use kedge_protocol::{Address, Hash};

use super::events::{self, BondEvent};
use super::{BondTerms, CaseState};
use crate::contract::artifact::BOND;
use crate::contract::instance::{ContractInstance, ContractReadError};
use crate::contract::{account, to_address, to_number, to_wei, word};
use crate::rpc::{BlockTag, RpcClient};

/// A case as the contract stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BondCase {
    pub opener: Address,
    pub deadline_s: u64,
    pub state: CaseState,
    pub deposit_wei: u128,
    pub opened_at_s: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawal {
    /// Zero if no withdrawal is pending.
    pub amount_wei: u128,
    pub requested_at_s: u64,
    /// Earliest time of the withdrawal.
    pub ready_at_s: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BondState {
    /// Includes the amount of a pending withdrawal.
    pub bond_wei: u128,
    /// The part without the pending withdrawal.
    pub secured_wei: u128,
    pub withdrawal: Withdrawal,
    pub open_cases: u32,
    /// Deposit that the next case requires.
    pub case_deposit_wei: u128,
}

/// A bond at an address on a node's chain.
#[derive(Debug, Clone)]
pub struct BondContract(ContractInstance);

impl BondContract {
    /// The bond at `address`; nothing is checked yet.
    pub fn new(rpc: RpcClient, address: Address) -> Self {
        Self(ContractInstance {
            rpc,
            address,
            artifact: || &BOND,
            what: "a bond",
        })
    }

    pub fn address(&self) -> Address {
        self.0.address
    }

    pub fn rpc(&self) -> &RpcClient {
        &self.0.rpc
    }

    /// The anchor contract, which a proven fault freezes.
    pub async fn anchor_contract(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("anchorContract", &[], to_address).await
    }

    /// The contract that judges faults.
    pub async fn judge(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("judge", &[], to_address).await
    }

    /// The terms, which never change.
    pub async fn terms(&self) -> Result<BondTerms, ContractReadError> {
        let convert = |[withdrawal, window, response, reveal, deposit, cases]: [Token; 6]| {
            Some(BondTerms {
                withdrawal_delay_s: to_number(withdrawal)?,
                challenge_window_s: to_number(window)?,
                response_time_s: to_number(response)?,
                reveal_delay_s: to_number(reveal)?,
                case_deposit_wei: to_wei(deposit)?,
                open_cases_max: u32::try_from(to_number(cases)?).ok()?,
            })
        };
        self.0.read("terms", &[], BlockTag::Latest, convert).await
    }

    /// The state of the bond as of the newest block.
    pub async fn state(&self) -> Result<BondState, ContractReadError> {
        let withdrawal = |[amount, requested, ready]: [Token; 3]| {
            Some(Withdrawal {
                amount_wei: to_wei(amount)?,
                requested_at_s: to_number(requested)?,
                ready_at_s: to_number(ready)?,
            })
        };
        let withdrawal = self.0.read("withdrawal", &[], BlockTag::Latest, withdrawal);
        Ok(BondState {
            bond_wei: self.0.read_one("bond", &[], to_wei).await?,
            secured_wei: self.0.read_one("secured", &[], to_wei).await?,
            withdrawal: withdrawal.await?,
            open_cases: self.open_cases().await?,
            case_deposit_wei: self.case_deposit_wei().await?,
        })
    }

    pub async fn open_cases(&self) -> Result<u32, ContractReadError> {
        let convert = |token| u32::try_from(to_number(token)?).ok();
        self.0.read_one("openCases", &[], convert).await
    }

    /// The deposit that the next case requires.
    pub async fn case_deposit_wei(&self) -> Result<u128, ContractReadError> {
        self.0.read_one("caseDeposit", &[], to_wei).await
    }

    /// The balance that an account may collect.
    pub async fn owed_wei(&self, to: Address) -> Result<u128, ContractReadError> {
        self.0.read_one("owed", &[account(to)], to_wei).await
    }

    /// The time of a commitment, Unix seconds; zero if there is none, or it is used up.
    pub async fn committed_at_s(&self, commitment: Hash) -> Result<u64, ContractReadError> {
        self.0
            .read_one("committedAt", &[word(commitment)], to_number)
            .await
    }

    /// A case as of block `at`.
    pub async fn case(&self, id: Hash, at: BlockTag) -> Result<BondCase, ContractReadError> {
        let convert = |[opener, deadline, state, deposit, opened_at]: [Token; 5]| {
            Some(BondCase {
                opener: to_address(opener)?,
                deadline_s: to_number(deadline)?,
                state: match to_number(state)? {
                    0 => CaseState::None,
                    1 => CaseState::Open,
                    2 => CaseState::Answered,
                    3 => CaseState::Closed,
                    _ => return None,
                },
                deposit_wei: to_wei(deposit)?,
                opened_at_s: to_number(opened_at)?,
            })
        };
        self.0.read("caseOf", &[word(id)], at, convert).await
    }

    /// The events of blocks `from` to `to`, in order; the range is requested in chunks.
    pub async fn events(&self, from: u64, to: u64) -> Result<Vec<BondEvent>, ContractReadError> {
        let logs = self
            .rpc()
            .logs_between(self.address(), Vec::new(), from, to);
        let logs = logs.await?;
        Ok(logs.iter().filter_map(events::read).collect())
    }
}
