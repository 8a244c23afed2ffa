//! Shared parts of the tests: records of requests, and the exposed state of a fold.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::hash::keccak;
use kedge_protocol::ids::IdMap;
use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::resource::{Object, Variation, Wallet};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::TemplateRules;
use kedge_rules::fold::FoldState;
use kedge_rules::resource_state::ResourceState;

/// Far ahead of every time in the tests.
const DEADLINE_S: u64 = 1 << 40;

/// The texts to be signed of an action.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) kind: Kind,
    pub(crate) target: String,
    pub(crate) payload: String,
}

/// The record's statement about a done action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) resource: Id,
    pub(crate) version: u64,
    pub(crate) previous_integrity: Hash,
    pub(crate) previous_sequence: u64,
}

impl Place {
    /// For an action that will not be done.
    pub(crate) fn none() -> Self {
        Self {
            resource: Id::made_by(Prefix::Object, &Hash::ZERO, 0),
            version: 1,
            previous_integrity: Hash::ZERO,
            previous_sequence: 0,
        }
    }
}

/// A request without its actions. The fold does not check signatures; this one only makes the contents of two requests
/// differ.
pub(crate) fn request(
    signer: Address,
    wallet: Option<&Wallet>,
    nonce: u64,
    first_sequence: u64,
) -> RequestRecord<'static> {
    let unique = keccak(
        &[
            &signer.0[..],
            &nonce.to_be_bytes(),
            &first_sequence.to_be_bytes(),
        ]
        .concat(),
    );
    let mut signature = [27; 65];
    signature[..32].copy_from_slice(&unique.0);
    let nobody = |prefix| Id::made_by(prefix, &Hash::ZERO, 0);
    RequestRecord {
        batch_number: 0,
        first_sequence,
        first_leaf_index: 0,
        timestamp_ms: first_sequence * 10,
        organization_id: wallet.map_or(nobody(Prefix::Organization), |w| w.organization_id),
        wallet_id: wallet.map_or(nobody(Prefix::Wallet), |w| w.id),
        head: RequestHead {
            signer,
            nonce,
            deadline_s: DEADLINE_S,
            atomic: false,
        },
        signature: Signature(signature),
        salt_seed: keccak(&unique.0),
        actions: Vec::new(),
        failed: Vec::new(),
    }
}

pub(crate) fn action(words: &Words, index: u16, place: Place) -> ActionRecord<'static> {
    ActionRecord {
        index,
        kind: words.kind.clone(),
        target: Cow::Owned(words.target.clone()),
        payload: Cow::Owned(words.payload.clone()),
        disclosed: None,
        resource: place.resource,
        version: place.version,
        previous_integrity: place.previous_integrity,
        previous_sequence: place.previous_sequence,
    }
}

pub(crate) fn failed(index: u16) -> FailedAction {
    FailedAction {
        index,
        action_hash: Hash::ZERO,
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Laid {
    others: IdMap<Id, ResourceState>,
    wallets: IdMap<Id, Wallet>,
    templates: IdMap<Id, Arc<TemplateRules>>,
    variations: IdMap<Id, Arc<Variation>>,
    objects: IdMap<Id, Object>,
    minted: IdMap<Id, u64>,
    nonces: HashMap<Address, NonceWindow>,
}

impl Laid {
    pub(crate) fn open(state: &FoldState) -> Self {
        Self {
            others: state.others.clone(),
            wallets: state.wallets.clone(),
            templates: state.templates.clone(),
            variations: state.variations.clone(),
            objects: state.objects.clone(),
            minted: state.minted.clone(),
            nonces: state.nonces.clone(),
        }
    }
}
