//! `kedge prove`: zero-knowledge claims about one action, inputs for their keys, and state proofs without a server.

mod state;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use kedge_protocol::json::JsonObject;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::{Address, Hash};
use kedge_prover::circuit::Constraints;
use kedge_prover::claim::{ClaimBinding, ClaimDisclosure, ClaimFile, DisclosureMask, prove};
use kedge_prover::groth16::{Groth16Proof, VerifyingKey, r1cs};
use kedge_prover::pins::Pins;
use kedge_prover::{calldata, keys};
use serde_json::{Value, json};

use super::claims::{self, CircuitKeyArgs};
use super::input::{parse, read};
use super::output::{CliResult, CommandFailure, print_json, print_line};
use super::trust::TrustArgs;

#[derive(Subcommand)]
pub(crate) enum ProveCommand {
    /// Prove selected words of an action, for one claimant, contract and purpose, and reveal nothing else.
    ///
    /// Reads the action's proof file, checks it, and prints a claim file. What is not disclosed cannot be guessed from
    /// it, not even a word that has only two possible values.
    Claim(Box<ProveClaimArgs>),
    /// Print a claim for other programs: snarkjs' files, and the data of the contract's call.
    Export {
        /// The claim file; - for standard input.
        file: PathBuf,
        /// The resolver's version of the circuit's verifier.
        #[arg(long, default_value_t = 1)]
        circuit_version: u32,
    },
    /// Prove what the log had made of one id, or that it had made nothing, from a data directory or a copy.
    ///
    /// Needs no server, which must be stopped unless the directory is a copy. Reads the proof from what the store keeps,
    /// or folds the log for it, checks it, and prints what GET /state/{id} answers. Nothing in the directory is changed.
    State(state::ProveStateArgs),
    /// Submit a claim to the contract that resolves it; the key is the claimant's and pays.
    Resolve(claims::ClaimResolveArgs),
    /// Print a verification key: in snarkjs' format, as its hash, and as the words that the
    /// contract's verifier is made with.
    Key(CircuitKeyArgs),
    /// Write the claim circuit as an .r1cs file, from which a ceremony makes keys.
    Circuit {
        /// The file to write.
        file: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct ProveClaimArgs {
    /// The proof file; - for standard input.
    file: PathBuf,
    /// What to disclose, separated by commas: kind, target, payload, signer. If empty, the claim shows only that the
    /// log holds an action with this content.
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    disclose: Vec<Disclosable>,
    /// Disclose hashes of texts, not the texts.
    #[arg(long)]
    hashes_only: bool,
    /// The account that will make the claim; no other account can use it.
    #[arg(long, value_name = "ADDRESS")]
    claimant: Address,
    /// The contract that will resolve the claim.
    #[arg(long, value_name = "ADDRESS")]
    resolver: Address,
    /// What the claim is for: 32 bytes, named by the arbiter or the claimant.
    #[arg(long, value_name = "HASH")]
    purpose: Hash,
    #[command(flatten)]
    key: CircuitKeyArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Disclosable {
    Kind,
    Target,
    Payload,
    Signer,
}

pub(crate) async fn run(command: ProveCommand) -> CliResult<()> {
    match command {
        ProveCommand::Claim(args) => print_json(&claim(*args).await?),
        ProveCommand::Export {
            file,
            circuit_version,
        } => print_json(&export(&read(&file)?, circuit_version)?),
        ProveCommand::State(args) => print_json(&state::prove(args).await?),
        ProveCommand::Resolve(args) => claims::run_resolve(args).await,
        ProveCommand::Key(args) => print_json(&described(args.read()?.verifying())?),
        ProveCommand::Circuit { file } => circuit(&file),
    }
}

async fn claim(args: ProveClaimArgs) -> CliResult<ClaimFile> {
    let JsonObject(file): JsonObject<ProofFile> = parse(&read(&args.file)?, "a proof file")?;
    let trust = args.trust.resolve().await?;
    let (domain, sequencer) = trust.of(file.domain).await?;
    file.verify(&domain, &sequencer)?;
    let bar = ProgressBar::new_spinner().with_message("reading the proving key");
    bar.enable_steady_tick(Duration::from_millis(100));
    let key = args.key.read()?;
    keys::check_allowed(key.verifying(), domain.chain_id)?;
    bar.set_message("proving");
    let choice = ClaimDisclosure {
        mask: mask(&args.disclose),
        hashes_only: args.hashes_only,
    };
    let binding = ClaimBinding {
        resolver: args.resolver,
        claimant: args.claimant,
        purpose: args.purpose,
    };
    let claim = prove(&key, &file, choice, binding)?;
    bar.finish_and_clear();
    Ok(claim)
}

fn mask(disclose: &[Disclosable]) -> DisclosureMask {
    let bits = disclose
        .iter()
        .fold(0, |bits, word| bits | 1 << *word as u8);
    DisclosureMask::new(bits).unwrap_or_default()
}

fn export(text: &str, circuit_version: u32) -> CliResult<Value> {
    let JsonObject(claim): JsonObject<ClaimFile> = parse(text, "a claim file")?;
    let proof = Groth16Proof::of_parts(&claim.proof)?;
    let calldata = calldata::resolve_claim(&claim, circuit_version);
    Ok(json!({
        "proof": proof.to_snarkjs(),
        "public": claim.statement().decimals(),
        "resolver": claim.binding.resolver,
        "calldata": calldata.map(|data| format!("0x{}", const_hex::encode(data))),
    }))
}

fn described(key: &VerifyingKey) -> CliResult<Value> {
    let text = key.to_snarkjs()?;
    let verification_key: Value = serde_json::from_str(&text)?;
    Ok(json!({
        "hash": key.hash(),
        "verification_key": verification_key,
        "words": key.words(),
    }))
}

fn circuit(path: &Path) -> CliResult<()> {
    let constraints = Constraints::of_claims()?;
    let file = r1cs::file(&constraints);
    std::fs::write(path, &file).map_err(CommandFailure::at(path))?;
    let pins = Pins::of(&file, &constraints);
    print_line(serde_json::to_string_pretty(&pins)?)
}
