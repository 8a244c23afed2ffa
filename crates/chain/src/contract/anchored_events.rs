//! Accepted checkpoints, with the signatures from their transactions.

use ethers_core::abi::Token;
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::signature::Signature;

use super::artifact::ANCHOR;
use super::{
    AnchorContract, AnchoredEvent, ContractReadError, anchored_topic, decode_anchored, to_hash,
    to_number,
};
use crate::convert::h256;
use crate::rpc::BlockTag;

impl AnchorContract {
    /// The block of the contract's deployment, which the contract stores as the checkpoint of zero batches.
    pub async fn first_block(&self) -> Result<u64, ContractReadError> {
        Ok(self.checkpoint(0, BlockTag::Latest).await?.block_number)
    }

    /// The checkpoints accepted in blocks `from` to `to`, in order; the range is requested in chunks.
    pub async fn anchored_events(
        &self,
        from: u64,
        to: u64,
    ) -> Result<Vec<AnchoredEvent>, ContractReadError> {
        let topics = vec![Some(h256(anchored_topic()))];
        let logs = self
            .rpc()
            .logs_between(self.address(), topics, from, to)
            .await?;
        Ok(logs.iter().filter_map(decode_anchored).collect())
    }

    /// The checkpoint of an event with its signature, which only the transaction holds; `None` if the transaction did
    /// not call the contract directly.
    pub async fn anchored_signature(
        &self,
        event: &AnchoredEvent,
    ) -> Result<Option<SignedCheckpoint>, ContractReadError> {
        let sent = self.rpc().transaction(h256(event.tx_hash)).await?;
        let signed = sent.and_then(|sent| decode_anchor_call(&sent.input));
        Ok(signed.filter(|signed| signed.checkpoint == event.checkpoint))
    }
}

/// The checkpoint of an `anchor` call; `None` if the data is another call's.
pub fn decode_anchor_call(data: &[u8]) -> Option<SignedCheckpoint> {
    let function = ANCHOR.function("anchor");
    let arguments = data.strip_prefix(&function.short_signature())?;
    let [checkpoint, signature, _] =
        <[Token; 3]>::try_from(function.decode_input(arguments).ok()?).ok()?;
    let [batches, sequence, head, history, state, issued_at] =
        <[Token; 6]>::try_from(checkpoint.into_tuple()?).ok()?;
    Some(SignedCheckpoint {
        checkpoint: Checkpoint {
            batches: to_number(batches)?,
            sequence: to_number(sequence)?,
            head: to_hash(head)?,
            history: to_hash(history)?,
            state: to_hash(state)?,
            issued_at_ms: to_number(issued_at)?,
        },
        signature: Signature(signature.into_bytes()?.try_into().ok()?),
    })
}
