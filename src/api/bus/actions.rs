//! Reads of actions and their proofs.

use std::sync::Arc;

use kedge_actors::PublishedState;
use kedge_http::batches::CachedBatch;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::query::RequestParameter;
use kedge_http::reply::HttpReply;
use kedge_protocol::Code;
use kedge_protocol::log_tree;
use kedge_protocol::proof::{
    AnchorProof, Authorship, BatchPath, OpenedAction, PROOF_VERSION, ProofFile,
};
use kedge_protocol::receipt::{RECEIPT_VERSION, Receipt, ReceiptLeaf};
use kedge_protocol::{BatchKeys, Prefix};
use kedge_storage::{AnchorProgress, PlacedAction, StoreSnapshot};

use crate::api::bus::views::ActionView;
use crate::api::call::HandlerCall;
use crate::api::listing::{ListRequest, ListSource};
use crate::api::objects::handlers::sees;
use crate::api::row::PRIVATE;
use crate::api::services::ApiServices;
use crate::api::view_conversion;

pub const FORM: &[RequestParameter] = &[RequestParameter {
    name: "form",
    schema_type: r#"{"type": "string", "enum": ["inclusion", "authorship"], "default": "inclusion"}"#,
    description: "inclusion (the default), or authorship: with the signature, for the caller's organization's actions.",
}];

pub(in crate::api) fn place(placed: &PlacedAction) -> u64 {
    placed.sequence
}

/// Every action of the caller's own organization is shown.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the shape that a list's source has"
)]
pub(in crate::api) fn keep_all(placed: &PlacedAction) -> ApiResult<Option<usize>> {
    Ok(Some(placed.action.payload.len()))
}

/// The action in full, with the log's head after it.
pub(in crate::api) fn view(
    call: &HandlerCall,
    snapshot: &StoreSnapshot,
    placed: PlacedAction,
) -> ApiResult<ActionView<'static>> {
    let batch = call
        .services
        .reads
        .batches
        .get(snapshot, placed.batch_number)?;
    view_in(&batch, placed)
}

fn view_in(batch: &CachedBatch, placed: PlacedAction) -> ApiResult<ActionView<'static>> {
    let head = batch.head(placed.leaf_index);
    let head = head.ok_or_else(|| ApiError::internal(&"an action past its batch's leaves"))?;
    Ok(view_conversion::logged(placed, batch.id, head))
}

/// The action of the path, by id or sequence, if the caller may see it: the caller's organization made it, or it acted
/// on an object that the caller sees.
fn seen_action(call: &HandlerCall, snapshot: &StoreSnapshot) -> ApiResult<PlacedAction> {
    let missing = || call.missing(Prefix::Action);
    let sequence = call.number_of(Prefix::Action, |id| snapshot.action_sequence(id))?;
    let placed = snapshot.action_at(sequence)?.ok_or_else(missing)?;
    if placed.organization_id == call.session()?.organization_id {
        return Ok(placed);
    }
    let visible = match snapshot.object(placed.action.resource)? {
        Some(object) => sees(call, snapshot, &object, &mut None)?,
        None => false,
    };
    if visible { Ok(placed) } else { Err(missing()) }
}

/// `GET /ebus/actions`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let organization_id = call.session()?.organization_id;
    let source = ListSource {
        fetch: |rows| Ok(snapshot.actions_of_organization(organization_id, rows)?),
        place,
        keep: keep_all,
    };
    let listing = ListRequest::of(&call)?;
    listing.answer(&call, published.head.sequence, source, |placed| {
        view(&call, snapshot, placed)
    })
}

/// `GET /ebus/actions/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let placed = seen_action(&call, &published.snapshot)?;
    let batches = &call.services.reads.batches;
    let batch = batches.get(&published.snapshot, placed.batch_number)?;
    let receipt = receipt(&call.services, &placed, &batch);
    let mut view = view_in(&batch, placed)?;
    view.receipt = Some(receipt);
    Ok(HttpReply::ok(published.head.sequence, &view)?.etagged(&call.headers, PRIVATE))
}

fn receipt(services: &ApiServices, placed: &PlacedAction, batch: &CachedBatch) -> Receipt {
    let leaf_index = placed.leaf_index;
    Receipt {
        version: RECEIPT_VERSION,
        domain: *services.access.verifier.domain(),
        leaf: opened_leaf(placed),
        leaf_index,
        path: batch.tree.proof(&[leaf_index as usize]),
        batch: batch.signed,
    }
}

/// The receipt of the action at a sequence.
pub fn receipt_of(services: &ApiServices, sequence: u64) -> ApiResult<Option<Receipt>> {
    let published = services.published();
    let snapshot = &published.snapshot;
    let Some(placed) = snapshot.action_at(sequence)? else {
        return Ok(None);
    };
    let batch = services.reads.batches.get(snapshot, placed.batch_number)?;
    Ok(Some(receipt(services, &placed, &batch)))
}

fn opened_leaf(placed: &PlacedAction) -> ReceiptLeaf {
    let leaf = placed.leaf();
    ReceiptLeaf {
        sequence: leaf.sequence,
        timestamp_ms: leaf.timestamp_ms,
        content: leaf.content,
        previous_integrity: placed.action.previous_integrity,
        integrity: leaf.integrity,
    }
}

/// `GET /ebus/actions/{id}/proof`
pub async fn proof(call: HandlerCall) -> ApiResult<HttpReply> {
    let with_authorship = match call.query.get("form") {
        None | Some("inclusion") => false,
        Some("authorship") => true,
        Some(_) => {
            return Err(ApiError::parameter(
                "form",
                "must be inclusion or authorship",
            ));
        }
    };
    let published = call.published();
    let snapshot = &published.snapshot;
    let placed = seen_action(&call, snapshot)?;
    if with_authorship && placed.organization_id != call.session()?.organization_id {
        let message = "authorship is shown only to the organization that signed";
        return Err(ApiError::new(Code::Forbidden, message));
    }
    let anchor = anchor_proof(snapshot, placed.batch_number)?;
    let (placed, authorship) = if with_authorship {
        // It reads and hashes the whole request, which may have 16 MiB.
        let state = Arc::clone(&published);
        let read = move || Ok((authorship(&state.snapshot, &placed)?, placed));
        let (authorship, placed) = call.services.reads.read_long(call.holder, read).await?;
        (placed, Some(authorship))
    } else {
        (placed, None)
    };
    let file = ProofFile {
        anchor,
        authorship,
        ..proof_file(&call.services, &published, placed)?
    };
    let reply = HttpReply::ok(published.head.sequence, &file)?;
    Ok(reply.etagged(&call.headers, PRIVATE))
}

/// The proof file of an action, without its anchor and its signature.
pub fn proof_file(
    services: &ApiServices,
    published: &PublishedState,
    placed: PlacedAction,
) -> ApiResult<ProofFile> {
    let snapshot = &published.snapshot;
    let batch = services.reads.batches.get(snapshot, placed.batch_number)?;
    Ok(ProofFile {
        version: PROOF_VERSION,
        domain: *services.access.verifier.domain(),
        sequencer: snapshot.sequencer_keys()?.key_of(placed.batch_number),
        leaf: opened_leaf(&placed),
        inclusion: BatchPath {
            leaf_index: placed.leaf_index,
            path: batch.tree.proof(&[placed.leaf_index as usize]),
        },
        batch: batch.signed,
        anchor: None,
        authorship: None,
        action: OpenedAction {
            kind: placed.action.kind.text().to_owned(),
            signer: placed.head.signer,
            authority: placed.authority(),
            target: placed.action.target.into_owned(),
            payload: placed.action.payload.into_owned(),
        },
    })
}

/// The path to a finalized anchor, if there is one.
fn anchor_proof(snapshot: &StoreSnapshot, batch: u64) -> ApiResult<Option<AnchorProof>> {
    let Some(anchor) = snapshot
        .anchor_covering(batch)?
        .filter(|anchor| anchor.status == AnchorProgress::Finalized)
    else {
        return Ok(None);
    };
    let batches = anchor.checkpoint.checkpoint.batches;
    Ok(Some(AnchorProof {
        checkpoint: anchor.checkpoint,
        path: log_tree::inclusion_path(snapshot, batch, batches)?,
        contract: anchor.contract,
        transaction_hash: anchor.tx_hashes.last().copied(),
        block_number: anchor.block_number,
    }))
}

fn authorship(snapshot: &StoreSnapshot, placed: &PlacedAction) -> ApiResult<Authorship> {
    let request = snapshot.request_at(placed.sequence)?;
    let request = request.ok_or_else(|| ApiError::internal(&"an action without its request"))?;
    let hashes = request.action_hashes();
    Ok(Authorship {
        signature: placed.signature,
        nonce: placed.head.nonce,
        deadline: placed.head.deadline_s,
        atomic: placed.head.atomic,
        index: u32::from(placed.action.index),
        salt: placed.salt(),
        action_hashes: hashes.map_err(|error| ApiError::internal(&error))?,
    })
}
