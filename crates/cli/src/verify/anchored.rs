//! What the anchor in a file shows, and whether the chain confirms it.

use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::At;
use kedge_protocol::proof::AnchorProof;

use crate::output::Failure;
use crate::trust::{Trust, read_failure};

/// What a file's anchor shows.
pub(super) async fn anchored(
    anchor: Option<&AnchorProof>,
    trust: &Trust,
) -> Result<String, Failure> {
    match (anchor, trust.contract()) {
        (None, None) => Ok("no: the file has no anchor yet".to_owned()),
        (None, Some(_)) => Err(Failure::refused(
            "the file has no anchor yet, so the chain cannot confirm it",
        )),
        (Some(anchor), None) => Ok(format!(
            "by the file alone, at {} batches; --rpc asks the chain",
            anchor.checkpoint.checkpoint.batches
        )),
        (Some(anchor), Some(contract)) => check_on_chain(anchor, contract).await,
    }
}

/// Asks the chain, at its finalized block, for the checkpoint that the file claims.
pub(crate) async fn check_on_chain(
    anchor: &AnchorProof,
    contract: &AnchorContract,
) -> Result<String, Failure> {
    let checkpoint = &anchor.checkpoint.checkpoint;
    let address = contract.address();
    if !contract
        .holds(checkpoint, At::Finalized)
        .await
        .map_err(read_failure)?
    {
        return Err(Failure::refused(format!(
            "the contract {address} does not hold the file's checkpoint of {} batches at a final block",
            checkpoint.batches
        )));
    }
    let record = contract
        .checkpoint(checkpoint.batches, At::Finalized)
        .await
        .map_err(read_failure)?;
    Ok(format!(
        "in block {} by contract {address}, asked at the finalized block",
        record.block_number
    ))
}
