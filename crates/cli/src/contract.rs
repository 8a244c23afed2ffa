//! `kedge contract`: deployment of the anchor contract, and its owner's actions.

use clap::Subcommand;
use kedge_chain::contract::{
    AnchorContract, DeployOptions, accept_ownership_calldata, deploy, transfer_ownership_calldata,
};
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::Address;
use serde_json::json;

use super::chain::{ChainArgs, PATIENCE_MS};
use super::output::{CliResult, columns, print, print_json};
use super::trust::read_failure;
use super::{bond, claims, contract_keys, contract_state};

#[derive(Subcommand)]
pub(crate) enum ContractCommand {
    /// Deploy the anchor contract; the key pays.
    Deploy {
        /// The address of the key that signs batches.
        #[arg(long, value_name = "ADDRESS")]
        sequencer: Address,
        /// The account that may rotate the sequencer's key and pause; the payer if absent.
        #[arg(long, value_name = "ADDRESS")]
        owner: Option<Address>,
        /// The first anchor contract of an existing log: the new contract waits until the one before it is retired in
        /// its favour. Without it, the contract begins a new log.
        #[arg(long, value_name = "ADDRESS")]
        domain_contract: Option<Address>,
        #[command(flatten)]
        chain: ChainArgs,
    },
    /// Deploy the judges and a bond for an anchor contract, and name the bond there.
    ///
    /// The terms are fixed for the bond's life: its withdrawal delay has to be longer than the times to challenge, to
    /// answer and to reveal together.
    Bond(bond::BondDeployArgs),
    /// Show the state of an anchor contract's bond.
    BondStatus(bond::StatusArgs),
    /// Name the next sequencer key, in the log and in the contract.
    ///
    /// The log is changed first, through the server's admin socket; then the owner's key changes the contract. If a
    /// rotation stopped half-way, run the command again to finish it.
    Rotate(contract_keys::ContractKeyRotateArgs),
    /// Note that all batches of a replaced sequencer key are anchored.
    ///
    /// From then on the key's signatures count as evidence only for the time set in the bond.
    CloseKey(contract_keys::ContractKeyCloseArgs),
    /// Stop anchoring. Proofs and reads stay as they are.
    Pause(contract_state::ContractStateArgs),
    /// Anchor again after a pause.
    Unpause(contract_state::ContractStateArgs),
    /// Hand the log over to a successor contract, for good.
    Retire(contract_state::RetireContractArgs),
    /// Deploy a resolver of claims over an anchor contract, with a verifier for the claim circuit's key.
    ///
    /// With --resolver the circuit is added to an existing resolver, under its next version; no version is ever
    /// changed. `kedge prove claim --resolver` makes claims for it, `kedge prove resolve` submits them.
    Claims(claims::ClaimsDeployArgs),
    /// Give the contract to another owner, in two steps.
    ///
    /// First the owner names the next one with --to, then that one accepts with --accept. Between the two steps nothing
    /// changes, so a mistyped address loses nothing.
    Handover {
        /// The contract.
        #[arg(long, value_name = "ADDRESS")]
        contract: Address,
        /// First step, with the owner's key: name the next owner.
        #[arg(long, value_name = "ADDRESS", required_unless_present = "accept")]
        to: Option<Address>,
        /// Second step, with the next owner's key: accept the contract.
        #[arg(long, conflicts_with = "to")]
        accept: bool,
        #[command(flatten)]
        chain: ChainArgs,
    },
}

pub(crate) async fn run(command: ContractCommand) -> CliResult<()> {
    match command {
        ContractCommand::Deploy {
            sequencer,
            owner,
            domain_contract,
            chain,
        } => run_deploy(chain, sequencer, owner, domain_contract).await,
        ContractCommand::Bond(args) => bond::run_deploy(args).await,
        ContractCommand::BondStatus(args) => bond::run_status(args).await,
        ContractCommand::Rotate(args) => contract_keys::rotate(args).await,
        ContractCommand::CloseKey(args) => contract_keys::close(args).await,
        ContractCommand::Pause(args) => contract_state::pause(args).await,
        ContractCommand::Unpause(args) => contract_state::unpause(args).await,
        ContractCommand::Retire(args) => contract_state::retire(args).await,
        ContractCommand::Claims(args) => claims::run_deploy(args).await,
        ContractCommand::Handover {
            contract,
            to,
            chain,
            ..
        } => run_handover(chain, contract, to).await,
    }
}

async fn run_deploy(
    chain: ChainArgs,
    sequencer_key: Address,
    owner: Option<Address>,
    domain_contract: Option<Address>,
) -> CliResult<()> {
    let (key, rpc) = (chain.key()?, chain.client());
    let options = DeployOptions {
        owner: owner.unwrap_or(key.address()),
        sequencer_key,
        domain_contract,
        fee_policy: FeePolicy::default(),
        patience_ms: PATIENCE_MS,
    };
    let made = deploy(&rpc, &key, &options).await?;
    let chain_id = rpc.chain_id().await?;
    if chain.json {
        return print_json(&json!({
            "chain_id": chain_id,
            "contract": made.address,
            "domain_contract": domain_contract.unwrap_or(made.address),
            "owner": options.owner,
            "sequencer": sequencer_key,
            "transaction_hash": made.tx_hash,
            "block_number": made.block_number,
        }));
    }
    print(&columns(&[
        ("chain id", chain_id.to_string()),
        ("contract", made.address.to_string()),
        ("owner", options.owner.to_string()),
        ("sequencer", sequencer_key.to_string()),
        ("transaction", made.tx_hash.to_string()),
        ("block", made.block_number.to_string()),
    ]))
}

async fn run_handover(chain: ChainArgs, address: Address, to: Option<Address>) -> CliResult<()> {
    let data = to.map_or_else(accept_ownership_calldata, transfer_ownership_calldata);
    let mined = chain.send(&chain.key()?, address, data).await?;
    let contract = AnchorContract::new(chain.client(), address);
    let owner = contract.owner().await.map_err(read_failure)?;
    let pending = contract.pending_owner().await.map_err(read_failure)?;
    let pending = (pending != Address::ZERO).then_some(pending);
    if chain.json {
        return print_json(&json!({
            "contract": address,
            "owner": owner,
            "pending_owner": pending,
            "transaction_hash": mined.tx_hash,
            "block_number": mined.block_number,
        }));
    }
    print(&columns(&[
        ("contract", address.to_string()),
        ("owner", owner.to_string()),
        (
            "next owner",
            pending.map_or_else(|| "-".to_owned(), |next| format!("{next}, once it accepts")),
        ),
        ("transaction", mined.tx_hash.to_string()),
        ("block", mined.block_number.to_string()),
    ]))
}
