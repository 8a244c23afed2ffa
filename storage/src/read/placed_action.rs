//! Single action read from the log.

use kedge_protocol::action::{ActionWords, RequestHead, salt};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id, Prefix};

use crate::codec::CodecError;
use kedge_log::StoredAction;
use kedge_log::packed::{PackedRequest, owned_action};

/// An action of the log with its request's head and position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedAction {
    pub sequence: u64,
    pub batch_number: u64,
    /// Index among the batch's leaves.
    pub leaf_index: u32,
    /// Time of its placement, Unix milliseconds.
    pub timestamp_ms: u64,
    /// The organization of the sender's wallet.
    pub organization_id: Id,
    pub wallet_id: Id,
    /// Signer, nonce, deadline, atomic.
    pub head: RequestHead,
    pub signature: Signature,
    /// The seed of the request's salts.
    pub salt_seed: Hash,
    /// Sequence of the request's first done action.
    pub request_first_sequence: u64,
    /// Number of the request's done actions.
    pub request_count: u32,
    /// Number of its refused actions.
    pub request_failed_count: u32,
    pub action: ActionRecord<'static>,
}

impl PlacedAction {
    /// Reads the done action at `position` of a packed request.
    pub(crate) fn read(request: &PackedRequest<'_>, position: usize) -> Result<Self, CodecError> {
        let action = owned_action(request.action(position)?);
        Self::of(request.head(), request.count(), position, action)
    }

    /// Reads an action that is stored without the rest of its request.
    pub(crate) fn single(stored: &StoredAction) -> Result<Self, CodecError> {
        let action = owned_action(stored.record()?);
        Self::of(&stored.request, stored.count, stored.position, action)
    }

    fn of(
        head: &RequestRecord<'_>,
        count: usize,
        position: usize,
        action: ActionRecord<'static>,
    ) -> Result<Self, CodecError> {
        let step = u32::try_from(position).expect("counts of actions are stored as u16");
        Ok(Self {
            sequence: head.first_sequence + u64::from(step),
            batch_number: head.batch_number,
            leaf_index: head
                .first_leaf_index
                .checked_add(step)
                .ok_or_else(|| CodecError::bytes("a leaf index overflows"))?,
            timestamp_ms: head.timestamp_ms,
            organization_id: head.organization_id,
            wallet_id: head.wallet_id,
            head: head.head,
            signature: head.signature,
            salt_seed: head.salt_seed,
            request_first_sequence: head.first_sequence,
            request_count: count as u32,
            request_failed_count: head.failed.len() as u32,
            action,
        })
    }

    pub fn salt(&self) -> Hash {
        salt(&self.salt_seed, self.action.index)
    }

    pub fn authority(&self) -> Hash {
        chain::authority_of_hash(&keccak(&self.signature.0), &self.salt())
    }

    /// The hashes of the action's words.
    pub fn words(&self) -> ActionWords {
        let action = &self.action;
        ActionWords::of(&action.kind, &action.target, action.payload.as_bytes())
    }

    pub fn content(&self) -> Hash {
        chain::content(&self.words(), &self.head.signer, &self.authority())
    }

    /// The action's identifier, derived from its content.
    pub fn id(&self) -> Id {
        Id::of_hash(Prefix::Action, &self.content())
    }

    pub fn leaf(&self) -> LogLeaf {
        let content = self.content();
        LogLeaf {
            sequence: self.sequence,
            timestamp_ms: self.timestamp_ms,
            content,
            integrity: chain::next_integrity(&self.action.previous_integrity, &content),
        }
    }
}
