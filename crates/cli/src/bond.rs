//! `kedge contract bond` and `bond-status`: the operator's bond on an anchor contract.

use clap::Args;
use kedge_chain::contract::bond::{BondContract, BondTerms, deploy_bond, deposit_calldata};
use kedge_chain::contract::{AnchorContract, transact_paying};
use kedge_chain::rpc::{RpcClient, RpcEndpoint, RpcOptions};
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::Address;
use serde_json::json;

use super::chain::{ChainArgs, PATIENCE_MS};
use super::output::{CliResult, columns, print, print_json, refuse};
use super::trust::read_failure;

/// Decimals of an ether: 10^18 wei.
const ETHER_DECIMALS: usize = 18;

#[derive(Args)]
pub(crate) struct BondDeployArgs {
    /// The anchor contract; the key is its owner's.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    /// The bond's initial deposit, in ether.
    #[arg(long, value_name = "ETHER", value_parser = parse_ether, default_value = "0")]
    deposit: u128,
    /// Seconds from requesting a withdrawal until it can be carried out.
    #[arg(long, value_name = "SECONDS", default_value_t = BondTerms::default().withdrawal_delay_s)]
    withdrawal_delay_s: u64,
    /// Seconds after its anchoring during which an action can be challenged.
    #[arg(long, value_name = "SECONDS", default_value_t = BondTerms::default().challenge_window_s)]
    challenge_window_s: u64,
    /// Seconds that the operator has to answer.
    #[arg(long, value_name = "SECONDS", default_value_t = BondTerms::default().response_time_s)]
    response_time_s: u64,
    /// Seconds that a commitment must wait before it can be opened.
    #[arg(long, value_name = "SECONDS", default_value_t = BondTerms::default().reveal_delay_s)]
    reveal_delay_s: u64,
    /// The deposit of the first open case, in ether; each further one costs that much more.
    #[arg(long, value_name = "ETHER", value_parser = parse_ether, default_value = "0.05")]
    case_deposit: u128,
    /// How many cases may be open at once.
    #[arg(long, value_name = "COUNT", default_value_t = BondTerms::default().open_cases_max)]
    open_cases_max: u32,
    #[command(flatten)]
    chain: ChainArgs,
}

#[derive(Args)]
pub(crate) struct StatusArgs {
    /// The anchor contract that names the bond.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    /// JSON-RPC URL of an Ethereum node.
    #[arg(long, value_name = "URL")]
    rpc: RpcEndpoint,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Parses an amount in ether, such as `0.05`, to wei.
fn parse_ether(text: &str) -> Result<u128, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > ETHER_DECIMALS {
        return Err(format!("an ether has {ETHER_DECIMALS} decimals"));
    }
    let digits = format!("{whole}{fraction:0<ETHER_DECIMALS$}");
    let is_number = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let wei = is_number.then(|| digits.parse().ok()).flatten();
    wei.ok_or_else(|| "must be an amount in ether, such as 0.05".to_owned())
}

/// Formats wei as ether, without trailing zeros.
fn ether(wei: u128) -> String {
    let unit = 10_u128.pow(ETHER_DECIMALS as u32);
    let fraction = format!("{:0ETHER_DECIMALS$}", wei % unit);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} ether", wei / unit)
}

pub(crate) async fn run_deploy(args: BondDeployArgs) -> CliResult<()> {
    let key = args.chain.key()?;
    let rpc = args.chain.client();
    let terms = BondTerms {
        withdrawal_delay_s: args.withdrawal_delay_s,
        challenge_window_s: args.challenge_window_s,
        response_time_s: args.response_time_s,
        reveal_delay_s: args.reveal_delay_s,
        case_deposit_wei: args.case_deposit,
        open_cases_max: args.open_cases_max,
    };
    let named = AnchorContract::new(rpc.clone(), args.contract).bond().await;
    let named = named.map_err(read_failure)?;
    if named != Address::ZERO {
        return refuse(format!(
            "the anchor contract already names the bond {named}, and cannot name another"
        ));
    }
    let fees = FeePolicy::default();
    let made = deploy_bond(&rpc, &key, args.contract, &terms, &fees, PATIENCE_MS).await?;
    if args.deposit > 0 {
        let (to, data) = (Some(made.bond), deposit_calldata());
        transact_paying(&rpc, &key, to, data, args.deposit, &fees, PATIENCE_MS).await?;
    }
    if args.chain.json {
        return print_json(&json!({
            "contract": args.contract,
            "bond": made.bond,
            "judge": made.judges.log,
            "state_judge": made.judges.state,
            "history_judge": made.judges.history,
            "signer_judge": made.judges.signer,
            "deposit_wei": args.deposit.to_string(),
        }));
    }
    print(&columns(&[
        ("contract", args.contract.to_string()),
        ("bond", made.bond.to_string()),
        ("judge", made.judges.log.to_string()),
        ("state judge", made.judges.state.to_string()),
        ("history judge", made.judges.history.to_string()),
        ("signer judge", made.judges.signer.to_string()),
        ("deposit", ether(args.deposit)),
    ]))
}

pub(crate) async fn run_status(args: StatusArgs) -> CliResult<()> {
    let rpc = RpcClient::new(args.rpc, RpcOptions::default());
    let anchor = AnchorContract::new(rpc.clone(), args.contract);
    let address = anchor.bond().await.map_err(read_failure)?;
    if address == Address::ZERO {
        return refuse("the anchor contract names no bond");
    }
    let bond = BondContract::new(rpc, address);
    let state = bond.state().await.map_err(read_failure)?;
    let terms = bond.terms().await.map_err(read_failure)?;
    let judge = bond.judge().await.map_err(read_failure)?;
    let anchoring = anchor.state().await.map_err(read_failure)?;
    let anchoring = format!("{anchoring:?}").to_lowercase();
    if args.json {
        return print_json(&json!({
            "contract": args.contract,
            "contract_status": anchoring,
            "bond": address,
            "judge": judge,
            "bond_wei": state.bond_wei.to_string(),
            "secured_wei": state.secured_wei.to_string(),
            "withdrawal": {
                "amount_wei": state.withdrawal.amount_wei.to_string(),
                "ready_at": state.withdrawal.ready_at_s,
            },
            "open_cases": state.open_cases,
            "case_deposit_wei": state.case_deposit_wei.to_string(),
            "terms": {
                "withdrawal_delay_s": terms.withdrawal_delay_s,
                "challenge_window_s": terms.challenge_window_s,
                "response_time_s": terms.response_time_s,
                "reveal_delay_s": terms.reveal_delay_s,
                "case_deposit_wei": terms.case_deposit_wei.to_string(),
                "open_cases_max": terms.open_cases_max,
            },
        }));
    }
    print(&columns(&[
        ("contract", format!("{}, {anchoring}", args.contract)),
        ("bond", address.to_string()),
        ("judge", judge.to_string()),
        ("amount", ether(state.bond_wei)),
        ("secured", ether(state.secured_wei)),
        ("being withdrawn", ether(state.withdrawal.amount_wei)),
        ("open cases", state.open_cases.to_string()),
        ("next deposit", ether(state.case_deposit_wei)),
        ("to answer", format!("{} s", terms.response_time_s)),
        ("to challenge", format!("{} s", terms.challenge_window_s)),
        ("to withdraw", format!("{} s", terms.withdrawal_delay_s)),
        ("to reveal", format!("{} s", terms.reveal_delay_s)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (text, wei) in [
            ("0", 0),
            ("1", 1_000_000_000_000_000_000),
            ("0.05", 50_000_000_000_000_000),
            ("12.000000000000000001", 12_000_000_000_000_000_001),
        ] {
            assert_eq!(parse_ether(text), Ok(wei), "{text}");
            assert_eq!(ether(wei), format!("{text} ether"));
        }
        for bad in ["", ".", ".5", "-1", "1e3", "1.0000000000000000001", "x"] {
            assert!(parse_ether(bad).is_err(), "{bad}");
        }
    }
}
