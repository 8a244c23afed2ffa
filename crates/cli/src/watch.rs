//! `kedge watch`: runs a watchtower, [`kedge_watchtower`].

use std::path::PathBuf;

use kedge_chain::rpc::RpcEndpoint;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_watchtower::{WatchError, WatchOptions, WatchtowerReport};

use super::key::KeySourceArgs;
use super::output::{CliResult, CommandFailure, print_error, print_line};
use super::trust::parse_domain;

#[derive(clap::Args)]
pub(crate) struct WatchArgs {
    /// The log's server.
    #[arg(long, value_name = "URL")]
    url: String,
    /// JSON-RPC URL of an Ethereum node.
    #[arg(long, value_name = "URL")]
    rpc: RpcEndpoint,
    /// The anchor contract that the log uses now.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    /// The log's domain, if its first anchor contract is another one.
    #[arg(long, value_name = "CHAIN_ID:ADDRESS", value_parser = parse_domain)]
    domain: Option<Domain>,
    /// Directory of the watchtower's memory. Receipts, proof files, signed headers and signed
    /// checkpoints put into its folder `given` are read in the next round.
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,
    /// File with an access token: its organization's requests are checked too.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File disputes on the chain; the key of --key-file or KEDGE_SIGNING_KEY pays.
    #[arg(long)]
    report: bool,
    #[command(flatten)]
    key: KeySourceArgs,
    /// With --report: the limit of all deposits of demands and challenges together. The deposit of a case that the
    /// operator answers is lost. Without it nothing that needs a deposit is filed.
    #[arg(long, value_name = "WEI", default_value_t = 0, requires = "report")]
    deposits_wei: u128,
    /// Seconds of the chain's time that the operator has to provide the leaves of an anchored batch, and to anchor a
    /// batch that it signed; after that they are demanded.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    patience_s: u64,
    /// Look once and exit.
    #[arg(long)]
    once: bool,
    /// Seconds between looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    interval_s: u64,
}

pub(crate) async fn run(args: WatchArgs) -> CliResult<()> {
    let options = WatchOptions {
        key: args.report.then(|| args.key.read()).transpose()?,
        url: args.url,
        rpc: args.rpc,
        contract: args.contract,
        domain: args.domain,
        data: args.data,
        token_file: args.token_file,
        deposits_wei: args.deposits_wei,
        patience_s: args.patience_s,
        once: args.once,
        interval_s: args.interval_s,
    };
    let report = WatchtowerReport {
        line: |line| print_line(line).map_err(|failure| failure.message().to_owned()),
        warning: print_error,
    };
    let watched = kedge_watchtower::run(options, report).await;
    watched.map_err(|error| match error {
        WatchError::Failed(message) => CommandFailure::Refused(message),
        WatchError::Usage(message) => CommandFailure::Usage(message),
    })
}
