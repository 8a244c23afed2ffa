//! What proofs show of the resources around the one that is replayed, and its actions as the log records them.

use kedge_protocol::history::{PlacedProof, ResourceHistory};
use kedge_protocol::record::ActionRecord;
use kedge_protocol::resource::Variation;
use kedge_protocol::state::entry::{EntryFields, WalletEntry};
use kedge_protocol::{Address, Hash, Id};

use super::replayed_resource::{HistoryReplayError, ProvenResource, ReplayResult, UnshownField};
use crate::replay::PastAction;
use crate::world::OPERATOR;

/// What is known of the resources around the one that is replayed.
pub(super) struct NearbyResources<'a> {
    pub(super) around: &'a [ProvenResource<'a>],
}

impl<'a> NearbyResources<'a> {
    pub(super) fn get(&self, id: Id) -> Option<&'a ProvenResource<'a>> {
        self.around.iter().find(|known| known.id == id)
    }

    pub(super) fn wallets(&self) -> impl Iterator<Item = (Id, &'a WalletEntry)> {
        self.around
            .iter()
            .filter_map(|known| match &known.entry.fields {
                EntryFields::Wallet(wallet) => Some((known.id, wallet)),
                _ => None,
            })
    }

    /// The wallet that this address belongs to, as far as a proof shows it. An address belongs to one wallet for ever.
    pub(super) fn wallet_of(&self, address: Address) -> Option<(Id, &'a WalletEntry)> {
        let has =
            |wallet: &WalletEntry| wallet.address == address || wallet.keys.contains(&address);
        self.wallets().find(|(_, wallet)| has(wallet))
    }

    /// The wallet that requested an action; the operator's if no proof shows it.
    pub(super) fn requester(&self, placed: &PlacedProof<'_>) -> Id {
        let wallet = self.wallet_of(placed.action().signer);
        wallet.map_or(OPERATOR, |(id, _)| id)
    }

    /// The organization of the wallet that made the resource.
    pub(super) fn maker_organization(&self, history: &ResourceHistory<'_>) -> Option<Id> {
        let maker = history.actions.first()?;
        let wallet = self.wallet_of(maker.action().signer);
        wallet.map(|(_, wallet)| wallet.organization_id)
    }

    pub(super) fn variation(&self, id: Id) -> ReplayResult<Option<Variation>> {
        let Some(known) = self.get(id) else {
            return Ok(None);
        };
        let EntryFields::Variation(fields) = &known.entry.fields else {
            return Ok(None);
        };
        let properties = known.texts.properties.clone();
        let properties = properties.ok_or(HistoryReplayError::NeedsText(id))?;
        Ok(Some(Variation {
            id,
            template_id: fields.template_id,
            organization_id: fields.organization_id,
            name: known.texts.name.clone().unwrap_or_default(),
            properties,
            index: fields.index,
            created_sequence: known.entry.sequence,
            created_at_ms: 0,
        }))
    }
}

/// An action of a history, as the log records it.
pub(super) struct RecordedAction<'a> {
    pub(super) placed: PlacedProof<'a>,
    pub(super) record: ActionRecord<'a>,
    pub(super) content: Hash,
    pub(super) wallet_id: Id,
}

impl RecordedAction<'_> {
    pub(super) fn past(&self) -> PastAction<'_> {
        PastAction {
            action: &self.record,
            content: &self.content,
            wallet_id: self.wallet_id,
            sequence: self.placed.sequence(),
            timestamp_ms: self.placed.file.leaf.timestamp_ms,
        }
    }
}

/// The history's actions with their versions and links, oldest first.
pub(super) fn recorded<'a>(
    history: &ResourceHistory<'a>,
    known: &NearbyResources<'_>,
) -> ReplayResult<Vec<RecordedAction<'a>>> {
    let mut previous = 0;
    let numbered = history.actions.iter().zip(1..);
    let recorded = numbered.map(|(placed, version)| {
        let sequence = placed.sequence();
        let record = placed.record(history.id, version, previous);
        let record = record.ok_or_else(|| HistoryReplayError::UnknownKind {
            sequence,
            kind: placed.action().kind.clone(),
        })?;
        previous = sequence;
        Ok(RecordedAction {
            placed: *placed,
            record,
            content: placed.file.leaf.content,
            wallet_id: known.requester(placed),
        })
    });
    recorded.collect()
}

/// The organization that a resource belongs to: its maker's, if a proof shows it, else the entry's, unshown.
pub(super) fn organization_of(
    shown: Id,
    history: &ResourceHistory<'_>,
    known: &NearbyResources<'_>,
    unshown: &mut Vec<UnshownField>,
) -> Id {
    known.maker_organization(history).unwrap_or_else(|| {
        unshown.push(UnshownField {
            name: "organization_id",
            why: "needs the state proof of the wallet that made it".to_owned(),
        });
        shown
    })
}
