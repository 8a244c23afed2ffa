//! Sequencer keys, according to the log and to the contract. Public.

use kedge_actors::PublishedState;
use kedge_chain::contract::KeyTrust;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{AddressText, ResourceIdText, TimeText};
use kedge_protocol::KeyActivation;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::resource::SequencerKey;
use kedge_upkeep::archive::KeyActionSource;

use crate::api::bus::actions::proof_file;
use crate::api::call::HandlerCall;
use crate::api::listing::{ListRequest, ListSource, part_of};
use crate::api::log::sequencer_key_view::SequencerKeyView;
use crate::api::services::ApiServices;

struct SequencerKeyEntry {
    entry: KeyActivation,
    /// The action that names it in the log.
    by: Option<SequencerKey>,
    in_log: bool,
    in_contract: bool,
}

impl SequencerKeyEntry {
    /// Its position in the list: by its first batch; of equals, the key that only the contract names comes last.
    fn place(&self) -> u64 {
        self.entry.from_batch.saturating_mul(2) + u64::from(!self.in_log)
    }
}

/// `GET /sequencer-keys`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let listing = ListRequest::of(&call)?;
    let contract = call.services.engine.contract_keys();
    let named = named(&published, contract.as_deref())?;
    listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(part_of(&named, SequencerKeyEntry::place, rows)),
            place: |named: &&SequencerKeyEntry| named.place(),
            keep: |_: &&SequencerKeyEntry| Ok(Some(0)),
        },
        |named| view(&call.services, &published, named),
    )
}

/// All keys named by the log or the contract, in order of their first batches.
fn named(
    published: &PublishedState,
    contract: Option<&KeyTrust>,
) -> ApiResult<Vec<SequencerKeyEntry>> {
    let snapshot = &published.snapshot;
    let in_log = |entry, by| SequencerKeyEntry {
        entry,
        by,
        in_log: true,
        in_contract: false,
    };
    let first = KeyActivation {
        key: snapshot.first_sequencer_key()?,
        from_batch: 0,
    };
    let mut all = vec![in_log(first, None)];
    let later = snapshot.named_sequencer_keys()?.into_iter();
    all.extend(later.map(|by| in_log(by.entry, Some(by))));
    let Some(contract) = contract else {
        return Ok(all);
    };
    for term in &contract.keys {
        let entry = KeyActivation {
            key: term.key,
            from_batch: term.from_batch,
        };
        let known = all.iter_mut().find(|named| named.entry == entry);
        match known {
            Some(named) => named.in_contract = true,
            // A successor's first key covers batches that the successor does not answer for.
            None if term.until_batch <= contract.coverage.from_batch || term.from_batch == 0 => {}
            None => all.push(SequencerKeyEntry {
                entry,
                by: None,
                in_log: false,
                in_contract: true,
            }),
        }
    }
    all.sort_by_key(SequencerKeyEntry::place);
    Ok(all)
}

/// The proof file of an action that names a key, even if the action is archived.
fn proof(
    services: &ApiServices,
    published: &PublishedState,
    sequence: u64,
) -> ApiResult<ProofFile> {
    let from_log = || {
        let placed = published.snapshot.action_at(sequence)?;
        let missing = || ApiError::internal(&"an action that names a key is missing");
        proof_file(services, published, placed.ok_or_else(missing)?)
    };
    // In this order, because a proof is kept before its action leaves the log.
    from_log().or_else(|error| services.reads.key_proofs.of(sequence).ok_or(error))
}

impl KeyActionSource for ApiServices {
    fn proofs_before(&self, sequence: u64) -> Result<Vec<ProofFile>, String> {
        let published = self.published();
        let named = published.snapshot.named_sequencer_keys();
        let named = named.map_err(|error| ApiError::from(error).message.into_owned())?;
        let sequences = named.iter().map(|named| named.trace.sequence);
        let before = sequences.filter(|named| *named < sequence);
        let proofs = before.map(|named| proof(self, &published, named));
        proofs
            .map(|proof| proof.map_err(|error| error.message.into_owned()))
            .collect()
    }

    fn keep(&self, proofs: Vec<ProofFile>) {
        self.reads.key_proofs.replace(proofs);
    }
}

fn view(
    services: &ApiServices,
    published: &PublishedState,
    named: &SequencerKeyEntry,
) -> ApiResult<SequencerKeyView> {
    let by = named.by.as_ref();
    let proof = by.map(|by| proof(services, published, by.trace.sequence));
    let proof = proof.transpose()?;
    let contract = services.engine.contract().filter(|_| named.in_contract);
    Ok(SequencerKeyView {
        key: AddressText(named.entry.key),
        from_batch: named.entry.from_batch,
        sequence: by.map(|by| by.trace.sequence),
        action_id: by.map(|by| ResourceIdText(by.id)),
        named_at: by.map(|by| TimeText(by.trace.created_at_ms)),
        contract: contract.map(AddressText),
        proof,
    })
}
