//! Main loop of a watchtower, over the chain, supplied files and the log.

use std::path::PathBuf;
use std::time::Duration;

use kedge_chain::rpc::RpcEndpoint;
use kedge_client::{Client, ClientError, Export, StateQuery};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::export::ExportLine;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};

use crate::tower::{UnsignedItem, Watchtower};

use crate::anchored_log::AnchoredLog;
use crate::chain::WatchedContracts;
use crate::dispute_filer::Filer;
use crate::memory::{self, WatchtowerMemory};
use crate::report::{WatchError, WatchtowerReport};

/// Targets and permissions of a watchtower.
pub struct WatchOptions {
    /// The log's server.
    pub url: String,
    /// An Ethereum node.
    pub rpc: RpcEndpoint,
    /// The log's current anchor contract.
    pub contract: Address,
    /// The log's domain, if its first anchor contract is another one.
    pub domain: Option<Domain>,
    /// Directory of the on-disk state.
    pub data: PathBuf,
    /// File with an access token, whose organization's requests are checked too.
    pub token_file: Option<PathBuf>,
    /// Pays for disputes; without it none is filed.
    pub key: Option<SigningKey>,
    /// Limit of all deposits of demands and challenges together.
    pub deposits_wei: u128,
    /// Seconds of the chain's time that the operator has to provide the leaves of an anchored batch, and to anchor a
    /// batch that it signed, before they are demanded.
    pub patience_s: u64,
    /// Run a single round.
    pub once: bool,
    /// Seconds between rounds.
    pub interval_s: u64,
}

/// Limit of batches per round whose missing leaves are requested again.
const ASKED_AGAIN_MAX: usize = 8;
/// Limit of ids per round whose state is requested.
const STATES_ASKED_MAX: usize = 256;

fn parse(line: &[u8]) -> Result<ExportLine, WatchError> {
    serde_json::from_slice(line).map_err(|error| WatchError::failed(format!("the export: {error}")))
}

/// The first available batch, if the server answered that older ones are archived.
fn archived_before(refused: &ClientError) -> Option<u64> {
    let ClientError::Refused(envelope) = refused else {
        return None;
    };
    let announced = envelope.body.get("minimum_batch")?.as_u64();
    announced.filter(|_| envelope.status == 410)
}

fn is_rooted(signed: &SignedCheckpoint) -> bool {
    signed.checkpoint.batches > 0 && signed.checkpoint.state != Hash::ZERO
}

/// The answer; `None` if the server refuses it or gives none that can be read, and an error if it has no time or no
/// connection, or does not know the token.
fn shown<T>(answer: Result<T, ClientError>) -> Result<Option<T>, WatchError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(ClientError::Refused(refusal)) if matches!(refusal.status, 401 | 429 | 503) => {
            Err(ClientError::Refused(refusal).into())
        }
        Err(
            ClientError::Refused(_) | ClientError::Unexpected { .. } | ClientError::Answer { .. },
        ) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

fn not_signed(number: u64, error: UnsignedItem) -> WatchError {
    WatchError::failed(format!("the server's batch {number}: {error}"))
}

/// A running watchtower.
struct WatchtowerRun {
    options: WatchOptions,
    report: WatchtowerReport,
    contracts: WatchedContracts,
    tower: Watchtower,
    memory: WatchtowerMemory,
    anchored: AnchoredLog,
    filer: Option<Filer>,
    findings: usize,
    /// Whether this process has read the whole log: findings from its requests are not on disk.
    has_read: bool,
    /// The organization of the access token, as the export states it.
    organization_id: Option<Id>,
    /// The checkpoint that the last export ended with.
    newest: Option<SignedCheckpoint>,
}

/// Runs rounds until `once` or the end of the bond.
pub async fn run(mut options: WatchOptions, report: WatchtowerReport) -> Result<(), WatchError> {
    let key = options.key.take();
    let contracts =
        WatchedContracts::open(options.rpc.clone(), options.contract, options.domain).await?;
    std::fs::create_dir_all(&options.data).map_err(memory::failed(&options.data))?;
    let anchored = AnchoredLog::open(&options.data)?;
    let mut tower = Watchtower::new(contracts.trust(&anchored).await?, options.patience_s);
    let memory = WatchtowerMemory::open(&options.data, &mut tower)?;
    let filer = match key {
        Some(key) => Some(Filer::open(
            &options.data,
            key,
            options.deposits_wei,
            &contracts,
            report,
        )?),
        None => None,
    };
    for number in filer.iter().flat_map(Filer::published) {
        tower.published(number);
    }
    let mut watch = WatchtowerRun {
        options,
        report,
        contracts,
        tower,
        memory,
        anchored,
        filer,
        findings: 0,
        has_read: false,
        organization_id: None,
        newest: None,
    };
    loop {
        let looked = watch.round().await;
        if watch.options.once {
            looked?;
            return watch.end();
        }
        if let Err(failure) = looked {
            (watch.report.warning)(&failure.to_string());
        }
        if watch.filer.as_ref().is_some_and(Filer::is_done) {
            return watch.end();
        }
        tokio::time::sleep(Duration::from_secs(watch.options.interval_s)).await;
    }
}

impl WatchtowerRun {
    /// One round.
    async fn round(&mut self) -> Result<(), WatchError> {
        self.read_chain().await?;
        self.memory.take_given(&mut self.tower, self.report)?;
        // Findings must be filed even if the server does not answer.
        let followed = self.follow().await;
        self.tower.review(followed.is_ok());
        // What an organization lacks is known once all its requests were read.
        let organization = self.organization_id.filter(|_| followed.is_ok());
        self.tower.review_state(organization.as_ref());
        self.memory.keep_lacking(&self.tower)?;
        self.memory.keep_unshown(&self.tower)?;
        self.memory.sync()?;
        for finding in self.tower.take_findings() {
            self.findings += 1;
            let file = self.memory.keep_finding(&self.contracts, &finding)?;
            self.report
                .line(format_args!("found {}: {}", finding.text(), file.display()))?;
            if let Some(filer) = &mut self.filer {
                filer.queue(&finding)?;
            }
        }
        let mut failure = None;
        if let Some(filer) = &mut self.filer {
            let filed = filer.file(&self.contracts, self.options.once).await?;
            for number in filed.published {
                self.tower.published(number);
            }
            failure = filed.failure;
        }
        followed.and(failure.map_or(Ok(()), Err))
    }

    /// Reads newly accepted checkpoints. Each is compared with the log, including superseded ones.
    async fn read_chain(&mut self) -> Result<(), WatchError> {
        self.anchored.read(&self.contracts.anchor).await?;
        self.tower
            .trust(self.contracts.trust(&self.anchored).await?);
        for signed in self.anchored.take_signed() {
            self.memory.keep_checkpoint(&signed)?;
            let taken = self.tower.checkpoint(&signed);
            taken
                .map_err(|error| WatchError::failed(format!("an anchored checkpoint: {error}")))?;
        }
        self.memory.sync()?;
        self.anchored.keep()
    }

    /// Reads the log from the last followed batch on, which is read again.
    async fn follow(&mut self) -> Result<(), WatchError> {
        let token = match &self.options.token_file {
            Some(path) => Some(std::fs::read_to_string(path).map_err(WatchError::usage)?),
            None => None,
        };
        let client = Client::builder(&self.options.url).connect().await?;
        let token = token.as_deref().map(str::trim);
        let from = if token.is_some() && !self.has_read {
            0
        } else {
            self.tower.batches().saturating_sub(1)
        };
        let (mut export, archived) = self.open_export(&client, from, token).await?;
        self.read(&mut export, archived).await?;
        self.has_read = true;
        self.ask_again(&client).await?;
        match token {
            Some(token) => self.ask_states(&client, token).await,
            None => Ok(()),
        }
    }

    /// Requests the state of ids at the newest checkpoint, and the proofs of actions that entries tell of and that no
    /// request has shown.
    async fn ask_states(&mut self, client: &Client, token: &str) -> Result<(), WatchError> {
        let Some(newest) = self.newest.filter(is_rooted) else {
            return Ok(());
        };
        let anchored = self.tower.anchored_root();
        let ids = self.tower.ids_to_ask(STATES_ASKED_MAX);
        for id in &ids {
            let mut is_shown = self.ask_state(client, token, (*id, &newest)).await?;
            if let Some(anchored) = anchored.filter(|_| !is_shown) {
                is_shown = self.ask_state(client, token, (*id, &anchored)).await?;
            }
            if !is_shown {
                self.tower.refused(id);
            }
        }
        for sequence in self.tower.unknown_sequences(&ids) {
            let file = client.unverified_proof(sequence, token).await;
            if let Some(file) = shown(file)? {
                // A file that is not signed is as good as none.
                let _is_unsigned = self.tower.proof_file(&file);
            }
        }
        if let (Some(anchored), Some(organization)) = (anchored, self.organization_id) {
            for id in self.tower.unexplained_ids(&organization) {
                self.ask_state(client, token, (id, &anchored)).await?;
            }
        }
        Ok(())
    }

    /// Requests the state of an id at a checkpoint; false if the server does not show it.
    async fn ask_state(
        &mut self,
        client: &Client,
        token: &str,
        (id, at): (Id, &SignedCheckpoint),
    ) -> Result<bool, WatchError> {
        let query = StateQuery {
            checkpoint: Some(at.checkpoint.batches),
            ..StateQuery::default()
        };
        let answer = client.unverified_state(id, query, token).await;
        let Some(answer) = shown(answer)? else {
            return Ok(false);
        };
        let is_asked =
            answer.key == id && answer.checkpoint.checkpoint.batches == at.checkpoint.batches;
        let proof = memory::proof_of(&answer);
        let kept = self
            .memory
            .keep_entry(&mut self.tower, &answer.checkpoint, &proof)?;
        Ok(is_asked && kept.is_ok())
    }

    /// The export from a batch on. If the server announces archived batches, it begins with the first available batch,
    /// whose number is also returned.
    async fn open_export(
        &self,
        client: &Client,
        from: u64,
        token: Option<&str>,
    ) -> Result<(Export, Option<u64>), WatchError> {
        let refused = match client.export(from, token).await {
            Ok(export) => return Ok((export, None)),
            Err(refused) => refused,
        };
        let Some(first) = archived_before(&refused).filter(|first| *first > from) else {
            return Err(refused.into());
        };
        if first > self.tower.batches() {
            self.report.line(format_args!(
                "the operator has archived the batches before {first}: they are not checked"
            ))?;
        }
        Ok((client.export(first, token).await?, Some(first)))
    }

    /// Requests missing leaves of batches.
    async fn ask_again(&mut self, client: &Client) -> Result<(), WatchError> {
        let batches = self.tower.batches();
        let lacking = self.tower.lacking().keys().copied();
        let lacking: Vec<u64> = lacking
            .filter(|number| *number < batches)
            .take(ASKED_AGAIN_MAX)
            .collect();
        // An unavailable batch does not stop the others.
        for number in lacking {
            if let Err(failure) = self.ask_for(client, number).await {
                (self.report.warning)(&format!("the leaves of batch {number}: {failure}"));
            }
        }
        Ok(())
    }

    async fn ask_for(&mut self, client: &Client, number: u64) -> Result<(), WatchError> {
        let mut export = client.export(number, None).await?;
        while let Some(line) = export.line().await? {
            if let ExportLine::Batch(line) = parse(&line)? {
                let taken = self.tower.follow(&line.batch, &line.leaves);
                taken.map_err(|error| not_signed(number, error))?;
                break;
            }
        }
        Ok(())
    }

    /// Reads an export to its end. `archived` is its first batch if older ones are archived.
    async fn read(&mut self, export: &mut Export, archived: Option<u64>) -> Result<(), WatchError> {
        let mut last = None;
        while let Some(line) = export.line().await? {
            match parse(&line)? {
                ExportLine::Log(line) => {
                    self.organization_id = line.organization_id;
                    if Some(line.from) == archived && line.from > self.tower.batches() {
                        self.begin_at(line.from, &line.peaks)?;
                    }
                }
                ExportLine::Batch(line) => {
                    self.memory.keep_batch(&self.tower, &line.batch)?;
                    let taken = self.tower.follow(&line.batch, &line.leaves);
                    taken.map_err(|error| not_signed(line.batch.header.number, error))?;
                    last = Some(line);
                }
                ExportLine::Request(line) => {
                    if let (Some(batch), Some(record)) = (&last, line.into_record()) {
                        let (leaves, batch) = (&batch.leaves, &batch.batch);
                        self.tower
                            .request(batch, leaves, &record)
                            .map_err(WatchError::failed)?;
                    }
                }
                ExportLine::Checkpoint(signed) => {
                    self.memory.keep_checkpoint(&signed)?;
                    self.newest = Some(signed);
                    // A checkpoint over an empty log is signed but states nothing.
                    if signed.checkpoint.batches > 0 {
                        self.tower.checkpoint(&signed).map_err(|error| {
                            WatchError::failed(format!("the server's checkpoint: {error}"))
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_at(&mut self, number: u64, peaks: &[Hash]) -> Result<(), WatchError> {
        if !self.tower.begin_at(number, peaks) {
            return Err(WatchError::failed(format!(
                "the export begins with batch {number}, but not with the tree before it"
            )));
        }
        self.memory.keep_beginning(number, peaks)
    }

    fn end(self) -> Result<(), WatchError> {
        let batches = self.tower.batches();
        if self.findings == 0 {
            let unseen = match self.tower.beginning() {
                0 => String::new(),
                first => format!(" (those before {first} are archived and were not seen)"),
            };
            return self
                .report
                .line(format_args!("{batches} batches{unseen}, no fault"));
        }
        Err(WatchError::failed(format!(
            "{batches} batches; the operator of this log can be held to account"
        )))
    }
}
