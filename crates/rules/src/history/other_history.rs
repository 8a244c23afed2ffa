//! The other resources from their actions: wallets, organizations, API keys, webhooks, files, disputes and sequencer
//! keys.

use kedge_protocol::action::Kind;
use kedge_protocol::history::ResourceHistory;
use kedge_protocol::payload::digest_of_text;
use kedge_protocol::resource::{ResourceTrace, Role, Wallet};
use kedge_protocol::state::entry::{
    ApiKeyEntry, DisputeEntry, EntryFields, FileEntry, NamedKeyEntry, WalletEntry, WebhookEntry,
};
use kedge_protocol::state::{StateEntry, StateTexts};
use kedge_protocol::{Id, Prefix};

use super::known_world::{KnownWorld, STRANGER};
use super::nearby_resources::{NearbyResources, RecordedAction, organization_of, recorded};
use super::replayed_resource::{
    HistoryReplayError, ProvenResource, ReplayResult, ReplayedResource, UnshownField,
};
use crate::fold::FoldError;
use crate::resource_state::ResourceState;
use crate::resources;
use crate::world::{ActionInput, Caller, OPERATOR};

pub(super) fn replay(
    subject: &ProvenResource<'_>,
    history: &ResourceHistory<'_>,
    known: &NearbyResources<'_>,
) -> ReplayResult<ReplayedResource> {
    let actions = recorded(history, known)?;
    let mut unshown = Vec::new();
    let fields = match &subject.entry.fields {
        EntryFields::Organization {} => EntryFields::Organization {},
        EntryFields::File(shown) => file(shown, history, known, &mut unshown),
        EntryFields::Wallet(shown) => {
            let wallet = wallet(subject.id, shown, &actions, known)?;
            wallet_fields(&wallet, shown, &actions, &mut unshown)
        }
        EntryFields::ApiKey(shown) => {
            let organization = organization_of(shown.organization_id, history, known, &mut unshown);
            after_all(subject.id, organization, None, &actions, known)?
        }
        EntryFields::Webhook(shown) => {
            let organization = organization_of(shown.organization_id, history, known, &mut unshown);
            after_all(subject.id, organization, None, &actions, known)?
        }
        EntryFields::Dispute(shown) => {
            unshown.push(UnshownField {
                name: "organization_id",
                why:
                    "the server's own key signs a verdict, for the wallet that brought the dispute"
                        .to_owned(),
            });
            after_all(subject.id, shown.organization_id, None, &actions, known)?
        }
        EntryFields::SequencerKey(_) => after_all(subject.id, OPERATOR, None, &actions, known)?,
        EntryFields::Object(_) | EntryFields::Template(_) | EntryFields::Variation(_) => {
            return Err(HistoryReplayError::OtherResource(subject.id));
        }
    };
    let last = actions
        .last()
        .ok_or(HistoryReplayError::Empty(subject.id))?;
    Ok(ReplayedResource {
        entry: StateEntry {
            version: last.record.version,
            sequence: last.placed.sequence(),
            // The chain of the history ends with this integrity: `ProvenActions::history` compared both.
            integrity: subject.entry.integrity,
            fields,
        },
        texts: StateTexts::default(),
        unshown,
    })
}

/// The fields after all actions by the rules; `before` is the resource before the first of them.
fn after_all(
    id: Id,
    organization: Id,
    before: Option<ResourceState>,
    actions: &[RecordedAction<'_>],
    known: &NearbyResources<'_>,
) -> ReplayResult<EntryFields> {
    let mut world = KnownWorld::new(known, organization);
    if id.prefix == Prefix::Dispute {
        world.stranger = Some(STRANGER);
    }
    let mut base = before;
    for action in actions {
        world.batch = action.placed.batch();
        base = Some(decide(id, &world, base.as_ref(), action)?);
    }
    let other = HistoryReplayError::OtherResource(id);
    match base.ok_or(HistoryReplayError::Empty(id))? {
        ResourceState::ApiKey(key) => Ok(EntryFields::ApiKey(ApiKeyEntry::of(&key))),
        ResourceState::Webhook(of) => Ok(EntryFields::Webhook(WebhookEntry::of(&of))),
        ResourceState::Dispute(of) => Ok(EntryFields::Dispute(DisputeEntry::of(&of))),
        ResourceState::Wallet(wallet) => Ok(EntryFields::Wallet(WalletEntry::of(&wallet))),
        ResourceState::SequencerKey(named) => {
            Ok(EntryFields::SequencerKey(NamedKeyEntry::of(&named)))
        }
        _ => Err(other),
    }
}

fn decide(
    id: Id,
    world: &KnownWorld<'_>,
    base: Option<&ResourceState>,
    action: &RecordedAction<'_>,
) -> ReplayResult<ResourceState> {
    let signer = action.placed.action().signer;
    let kind = &action.record.kind;
    let input = ActionInput {
        link: None,
        allowance: None,
        kind,
        target: &action.record.target,
        payload: &action.record.payload,
        signed: &action.record.payload,
        content: &action.content,
    };
    // Who asked was checked when the action was placed.
    let caller = if kind.is_system() {
        Caller::operator(world.organization, signer)
    } else {
        let is_wallet = id.prefix == Prefix::Wallet;
        Caller {
            wallet_id: if is_wallet { id } else { action.wallet_id },
            organization_id: world.organization,
            role: Role::Owner,
            address: signer,
        }
    };
    let sequence = action.placed.sequence();
    let decision = resources::decide(world, &caller, base, &input)
        .map_err(|refusal| FoldError::Refused { sequence, refusal })?;
    let made = decision.images.into_iter().find(|made| made.id() == id);
    let mut made = made.ok_or(HistoryReplayError::OtherResource(id))?;
    made.place(sequence, action.placed.file.leaf.timestamp_ms);
    Ok(made)
}

/// A wallet after its actions. Its registration's text is not in the log, so it begins with what the signature shows;
/// later changes of its name and e-mail address leave no trace in its fields.
fn wallet(
    id: Id,
    shown: &WalletEntry,
    actions: &[RecordedAction<'_>],
    known: &NearbyResources<'_>,
) -> ReplayResult<WalletEntry> {
    let (maker, rest) = actions.split_first().ok_or(HistoryReplayError::Empty(id))?;
    let address = maker.placed.action().signer;
    let begun = Wallet {
        id,
        organization_id: shown.organization_id,
        role: shown.role,
        nickname: None,
        email: String::new(),
        address,
        keys: vec![address],
        trace: ResourceTrace::made_by(&maker.content, 0),
    };
    let mut world = KnownWorld::new(known, shown.organization_id);
    let mut now = ResourceState::Wallet(begun);
    for action in rest {
        if action.record.kind != Kind::WalletUpdate {
            world.batch = action.placed.batch();
            now = decide(id, &world, Some(&now), action)?;
        }
    }
    match now {
        ResourceState::Wallet(wallet) => Ok(WalletEntry::of(&wallet)),
        _ => Err(HistoryReplayError::OtherResource(id)),
    }
}

fn wallet_fields(
    replayed: &WalletEntry,
    shown: &WalletEntry,
    actions: &[RecordedAction<'_>],
    unshown: &mut Vec<UnshownField>,
) -> EntryFields {
    let mut fields = replayed.clone();
    unshown.push(UnshownField {
        name: "role",
        why: "follows from its registration's text and from its organization's actions".to_owned(),
    });
    let founded = actions
        .first()
        .map(|maker| Id::made_by(Prefix::Organization, &maker.content, 1));
    if founded != Some(shown.organization_id) {
        unshown.push(UnshownField {
            name: "organization_id",
            why: "it did not found the organization; the invitation is in its registration's text"
                .to_owned(),
        });
    }
    if shown.keys.is_empty() {
        fields.keys = Vec::new();
        unshown.push(UnshownField {
            name: "keys",
            why: "empty since its organization removed it, which is an action of the organization"
                .to_owned(),
        });
    }
    EntryFields::Wallet(fields)
}

/// The fields of a file, whose record the signature covers by the digest alone.
fn file(
    shown: &FileEntry,
    history: &ResourceHistory<'_>,
    known: &NearbyResources<'_>,
    unshown: &mut Vec<UnshownField>,
) -> EntryFields {
    let organization_id = organization_of(shown.organization_id, history, known, unshown);
    unshown.push(UnshownField {
        name: "size_bytes",
        why: "the signature covers the digest of the bytes alone".to_owned(),
    });
    let maker = history.actions.first();
    let wallet = maker.and_then(|maker| known.wallet_of(maker.action().signer));
    if wallet.is_none() {
        unshown.push(UnshownField {
            name: "wallet_id",
            why: "needs the state proof of the wallet that stored it".to_owned(),
        });
    }
    let sha256 = maker.and_then(|maker| digest_of_text(&maker.action().payload));
    EntryFields::File(FileEntry {
        organization_id,
        wallet_id: wallet.map_or(shown.wallet_id, |(id, _)| id),
        // A payload that is no digest is none of this file.
        sha256: sha256.unwrap_or_default(),
        size_bytes: shown.size_bytes,
    })
}
