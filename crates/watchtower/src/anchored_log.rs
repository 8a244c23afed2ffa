//! Accepted checkpoints with the signatures from their transactions. Final ones are read once and kept on disk; the
//! rest is read again each round, because a reorganisation may drop it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use kedge_chain::contract::{AnchorContract, AnchoredEvent};
use kedge_chain::rpc::BlockTag;
use kedge_protocol::Hash;
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use serde::{Deserialize, Serialize};

use crate::memory::{append, failed, lines, write_line};
use crate::report::WatchError;

/// Depth at which a checkpoint counts as final on a node without the `finalized` tag.
const FINALITY_FALLBACK_DEPTH: u64 = 64;

/// A final checkpoint, as stored on disk.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct FinalCheckpoint {
    batches: u64,
    history: Hash,
    block_number: u64,
}

pub(crate) struct AnchoredLog {
    path: PathBuf,
    file: File,
    kept: BTreeMap<u64, Hash>,
    /// Final checkpoints that are not in the file yet.
    unwritten: Vec<FinalCheckpoint>,
    /// Checkpoints for the next [`Self::take_signed`].
    signed: Vec<SignedCheckpoint>,
    /// Checkpoints in blocks that are not final yet.
    recent: BTreeMap<u64, AnchoredEvent>,
    /// First block not yet read as final; `None` before the first round.
    next_block: Option<u64>,
}

impl AnchoredLog {
    pub(crate) fn open(directory: &Path) -> Result<Self, WatchError> {
        let path = directory.join("anchored.ndjson");
        let kept: Vec<FinalCheckpoint> = lines(&path)?;
        Ok(Self {
            file: append(&path)?,
            path,
            // The last checkpoint's block may hold others that were not written yet.
            next_block: kept.last().map(|last| last.block_number),
            kept: kept
                .iter()
                .map(|kept| (kept.batches, kept.history))
                .collect(),
            unwritten: Vec::new(),
            signed: Vec::new(),
            recent: BTreeMap::new(),
        })
    }

    /// Histories of all known anchored checkpoints, by batch count.
    pub(crate) fn histories(&self) -> BTreeMap<u64, Hash> {
        let recent = self.recent.iter();
        let recent = recent.map(|(batches, event)| (*batches, event.checkpoint.history));
        self.kept.clone().into_iter().chain(recent).collect()
    }

    /// Takes the signed checkpoints read since the last call.
    pub(crate) fn take_signed(&mut self) -> Vec<SignedCheckpoint> {
        std::mem::take(&mut self.signed)
    }

    /// Reads new checkpoints from the contract.
    pub(crate) async fn read(&mut self, contract: &AnchorContract) -> Result<(), WatchError> {
        let Some(head) = contract
            .rpc()
            .block(BlockTag::Latest)
            .await
            .map_err(refused)?
        else {
            return Ok(());
        };
        let head = head.number.as_u64();
        let last_final = contract
            .rpc()
            .final_number(head, FINALITY_FALLBACK_DEPTH)
            .await
            .map_err(refused)?;
        let from = match self.next_block {
            Some(next) => next,
            None => contract.first_block().await.map_err(WatchError::contract)?,
        };
        let events = contract.anchored_events(from, head).await;
        let events = events.map_err(WatchError::contract)?;
        for event in &events {
            let batches = event.checkpoint.batches;
            let is_kept = self.kept.get(&batches) == Some(&event.checkpoint.history);
            if !is_kept && self.recent.get(&batches) != Some(event) {
                let found = contract.anchored_signature(event).await;
                self.signed.extend(found.map_err(WatchError::contract)?);
            }
        }
        let (settled, recent): (Vec<_>, Vec<_>) = events
            .into_iter()
            .partition(|event| event.block_number <= last_final);
        for event in settled {
            self.settle(&event);
        }
        self.recent = recent
            .into_iter()
            .map(|event| (event.checkpoint.batches, event))
            .collect();
        self.next_block = Some(from.max(last_final + 1));
        Ok(())
    }

    fn settle(&mut self, event: &AnchoredEvent) {
        let Checkpoint {
            batches, history, ..
        } = event.checkpoint;
        if self.kept.insert(batches, history) != Some(history) {
            self.unwritten.push(FinalCheckpoint {
                batches,
                history,
                block_number: event.block_number,
            });
        }
    }

    /// Writes newly final checkpoints. The signed ones must be on disk already, because they are not read again.
    pub(crate) fn keep(&mut self) -> Result<(), WatchError> {
        for kept in self.unwritten.drain(..) {
            write_line(&mut self.file, &kept)?;
        }
        let synced = self.file.sync_data();
        synced.map_err(failed(&self.path))
    }
}

fn refused(error: impl std::fmt::Display) -> WatchError {
    WatchError::failed(error)
}
