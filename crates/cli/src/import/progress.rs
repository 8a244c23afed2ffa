//! State of an import from earlier runs, and its identity.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kedge_client::{Account, SigningAttempt, random};
use kedge_protocol::{Address, Hash, Id};
use serde::{Deserialize, Serialize};

use super::args::ImportArgs;
use super::check::{ImportCheckResult, ImportRecordSet};
use super::input::ImportInput;
use super::journal::{ImportProgressEntry, ImportProgressFile};
use super::shape::RecordShape;
use crate::output::{CliResult, refuse};

/// Version of the progress file. In version 1, empty CSV rows counted as records.
const VERSION: u32 = 2;

/// Identity of an import. All fields but `id` must be equal in every run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ImportProgressHeader {
    version: u32,
    /// Part of every idempotency key.
    pub(super) id: Hash,
    sha256: Hash,
    bytes: u64,
    records: u64,
    options: String,
    template: Id,
    chain_id: u64,
    contract: Address,
    signer: Address,
}

impl ImportProgressHeader {
    pub(super) fn new(
        args: &ImportArgs,
        input: &ImportInput,
        shape: &RecordShape,
        checked: &ImportCheckResult,
        account: &Account,
    ) -> CliResult<Self> {
        let domain = account.client().domain();
        let delimiter = char::from(input.delimiter);
        let options = shape.options(input.format);
        Ok(Self {
            version: VERSION,
            id: Hash(random::bytes()?),
            sha256: checked.sha256,
            bytes: checked.bytes,
            records: checked.records,
            options: format!(
                "{options} delimiter={delimiter:?} columns={:?}",
                input.columns
            ),
            template: args.template,
            chain_id: domain.chain_id,
            contract: domain.verifying_contract,
            signer: account.address(),
        })
    }

    /// Difference to the import of an existing progress file.
    fn difference(&self, kept: &Self) -> Option<String> {
        let log = (self.chain_id, self.contract) != (kept.chain_id, kept.contract);
        if self.version != kept.version {
            let (kept, own) = (kept.version, self.version);
            return Some(format!(
                "it has version {kept}, and this program reads {own}"
            ));
        }
        if (self.sha256, self.bytes) != (kept.sha256, kept.bytes) {
            let (kept, own) = (kept.bytes, self.bytes);
            return Some(format!(
                "the input has changed since the import began: it had {kept} bytes and has {own}"
            ));
        }
        if log {
            return Some("the import began on another log".to_owned());
        }
        if self.template != kept.template {
            return Some(format!("the import began with {}", kept.template));
        }
        if self.signer != kept.signer {
            return Some(format!("the import began with the key of {}", kept.signer));
        }
        if self.options != kept.options {
            let (kept, own) = (&kept.options, &self.options);
            return Some(format!(
                "the import began with other options: {kept}; now {own}"
            ));
        }
        None
    }
}

/// A batch with an unknown outcome.
#[derive(Clone, Debug)]
pub(super) struct UnsettledBatch {
    pub(super) records: Vec<(u64, u64)>,
    pub(super) payloads: Hash,
    pub(super) attempts: Vec<SigningAttempt>,
}

impl UnsettledBatch {
    pub(super) fn count(&self) -> u64 {
        self.records
            .iter()
            .map(|(first, last)| last - first + 1)
            .sum()
    }

    pub(super) fn contains(&self, ordinal: u64) -> bool {
        let mut ranges = self.records.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&ordinal))
    }
}

/// Totals over all runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) minted: u64,
    pub(super) batches: u64,
    pub(super) first_sequence: Option<u64>,
    pub(super) last_sequence: Option<u64>,
}

impl Totals {
    /// Counts a minted record.
    pub(super) fn minted_at(&mut self, sequence: u64) {
        self.minted += 1;
        let first = self.first_sequence.unwrap_or(sequence);
        self.first_sequence = Some(first.min(sequence));
        self.last_sequence = self.last_sequence.max(Some(sequence));
    }
}

pub(super) struct ImportProgress {
    pub(super) journal: Arc<ImportProgressFile>,
    pub(super) id: Hash,
    pub(super) past: ImportProgressHistory,
}

/// What the entries of a progress file amount to.
#[derive(Default)]
pub(super) struct ImportProgressHistory {
    /// The minted records.
    pub(super) minted: ImportRecordSet,
    pub(super) totals: Totals,
    /// Batches with unknown outcomes, by number.
    pub(super) open: BTreeMap<u64, UnsettledBatch>,
    pub(super) next_batch: u64,
}

impl ImportProgressHistory {
    pub(super) fn add(&mut self, entry: ImportProgressEntry) {
        match entry {
            ImportProgressEntry::Import(_) => {}
            ImportProgressEntry::Batch {
                number,
                records,
                payloads,
                attempt,
            } => {
                let attempts = vec![attempt];
                let batch = UnsettledBatch {
                    records,
                    payloads,
                    attempts,
                };
                self.open.insert(number, batch);
                self.next_batch = self.next_batch.max(number + 1);
            }
            ImportProgressEntry::Attempt { number, attempt } => {
                if let Some(batch) = self.open.get_mut(&number) {
                    batch.attempts.push(attempt);
                }
            }
            ImportProgressEntry::Done { number, minted } => {
                self.open.remove(&number);
                self.totals.batches += 1;
                for (ordinal, _, _, _, sequence) in minted {
                    self.minted.insert(ordinal);
                    self.totals.minted_at(sequence);
                }
            }
        }
    }
}

impl ImportProgress {
    /// Opens or creates the progress file of this import.
    pub(super) fn open(path: &Path, header: &ImportProgressHeader) -> CliResult<Self> {
        let mut past = ImportProgressHistory::default();
        let (journal, kept) = ImportProgressFile::open(path, header, |entry| {
            past.add(entry);
            Ok(())
        })?;
        if let Some(why) = header.difference(&kept) {
            return refuse(format!(
                "{}: {why}. Run the import again as it began, or name a new file with --progress for another import",
                path.display()
            ));
        }
        Ok(Self {
            journal: Arc::new(journal),
            id: kept.id,
            past,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ImportProgressHeader {
        ImportProgressHeader {
            version: VERSION,
            id: Hash::ZERO,
            sha256: Hash::ZERO,
            bytes: 1,
            records: 1,
            options: String::new(),
            template: "tpl_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap(),
            chain_id: 1,
            contract: Address::ZERO,
            signer: Address::ZERO,
        }
    }

    #[test]
    fn a_batch_is_open_until_it_is_known_what_became_of_it() {
        let attempt = |nonce| SigningAttempt {
            nonce,
            deadline_s: 9,
            seed: Hash::ZERO,
        };
        let batch = |number, first, last| ImportProgressEntry::Batch {
            number,
            records: vec![(first, last)],
            payloads: Hash::ZERO,
            attempt: attempt(number),
        };
        let object: Id = "obj_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap();
        let mut past = ImportProgressHistory::default();
        past.add(batch(0, 0, 2));
        past.add(batch(1, 3, 5));
        past.add(ImportProgressEntry::Attempt {
            number: 1,
            attempt: attempt(8),
        });
        past.add(ImportProgressEntry::Done {
            number: 0,
            minted: vec![(0, 1, None, object, 41), (2, 3, None, object, 40)],
        });
        assert_eq!((past.next_batch, past.open.len()), (2, 1));
        let nonces: Vec<u64> = past.open[&1].attempts.iter().map(|a| a.nonce).collect();
        assert_eq!(nonces, [1, 8]);
        assert_eq!(past.open[&1].count(), 3);
        assert!(past.open[&1].contains(5) && !past.open[&1].contains(6));
        assert!(past.minted.contains(0) && !past.minted.contains(1) && past.minted.contains(2));
        let totals = past.totals;
        assert_eq!((totals.minted, totals.batches), (2, 1));
        assert_eq!(
            (totals.first_sequence, totals.last_sequence),
            (Some(40), Some(41))
        );
    }

    #[test]
    fn every_difference_is_named() {
        type Change = fn(&mut ImportProgressHeader);
        let kept = header();
        assert_eq!(kept.difference(&kept), None);
        let changes: [(Change, &str); 6] = [
            (|h| h.version += 1, "version"),
            (|h| h.sha256 = Hash([1; 32]), "has changed"),
            (|h| h.chain_id = 5, "another log"),
            (|h| h.signer = Address([1; 20]), "with the key of"),
            (|h| h.options = "x".to_owned(), "other options"),
            (|h| h.id = Hash([9; 32]), ""),
        ];
        for (change, word) in changes {
            let mut own = kept.clone();
            change(&mut own);
            let why = own.difference(&kept).unwrap_or_default();
            assert!(
                why.contains(word) && (why.is_empty() == word.is_empty()),
                "{why}"
            );
        }
    }
}
