//! `kedge contract claims` and `kedge prove resolve`: the claims resolver on the chain.

use std::path::PathBuf;

use clap::Args;
use kedge_chain::contract::AnchorContract;
use kedge_chain::contract::claims::{ClaimsContract, deploy_claims};
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::Address;
use kedge_protocol::json::JsonObject;
use kedge_prover::claim::ClaimFile;
use kedge_prover::groth16::{ProvingKey, zkey};
use kedge_prover::{calldata, keys};
use serde_json::json;

use super::chain::{ChainArgs, PATIENCE_MS};
use super::input::{parse, read};
use super::output::{CliResult, CommandFailure, columns, print, print_json, refuse};
use super::trust::read_failure;

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct CircuitKeyArgs {
    /// The proving key of a ceremony.
    #[arg(long, value_name = "FILE")]
    zkey: Option<PathBuf>,
    /// The development key. Anybody can forge claims for it: for test chains only.
    #[arg(long)]
    dev_insecure: bool,
}

impl CircuitKeyArgs {
    pub(crate) fn read(&self) -> CliResult<ProvingKey> {
        let Some(path) = &self.zkey else {
            return keys::dev_insecure_proving().map_err(CommandFailure::refused);
        };
        let file = std::fs::read(path).map_err(CommandFailure::unreadable(path))?;
        zkey::read(&file).map_err(CommandFailure::at(path))
    }
}

#[derive(Args)]
pub(crate) struct ClaimsDeployArgs {
    /// The anchor contract; the key is its owner's.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    /// An existing resolver of this anchor contract: it gets the circuit under its next version.
    /// Without it, a new resolver is deployed.
    #[arg(long, value_name = "ADDRESS")]
    resolver: Option<Address>,
    #[command(flatten)]
    circuit: CircuitKeyArgs,
    #[command(flatten)]
    chain: ChainArgs,
}

#[derive(Args)]
pub(crate) struct ClaimResolveArgs {
    /// The claim file; - for standard input.
    file: PathBuf,
    /// The resolver's version of the circuit's verifier.
    #[arg(long, default_value_t = 1)]
    circuit_version: u32,
    #[command(flatten)]
    chain: ChainArgs,
}

pub(crate) async fn run_deploy(args: ClaimsDeployArgs) -> CliResult<()> {
    let key = args.chain.key()?;
    let rpc = args.chain.client();
    let chain_id = rpc.chain_id().await?;
    let anchor = AnchorContract::new(rpc.clone(), args.contract);
    let owner = anchor.owner().await.map_err(read_failure)?;
    if owner != key.address() {
        return refuse(format!(
            "circuits are added by the anchor contract's owner {owner}, not by {}",
            key.address()
        ));
    }
    if let Some(resolver) = args.resolver {
        let bound = ClaimsContract::new(rpc.clone(), resolver);
        let bound = bound.anchor_contract().await.map_err(read_failure)?;
        if bound != args.contract {
            return refuse(format!(
                "the resolver {resolver} belongs to the anchor contract {bound}"
            ));
        }
    }
    let circuit = args.circuit.read()?;
    let circuit = circuit.verifying();
    keys::check_allowed(circuit, chain_id)?;
    let (fees, words) = (FeePolicy::default(), circuit.words());
    let made = deploy_claims(
        &rpc,
        &key,
        args.contract,
        args.resolver,
        &words,
        &fees,
        PATIENCE_MS,
    );
    let made = made.await?;
    if args.chain.json {
        return print_json(&json!({
            "contract": args.contract,
            "resolver": made.resolver,
            "verifier": made.verifier,
            "circuit_version": made.version,
            "key_hash": circuit.hash(),
        }));
    }
    print(&columns(&[
        ("contract", args.contract.to_string()),
        ("resolver", made.resolver.to_string()),
        ("verifier", made.verifier.to_string()),
        ("circuit version", made.version.to_string()),
        ("key", circuit.hash().to_string()),
    ]))
}

pub(crate) async fn run_resolve(args: ClaimResolveArgs) -> CliResult<()> {
    let JsonObject(claim): JsonObject<ClaimFile> = parse(&read(&args.file)?, "a claim file")?;
    let key = args.chain.key()?;
    let binding = &claim.binding;
    if binding.claimant != key.address() {
        return refuse(format!(
            "the claim is {}'s, but the key is {}'s: only the claimant can submit it",
            binding.claimant,
            key.address()
        ));
    }
    let data = calldata::resolve_claim(&claim, args.circuit_version).ok_or_else(|| {
        CommandFailure::refused(
            "the claim is about an action that is not anchored yet: prove it again later",
        )
    })?;
    let mined = args.chain.send(&key, binding.resolver, data).await?;
    let context = claim.statement().context;
    let resolver = ClaimsContract::new(args.chain.client(), binding.resolver);
    if !resolver.is_resolved(&context).await.map_err(read_failure)? {
        return refuse(format!(
            "transaction {} was mined, but the resolver does not know the claim",
            mined.tx_hash
        ));
    }
    if args.chain.json {
        return print_json(&json!({
            "resolver": binding.resolver,
            "context": context,
            "content": claim.leaf.content,
            "sequence": claim.leaf.sequence,
            "transaction_hash": mined.tx_hash,
            "block_number": mined.block_number,
            "gas_used": mined.gas_used,
        }));
    }
    print(&columns(&[
        ("resolved by", binding.resolver.to_string()),
        ("context", context.to_string()),
        ("content", claim.leaf.content.to_string()),
        ("sequence", claim.leaf.sequence.to_string()),
        ("transaction", mined.tx_hash.to_string()),
        ("block", mined.block_number.to_string()),
    ]))
}
