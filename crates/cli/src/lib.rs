//! The command line: subcommands and exit codes.
//!
//! Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 1 refused or invalid, 2
//! wrong usage.

mod admin;
mod archive;
mod backup;
mod bond;
mod chain;
mod claims;
mod client;
mod cluster;
mod completions;
mod contract;
mod contract_keys;
mod contract_state;
mod demo;
mod dev_chain;
mod edge;
mod health;
mod import;
mod init;
mod input;
mod key;
mod output;
mod prove;
mod rebuild;
mod serve;
mod sign;
mod trust;
mod verify;
mod watch;

use std::path::PathBuf;
use std::pin::Pin;

use clap::{CommandFactory, Parser, Subcommand};
use kedge_config::{Config, StartAllowances};

use output::{CliResult, CommandFailure};

/// An ordered log of signed actions, with proofs that Ethereum anchors.
#[derive(Parser)]
#[command(
    name = "kedge",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "EXIT STATUS:\n  0  done\n  1  refused, or the check failed\n  2  wrong usage"
)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
    /// Certificate authorities to trust in addition to the system's, as a PEM file: for https URLs of every kind.
    ///
    /// SSL_CERT_FILE and SSL_CERT_DIR name other authorities in place of the system's.
    #[arg(long, global = true, value_name = "FILE", env = "KEDGE_CA_FILE")]
    ca_file: Option<PathBuf>,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Run the server.
    Serve(serve::ServeArgs),
    /// Demonstrate everything on a running server: sign, submit, anchor, verify.
    ///
    /// Registers a new wallet, makes a template and mints objects in signed batches, changes and
    /// transfers some, requests an anchor, waits until it is final on the chain, and verifies one
    /// action's proof file offline and against the contract.
    Demo(demo::DemoArgs),
    /// Log in to a server, and keep the login as a profile for the commands below.
    ///
    /// The profile holds the server's domain and sequencer keys as they are now, and every later command compares them: a
    /// server that shows another log is refused. It is a file that only its owner can read.
    Login(client::LoginArgs),
    /// Forget a profile.
    Logout(client::LogoutArgs),
    /// Show the logged-in wallet.
    Whoami(client::WhoamiArgs),
    /// Show anything that has an id; --prove verifies an object against the newest checkpoint.
    Get(client::GetArgs),
    /// Mint an object from a template.
    Mint(client::MintArgs),
    /// Change an object's properties: a JSON merge patch.
    Update(client::UpdateArgs),
    /// Transfer an object to another wallet.
    Transfer(client::TransferArgs),
    /// Send a request that needs no signature, and print its answer.
    Call(client::CallArgs),
    /// Sign one action and print the headers for curl.
    Sign(sign::SignArgs),
    /// Mint objects from existing records: NDJSON or CSV.
    ///
    /// Checks every record against the template's schema, then mints the objects in signed batches. Run the same command
    /// again after an interruption of any kind: it continues where it ended, and mints no record twice. Exits with 0
    /// only if all records are minted.
    Import(Box<import::ImportArgs>),
    /// Prove selected words of an action in zero knowledge.
    #[command(subcommand)]
    Prove(prove::ProveCommand),
    /// Verify a receipt, a proof file, a claim or a data directory.
    #[command(subcommand)]
    Verify(verify::VerifyCommand),
    /// Watch a log: keep what its sequencer signs, prove faults, and file them on the chain.
    ///
    /// Follows the server's export and the contracts. Keeps every signed header and checkpoint,
    /// including those given to it, and compares each with all others. A fault that can be proven
    /// is written to an evidence file; with --report it is filed with the operator's bond.
    Watch(watch::WatchArgs),
    /// Make and show signing keys.
    #[command(subcommand)]
    Keys(key::KeysCommand),
    /// Deploy the anchor contract, its bond and its resolver of claims, or hand it over.
    #[command(subcommand)]
    Contract(contract::ContractCommand),
    /// Control a running server over its admin socket.
    #[command(subcommand)]
    Admin(admin::AdminCommand),
    /// Run the development chain by itself, for several development nodes.
    ///
    /// `kedge serve --dev` has it inside. The chain's keys are public: never use it for data that matters.
    DevChain(dev_chain::DevChainArgs),
    /// Show the nodes that share a log, and decide which one leads.
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Run an edge: take requests for the nodes that share a log, and pass them on.
    ///
    /// An edge keeps nothing, and any number of them may run. Changes go straight to the node that leads; everything
    /// else to a node that is ready. Stop it with SIGTERM: requests in flight are answered first.
    Edge(edge::EdgeArgs),
    /// Copy a running server's data directory, and check the copy.
    ///
    /// The copy is of one moment; the server continues meanwhile. It holds everything in the data
    /// directory, including secrets, so guard it just as well. Only the store's rows are missing; a
    /// restore rebuilds them from the log. The high-water mark is not part of it. With --since only
    /// what is new since an older backup takes space.
    Backup(backup::BackupArgs),
    /// Restore a backup into a new data directory, and check it.
    ///
    /// A restored server signs nothing until something shows that the backup is the newest copy: it
    /// could otherwise sign numbers again that were issued after the backup. With --to-sequence or
    /// --to-time the log is restored as it stood at an earlier moment.
    Restore(backup::RestoreArgs),
    /// Move old segments of a running server's log to an archive.
    ///
    /// A segment is removed from the data directory only after it was read back from the archive. Nothing that the
    /// server needs to start or to run is moved. A request for archived content is answered GONE.
    /// To make the content readable again, stop the server, copy the segments back into data/log, and start it.
    Archive(archive::ArchiveArgs),
    /// Rebuild a damaged store from its log.
    ///
    /// The new store is made next to the old one, verified, and takes its place in one step; the old
    /// one stays in the data directory. Everything comes from the log: sessions, passwords, secrets,
    /// deliveries, idempotency keys and anchors too. The log holds these sealed, so the keys in
    /// data/keys are needed. It can be interrupted and run again.
    Rebuild(rebuild::RebuildArgs),
    /// Write a configuration file with every option explained.
    Init(init::InitArgs),
    /// Ask a running server whether it answers, or whether it is ready.
    ///
    /// Exits with 0 if it does, and with 1 and the reason if not: for the healthcheck of a container.
    Health(health::HealthArgs),
    /// Print a completion script for a shell.
    ///
    /// For bash: kedge completions bash >/etc/bash_completion.d/kedge
    Completions(completions::CompletionsArgs),
    /// Write the man pages.
    #[command(hide = true)]
    Man(completions::ManArgs),
}

/// What [`main`] runs for `kedge serve` and `kedge edge`: until it ends, or the message of its error.
pub type ServiceFuture = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Runs the program; `serve` runs the server until it ends, and `edge` an edge. Returns the exit code, or `None` on
/// success.
pub fn main(
    serve: fn(Config, StartAllowances) -> ServiceFuture,
    edge: fn(Config) -> ServiceFuture,
) -> Option<u8> {
    let cli = Cli::parse();
    let trusted = kedge_net::trust::trust(cli.ca_file.as_deref());
    let trusted =
        trusted.map_err(|error| CommandFailure::refused(format!("whom to trust: {error}")));
    let failure = trusted.and_then(|()| run(cli.command, serve, edge)).err()?;
    if !failure.message().is_empty() {
        output::print_error(failure.message());
    }
    Some(failure.code())
}

fn run(
    command: CliCommand,
    serve: fn(Config, StartAllowances) -> ServiceFuture,
    edge: fn(Config) -> ServiceFuture,
) -> CliResult<()> {
    match command {
        CliCommand::Serve(args) => {
            let (config, allowances) = args.read()?;
            in_runtime(async {
                serve(config, allowances)
                    .await
                    .map_err(CommandFailure::Refused)
            })
        }
        CliCommand::Edge(args) => {
            let config = args.read()?;
            in_runtime(async { edge(config).await.map_err(CommandFailure::Refused) })
        }
        CliCommand::Demo(args) => in_runtime(demo::run(args)),
        CliCommand::Login(args) => in_runtime(client::login(args)),
        CliCommand::Logout(args) => client::logout(&args),
        CliCommand::Whoami(args) => in_runtime(client::whoami(args)),
        CliCommand::Get(args) => in_runtime(client::get(args)),
        CliCommand::Mint(args) => in_runtime(client::mint(args)),
        CliCommand::Update(args) => in_runtime(client::update(args)),
        CliCommand::Transfer(args) => in_runtime(client::transfer(args)),
        CliCommand::Call(args) => in_runtime(client::call(args)),
        CliCommand::Sign(args) => in_runtime(sign::run(args)),
        CliCommand::Import(args) => in_runtime(import::run(*args)),
        CliCommand::Prove(command) => in_runtime(prove::run(command)),
        CliCommand::Verify(command) => in_runtime(verify::run(command)),
        CliCommand::Watch(args) => in_runtime(watch::run(args)),
        CliCommand::Keys(command) => in_runtime(key::run(command)),
        CliCommand::Contract(command) => in_runtime(contract::run(command)),
        CliCommand::Admin(command) => in_runtime(admin::run(command)),
        CliCommand::Cluster(command) => in_runtime(cluster::run(command)),
        CliCommand::DevChain(args) => in_runtime(dev_chain::run(args)),
        CliCommand::Backup(args) => in_runtime(backup::run(args)),
        CliCommand::Restore(args) => backup::restore(&args),
        CliCommand::Archive(args) => in_runtime(archive::run(args)),
        CliCommand::Rebuild(args) => in_runtime(rebuild::run(args)),
        CliCommand::Init(args) => init::run(&args),
        CliCommand::Health(args) => in_runtime(health::run(args)),
        CliCommand::Completions(args) => completions::run(&args, Cli::command()),
        CliCommand::Man(args) => completions::man(&args, Cli::command()),
    }
}

fn in_runtime(work: impl Future<Output = CliResult<()>>) -> CliResult<()> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandFailure::refused(format!("the runtime does not start: {error}")))?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn wrong_usage_is_2() {
        for wrong in [
            &["kedge", "verify", "proof"][..],
            &["kedge", "verify", "object"],
            &["kedge", "prove", "key"],
            &["kedge", "prove", "key", "--dev-insecure", "--zkey", "f"],
            &["kedge", "sign", "--kind", "mint"],
            &["kedge", "nothing"],
            &["kedge", "contract", "handover", "--rpc", "http://h"],
            &["kedge", "completions"],
            &["kedge", "completions", "sh"],
            &["kedge", "health", "--timeout", "0"],
            &["kedge", "man"],
            &["kedge", "edge", "--listen", "nowhere"],
        ] {
            let error = Cli::try_parse_from(wrong).err().expect("must be refused");
            assert_eq!(error.exit_code(), 2, "{wrong:?}");
        }
    }
}
