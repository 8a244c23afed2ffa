//! On-disk state of a watchtower: seen headers and checkpoints, supplied files, and found evidence. Files are
//! append-only, and synced before anything is filed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::evidence::{EvidenceFile, StateEvidenceFile};
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt, ReceiptLeaf};
use kedge_protocol::state::{StateAnswer, StateProof};

use crate::tower::{EntryRefusal, Finding, UnshownState, UnsignedItem, Watchtower};
use serde::{Deserialize, Serialize};

use crate::chain::WatchedContracts;
use crate::report::{WatchError, WatchtowerReport};

/// Name of the file of beginnings.
const BEGINNINGS: &str = "beginnings.json";

/// A file supplied by the user.
#[derive(Deserialize)]
#[serde(untagged)]
enum SuppliedFile {
    Receipt(Box<Receipt>),
    Batch(Box<BatchReceipt>),
    Proof(Box<ProofFile>),
    Header(Box<SignedBatch>),
    Checkpoint(Box<SignedCheckpoint>),
    State(Box<StateAnswer>),
}

/// An entry that a state proof shows, as stored on disk.
#[derive(Serialize, Deserialize)]
struct KeptEntry {
    checkpoint: SignedCheckpoint,
    proof: StateProof,
}

/// First batch of a followed section of the log: of the first read, or after a section that was archived meanwhile.
#[derive(Serialize, Deserialize)]
struct LogBeginning {
    number: u64,
    peaks: Vec<Hash>,
}

pub(crate) struct WatchtowerMemory {
    directory: PathBuf,
    beginnings: Vec<LogBeginning>,
    /// Batches in the order of following.
    batches: File,
    next_batch: u64,
    checkpoints: File,
    kept_checkpoint: Option<SignedCheckpoint>,
    /// Entries of the state, as they were first shown.
    entries: File,
    /// Last written value.
    lacking: BTreeMap<u64, u64>,
    lacking_path: PathBuf,
    /// Last written value.
    unshown: UnshownState,
    unshown_path: PathBuf,
    taken: BTreeSet<OsString>,
}

/// The error of a file or folder.
pub(crate) fn failed<E: Display>(path: &Path) -> impl FnOnce(E) -> WatchError {
    move |error| WatchError::failed(format!("{}: {error}", path.display()))
}

/// Parses a file with one value per line. A last line torn by a crash is dropped.
pub(crate) fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, WatchError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(path)(error)),
    };
    let mut values = Vec::new();
    let mut whole = 0;
    let mut reader = BufReader::new(file);
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line).map_err(failed(path))?;
        if read == 0 {
            break;
        }
        if !line.ends_with('\n') {
            let file = OpenOptions::new().write(true).open(path);
            file.and_then(|file| file.set_len(whole))
                .map_err(failed(path))?;
            break;
        }
        whole += read as u64;
        values.push(serde_json::from_str(&line).map_err(failed(path))?);
    }
    Ok(values)
}

pub(crate) fn append(path: &Path) -> Result<File, WatchError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(failed(path))
}

pub(crate) fn write_line(file: &mut File, value: &impl Serialize) -> Result<(), WatchError> {
    let mut line = serde_json::to_vec(value).map_err(WatchError::failed)?;
    line.push(b'\n');
    file.write_all(&line).map_err(WatchError::failed)
}

/// The value of a JSON file; `None` if the file is missing.
pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(
    path: &Path,
) -> Result<Option<T>, WatchError> {
    match fs::read(path) {
        Ok(bytes) => {
            let value = serde_json::from_slice(&bytes);
            value.map(Some).map_err(failed(path))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path)(error)),
    }
}

/// Replaces a file atomically: after a crash it holds either the old or the new value.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), WatchError> {
    let bytes = serde_json::to_vec(value).map_err(WatchError::failed)?;
    let temporary = path.with_extension("new");
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    written.map_err(failed(path))
}

impl WatchtowerMemory {
    /// Opens the directory, and loads its content into the tower.
    pub(crate) fn open(directory: &Path, tower: &mut Watchtower) -> Result<Self, WatchError> {
        for folder in ["given", "evidence"] {
            let path = directory.join(folder);
            fs::create_dir_all(&path).map_err(failed(&path))?;
        }
        let [batches, checkpoints, entries] = ["batches", "checkpoints", "entries"]
            .map(|name| directory.join(format!("{name}.ndjson")));
        let beginnings: Vec<LogBeginning> =
            read_json(&directory.join(BEGINNINGS))?.unwrap_or_default();
        let followed: Vec<SignedBatch> = lines(&batches)?;
        for batch in &followed {
            let number = batch.header.number;
            let begins = beginnings.iter().find(|begun| begun.number == number);
            if let Some(begun) = begins.filter(|_| number > tower.batches()) {
                tower.begin_at(number, &begun.peaks);
            }
            tower.resume(batch).map_err(failed(&batches))?;
        }
        let lacking_path = directory.join("lacking.json");
        let lacking: BTreeMap<u64, u64> = read_json(&lacking_path)?.unwrap_or_default();
        tower.resume_lacking(lacking.clone());
        let known: Vec<SignedCheckpoint> = lines(&checkpoints)?;
        for checkpoint in known.iter().filter(|known| known.checkpoint.batches > 0) {
            tower.checkpoint(checkpoint).map_err(failed(&checkpoints))?;
        }
        let unshown_path = directory.join("unshown.json");
        let unshown: UnshownState = read_json(&unshown_path)?.unwrap_or_default();
        for kept in lines::<KeptEntry>(&entries)? {
            tower
                .entry(&kept.checkpoint, &kept.proof)
                .map_err(failed(&entries))?;
        }
        // After the entries: each of them was shown before it was refused.
        tower.resume_unshown(unshown.clone());
        Ok(Self {
            entries: append(&entries)?,
            directory: directory.to_owned(),
            batches: append(&batches)?,
            beginnings,
            next_batch: tower.batches(),
            checkpoints: append(&checkpoints)?,
            kept_checkpoint: known.last().copied(),
            lacking,
            lacking_path,
            unshown,
            unshown_path,
            taken: BTreeSet::new(),
        })
    }

    /// Stores the log's next batch. A known batch is skipped; a different one with its number is stored as evidence.
    pub(crate) fn keep_batch(
        &mut self,
        tower: &Watchtower,
        batch: &SignedBatch,
    ) -> Result<(), WatchError> {
        if batch.header.number == self.next_batch && tower.knows_signer(batch) {
            write_line(&mut self.batches, batch)?;
            self.next_batch += 1;
        }
        Ok(())
    }

    /// Stores the start of a followed section; earlier batches are archived.
    pub(crate) fn keep_beginning(&mut self, number: u64, peaks: &[Hash]) -> Result<(), WatchError> {
        let peaks = peaks.to_vec();
        self.beginnings.push(LogBeginning { number, peaks });
        self.next_batch = number;
        write_json(&self.directory.join(BEGINNINGS), &self.beginnings)
    }

    pub(crate) fn keep_checkpoint(&mut self, signed: &SignedCheckpoint) -> Result<(), WatchError> {
        if self.kept_checkpoint.as_ref() != Some(signed) {
            write_line(&mut self.checkpoints, signed)?;
            self.kept_checkpoint = Some(*signed);
        }
        Ok(())
    }

    /// Gives a state proof to the tower, and stores it if its entry is new.
    pub(crate) fn keep_entry(
        &mut self,
        tower: &mut Watchtower,
        checkpoint: &SignedCheckpoint,
        proof: &StateProof,
    ) -> Result<Result<(), EntryRefusal>, WatchError> {
        match tower.entry(checkpoint, proof) {
            Ok(false) => Ok(Ok(())),
            Ok(true) => {
                let kept = KeptEntry {
                    checkpoint: *checkpoint,
                    proof: proof.clone(),
                };
                write_line(&mut self.entries, &kept).map(Ok)
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Stores the times since which leaves are missing, so that a restart gives the operator no more time.
    pub(crate) fn keep_lacking(&mut self, tower: &Watchtower) -> Result<(), WatchError> {
        if self.lacking != *tower.lacking() {
            self.lacking.clone_from(tower.lacking());
            write_json(&self.lacking_path, &self.lacking)?;
        }
        Ok(())
    }

    /// Stores since when states are not shown, for the same reason.
    pub(crate) fn keep_unshown(&mut self, tower: &Watchtower) -> Result<(), WatchError> {
        let unshown = tower.unshown();
        if self.unshown != unshown {
            write_json(&self.unshown_path, &unshown)?;
            self.unshown = unshown;
        }
        Ok(())
    }

    /// Syncs all files.
    pub(crate) fn sync(&self) -> Result<(), WatchError> {
        for file in [&self.batches, &self.checkpoints, &self.entries] {
            file.sync_data().map_err(WatchError::failed)?;
        }
        Ok(())
    }

    /// Reads new files of the folder `given`.
    pub(crate) fn take_given(
        &mut self,
        tower: &mut Watchtower,
        report: WatchtowerReport,
    ) -> Result<(), WatchError> {
        let folder = self.directory.join("given");
        let entries = fs::read_dir(&folder).map_err(failed(&folder))?;
        for entry in entries {
            let entry = entry.map_err(failed(&folder))?;
            if self.taken.contains(&entry.file_name()) {
                continue;
            }
            let path = entry.path();
            // Either error may come from a file that is still being written, so it is read again.
            let given = match fs::read_to_string(&path) {
                Ok(text) => serde_json::from_str::<SuppliedFile>(&text).ok(),
                Err(error) => {
                    (report.warning)(&format!("{}: {error}", path.display()));
                    continue;
                }
            };
            let Some(given) = given else {
                (report.warning)(&format!("{}: not a known kind of file", path.display()));
                continue;
            };
            let taken = match &given {
                SuppliedFile::State(answer) => {
                    let kept = self.keep_entry(tower, &answer.checkpoint, &proof_of(answer))?;
                    kept.map_err(|refusal| refusal.to_string())
                }
                other => take(tower, other).map_err(|error| error.to_string()),
            };
            if let Err(error) = taken {
                (report.warning)(&format!("{}: {error}", path.display()));
            }
            self.taken.insert(entry.file_name());
        }
        Ok(())
    }

    /// Writes a finding to a separate file; returns its path.
    pub(crate) fn keep_finding(
        &self,
        contracts: &WatchedContracts,
        finding: &Finding,
    ) -> Result<PathBuf, WatchError> {
        let json = match finding {
            Finding::Fault(evidence) => {
                let file = EvidenceFile::new(contracts.domain, (**evidence).clone());
                serde_json::to_string_pretty(&file)
            }
            Finding::Missing(batch) | Finding::Overdue(batch) => {
                serde_json::to_string_pretty(batch)
            }
            Finding::Withheld(withheld) => serde_json::to_string_pretty(withheld),
            Finding::Unauthorised(challenge) => serde_json::to_string_pretty(challenge),
            Finding::StateFault(evidence) => {
                let file = StateEvidenceFile::new(contracts.domain, (**evidence).clone());
                serde_json::to_string_pretty(&file)
            }
            Finding::HiddenState(demand) => serde_json::to_string_pretty(demand),
            Finding::UnexplainedEntry(challenge) => serde_json::to_string_pretty(challenge),
        };
        let json = json.map_err(WatchError::failed)?;
        let name = finding.text();
        let id = kedge_protocol::hash::keccak(json.as_bytes()).to_string();
        let path = self
            .directory
            .join("evidence")
            .join(format!("{name}-{}.json", &id[2..14]));
        let mut file = File::create(&path).map_err(failed(&path))?;
        let written = file
            .write_all(json.as_bytes())
            .and_then(|()| file.sync_all());
        written.map_err(failed(&path))?;
        Ok(path)
    }
}

/// The proof of an answer, without what people read of it.
pub(crate) fn proof_of(answer: &StateAnswer) -> StateProof {
    StateProof {
        key: answer.key,
        entry: answer.entry.clone(),
        nodes: answer.nodes.clone(),
    }
}

fn leaf(shown: &ReceiptLeaf) -> LogLeaf {
    LogLeaf {
        sequence: shown.sequence,
        timestamp_ms: shown.timestamp_ms,
        content: shown.content,
        integrity: shown.integrity,
    }
}

fn take(tower: &mut Watchtower, given: &SuppliedFile) -> Result<(), UnsignedItem> {
    let mut action = |batch, shown: &ReceiptLeaf, index, path: &[Hash]| {
        tower.action(
            batch,
            leaf(shown),
            index,
            path.to_vec(),
            shown.previous_integrity,
        )
    };
    match given {
        SuppliedFile::Receipt(receipt) => action(
            &receipt.batch,
            &receipt.leaf,
            receipt.leaf_index,
            &receipt.path,
        ),
        SuppliedFile::Proof(proof) => tower.proof_file(proof),
        SuppliedFile::Batch(receipt) => tower.header(&receipt.batch),
        SuppliedFile::Header(batch) => tower.header(batch),
        SuppliedFile::Checkpoint(signed) => tower.checkpoint(signed),
        // Taken by the caller, which stores it.
        SuppliedFile::State(_) => Ok(()),
    }
}
