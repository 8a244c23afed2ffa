//! One action read from the log.

use kedge_protocol::action::{ActionWords, RequestHead, salt};
use kedge_protocol::chain::{self, Leaf};
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id, Prefix};

use crate::codec::CodecError;
use kedge_log::StoredAction;
use kedge_log::packed::{PackedRequest, owned_action};

/// An action as the log holds it, with what its request states about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedAction {
    /// Its place in the log.
    pub sequence: u64,
    /// The batch that holds it.
    pub batch_number: u64,
    /// Its place among the batch's leaves.
    pub leaf_index: u32,
    /// When it was placed, milliseconds.
    pub timestamp_ms: u64,
    /// The organization of the wallet that asked.
    pub organization_id: Id,
    /// The wallet that asked.
    pub wallet_id: Id,
    /// Signer, nonce, deadline, atomic.
    pub head: RequestHead,
    /// The signature over the request.
    pub signature: Signature,
    /// The seed of the request's salts.
    pub salt_seed: Hash,
    /// The sequence of the request's first action that was done.
    pub request_first_sequence: u64,
    /// How many of the request's actions were done.
    pub request_count: u32,
    /// How many of them were refused.
    pub request_failed_count: u32,
    /// The action.
    pub action: ActionRecord<'static>,
}

impl PlacedAction {
    /// Reads the action at `position` among those of the packed request that were done.
    pub(crate) fn read(request: &PackedRequest<'_>, position: usize) -> Result<Self, CodecError> {
        let action = owned_action(request.action(position)?);
        Self::of(request.head(), request.count(), position, action)
    }

    /// An action that was read without the others of its request.
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

    /// The action's salt.
    pub fn salt(&self) -> Hash {
        salt(&self.salt_seed, self.action.index)
    }

    /// The action's authority.
    pub fn authority(&self) -> Hash {
        chain::authority_of_hash(&keccak(&self.signature.0), &self.salt())
    }

    /// The hashes of the action's words.
    pub fn words(&self) -> ActionWords {
        let action = &self.action;
        ActionWords::of(&action.kind, &action.target, action.payload.as_bytes())
    }

    /// The action's content.
    pub fn content(&self) -> Hash {
        chain::content(&self.words(), &self.head.signer, &self.authority())
    }

    /// The action's identifier, from its content.
    pub fn id(&self) -> Id {
        Id::of_hash(Prefix::Action, &self.content())
    }

    /// The action's leaf in the batch.
    pub fn leaf(&self) -> Leaf {
        let content = self.content();
        Leaf {
            sequence: self.sequence,
            timestamp_ms: self.timestamp_ms,
            content,
            integrity: chain::next_integrity(&self.action.previous_integrity, &content),
        }
    }
}
