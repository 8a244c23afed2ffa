//! Reading the bond.

use ethers_core::abi::Token;
use kedge_protocol::{Address, Hash};

use super::events::{self, BondEvent};
use super::{BondTerms, CaseState};
use crate::contract::artifact::BOND;
use crate::contract::{ReadError, account, to_address, to_number, to_wei, word};
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
pub struct BondContract {
    rpc: RpcClient,
    address: Address,
}

impl BondContract {
    /// The bond at `address`; nothing is checked yet.
    pub fn new(rpc: RpcClient, address: Address) -> Self {
        Self { rpc, address }
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The node's client.
    pub fn rpc(&self) -> &RpcClient {
        &self.rpc
    }

    async fn read<T>(
        &self,
        name: &'static str,
        arguments: &[Token],
        at: At,
        convert: impl FnOnce(Token) -> Option<T>,
    ) -> Result<T, ReadError> {
        let called = BOND.call(&self.rpc, self.address, name, arguments, at);
        called
            .await?
            .and_then(|mut tokens| tokens.pop())
            .and_then(convert)
            .ok_or(ReadError::NotABond {
                address: self.address,
                function: name,
            })
    }

    /// The anchor contract, which a proven fault freezes.
    pub async fn anchor_contract(&self) -> Result<Address, ReadError> {
        self.read("anchorContract", &[], At::Latest, to_address)
            .await
    }

    /// The contract that judges faults.
    pub async fn judge(&self) -> Result<Address, ReadError> {
        self.read("judge", &[], At::Latest, to_address).await
    }

    /// The terms.
    pub async fn terms(&self) -> Result<BondTerms, ReadError> {
        let convert = |token: Token| {
            let [withdrawal, window, response, reveal, deposit, cases] =
                <[Token; 6]>::try_from(token.into_tuple()?).ok()?;
            Some(BondTerms {
                withdrawal_delay_s: to_number(withdrawal)?,
                challenge_window_s: to_number(window)?,
                response_time_s: to_number(response)?,
                reveal_delay_s: to_number(reveal)?,
                case_deposit_wei: to_wei(deposit)?,
                open_cases_max: u32::try_from(to_number(cases)?).ok()?,
            })
        };
        self.read("terms", &[], At::Latest, convert).await
    }

    /// The state of the bond as of the newest block.
    pub async fn state(&self) -> Result<BondState, ReadError> {
        let withdrawal = |token: Token| {
            let [amount, requested, ready] = <[Token; 3]>::try_from(token.into_tuple()?).ok()?;
            Some(Withdrawal {
                amount_wei: to_wei(amount)?,
                requested_at_s: to_number(requested)?,
                ready_at_s: to_number(ready)?,
            })
        };
        let at = At::Latest;
        Ok(BondState {
            bond_wei: self.read("bond", &[], at, to_wei).await?,
            secured_wei: self.read("secured", &[], at, to_wei).await?,
            withdrawal: self.read("withdrawal", &[], at, withdrawal).await?,
            open_cases: self.open_cases().await?,
            case_deposit_wei: self.case_deposit_wei().await?,
        })
    }

    /// The number of open cases.
    pub async fn open_cases(&self) -> Result<u32, ReadError> {
        let convert = |token| u32::try_from(to_number(token)?).ok();
        self.read("openCases", &[], At::Latest, convert).await
    }

    /// The deposit of the next case, in wei.
    pub async fn case_deposit_wei(&self) -> Result<u128, ReadError> {
        self.read("caseDeposit", &[], At::Latest, to_wei).await
    }

    /// What is owed to an account, in wei.
    pub async fn owed_wei(&self, to: Address) -> Result<u128, ReadError> {
        self.read("owed", &[account(to)], At::Latest, to_wei).await
    }

    /// When a commitment was made, Unix seconds; zero if it was not made, or is used up.
    pub async fn committed_at_s(&self, commitment: Hash) -> Result<u64, ReadError> {
        self.read("committedAt", &[word(commitment)], At::Latest, to_number)
            .await
    }

    /// A case as of block `at`.
    pub async fn case(&self, id: Hash, at: At) -> Result<BondCase, ReadError> {
        let convert = |token: Token| {
            let [opener, deadline, state, deposit, opened_at] =
                <[Token; 5]>::try_from(token.into_tuple()?).ok()?;
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
        self.read("caseOf", &[word(id)], at, convert).await
    }

    /// The events of the blocks from `from` to `to`, in order; requested in parts.
    pub async fn events(&self, from: u64, to: u64) -> Result<Vec<BondEvent>, ReadError> {
        let logs = self.rpc.logs_between(self.address, Vec::new(), from, to);
        let logs = logs.await?;
        Ok(logs.iter().filter_map(events::read).collect())
    }
}
