//! Log record of a placed proposal, and the row that answers a repeated idempotency key.

use std::borrow::Cow;

use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id};
use kedge_replay::resource_rows;
use kedge_rules::resource_state::ResourceState;
use kedge_storage::IdempotencyResidue;

use crate::api::IdempotencyClaim;
use crate::pipeline::decision::ActionDecision;
use crate::pipeline::effect::ActionEffect;
use crate::pipeline::sequenced_proposal::SequencedProposal;

/// The record of a placed proposal, and the contents of its done actions.
pub(crate) fn record(
    placed: &SequencedProposal,
    batch_number: u64,
    first_leaf_index: u32,
) -> (RequestRecord<'_>, Vec<Hash>) {
    let submission = &placed.unit.submission;
    let mut actions = Vec::with_capacity(placed.placed.len());
    let mut contents = Vec::with_capacity(placed.placed.len());
    let mut failed = Vec::new();
    let mut previous = placed.previous_sequences.iter();
    for (index, decided) in &placed.decisions {
        let action = &submission.actions[usize::from(*index)];
        let Ok(decided) = decided else {
            failed.push(FailedAction {
                index: *index,
                action_hash: action.action_hash,
            });
            continue;
        };
        let (resource, version, _) = decided.resource();
        contents.push(action.content);
        actions.push(ActionRecord {
            index: *index,
            kind: action.kind.clone(),
            target: Cow::Borrowed(submission.text(&action.target)),
            payload: Cow::Borrowed(submission.text(&action.payload)),
            disclosed: action
                .disclosed
                .as_ref()
                .map(|range| submission.text(range).into()),
            resource,
            version,
            previous_integrity: decided.previous_integrity(),
            previous_sequence: previous.next().copied().unwrap_or(0),
        });
    }
    let (organization_id, wallet_id) = asker(placed);
    let record = RequestRecord {
        batch_number,
        first_sequence: placed.placed.first().map_or(0, |placed| placed.sequence),
        first_leaf_index,
        timestamp_ms: placed.timestamp_ms,
        organization_id,
        wallet_id,
        head: submission.head,
        signature: submission.signature,
        salt_seed: submission.salt_seed,
        actions,
        failed,
    };
    (record, contents)
}

/// The part of an answer that is not in the log, for a request with an idempotency key.
pub(crate) fn residue<'a>(
    keep: &'a IdempotencyClaim,
    decisions: &'a [ActionDecision],
) -> IdempotencyResidue<'a> {
    let mut residue = IdempotencyResidue {
        request_id: &keep.request_id,
        minted: keep.minted,
        refusals: Vec::new(),
        resources: Vec::new(),
    };
    for (index, decided) in decisions {
        match decided {
            Err(refused) => {
                let refusal = serde_json::to_string(&refused.refusal);
                let refusal = refusal.expect("a refusal holds only texts and numbers");
                residue.refusals.push((*index, refusal));
            }
            Ok(_) if !keep.shows_resources => {}
            Ok(ActionEffect::Object { next, .. }) => {
                let object: &Object = next;
                residue.resources.push(object.into());
            }
            Ok(ActionEffect::Resources { next, .. }) => {
                residue
                    .resources
                    .extend(next.iter().filter_map(resource_rows::row));
            }
        }
    }
    residue
}

/// The organization and the wallet of the sender; for a registration, the new ones.
fn asker(placed: &SequencedProposal) -> (Id, Id) {
    if let Some(caller) = placed.unit.caller {
        return (caller.organization_id, caller.wallet_id);
    }
    let images = placed
        .decisions
        .iter()
        .find_map(|(_, decided)| match decided {
            Ok(ActionEffect::Resources { next, .. }) => Some(next),
            _ => None,
        });
    match images.and_then(|images| images.first()) {
        Some(ResourceState::Wallet(wallet)) => (wallet.organization_id, wallet.id),
        _ => unreachable!("only a registration has no caller, and it makes a wallet"),
    }
}
