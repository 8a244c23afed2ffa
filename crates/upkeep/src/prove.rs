//! State proofs from a data directory, without a server: from the versions of the state that its store keeps, else from
//! a fold of its log.

use std::path::Path;

use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::proof::AnchorProof;
use kedge_protocol::state::{StateEntry, StateProof, StateTexts};
use kedge_protocol::{Id, Prefix};
use kedge_storage::{AnchorProgress, AnchorRow, RowPage, StoreReadError, StoreSnapshot};

use crate::bounds::MemoryBounds;
use crate::fold::LogFold;
use crate::side_keys;
use crate::verify::{StoreVerifier, VerifyError};

/// A proof, the texts of its entry, and the checkpoint that it leads to.
#[derive(Debug)]
pub struct ProvenState {
    /// Nodes that lead to the entry, or to where it would stand.
    pub proof: StateProof,
    /// The texts that the entry holds.
    pub texts: StateTexts,
    /// The signed checkpoint.
    pub checkpoint: SignedCheckpoint,
    /// Its anchor, if the chain has finalized one.
    pub anchor: Option<AnchorProof>,
}

/// Where a proof is made from.
pub struct StateSource<'a> {
    /// The data directory, or a copy of it.
    pub data: &'a Path,
    /// The archive's folder, if segments of the log were archived.
    pub archive: Option<&'a Path>,
    /// Limits of the fold.
    pub bounds: MemoryBounds,
}

impl StoreVerifier {
    /// The first signed checkpoint with a root that the store keeps at or after a sequence; without one, the newest.
    /// `None` if there is none.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn checkpoint_at(
        &self,
        at_sequence: Option<u64>,
    ) -> Result<Option<SignedCheckpoint>, VerifyError> {
        let checkpoints = self.snapshot().rooted_checkpoints()?;
        let reaches = |signed: &&SignedCheckpoint| {
            at_sequence.is_none_or(|sequence| signed.checkpoint.sequence >= sequence)
        };
        let found = match at_sequence {
            None => checkpoints.last(),
            Some(_) => checkpoints.iter().find(reaches),
        };
        Ok(found.copied())
    }

    /// Proves what the log had made of an id at a checkpoint. Calls `progress` with the number of batches, if the log has
    /// to be folded for it.
    ///
    /// # Errors
    /// [`VerifyError::Root`] if the log does not give the checkpoint's root; rows or the log cannot be read.
    pub fn prove(
        &self,
        key: Id,
        checkpoint: SignedCheckpoint,
        source: &StateSource<'_>,
        progress: impl FnMut(u64),
    ) -> Result<ProvenState, VerifyError> {
        let stored = self.snapshot();
        let anchor = anchor_of(&stored, &checkpoint)?;
        let proven = |(proof, texts)| ProvenState {
            proof,
            texts,
            checkpoint,
            anchor,
        };
        if let Some(found) = proof_in(&stored, key, &checkpoint)? {
            return Ok(proven(found));
        }
        let keys = side_keys::read(&source.data.join("keys"))?;
        let log = source.data.join("log");
        let fold = LogFold::open(&log, source.archive, keys, source.bounds.clone())?;
        let folded = fold.state_at(&checkpoint, progress)?;
        let found = proof_in(&folded, key, &checkpoint)?;
        let batches = checkpoint.checkpoint.batches;
        found.map(proven).ok_or(VerifyError::Unproven { batches })
    }
}

/// A proof from the versions that a store keeps; `None` if they do not reach back to the checkpoint, or the entry's texts
/// have changed since.
fn proof_in(
    rows: &StoreSnapshot,
    key: Id,
    checkpoint: &SignedCheckpoint,
) -> Result<Option<(StateProof, StateTexts)>, VerifyError> {
    let checkpoint = &checkpoint.checkpoint;
    let made = rows.root_at(checkpoint.batches)?;
    if made.is_none_or(|made| made.root != checkpoint.state) {
        return Ok(None);
    }
    let proofs = rows.state_proofs(checkpoint.batches, &[key])?;
    let Some(proof) = proofs.and_then(|mut proofs| proofs.pop()) else {
        return Ok(None);
    };
    if proof.entry.is_empty() {
        return Ok(Some((proof, StateTexts::default())));
    }
    let texts = texts_of(rows, key)?;
    let entry = StateEntry::decode(&key, &proof.entry, checkpoint.sequence)?;
    let is_current = texts.differing(&entry).is_empty();
    Ok(is_current.then_some((proof, texts)))
}

/// The present texts of a resource.
fn texts_of(rows: &StoreSnapshot, key: Id) -> Result<StateTexts, StoreReadError> {
    let texts = match key.prefix {
        Prefix::Object => rows.object(key)?.as_ref().map(StateTexts::of_object),
        Prefix::Template => rows.template(key)?.as_ref().map(StateTexts::of_template),
        Prefix::Variation => rows.variation(key)?.as_ref().map(StateTexts::of_variation),
        _ => None,
    };
    Ok(texts.unwrap_or_default())
}

/// The finalized anchor of this very checkpoint, whenever that was signed.
fn anchor_of(
    rows: &StoreSnapshot,
    signed: &SignedCheckpoint,
) -> Result<Option<AnchorProof>, StoreReadError> {
    let mut page = RowPage {
        after: None,
        descending: true,
        limit: 100,
    };
    let is_it = |anchor: &&AnchorRow| {
        let mut anchored = anchor.checkpoint.checkpoint;
        anchored.issued_at_ms = signed.checkpoint.issued_at_ms;
        anchored == signed.checkpoint && anchor.status == AnchorProgress::Finalized
    };
    loop {
        let anchors = rows.anchors(page)?;
        if let Some(anchor) = anchors.iter().find(is_it) {
            return Ok(Some(AnchorProof {
                checkpoint: anchor.checkpoint,
                path: Vec::new(),
                contract: anchor.contract,
                transaction_hash: anchor.tx_hashes.last().copied(),
                block_number: anchor.block_number,
            }));
        }
        match anchors.last() {
            Some(last) => page.after = Some(last.number),
            None => return Ok(None),
        }
    }
}
