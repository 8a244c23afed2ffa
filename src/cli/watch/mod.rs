//! `kedge watch`: a watchtower. It follows a log's server (by its export) and its contracts (by their events), keeps
//! what the sequencer signed and what it is given, and proves the faults that it finds; with a key it files the dispute
//! itself. It is somebody else's program: it shares no state with a server and believes the contract alone. Its memory
//! and its judgement are `client/src/watchtower.rs`.

mod anchored;
mod chain;
mod dispute;
mod file;
mod memory;

use std::path::PathBuf;
use std::time::Duration;

use kedge_chain::rpc::Endpoint;
use kedge_client::watchtower::{NotSigned, Watchtower};
use kedge_client::{Client, Export};
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_protocol::export::Line;

use super::key::KeyArgs;
use super::output::{Failure, print_error, print_line};
use super::trust::parse_domain;
use anchored::AnchoredLog;
use chain::Contracts;
use file::Filer;
use memory::Memory;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The log's server.
    #[arg(long, value_name = "URL")]
    url: String,
    /// JSON-RPC URL of an Ethereum node.
    #[arg(long, value_name = "URL")]
    rpc: Endpoint,
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
    key: KeyArgs,
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

/// How many batches that were served without leaves are requested again in a round.
const ASKED_AGAIN_MAX: usize = 8;

fn parse(line: &[u8]) -> Result<Line, Failure> {
    serde_json::from_slice(line).map_err(|error| Failure::refused(format!("the export: {error}")))
}

fn not_signed(number: u64, error: NotSigned) -> Failure {
    Failure::refused(format!("the server's batch {number}: {error}"))
}

/// A running watchtower.
struct Watch {
    args: Args,
    contracts: Contracts,
    tower: Watchtower,
    memory: Memory,
    anchored: AnchoredLog,
    filer: Option<Filer>,
    findings: usize,
    /// Whether this process has read the whole log: what its requests show is not kept on disk.
    has_read: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let key = args.report.then(|| args.key.read()).transpose()?;
    let contracts = Contracts::open(args.rpc.clone(), args.contract, args.domain).await?;
    std::fs::create_dir_all(&args.data).map_err(|error| memory::failed(&args.data, error))?;
    let anchored = AnchoredLog::open(&args.data)?;
    let mut tower = Watchtower::new(contracts.trust(&anchored).await?, args.patience_s);
    let memory = Memory::open(&args.data, &mut tower)?;
    let filer = match key {
        Some(key) => Some(Filer::open(&args.data, key, args.deposits_wei, &contracts)?),
        None => None,
    };
    for number in filer.iter().flat_map(Filer::published) {
        tower.published(number);
    }
    let mut watch = Watch {
        args,
        contracts,
        tower,
        memory,
        anchored,
        filer,
        findings: 0,
        has_read: false,
    };
    loop {
        let looked = watch.round().await;
        if watch.args.once {
            looked?;
            return watch.end();
        }
        if let Err(failure) = looked {
            print_error(failure.message());
        }
        if watch.filer.as_ref().is_some_and(Filer::is_done) {
            return watch.end();
        }
        tokio::time::sleep(Duration::from_secs(watch.args.interval_s)).await;
    }
}

impl Watch {
    /// One look at everything, and what follows from it.
    async fn round(&mut self) -> Result<(), Failure> {
        self.read_chain().await?;
        self.memory.take_given(&mut self.tower)?;
        // If the server does not answer, findings must still be filed.
        let followed = self.follow().await;
        self.tower.review(followed.is_ok());
        self.memory.keep_lacking(&self.tower)?;
        self.memory.sync()?;
        for finding in self.tower.take_findings() {
            self.findings += 1;
            let file = self.memory.keep_finding(&self.contracts, &finding)?;
            print_line(format_args!("found {}: {}", finding.text(), file.display()))?;
            if let Some(filer) = &mut self.filer {
                filer.queue(&finding)?;
            }
        }
        if let Some(filer) = &mut self.filer {
            for number in filer.file(&self.contracts, self.args.once).await? {
                self.tower.published(number);
            }
        }
        followed
    }

    /// Reads every checkpoint that the contract accepted since the last round. Each is compared
    /// with the log, including those that later ones have replaced.
    async fn read_chain(&mut self) -> Result<(), Failure> {
        self.anchored.read(&self.contracts.anchor).await?;
        self.tower
            .trust(self.contracts.trust(&self.anchored).await?);
        for signed in self.anchored.take_signed() {
            self.memory.keep_checkpoint(&signed)?;
            let taken = self.tower.checkpoint(&signed);
            taken.map_err(|error| Failure::refused(format!("an anchored checkpoint: {error}")))?;
        }
        self.memory.sync()?;
        self.anchored.keep()
    }

    /// Reads the log from the last batch that was followed, which is read again.
    async fn follow(&mut self) -> Result<(), Failure> {
        let token = match &self.args.token_file {
            Some(path) => Some(std::fs::read_to_string(path).map_err(Failure::usage)?),
            None => None,
        };
        let client = Client::builder(&self.args.url).connect().await?;
        let from = if token.is_some() && !self.has_read {
            0
        } else {
            self.tower.batches().saturating_sub(1)
        };
        let token = token.as_deref().map(str::trim);
        let mut export = client.export(from, token).await?;
        self.read(&mut export).await?;
        self.has_read = true;
        self.ask_again(&client).await
    }

    /// Requests the leaves of batches that were served without them.
    async fn ask_again(&mut self, client: &Client) -> Result<(), Failure> {
        let batches = self.tower.batches();
        let lacking = self.tower.lacking().keys().copied();
        let lacking: Vec<u64> = lacking
            .filter(|number| *number < batches)
            .take(ASKED_AGAIN_MAX)
            .collect();
        for number in lacking {
            let mut export = client.export(number, None).await?;
            while let Some(line) = export.line().await? {
                if let Line::Batch(line) = parse(&line)? {
                    let taken = self.tower.follow(&line.batch, &line.leaves);
                    taken.map_err(|error| not_signed(number, error))?;
                    break;
                }
            }
        }
        Ok(())
    }

    async fn read(&mut self, export: &mut Export) -> Result<(), Failure> {
        let mut last = None;
        while let Some(line) = export.line().await? {
            match parse(&line)? {
                Line::Log(_) => {}
                Line::Batch(line) => {
                    self.memory.keep_batch(&self.tower, &line.batch)?;
                    let taken = self.tower.follow(&line.batch, &line.leaves);
                    taken.map_err(|error| not_signed(line.batch.header.number, error))?;
                    last = Some(line);
                }
                Line::Request(line) => {
                    if let (Some(batch), Some(record)) = (&last, line.into_record()) {
                        let (leaves, batch) = (&batch.leaves, &batch.batch);
                        self.tower
                            .request(batch, leaves, &record)
                            .map_err(Failure::refused)?;
                    }
                }
                Line::Checkpoint(signed) => {
                    self.memory.keep_checkpoint(&signed)?;
                    // A checkpoint over an empty log is signed but states nothing.
                    if signed.checkpoint.batches > 0 {
                        self.tower.checkpoint(&signed).map_err(|error| {
                            Failure::refused(format!("the server's checkpoint: {error}"))
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn end(self) -> Result<(), Failure> {
        let batches = self.tower.batches();
        if self.findings == 0 {
            return print_line(format_args!("{batches} batches, no fault"));
        }
        Err(Failure::refused(format!(
            "{batches} batches; the operator of this log can be held to account"
        )))
    }
}
