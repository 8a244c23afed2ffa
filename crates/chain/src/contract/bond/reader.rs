//! Reading the bond.

use ethers_core::abi::Token;
use kedge_protocol::{Address, Hash};

use super::events::{self, BondEvent};
use super::{BondTerms, CaseState};
use crate::contract::artifact::BOND;
use crate::contract::deployed::{Deployed, ReadError};
use crate::contract::{account, to_address, to_number, to_wei, word};
use crate::rpc::{At, RpcClient};

/// A case as the contract stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BondCase {
    /// The opener.
    pub opener: Address,
    /// The deadline for an answer, Unix seconds.
    pub deadline_s: u64,
    /// Its state.
    pub state: CaseState,
    /// The opener's deposit, in wei.
    pub deposit_wei: u128,
    /// When it was opened, Unix seconds.
    pub opened_at_s: u64,
}

/// A requested withdrawal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawal {
    /// How much, in wei; zero if there is none.
    pub amount_wei: u128,
    /// When it was requested, Unix seconds.
    pub requested_at_s: u64,
    /// From when it is possible, Unix seconds.
    pub ready_at_s: u64,
}

/// The state of a bond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BondState {
    /// The bond, including what is being withdrawn, in wei.
    pub bond_wei: u128,
    /// The part that also secures the log's future, in wei.
    pub secured_wei: u128,
    /// The requested withdrawal.
    pub withdrawal: Withdrawal,
    /// How many cases are open.
    pub open_cases: u32,
    /// The deposit of the next case, in wei.
    pub case_deposit_wei: u128,
}

/// A bond at an address on a node's chain.
#[derive(Debug, Clone)]
pub struct BondContract(Deployed);

impl BondContract {
    /// The bond at `address`; nothing is checked yet.
    pub fn new(rpc: RpcClient, address: Address) -> Self {
        Self(Deployed {
            rpc,
            address,
            artifact: || &BOND,
            what: "a bond",
        })
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.0.address
    }

    /// The node's client.
    pub fn rpc(&self) -> &RpcClient {
        &self.0.rpc
    }

    /// The anchor contract, which a proven fault freezes.
    pub async fn anchor_contract(&self) -> Result<Address, ReadError> {
        self.0.read_one("anchorContract", &[], to_address).await
    }

    /// The contract that judges faults.
    pub async fn judge(&self) -> Result<Address, ReadError> {
        self.0.read_one("judge", &[], to_address).await
    }

    /// The terms.
    pub async fn terms(&self) -> Result<BondTerms, ReadError> {
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
        self.0.read("terms", &[], At::Latest, convert).await
    }

    /// The state of the bond as of the newest block.
    pub async fn state(&self) -> Result<BondState, ReadError> {
        let withdrawal = |[amount, requested, ready]: [Token; 3]| {
            Some(Withdrawal {
                amount_wei: to_wei(amount)?,
                requested_at_s: to_number(requested)?,
                ready_at_s: to_number(ready)?,
            })
        };
        let withdrawal = self.0.read("withdrawal", &[], At::Latest, withdrawal);
        Ok(BondState {
            bond_wei: self.0.read_one("bond", &[], to_wei).await?,
            secured_wei: self.0.read_one("secured", &[], to_wei).await?,
            withdrawal: withdrawal.await?,
            open_cases: self.open_cases().await?,
            case_deposit_wei: self.case_deposit_wei().await?,
        })
    }

    /// The number of open cases.
    pub async fn open_cases(&self) -> Result<u32, ReadError> {
        let convert = |token| u32::try_from(to_number(token)?).ok();
        self.0.read_one("openCases", &[], convert).await
    }

    /// The deposit of the next case, in wei.
    pub async fn case_deposit_wei(&self) -> Result<u128, ReadError> {
        self.0.read_one("caseDeposit", &[], to_wei).await
    }

    /// What is owed to an account, in wei.
    pub async fn owed_wei(&self, to: Address) -> Result<u128, ReadError> {
        self.0.read_one("owed", &[account(to)], to_wei).await
    }

    /// When a commitment was made, Unix seconds; zero if it was not made, or is used up.
    pub async fn committed_at_s(&self, commitment: Hash) -> Result<u64, ReadError> {
        self.0
            .read_one("committedAt", &[word(commitment)], to_number)
            .await
    }

    /// A case as of block `at`.
    pub async fn case(&self, id: Hash, at: At) -> Result<BondCase, ReadError> {
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

    /// The events of the blocks from `from` to `to`, in order; requested in parts.
    pub async fn events(&self, from: u64, to: u64) -> Result<Vec<BondEvent>, ReadError> {
        let logs = self
            .rpc()
            .logs_between(self.address(), Vec::new(), from, to);
        let logs = logs.await?;
        Ok(logs.iter().filter_map(events::read).collect())
    }
}
