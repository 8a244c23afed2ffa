//! The resources that actions create and change, as a fold of the log leaves them.

mod api_key;
mod invitation;

use serde::{Deserialize, Serialize};

use crate::action::Kind;
use crate::address::Address;
use crate::chain::{first_integrity, next_integrity};
use crate::hash::Hash;
use crate::ids::Id;
use crate::sequencer_keys::KeyActivation;

pub use crate::registry::Who;

pub use api_key::{ApiKey, Area, Crud, Permission};
pub use invitation::Invitation;

/// Position of a resource in its history and in the log; every resource has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResourceTrace {
    /// Number of actions on the resource; 1 after the first.
    pub version: u64,
    /// The hash over the contents of those actions.
    pub integrity: Hash,
    /// The sequence of the first.
    pub created_sequence: u64,
    /// The sequence of the last.
    pub sequence: u64,
    /// The time of the first, milliseconds.
    pub created_at_ms: u64,
    /// The time of the last, milliseconds.
    pub updated_at_ms: u64,
}

impl ResourceTrace {
    /// The trace before the first action.
    pub const NEW: Self = Self {
        version: 0,
        integrity: Hash::ZERO,
        created_sequence: 0,
        sequence: 0,
        created_at_ms: 0,
        updated_at_ms: 0,
    };

    /// The trace after the action with this content, which made the resource as its `index`-th one.
    #[must_use]
    pub fn made_by(content: &Hash, index: u32) -> Self {
        Self::NEW.linked(first_integrity(content, index))
    }

    /// The trace after one more action with this content, whose place in the log is not yet known.
    #[must_use]
    pub fn next(&self, content: &Hash) -> Self {
        self.linked(next_integrity(&self.integrity, content))
    }

    /// The trace after one more action, which leads to this integrity.
    #[must_use]
    pub fn linked(&self, integrity: Hash) -> Self {
        Self {
            version: self.version + 1,
            integrity,
            ..*self
        }
    }

    /// Sets the place of the last action in the log.
    pub fn place(&mut self, sequence: u64, timestamp_ms: u64) {
        if self.version == 1 {
            self.created_sequence = sequence;
            self.created_at_ms = timestamp_ms;
        }
        self.sequence = sequence;
        self.updated_at_ms = timestamp_ms;
    }
}

/// What a wallet may do in its organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Role {
    /// Created the organization; may do everything.
    Owner,
    /// Everything except the owner's own rights.
    Admin,
    /// Acts on its own objects and as templates allow.
    Member,
}

/// An organization's subscription.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// 100 requests a minute, 1,000 a day.
    Free,
    /// 500 a minute, 50,000 a day.
    Developer,
    /// 5,000 a minute.
    Enterprise,
    /// Limits that the operator has agreed with the organization.
    Custom(CustomLimits),
}

impl Tier {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Developer => "developer",
            Self::Enterprise => "enterprise",
            Self::Custom(_) => "custom",
        }
    }
}

/// Limits of a custom tier; `None` means no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CustomLimits {
    /// All requests, per minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// All requests, per day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_day: Option<u64>,
    /// Creating and changing objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_writes_per_minute: Option<u64>,
    /// Batches of actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_batches_per_minute: Option<u64>,
    /// Uploads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_uploads_per_minute: Option<u64>,
    /// Creating templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_writes_per_minute: Option<u64>,
    /// The lists of objects, templates and batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_reads_per_minute: Option<u64>,
    /// Bytes in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

impl CustomLimits {
    /// Name of a limit that JSON readers may not read exactly; real limits are far below that.
    pub fn inexact(&self) -> Option<&'static str> {
        let limits = [
            ("requests_per_minute", self.requests_per_minute),
            ("requests_per_day", self.requests_per_day),
            ("object_writes_per_minute", self.object_writes_per_minute),
            ("action_batches_per_minute", self.action_batches_per_minute),
            ("file_uploads_per_minute", self.file_uploads_per_minute),
            (
                "template_writes_per_minute",
                self.template_writes_per_minute,
            ),
            ("list_reads_per_minute", self.list_reads_per_minute),
        ];
        let inexact = limits
            .into_iter()
            .find(|(_, limit)| limit.is_some_and(|limit| limit >= 1 << 53));
        inexact.map(|(name, _)| name)
    }
}

/// An organization: the owner of wallets, templates and limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Organization {
    /// Its identifier.
    pub id: Id,
    /// Its name; not unique.
    pub name: String,
    /// Its subscription.
    pub tier: Tier,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

/// A wallet: a person's or a machine's account, with the keys that sign for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wallet {
    /// Its identifier.
    pub id: Id,
    /// The organization that it belongs to, permanently.
    pub organization_id: Id,
    /// Its role in the organization.
    pub role: Role,
    /// A display name.
    pub nickname: Option<String>,
    /// The e-mail address for logging in, lower case; unique.
    pub email: String,
    /// The address that registered it.
    pub address: Address,
    /// The keys that sign for it now. A wallet without keys was removed from its organization.
    pub keys: Vec<Address>,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

impl Wallet {
    /// Whether the wallet was removed from its organization. Every other wallet has a key: the last one cannot be
    /// removed.
    pub fn is_removed(&self) -> bool {
        self.keys.is_empty()
    }
}

/// A rule of a template: who may request this kind of action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionRule {
    /// A kind of the action bus.
    pub kind: Kind,
    /// The wallets that the rule allows.
    pub who: Who,
    /// JSON Schema 2020-12 of its payload: compact JSON. Only for custom kinds.
    pub schema: Option<String>,
}

/// A template: defines the properties, rules and supply of its objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// Its identifier.
    pub id: Id,
    /// The organization that issues its objects.
    pub organization_id: Id,
    /// Its name, unique in the organization.
    pub name: String,
    /// Description for readers.
    pub description: String,
    /// Initial properties of its objects: compact JSON, an object.
    pub properties: String,
    /// JSON Schema 2020-12 that its objects' properties must fulfil: compact JSON.
    pub schema: Option<String>,
    /// How many objects may ever be minted.
    pub max_supply: Option<u64>,
    /// Rules that differ from the default.
    pub actions: Vec<ActionRule>,
    /// Whether every organization may read it and its objects.
    pub public_access: bool,
    /// How many variations it has.
    pub variation_count: u64,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

/// A variation: different initial properties for objects of the same template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variation {
    /// Its identifier.
    pub id: Id,
    /// Its template.
    pub template_id: Id,
    /// The organization of the template.
    pub organization_id: Id,
    /// Its name, unique in the template.
    pub name: String,
    /// Merged over the template's properties: compact JSON, an object.
    pub properties: String,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// The sequence of the action that made it.
    pub created_sequence: u64,
    /// The time of that action, milliseconds.
    pub created_at_ms: u64,
}

/// What may be done with an object now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ObjectStatus {
    /// Everything that its template allows.
    Active,
    /// Nothing except unlocking.
    Locked,
    /// Nothing, permanently.
    Burned,
}

/// An object: an owned instance of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its identifier.
    pub id: Id,
    /// The organization that issued it.
    pub organization_id: Id,
    /// The template that it was made from.
    pub template_id: Id,
    /// The variation, if one was named.
    pub variation_id: Option<Id>,
    /// The wallet that owns it.
    pub owner_id: Id,
    /// That wallet's address.
    pub owner_address: Address,
    /// Its properties: compact JSON, an object.
    pub properties: String,
    /// The actions that it allows now.
    pub status: ObjectStatus,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

/// A webhook: where an organization's events are sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Webhook {
    /// Its identifier.
    pub id: Id,
    /// The organization whose events are sent.
    pub organization_id: Id,
    /// The URL they are sent to.
    pub url: String,
    /// Types of events; `*` is every type.
    pub events: Vec<String>,
    /// Whether events are sent.
    pub active: bool,
    /// Description for readers.
    pub description: String,
    /// Number of rotations of its signing secret.
    pub rotations: u64,
    /// Seconds after the last rotation in which both secrets sign.
    pub overlap_s: u64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

/// Description of a file. Its bytes are stored outside the log, under their digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRecord {
    /// Its identifier.
    pub id: Id,
    /// The organization that it belongs to.
    pub organization_id: Id,
    /// The wallet that stored it.
    pub wallet_id: Id,
    /// Its name; not unique.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Its media type, as detected from the bytes.
    pub media_type: String,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

/// Subject matter of a dispute, and the key to find it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DisputeMatter {
    /// A fault of the sequencer.
    Fault {
        /// SHA-256 of the evidence in its normal form; each organization submits it once.
        evidence_digest: Hash,
    },
    /// A claim about an action.
    Claim {
        /// The binding of its proof; the log accepts each once.
        context: Hash,
    },
}

/// A decided dispute: evidence of a fault or a claim, and its verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dispute {
    /// Its identifier.
    pub id: Id,
    /// The organization that submitted it.
    pub organization_id: Id,
    /// For evidence, its first batch or its checkpoint's anchor; for a claim, its action.
    pub subject_id: Id,
    /// The fault or the claim.
    pub matter: DisputeMatter,
    /// The verdict as the log holds it: compact JSON, the evidence or claim included.
    pub verdict: String,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

/// A key of the sequencer that the log names. Its identifier is that of the action that named it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequencerKey {
    /// Its identifier.
    pub id: Id,
    /// The key, and the first batch that it signs.
    pub entry: KeyActivation,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::keccak;
    use crate::ids::Prefix;

    #[test]
    fn a_trace_follows_the_actions_of_its_resource() {
        let contents = [keccak(b"first"), keccak(b"second")];
        let mut trace = ResourceTrace::made_by(&contents[0], 3);
        assert_eq!(trace.integrity, first_integrity(&contents[0], 3));
        trace.place(10, 1_000);
        let made = ResourceTrace {
            version: 1,
            integrity: trace.integrity,
            created_sequence: 10,
            sequence: 10,
            created_at_ms: 1_000,
            updated_at_ms: 1_000,
        };
        assert_eq!(trace, made);
        let mut next = trace.next(&contents[1]);
        next.place(12, 1_200);
        let changed = ResourceTrace {
            version: 2,
            integrity: next_integrity(&made.integrity, &contents[1]),
            sequence: 12,
            updated_at_ms: 1_200,
            ..made
        };
        assert_eq!(next, changed);
    }

    #[test]
    fn tiers_have_names() {
        let custom = Tier::Custom(CustomLimits::default());
        let tiers = [Tier::Free, Tier::Developer, Tier::Enterprise, custom];
        let names = ["free", "developer", "enterprise", "custom"];
        assert_eq!(tiers.map(|tier| tier.name()), names);
    }

    #[test]
    fn limits_are_exact_below_2_to_the_53() {
        let limits = |name: &str, limit: u64| -> CustomLimits {
            serde_json::from_value(serde_json::json!({ name: limit })).unwrap()
        };
        for name in [
            "requests_per_minute",
            "requests_per_day",
            "object_writes_per_minute",
            "action_batches_per_minute",
            "file_uploads_per_minute",
            "template_writes_per_minute",
            "list_reads_per_minute",
        ] {
            let exact = limits(name, 9_007_199_254_740_991);
            assert_eq!(exact.inexact(), None);
            assert_eq!(limits(name, 9_007_199_254_740_992).inexact(), Some(name));
        }
        assert_eq!(CustomLimits::default().inexact(), None);
    }

    #[test]
    fn a_wallet_without_keys_was_removed() {
        let id = |prefix| Id::of_hash(prefix, &Hash::ZERO);
        let mut wallet = Wallet {
            id: id(Prefix::Wallet),
            organization_id: id(Prefix::Organization),
            role: Role::Member,
            nickname: None,
            email: String::new(),
            address: Address::ZERO,
            keys: vec![Address::ZERO],
            trace: ResourceTrace::NEW,
        };
        assert!(!wallet.is_removed());
        wallet.keys.clear();
        assert!(wallet.is_removed());
    }
}
