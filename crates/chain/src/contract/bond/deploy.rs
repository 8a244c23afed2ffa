//! Deployment of judges and bond for an anchor contract.

use ethers_core::abi::Token;
use ethers_core::types::U256;
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;

use super::BondTerms;
use crate::contract::artifact::{Artifact, BOND, HISTORY_JUDGE, JUDGE, SIGNER_JUDGE, STATE_JUDGE};
use crate::contract::{TransactError, account, name_bond_calldata, number, transact};
use crate::rpc::RpcClient;
use crate::transaction::{FeePolicy, deployed_address};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BondDeployment {
    pub judges: FaultJudges,
    pub bond: Address,
}

/// The contracts that tell faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultJudges {
    /// Faults of headers, checkpoints and leaves.
    pub log: Address,
    /// Faults that entries of the state show.
    pub state: Address,
    /// Faults that entries show next to leaves.
    pub history: Address,
    /// Faults of signers.
    pub signer: Address,
}

/// Deployment data of a judge, which accepts evidence until `evidence_age_s` after its key was replaced.
fn judge_deployment_data(judge: &Artifact, anchor: Address, evidence_age_s: u64) -> Vec<u8> {
    judge.deployment(&[account(anchor), number(evidence_age_s)])
}

fn bond_deployment_data(anchor: Address, judges: &FaultJudges, terms: &BondTerms) -> Vec<u8> {
    let FaultJudges {
        log,
        state,
        history,
        signer,
    } = *judges;
    let judges = [log, state, history, signer].map(account);
    let terms = Token::Tuple(vec![
        number(terms.withdrawal_delay_s),
        number(terms.challenge_window_s),
        number(terms.response_time_s),
        number(terms.reveal_delay_s),
        Token::Uint(U256::from(terms.case_deposit_wei)),
        number(u64::from(terms.open_cases_max)),
    ]);
    BOND.deployment(&[account(anchor), Token::Tuple(judges.to_vec()), terms])
}

/// Deploys the judges and a bond over `anchor` and names the bond there. `key` must be the anchor contract's owner; it
/// pays for the six transactions. Waits at most `patience_ms` for each.
pub async fn deploy_bond(
    rpc: &RpcClient,
    key: &SigningKey,
    anchor: Address,
    terms: &BondTerms,
    fee_policy: &FeePolicy,
    patience_ms: u64,
) -> Result<BondDeployment, TransactError> {
    let make = async |data| {
        let mined = transact(rpc, key, None, data, fee_policy, patience_ms).await?;
        Ok::<_, TransactError>(deployed_address(key.address(), mined.nonce))
    };
    let judge = |judge| judge_deployment_data(judge, anchor, terms.withdrawal_delay_s);
    let judges = FaultJudges {
        log: make(judge(&JUDGE)).await?,
        state: make(judge(&STATE_JUDGE)).await?,
        history: make(judge(&HISTORY_JUDGE)).await?,
        signer: make(judge(&SIGNER_JUDGE)).await?,
    };
    let bond = make(bond_deployment_data(anchor, &judges, terms)).await?;
    let name = name_bond_calldata(bond);
    transact(rpc, key, Some(anchor), name, fee_policy, patience_ms).await?;
    Ok(BondDeployment { judges, bond })
}
