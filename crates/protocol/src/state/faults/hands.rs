//! Faults of leaves that the wrong wallet signed, or that could not be placed.

use super::shown::{LeafWords, NamedKind, ShownEntry, ShownLeaf, all_opened, leads};
use crate::action::Kind;
use crate::hash::keccak;
use crate::registry::ActionAudience;
use crate::resource::{ObjectStatus, Who};
use crate::state::entry::{EntryFields, TemplateEntry, WalletEntry};
use crate::{Hash, Id};

/// What shows a trespass.
#[derive(Clone, Copy)]
pub struct TrespassEvidence<'a> {
    /// The object at a checkpoint.
    pub object: &'a ShownEntry,
    /// Its template at the same checkpoint. Rules do not change while an object lives.
    pub template: &'a ShownEntry,
    /// Leaves that follow the object's entry, each opened and none a transfer.
    pub leaves: &'a [ShownLeaf],
    /// The leaf after them, above the checkpoint.
    pub leaf: &'a ShownLeaf,
    /// The plain text of its kind, needed for kinds of templates that have no rule.
    pub kind: Option<&'a str>,
    /// A wallet at any checkpoint; not needed for a kind of a template that has no rule.
    pub wallet: Option<&'a ShownEntry>,
}

/// Trespass: an object's action by a wallet that its template does not allow.
pub fn trespass(evidence: &TrespassEvidence<'_>) -> bool {
    let (Some((entry, object)), Some((_, template))) =
        (evidence.object.object(), evidence.template.template())
    else {
        return false;
    };
    let leaf = evidence.leaf;
    let Some(words) = &leaf.words else {
        return false;
    };
    let follows = leads(&entry.integrity, evidence.leaves).is_some_and(|end| leaf.extends(&end));
    let is_traced = follows && all_opened(evidence.leaves, |words| !words.is_kind(&Kind::Transfer));
    if !is_traced
        || evidence.template.id != object.template_id
        || evidence.template.point.batches != evidence.object.point.batches
        || leaf.leaf.sequence <= evidence.object.point.sequence
    {
        return false;
    }
    let allowed = match allowed(template, words, evidence.kind) {
        KindAllowance::Wallets(who) => who,
        KindAllowance::None => return true,
        KindAllowance::Unknown => return false,
    };
    let wallet = evidence
        .wallet
        .and_then(|shown| Some((shown, shown.wallet()?)));
    wallet.is_some_and(|(shown, (_, wallet))| {
        let signs = wallet.keys.contains(&words.signer);
        match allowed {
            Who::Owner if shown.id == object.owner_id => lost_owner(shown, leaf, words),
            Who::Owner => signs,
            Who::Issuer => signs && wallet.organization_id != template.organization_id,
            Who::Anyone => false,
        }
    })
}

/// Whether the owner's own wallet did not sign: its keys, unchanged since before the leaf, do not hold the signer, or
/// it had none before the leaf.
fn lost_owner(shown: &ShownEntry, leaf: &ShownLeaf, words: &LeafWords) -> bool {
    let Some((entry, wallet)) = shown.wallet() else {
        return false;
    };
    let sequence = leaf.leaf.sequence;
    if wallet.keys.is_empty() {
        return shown.point.sequence < sequence;
    }
    shown.point.sequence >= sequence
        && entry.sequence < sequence
        && !wallet.keys.contains(&words.signer)
}

/// Who may request the kind of a leaf.
enum KindAllowance {
    Wallets(Who),
    /// A kind of templates for which this one has no rule.
    None,
    /// A kind that is not about objects.
    Unknown,
}

fn allowed(template: &TemplateEntry, words: &LeafWords, kind: Option<&str>) -> KindAllowance {
    if let Some(who) = rule(template, &words.kind) {
        return KindAllowance::Wallets(who);
    }
    let default = Kind::BUILT_IN.iter().find(|kind| words.is_kind(kind));
    match default.map(|kind| kind.spec().audience) {
        Some(ActionAudience::Bus(Some(Who::Owner))) => KindAllowance::Wallets(Who::Owner),
        Some(_) => KindAllowance::Unknown,
        None => match kind.and_then(|kind| NamedKind::of(words, kind)) {
            Some(NamedKind::Custom) => KindAllowance::None,
            _ => KindAllowance::Unknown,
        },
    }
}

/// The template's rule for a kind, by its hash; the last one counts, as one kind has one rule.
fn rule(template: &TemplateEntry, kind: &Hash) -> Option<Who> {
    let mut rules = template.rules.iter().rev();
    let found = rules.find(|rule| keccak(rule.kind.as_bytes()) == *kind);
    found.map(|rule| rule.who)
}

/// Foreign hand: a leaf extends an entry of a wallet, and no key of the wallet signed it; or one of an organization, a
/// template, an API key or a webhook, and a key of another organization's `wallet` did. The operator's own kinds are
/// left out.
pub fn foreign_hand(shown: &ShownEntry, leaf: &ShownLeaf, wallet: Option<&ShownEntry>) -> bool {
    let (Some(entry), Some(words)) = (shown.entry(), &leaf.words) else {
        return false;
    };
    let system = [
        Kind::SystemTier,
        Kind::SystemVerdict,
        Kind::SystemWebhookOff,
        Kind::SystemSequencerKey,
    ];
    if !leaf.extends(&entry.integrity) || system.iter().any(|kind| words.is_kind(kind)) {
        return false;
    }
    let organization = match &entry.fields {
        EntryFields::Wallet(own) => return !own.keys.contains(&words.signer),
        EntryFields::Organization {} => shown.id,
        EntryFields::Template(template) => template.organization_id,
        EntryFields::ApiKey(key) => key.organization_id,
        EntryFields::Webhook(webhook) => webhook.organization_id,
        _ => return false,
    };
    signer(wallet, words).is_some_and(|(_, wallet)| wallet.organization_id != organization)
}

/// Foreign maker: a template, an API key, a webhook or a file whose maker signs for another organization, a file's for
/// another wallet.
pub fn foreign_maker(shown: &ShownEntry, leaf: &ShownLeaf, wallet: &ShownEntry) -> bool {
    let (Some(entry), Some(words)) = (shown.entry(), &leaf.words) else {
        return false;
    };
    let (maker, organization, owner) = match &entry.fields {
        EntryFields::Template(template) => (Kind::TemplateCreate, template.organization_id, None),
        EntryFields::ApiKey(key) => (Kind::KeyCreate, key.organization_id, None),
        EntryFields::Webhook(webhook) => (Kind::WebhookCreate, webhook.organization_id, None),
        EntryFields::File(file) => (Kind::FileCreate, file.organization_id, Some(file.wallet_id)),
        _ => return false,
    };
    let Some((id, wallet)) = signer(Some(wallet), words) else {
        return false;
    };
    words.is_kind(&maker)
        && leaf.makes(&shown.id)
        && (wallet.organization_id != organization || owner.is_some_and(|owner| owner != id))
}

/// Foreign mint: a mint that its template left to the issuer, signed for another organization. The template's entry
/// stands at or after the mint, and is unchanged since before it.
pub fn foreign_mint(shown: &ShownEntry, leaf: &ShownLeaf, wallet: &ShownEntry) -> bool {
    let (Some((entry, template)), Some(words)) = (shown.template(), &leaf.words) else {
        return false;
    };
    let sequence = leaf.leaf.sequence;
    let who = rule(template, &Kind::Mint.hash()).unwrap_or(Who::Issuer);
    let Some((_, wallet)) = signer(Some(wallet), words) else {
        return false;
    };
    words.is_kind(&Kind::Mint)
        && words.is_target(&shown.id)
        && who == Who::Issuer
        && entry.sequence < sequence
        && sequence <= shown.point.sequence
        && wallet.organization_id != template.organization_id
}

/// Live update: a template changed while an object of it lived: one that is not burned at a checkpoint at or after the
/// leaf, and whose last action is before it.
pub fn live_update(shown: &ShownEntry, leaf: &ShownLeaf) -> bool {
    let (Some((entry, object)), Some(words)) = (shown.object(), &leaf.words) else {
        return false;
    };
    let sequence = leaf.leaf.sequence;
    words.is_kind(&Kind::TemplateUpdate)
        && words.is_target(&object.template_id)
        && object.status != ObjectStatus::Burned
        && entry.sequence < sequence
        && sequence <= shown.point.sequence
}

/// Ghost member: a wallet that was removed has keys at or after its removal.
pub fn ghost_member(leaf: &ShownLeaf, shown: &ShownEntry) -> bool {
    let (Some((_, wallet)), Some(words)) = (shown.wallet(), &leaf.words) else {
        return false;
    };
    words.is_kind(&Kind::OrgMemberRemove)
        && words.is_payload(&format!("{{\"wallet_id\":\"{}\"}}", shown.id))
        && !wallet.keys.is_empty()
        && leaf.leaf.sequence <= shown.point.sequence
}

/// The wallet, if it is one and the leaf's signer is among its keys. An address belongs to one wallet for ever, so the
/// checkpoint does not matter.
fn signer<'a>(shown: Option<&'a ShownEntry>, words: &LeafWords) -> Option<(Id, &'a WalletEntry)> {
    let shown = shown?;
    let (_, wallet) = shown.wallet()?;
    wallet
        .keys
        .contains(&words.signer)
        .then_some((shown.id, wallet))
}
