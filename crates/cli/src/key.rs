//! `kedge keys`, and the signing key of other commands.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kedge_config::secrets;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Id, Prefix, possession};
use serde_json::json;

use super::output::{CliResult, CommandFailure, print_line};
use super::trust::DomainArgs;

/// Environment variable of the key.
const VARIABLE: &str = "KEDGE_SIGNING_KEY";

/// The key's source: a file or the environment. Never the command line, which others can read and
/// shells remember.
#[derive(Args)]
pub(crate) struct KeySourceArgs {
    /// File with the private key: 0x and 64 hex digits, readable only by its owner.
    ///
    /// Without it the key is read from the environment variable KEDGE_SIGNING_KEY.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeySourceArgs {
    /// Reads this file, or without one the environment.
    pub(crate) fn of(key_file: Option<PathBuf>) -> Self {
        Self { key_file }
    }

    /// The named file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    pub(crate) fn read(&self) -> CliResult<SigningKey> {
        secrets::signing_key(self.key_file.as_deref(), "--key-file", VARIABLE)
            .map_err(CommandFailure::usage)
    }
}

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, write it to a new file and print its address.
    ///
    /// Only the owner can read the file; an existing file is never overwritten.
    New {
        /// The file to create.
        file: PathBuf,
    },
    /// Print the private key itself, to move it into another wallet.
    Show(KeySourceArgs),
    /// Print the address of a key.
    Address(KeySourceArgs),
    /// Print a key's consent to join a wallet: the body of POST /wallets/me/keys.
    ///
    /// A key of the wallet then signs the request, with `kedge sign --kind wallet.key_add`, the wallet's id as its target and
    /// this body as its payload. The consent names the wallet, and cannot be used for another one.
    Consent(ConsentArgs),
}

/// What a key consents to.
#[derive(Args)]
pub(crate) struct ConsentArgs {
    /// The id of the wallet that the key joins.
    #[arg(long, value_name = "WALLET_ID", value_parser = parse_wallet)]
    wallet: Id,
    #[command(flatten)]
    of: DomainArgs,
    #[command(flatten)]
    key: KeySourceArgs,
}

fn parse_wallet(text: &str) -> Result<Id, String> {
    Id::parse_as(Prefix::Wallet, text).map_err(|error| error.to_string())
}

impl ConsentArgs {
    async fn body(self) -> CliResult<String> {
        let key = self.key.read()?;
        let domain = self.of.domain().await?;
        let consent = possession::consent(&key, &domain.separator(), &self.wallet.to_string());
        Ok(json!({ "address": key.address(), "possession": consent }).to_string())
    }
}

pub(crate) async fn run(command: KeysCommand) -> CliResult<()> {
    match command {
        KeysCommand::New { file } => {
            let key = new_key()?;
            secrets::write_32(&file, &key.to_bytes())?;
            print_line(key.address())
        }
        KeysCommand::Show(args) => print_line(to_hex(&args.read()?.to_bytes())),
        KeysCommand::Address(args) => print_line(args.read()?.address()),
        KeysCommand::Consent(args) => print_line(args.body().await?),
    }
}

/// Generates a random key.
pub(crate) fn new_key() -> CliResult<SigningKey> {
    let bytes = kedge_client::random::bytes()?;
    // Random bytes are an invalid key with probability 2^-128.
    SigningKey::from_bytes(&bytes).map_err(CommandFailure::refused)
}
