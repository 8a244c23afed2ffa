//! The tables: one column family each, with its keys and rows. Names, key kinds and row numbers are permanent. Numbers
//! in keys are big-endian, so that byte order is number order.

pub(crate) mod accounts;
pub(crate) mod anchors;
pub(crate) mod batches;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod meta;
pub(crate) mod objects;
pub(crate) mod properties;
pub(crate) mod records;
pub(crate) mod residue;
pub(crate) mod rewritten;
pub(crate) mod row;
pub(crate) mod sequencer_keys;
pub(crate) mod templates;
#[cfg(test)]
mod tests;

use kedge_protocol::limits::NONCE_WINDOW;
use kedge_protocol::{Address, Hash, Id, Prefix};

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// A column family.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Table { $($(#[$doc])* $name),* }

        impl Table {
            /// Every table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The column family's permanent name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

tables! {
    /// Organization ‖ first sequence → count of actions.
    RequestsByOrganization = "requests_by_org",
    /// Batch id → number.
    BatchIds = "batch_ids",
    /// Level ‖ index → node of the log tree.
    Tree = "tree",
    /// Object id → row.
    Objects = "objects",
    /// Kind ‖ organization, template or owner ‖ creation sequence → object id.
    ObjectIndex = "object_index",
    /// Template ‖ path ‖ ordered value ‖ creation sequence → object id.
    PropertyIndex = "property_index",
    /// Object id ‖ turn → the object at its last two milestones.
    Milestones = "milestones",
    /// Wallet id → row.
    Wallets = "wallets",
    /// Organization id → row.
    Organizations = "organizations",
    /// Template id → row.
    Templates = "templates",
    /// Variation id → row.
    Variations = "variations",
    /// API key id → row.
    ApiKeys = "api_keys",
    /// Webhook id → row.
    Webhooks = "webhooks",
    /// File id → row.
    Files = "files",
    /// Dispute id → row.
    Disputes = "disputes",
    /// Action id → invitation.
    Invitations = "invitations",
    /// First batch → key of the sequencer that the log names.
    SequencerKeys = "sequencer_keys",
    /// Kind ‖ key → id.
    Lookup = "lookup",
    /// Template id → count of minted objects; template id ‖ 1 → count of those that were burned.
    Counters = "counters",
    /// Signer → nonce window; signer ‖ slot → a nonce and the first sequence of its request.
    Nonces = "nonces",
    /// Issuing organization ‖ sequence → nothing, for each action of another organization's wallet on one of its
    /// objects.
    ForeignActions = "foreign_actions",
    /// Organization, or zero ‖ sequence ‖ index → event outside the log.
    Events = "events",
    /// Anchor number → row.
    Anchors = "anchors",
    /// Case of the operator's bond → what was sent to answer it.
    BondAnswers = "bond_answers",
    /// Digest of a request that failed as a whole → its deadline, Unix seconds.
    Refused = "refused",
    /// Wallet id → password hash.
    Credentials = "credentials",
    /// Prefix number ‖ id → secret of an API key or webhook.
    Secrets = "secrets",
    /// Hash of a caller, an endpoint and a key → what its first request did.
    Idempotency = "idempotency",
    /// API key id → when it was last used, Unix milliseconds.
    KeyUses = "key_uses",
    /// How far each webhook has read, and what it is sent.
    Deliveries = "deliveries",
    /// Refresh tokens and revoked families.
    Sessions = "sessions",
    /// Organization id → how many requests it sent on its last day. One row each: a new day replaces the one before.
    Usage = "usage",
    /// Organization id → bytes that its requests have added to the log and to the resources they make.
    LogBytes = "log_bytes",
    /// Format version, domain, first key, head, and up to which frame of the log everything here was applied.
    Meta = "meta",
}

impl Table {
    /// The tables in which the log's actions and signed headers explain every row: [`Table::STATE`], then those that
    /// lead into the log.
    pub const DERIVED: &'static [Self] = &[
        Self::Objects,
        Self::ObjectIndex,
        Self::PropertyIndex,
        Self::Milestones,
        Self::Wallets,
        Self::Organizations,
        Self::Templates,
        Self::Variations,
        Self::ApiKeys,
        Self::Webhooks,
        Self::Files,
        Self::Disputes,
        Self::Invitations,
        Self::SequencerKeys,
        Self::Lookup,
        Self::Counters,
        Self::Nonces,
        Self::ForeignActions,
        Self::LogBytes,
        Self::RequestsByOrganization,
        Self::BatchIds,
        Self::Tree,
    ];
    const INTO_THE_LOG: usize = 3;

    /// The tables that a replay of the log rebuilds, to the byte.
    pub const STATE: &'static [Self] = Self::DERIVED
        .split_at(Self::DERIVED.len() - Self::INTO_THE_LOG)
        .0;

    /// The tables whose rows do not follow from actions. The log has each of their writes as a side entry.
    pub const KEPT: &'static [Self] = &[
        Self::Events,
        Self::Anchors,
        Self::BondAnswers,
        Self::Refused,
        Self::Credentials,
        Self::Secrets,
        Self::Idempotency,
        Self::KeyUses,
        Self::Deliveries,
        Self::Sessions,
        Self::Usage,
    ];

    /// The permanent number under which side entries of the log name the table; numbers are never reused. In
    /// [`Table::Meta`], the rows under [`meta::SIDE_KEYS`] are side entries.
    pub(crate) fn side_number(self) -> Option<u16> {
        Some(match self {
            Self::Events => 1,
            Self::Anchors => 2,
            Self::BondAnswers => 3,
            Self::Refused => 4,
            Self::Credentials => 5,
            Self::Secrets => 6,
            Self::Idempotency => 7,
            Self::KeyUses => 8,
            Self::Deliveries => 9,
            Self::Sessions => 10,
            Self::Usage => 11,
            Self::Meta => 12,
            _ => return None,
        })
    }

    /// The table that side entries name by this number.
    pub(crate) fn of_side_number(number: u16) -> Option<Self> {
        let mut tables = Self::ALL.iter().copied();
        tables.find(|table| table.side_number() == Some(number))
    }

    /// Tables whose rows begin with the time until which they are kept, Unix seconds. Later they are dropped when their
    /// file is compacted, in the background; until then readers skip them. So what they answer does not depend on when that
    /// happens.
    pub(crate) fn expires(self) -> bool {
        matches!(self, Self::Refused | Self::Sessions | Self::Idempotency)
    }
}

/// The permanent first bytes of keys in [`Table::Lookup`].
pub(crate) mod lookup {
    pub(crate) const WALLET_EMAIL: u8 = 1;
    pub(crate) const WALLET_ADDRESS: u8 = 2;
    pub(crate) const WALLETS_OF_ORGANIZATION: u8 = 3;
    pub(crate) const TEMPLATE_NAME: u8 = 4;
    pub(crate) const TEMPLATES_OF_ORGANIZATION: u8 = 5;
    pub(crate) const VARIATIONS_OF_TEMPLATE: u8 = 6;
    pub(crate) const VARIATION_NAME: u8 = 7;
    pub(crate) const KEYS_OF_ORGANIZATION: u8 = 8;
    pub(crate) const WEBHOOKS_OF_ORGANIZATION: u8 = 9;
    pub(crate) const FILES_OF_ORGANIZATION: u8 = 10;
    pub(crate) const INVITATIONS_OF_ORGANIZATION: u8 = 11;
    pub(crate) const DISPUTES_OF_ORGANIZATION: u8 = 12;
    pub(crate) const DISPUTE_OF_EVIDENCE: u8 = 13;
    pub(crate) const DISPUTE_OF_CLAIM: u8 = 14;
}

/// Kind ‖ text.
pub(crate) fn kind_key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + rest.len());
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

/// Kind ‖ id ‖ text: a name within something.
pub(crate) fn name_key(kind: u8, within: &Id, name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(17 + name.len());
    key.push(kind);
    key.extend_from_slice(&within.bytes);
    key.extend_from_slice(name.as_bytes());
    key
}

/// Kind ‖ id ‖ number: a place in a list of something.
pub(crate) fn list_key(kind: u8, of: &Id, number: u64) -> [u8; 25] {
    let mut key = [0; 25];
    key[0] = kind;
    key[1..17].copy_from_slice(&of.bytes);
    key[17..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Kind ‖ organization ‖ digest of evidence.
pub(crate) fn evidence_key(organization: &Id, digest: &Hash) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + 16 + 32);
    key.push(lookup::DISPUTE_OF_EVIDENCE);
    key.extend_from_slice(&organization.bytes);
    key.extend_from_slice(&digest.0);
    key
}

/// Kind ‖ context of a claim.
pub(crate) fn claim_key(context: &Hash) -> Vec<u8> {
    kind_key(lookup::DISPUTE_OF_CLAIM, &context.0)
}

/// Template ‖ 1.
pub(crate) fn burned_key(template: &Id) -> [u8; 17] {
    let mut key = [1; 17];
    key[..16].copy_from_slice(&template.bytes);
    key
}

/// Slots for places of spent nonces: more than the window is wide, so that no two nonces of one window share one.
const SPENT_SLOTS: u64 = 2 * NONCE_WINDOW;

/// Signer ‖ slot of a nonce.
pub(crate) fn spent_key(signer: &Address, nonce: u64) -> [u8; 22] {
    let mut key = [0; 22];
    key[..20].copy_from_slice(&signer.0);
    key[20..].copy_from_slice(&((nonce % SPENT_SLOTS) as u16).to_be_bytes());
    key
}

/// Nonce ‖ sequence.
pub(crate) fn spent_row(nonce: u64, sequence: u64) -> [u8; 16] {
    let mut row = [0; 16];
    row[..8].copy_from_slice(&nonce.to_be_bytes());
    row[8..].copy_from_slice(&sequence.to_be_bytes());
    row
}

/// When an expiring row ends, Unix seconds, and what follows in it.
pub(crate) fn expiry(row: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, rest) = row.split_first_chunk()?;
    Some((u64::from_be_bytes(*seconds), rest))
}

/// An identifier whose table determines what it names.
pub(crate) fn id(prefix: Prefix, bytes: [u8; 16]) -> Id {
    Id { prefix, bytes }
}
