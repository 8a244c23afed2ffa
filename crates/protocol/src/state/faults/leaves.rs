//! Faults that an entry and a leaf show together.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::shown::{LeafWords, NamedKind, ShownEntry, ShownLeaf};
use crate::action::Kind;
use crate::chain::first_integrity;
use crate::hash::keccak;
use crate::limits::VARIATIONS_MAX;
use crate::resource::ObjectStatus;
use crate::state::entry::{EntryFields, ObjectEntry, StateEntry, VariationEntry, WalletEntry};
use crate::{Hash, Id, Prefix};

/// Stale state: a leaf at or before the entry's checkpoint extends the entry's integrity.
pub fn stale_state(shown: &ShownEntry, leaf: &ShownLeaf) -> bool {
    shown.entry().is_some_and(|entry| {
        leaf.leaf.sequence <= shown.point.sequence && leaf.extends(&entry.integrity)
    })
}

/// Missing state: a leaf at or before a checkpoint makes a resource, of which the checkpoint's state holds nothing.
/// `kind` is the plain text of the leaf's kind.
pub fn missing_state(shown: &ShownEntry, leaf: &ShownLeaf, kind: &str) -> bool {
    if !shown.is_absent() || leaf.leaf.sequence > shown.point.sequence {
        return false;
    }
    let kind = leaf
        .words
        .as_ref()
        .and_then(|words| NamedKind::of(words, kind));
    kind.is_some_and(|kind| {
        let prefix = shown.id.prefix;
        let makes = kind.makes(prefix)
            || (prefix == Prefix::Variation && kind.is(&Kind::TemplateVariations));
        makes && leaf.makes(&shown.id)
    })
}

/// Dead hand: a leaf extends an entry that is burned, deleted or without keys; or one that is locked, and it does not
/// unlock it; or it unlocks one that is not locked.
pub fn dead_hand(shown: &ShownEntry, leaf: &ShownLeaf) -> bool {
    let Some(entry) = shown.entry().filter(|entry| leaf.extends(&entry.integrity)) else {
        return false;
    };
    let unlocks = leaf.words.map(|words| words.is_kind(&Kind::Unlock));
    match &entry.fields {
        EntryFields::Object(object) => match object.status {
            ObjectStatus::Active => unlocks == Some(true),
            ObjectStatus::Locked => unlocks == Some(false),
            ObjectStatus::Burned => true,
        },
        EntryFields::Wallet(wallet) => wallet.keys.is_empty(),
        EntryFields::ApiKey(key) => key.deleted,
        EntryFields::Webhook(webhook) => webhook.deleted,
        _ => false,
    }
}

/// What a false entry is shown with, in addition to the entry and the leaf.
#[derive(Clone, Copy, Default)]
pub struct FalseEntryEvidence<'a> {
    /// The plain text of the leaf's kind.
    pub kind: Option<&'a str>,
    /// The wallet that the exact payload of a mint or a transfer names.
    pub to: Option<&'a Id>,
    /// An entry of the signer's wallet at any checkpoint, for a mint with the payload `{}`.
    pub wallet: Option<&'a ShownEntry>,
}

/// False entry: an entry and the leaf at its sequence do not belong together.
pub fn false_entry(
    shown: &ShownEntry,
    leaf: &ShownLeaf,
    evidence: &FalseEntryEvidence<'_>,
) -> bool {
    let Some(entry) = shown.entry() else {
        return false;
    };
    if registered_by_another(shown, entry, leaf) {
        return true;
    }
    if leaf.leaf.sequence != entry.sequence {
        return false;
    }
    if let EntryFields::Variation(variation) = &entry.fields {
        return false_variation(shown, entry, variation, leaf);
    }
    if leaf.leaf.integrity != entry.integrity {
        // The first integrity of an organization is not that of the registration's leaf.
        return shown.id.prefix != Prefix::Organization || entry.version >= 2;
    }
    let Some(words) = &leaf.words else {
        return false;
    };
    let kind = evidence.kind.and_then(|kind| NamedKind::of(words, kind));
    kind.is_some_and(|kind| {
        false_target(entry, words)
            || minted_for_another(entry, words, evidence)
            || contradicts(shown, entry, leaf, words, &kind, evidence)
    })
}

/// Whether the leaf, of a known kind, cannot have left the entry.
fn contradicts(
    shown: &ShownEntry,
    entry: &StateEntry,
    leaf: &ShownLeaf,
    words: &LeafWords,
    kind: &NamedKind,
    evidence: &FalseEntryEvidence<'_>,
) -> bool {
    let prefix = shown.id.prefix;
    let is_first = entry.version == 1;
    if !kind.concerns(prefix) || is_first != kind.makes(prefix) {
        return true;
    }
    if is_first && !leaf.makes(&shown.id) {
        return true;
    }
    match &entry.fields {
        EntryFields::Object(object) => false_object(object, words, kind, evidence.to),
        EntryFields::Wallet(wallet) => {
            kind.is(&Kind::WalletRegister) && !begins_with(wallet, words)
        }
        EntryFields::ApiKey(key) => kind.is(&Kind::KeyDelete) != key.deleted,
        EntryFields::Webhook(webhook) => {
            let is_deleted = kind.is(&Kind::WebhookDelete);
            let is_off = is_deleted || kind.is(&Kind::SystemWebhookOff);
            is_deleted != webhook.deleted || (is_off && webhook.active)
        }
        EntryFields::File(file) => !words.is_payload(&digest_text(&file.sha256)),
        _ => false,
    }
}

/// Whether the keys are those of a wallet that no action has changed since its registration.
fn begins_with(wallet: &WalletEntry, words: &LeafWords) -> bool {
    wallet.keys.is_empty() || wallet.keys == [words.signer]
}

fn false_object(
    object: &ObjectEntry,
    words: &LeafWords,
    kind: &NamedKind,
    to: Option<&Id>,
) -> bool {
    let left = if kind.is(&Kind::Lock) {
        ObjectStatus::Locked
    } else if kind.is(&Kind::Burn) {
        ObjectStatus::Burned
    } else {
        ObjectStatus::Active
    };
    object.status != left
        || (kind.is(&Kind::Mint) && !words.is_target(&object.template_id))
        || (kind.is(&Kind::Transfer) && goes_to_another(object, words, to))
}

/// Whether the payload is exactly `{"to":"wal_…"}` with a wallet that is not the owner.
fn goes_to_another(object: &ObjectEntry, words: &LeafWords, to: Option<&Id>) -> bool {
    to.is_some_and(|to| *to != object.owner_id && words.is_payload(&format!("{{\"to\":\"{to}\"}}")))
}

/// Whether a mint's payload names an owner, or leaves it to the signer, and the owner is another wallet.
fn minted_for_another(
    entry: &StateEntry,
    words: &LeafWords,
    evidence: &FalseEntryEvidence<'_>,
) -> bool {
    let EntryFields::Object(object) = &entry.fields else {
        return false;
    };
    if !words.is_kind(&Kind::Mint) {
        return false;
    }
    if words.is_payload("{}") {
        let signer = evidence
            .wallet
            .and_then(|shown| Some((shown, shown.wallet()?.1)));
        return signer.is_some_and(|(shown, wallet)| {
            wallet.keys.contains(&words.signer) && shown.id != object.owner_id
        });
    }
    goes_to_another(object, words, evidence.to)
}

/// Whether a dispute's leaf targets another subject, or a sequencer key's another address.
fn false_target(entry: &StateEntry, words: &LeafWords) -> bool {
    match &entry.fields {
        EntryFields::Dispute(dispute) => !words.is_target(&dispute.subject_id),
        EntryFields::SequencerKey(key) => {
            words.target != keccak(key.address.to_string().as_bytes())
        }
        _ => false,
    }
}

/// Whether a wallet, at any version, has another address than the signer of the registration that made it.
fn registered_by_another(shown: &ShownEntry, entry: &StateEntry, leaf: &ShownLeaf) -> bool {
    let (EntryFields::Wallet(wallet), Some(words)) = (&entry.fields, &leaf.words) else {
        return false;
    };
    words.is_kind(&Kind::WalletRegister) && leaf.makes(&shown.id) && wallet.address != words.signer
}

/// Whether the leaf at a variation's sequence did not make it. Its integrity is the template's, so it is not compared.
fn false_variation(
    shown: &ShownEntry,
    entry: &StateEntry,
    variation: &VariationEntry,
    leaf: &ShownLeaf,
) -> bool {
    let Some(words) = &leaf.words else {
        return false;
    };
    let content = &leaf.leaf.content;
    let is_made = |index: u32| {
        shown.id == Id::made_by(Prefix::Variation, content, index)
            && entry.integrity == first_integrity(content, index + 1)
    };
    !words.is_kind(&Kind::TemplateVariations)
        || !words.is_target(&variation.template_id)
        || !(0..VARIATIONS_MAX as u32).any(is_made)
}

/// The payload of `file.create`: the digest of the file's bytes.
fn digest_text(sha256: &Hash) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256.0))
}
