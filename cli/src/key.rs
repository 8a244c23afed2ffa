//! `kedge keys`, and the key that other commands sign with.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kedge_config::secrets;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::SigningKey;

use super::output::{Failure, print_line};

/// The environment variable that may hold the key.
const VARIABLE: &str = "KEDGE_SIGNING_KEY";

/// The key's source: a file or the environment. Never the command line, which others can read and
/// shells remember.
#[derive(Args)]
pub(crate) struct KeyArgs {
    /// File with the private key: 0x and 64 hex digits, readable only by its owner.
    ///
    /// Without it the key is read from the environment variable KEDGE_SIGNING_KEY.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyArgs {
    pub(crate) fn read(&self) -> Result<SigningKey, Failure> {
        secrets::signing_key(self.key_file.as_deref(), "--key-file", VARIABLE)
            .map_err(Failure::usage)
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a key, write it to a new file and print its address.
    ///
    /// Only the owner can read the file; an existing file is never overwritten.
    New {
        /// The file to create.
        file: PathBuf,
    },
    /// Print the private key itself, to move it into another wallet.
    Show(KeyArgs),
    /// Print the address of a key.
    Address(KeyArgs),
}

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::New { file } => {
            let key = new_key()?;
            secrets::write_32(&file, &key.to_bytes()).map_err(Failure::refused)?;
            print_line(key.address())
        }
        Command::Show(args) => print_line(to_hex(&args.read()?.to_bytes())),
        Command::Address(args) => print_line(args.read()?.address()),
    }
}

/// A random key.
pub(crate) fn new_key() -> Result<SigningKey, Failure> {
    let bytes = kedge_client::random::bytes()?;
    // Random bytes are no valid key with probability 2^-128.
    SigningKey::from_bytes(&bytes).map_err(Failure::refused)
}
