//! `kedge contract pause`, `unpause` and `retire`, which control whether an anchor contract accepts checkpoints.

use clap::Args;
use kedge_chain::contract::{
    AnchorContract, AnchorContractState, pause_calldata, retire_calldata, unpause_calldata,
};
use kedge_protocol::Address;
use serde_json::json;

use super::chain::ChainArgs;
use super::output::{CliResult, columns, print, print_json};
use super::trust::read_failure;

#[derive(Args)]
pub(crate) struct ContractStateArgs {
    /// The anchor contract; the key that pays is its owner's.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    #[command(flatten)]
    chain: ChainArgs,
}

#[derive(Args)]
pub(crate) struct RetireContractArgs {
    /// The contract that adopts the last checkpoint: deployed for the same log (`deploy
    /// --domain-contract`), waiting, with the sequencer key that is valid now.
    #[arg(long, value_name = "ADDRESS")]
    successor: Address,
    #[command(flatten)]
    state: ContractStateArgs,
}

pub(crate) async fn pause(args: ContractStateArgs) -> CliResult<()> {
    change(args, pause_calldata()).await
}

pub(crate) async fn unpause(args: ContractStateArgs) -> CliResult<()> {
    change(args, unpause_calldata()).await
}

pub(crate) async fn retire(args: RetireContractArgs) -> CliResult<()> {
    change(args.state, retire_calldata(args.successor)).await
}

async fn change(args: ContractStateArgs, data: Vec<u8>) -> CliResult<()> {
    let owner = args.chain.key()?;
    let contract = AnchorContract::new(args.chain.client(), args.contract);
    let mined = args.chain.send(&owner, args.contract, data).await?;
    let state = match contract.state().await.map_err(read_failure)? {
        AnchorContractState::Open => "open",
        AnchorContractState::Waiting => "waiting",
        AnchorContractState::Retired => "retired",
        AnchorContractState::Frozen => "frozen",
    };
    let paused = contract.paused().await.map_err(read_failure)?;
    if args.chain.json {
        return print_json(&json!({
            "contract": args.contract,
            "state": state,
            "paused": paused,
            "transaction_hash": mined.tx_hash,
            "block_number": mined.block_number,
        }));
    }
    print(&columns(&[
        ("contract", args.contract.to_string()),
        ("state", state.to_owned()),
        ("paused", if paused { "yes" } else { "no" }.to_owned()),
        ("transaction", mined.tx_hash.to_string()),
        ("block", mined.block_number.to_string()),
    ]))
}
