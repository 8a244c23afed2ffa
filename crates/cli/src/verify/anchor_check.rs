//! Check of a file's anchor against the chain.

use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::BlockTag;
use kedge_protocol::proof::AnchorProof;

use crate::output::{CliResult, refuse};
use crate::trust::{CliTrust, read_failure};

/// Describes a file's anchor.
pub(super) async fn anchored(anchor: Option<&AnchorProof>, trust: &CliTrust) -> CliResult<String> {
    match (anchor, trust.contract()) {
        (None, None) => Ok("no: the file has no anchor yet".to_owned()),
        (None, Some(_)) => refuse("the file has no anchor yet, so the chain cannot confirm it"),
        (Some(anchor), None) => Ok(format!(
            "by the file alone, at {} batches; --rpc asks the chain",
            anchor.checkpoint.checkpoint.batches
        )),
        (Some(anchor), Some(contract)) => check_on_chain(anchor, contract).await,
    }
}

/// Compares the file's checkpoint with the chain's finalized block.
pub(crate) async fn check_on_chain(
    anchor: &AnchorProof,
    contract: &AnchorContract,
) -> CliResult<String> {
    let checkpoint = &anchor.checkpoint.checkpoint;
    let address = contract.address();
    if !contract
        .holds(checkpoint, BlockTag::Finalized)
        .await
        .map_err(read_failure)?
    {
        return refuse(format!(
            "the contract {address} does not hold the file's checkpoint of {} batches at a final block",
            checkpoint.batches
        ));
    }
    let record = contract
        .checkpoint(checkpoint.batches, BlockTag::Finalized)
        .await
        .map_err(read_failure)?;
    Ok(format!(
        "in block {} by contract {address}, asked at the finalized block",
        record.block_number
    ))
}
