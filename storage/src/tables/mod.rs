//! The tables: one column family each, with its keys and rows. Names, key kinds and row numbers are permanent. Numbers
//! in keys are big-endian, so that byte order is number order.

pub(crate) mod accounts;
pub(crate) mod anchors;
pub(crate) mod batches;
pub(crate) mod checkpoints;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod meta;
pub(crate) mod objects;
pub(crate) mod properties;
pub(crate) mod records;
pub(crate) mod residue;
pub(crate) mod round_trip;
pub(crate) mod row;
pub(crate) mod sequencer_keys;
pub(crate) mod states;
pub(crate) mod templates;
#[cfg(test)]
mod tests;

use kedge_protocol::limits::NONCE_WINDOW;
use kedge_protocol::{Address, Hash, Id, Prefix};

/// The version of all keys and rows. A store of [`FORMAT_WITHOUT_SERIALS`] or [`FORMAT_WITHOUT_STATE`] is upgraded when it
/// is opened for writing; one with another version is rebuilt from the log.
pub(crate) const FORMAT_VERSION: u64 = 9;

/// Version of stores whose lists of a template's objects lack the objects' serials.
pub(crate) const FORMAT_WITHOUT_SERIALS: u64 = 7;

/// Version of stores without tables for the state and its checkpoints.
pub(crate) const FORMAT_WITHOUT_STATE: u64 = 8;

/// Source of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RowSource {
    /// The log's actions: a replay rebuilds the rows to the byte.
    Actions,
    /// Positions in the log, which the rows lead to.
    Places,
    /// Other sources: the log has each write as a side entry, which names the table by this permanent number. Numbers
    /// are never reused.
    Side(u16),
    /// All of these, and this copy of the state alone: the rows under [`meta::SIDE_KEYS`] are side entries.
    Mixed(u16),
    /// The rows of other tables: this copy makes them when it has the time, so that two copies differ.
    Rows,
}
use RowSource::{Actions, Mixed, Places, Rows, Side};

/// Typical access to a table's rows, and their content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    /// Reads are by whole key, which may be absent.
    pub(crate) points: bool,
    /// Text that compresses, as opposed to hashes that do not.
    pub(crate) text: bool,
    pub(crate) block_kilobytes: usize,
}

impl TableShape {
    const fn new(points: bool, text: bool, block_kilobytes: usize) -> Self {
        Self {
            points,
            text,
            block_kilobytes,
        }
    }
}

/// Form of a table's values, for reading and writing any of them again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowForm {
    /// That of one resource, as the registry names it.
    Resource,
    /// One or more types of rows, which [`round_trip`] names.
    Several,
    /// Numbers, hashes, ids or nothing.
    Plain,
}
use RowForm::{Plain, Resource, Several};

const LARGE_ROWS: TableShape = TableShape::new(true, true, 8);
const ROWS: TableShape = TableShape::new(true, true, 4);
const HASHES: TableShape = TableShape::new(true, false, 4);
const LISTS: TableShape = TableShape::new(false, true, 8);
/// Ids that do not compress, under keys that differ from their neighbours in a few bytes.
const LISTS_OF_IDS: TableShape = TableShape::new(false, false, 8);
/// Hashes and ids, read by place in a trie.
const VERSIONS: TableShape = TableShape::new(false, false, 4);
const FEW: TableShape = TableShape::new(false, false, 4);

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $follows:expr, $shape:ident, $form:expr;)*) => {
        /// A column family.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Table { $($(#[$doc])* $name),* }

        impl Table {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The column family's permanent name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            const fn follows(self) -> RowSource {
                match self { $(Self::$name => $follows),* }
            }

            pub(crate) const fn shape(self) -> TableShape {
                match self { $(Self::$name => $shape),* }
            }

            pub(crate) const fn form(self) -> RowForm {
                match self { $(Self::$name => $form),* }
            }
        }
    };
}

// Name, source of the rows, shape and form of each.
tables! {
    /// Organization ‖ first sequence → count of actions.
    RequestsByOrganization = "requests_by_org", Places, LISTS, Plain;
    /// Batch id → number.
    BatchIds = "batch_ids", Places, HASHES, Plain;
    /// Level ‖ index → node of the log tree.
    Tree = "tree", Places, HASHES, Plain;
    /// Object id → row.
    Objects = "objects", Actions, LARGE_ROWS, Resource;
    /// Kind ‖ organization, template or owner ‖ creation sequence → object id.
    ObjectIndex = "object_index", Actions, LISTS_OF_IDS, Plain;
    /// Template ‖ path ‖ ordered value ‖ creation sequence → object id.
    PropertyIndex = "property_index", Actions, LISTS_OF_IDS, Plain;
    /// Object id ‖ turn → the object at its last two milestones.
    Milestones = "milestones", Actions, LARGE_ROWS, Several;
    /// Wallet id → row.
    Wallets = "wallets", Actions, ROWS, Resource;
    /// Organization id → row.
    Organizations = "organizations", Actions, ROWS, Resource;
    /// Template id → row.
    Templates = "templates", Actions, LARGE_ROWS, Resource;
    /// Variation id → row.
    Variations = "variations", Actions, LARGE_ROWS, Resource;
    /// API key id → row.
    ApiKeys = "api_keys", Actions, ROWS, Resource;
    /// Webhook id → row.
    Webhooks = "webhooks", Actions, ROWS, Resource;
    /// File id → row.
    Files = "files", Actions, ROWS, Resource;
    /// Dispute id → row.
    Disputes = "disputes", Actions, ROWS, Resource;
    /// Action id → invitation.
    Invitations = "invitations", Actions, ROWS, Resource;
    /// First batch → sequencer key that the log names.
    SequencerKeys = "sequencer_keys", Actions, FEW, Several;
    /// Kind ‖ key → id.
    Lookup = "lookup", Actions, HASHES, Plain;
    /// Template id → count of minted objects; template id ‖ 1 → count of burned ones.
    Counters = "counters", Actions, HASHES, Plain;
    /// Signer → nonce window; signer ‖ slot → a nonce and the first sequence of its request.
    Nonces = "nonces", Actions, HASHES, Plain;
    /// Issuing organization ‖ sequence → nothing, for each action of another organization's wallet on one of its
    /// objects.
    ForeignActions = "foreign_actions", Actions, LISTS, Plain;
    /// Organization, or zero ‖ sequence ‖ index → event outside the log.
    Events = "events", Side(1), LISTS, Several;
    /// Anchor number → row.
    Anchors = "anchors", Side(2), ROWS, Several;
    /// Case of the operator's bond → its answer.
    BondAnswers = "bond_answers", Side(3), ROWS, Plain;
    /// Digest of a request that failed as a whole → its deadline, Unix seconds.
    Refused = "refused", Side(4), HASHES, Plain;
    /// Wallet id → password hash.
    Credentials = "credentials", Side(5), HASHES, Plain;
    /// Prefix number ‖ id → secret of an API key or webhook.
    Secrets = "secrets", Side(6), HASHES, Several;
    /// Hash of caller, endpoint and key → outcome of the first request.
    Idempotency = "idempotency", Side(7), HASHES, Several;
    /// API key id → time of its last use, Unix milliseconds.
    KeyUses = "key_uses", Side(8), HASHES, Plain;
    /// Position of each webhook, and its deliveries.
    Deliveries = "deliveries", Side(9), ROWS, Several;
    /// Refresh tokens and revoked families.
    Sessions = "sessions", Side(10), HASHES, Several;
    /// Organization id → number of requests on its last day. One row each: a new day replaces the previous one.
    Usage = "usage", Side(11), HASHES, Several;
    /// Organization id → bytes that its requests have added to the log and to their resources.
    LogBytes = "log_bytes", Actions, HASHES, Plain;
    /// Batches → signed checkpoint of the state after them.
    Checkpoints = "checkpoints", Side(13), ROWS, Several;
    /// Path ‖ version → entry of the state.
    StateEntries = "state_entries", Rows, VERSIONS, Plain;
    /// Nibbles ‖ version → branch of the state.
    StateNodes = "state_nodes", Rows, VERSIONS, Plain;
    /// Batches → root of the state after them, and its frame.
    StateRoots = "state_roots", Rows, FEW, Plain;
    /// Last frame of a flush → the entries that its rows may change.
    StateChanges = "state_changes", Rows, FEW, Plain;
    /// Format version, domain, first key, head, and the last applied frame.
    Meta = "meta", Mixed(12), HASHES, Plain;
}

impl Table {
    /// Whether a replay of the log rebuilds the table to the byte.
    pub fn is_state(self) -> bool {
        self.follows() == Actions
    }

    /// Whether the log's actions and signed headers explain every row: the state, and the indexes of the log.
    pub fn is_derived(self) -> bool {
        matches!(self.follows(), Actions | Places)
    }

    /// Whether its rows do not follow from actions. The log has each of their writes as a side entry.
    pub fn is_kept(self) -> bool {
        matches!(self.follows(), Side(_))
    }

    /// Whether this copy makes its rows from those of other tables, so that another copy's may differ.
    pub fn is_of_copy(self) -> bool {
        self.follows() == Rows
    }

    /// Whether stores of [`FORMAT_WITHOUT_STATE`], and earlier ones, may lack it.
    pub(crate) fn is_of_state(self) -> bool {
        self.is_of_copy() || self == Self::Checkpoints
    }

    /// Whether its rows have versions, of which only some are kept.
    pub(crate) fn has_versions(self) -> bool {
        matches!(self, Self::StateEntries | Self::StateNodes)
    }

    /// The permanent number under which side entries of the log name the table.
    pub(crate) fn side_number(self) -> Option<u16> {
        match self.follows() {
            Side(number) | Mixed(number) => Some(number),
            Actions | Places | Rows => None,
        }
    }

    /// The table that side entries name by this number.
    pub(crate) fn of_side_number(number: u16) -> Option<Self> {
        let mut tables = Self::ALL.iter().copied();
        tables.find(|table| table.side_number() == Some(number))
    }

    /// Tables in which each minted object adds scattered rows, so that every flushed file overlaps all others.
    pub(crate) fn grows_with_mints(self) -> bool {
        matches!(
            self,
            Self::Objects | Self::ObjectIndex | Self::PropertyIndex
        )
    }

    /// Tables whose rows begin with their expiry, Unix seconds. Expired rows are dropped when their file is compacted,
    /// in the background; until then readers skip them. So answers do not depend on when that happens.
    pub(crate) fn expires(self) -> bool {
        matches!(self, Self::Refused | Self::Sessions | Self::Idempotency)
    }
}

/// Permanent first bytes of keys in [`Table::Lookup`].
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

/// The first bytes of a key as a number that sorts like the key; for equal numbers the whole keys decide.
pub(crate) fn first_8(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let count = key.len().min(8);
    first[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(first)
}

/// Kind ‖ text.
pub(crate) fn kind_key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + rest.len());
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

/// Kind ‖ id ‖ text: a name within a resource.
pub(crate) fn name_key(kind: u8, within: &Id, name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(17 + name.len());
    key.push(kind);
    key.extend_from_slice(&within.bytes);
    key.extend_from_slice(name.as_bytes());
    key
}

/// Kind ‖ id ‖ number: an entry in a resource's list.
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

/// Slots for the sequences of spent nonces: more than the window is wide, so that no two nonces of one window share
/// one.
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

/// Expiry of a row, Unix seconds, and the rest of the row.
pub(crate) fn expiry(row: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, rest) = row.split_first_chunk()?;
    Some((u64::from_be_bytes(*seconds), rest))
}

/// An identifier whose prefix follows from its table.
pub(crate) fn id(prefix: Prefix, bytes: [u8; 16]) -> Id {
    Id { prefix, bytes }
}
