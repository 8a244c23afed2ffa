//! The catalogue: every table, and the row and list of every resource that has an id of its own.

use kedge_protocol::resource::{
    ApiKey, Dispute, FileRecord, Invitation, Organization, SequencerKey, Template, Variation,
    Wallet, Webhook,
};

use super::accounts::{SessionRow, UsageRow};
use super::anchors::AnchorRow;
use super::deliveries::{DeliveryRow, OutboxRow};
use super::events::EventRow;
use super::records::{IdempotencyRow, SecretRow};
use super::round_trip::{RowForm, object, plain, residue, row};
use super::row::resource;

/// The version of all keys and rows; a store with another version is rebuilt from the log.
pub(crate) const FORMAT_VERSION: u64 = 7;

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
    /// All of these, and this copy of the state alone: the rows under [`SIDE_KEYS`](super::meta::SIDE_KEYS) are side entries.
    Mixed(u16),
}
use RowSource::{Actions, Mixed, Places, Side};

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

const LARGE_ROWS: TableShape = TableShape::new(true, true, 8);
const ROWS: TableShape = TableShape::new(true, true, 4);
const HASHES: TableShape = TableShape::new(true, false, 4);
const LISTS: TableShape = TableShape::new(false, true, 8);
/// Ids that do not compress, under keys that differ from their neighbours in a few bytes.
const LISTS_OF_IDS: TableShape = TableShape::new(false, false, 8);
const FEW: TableShape = TableShape::new(false, false, 4);

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $follows:expr, $shape:ident, $forms:expr;)*) => {
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

            /// The forms of its values.
            pub(super) const fn forms(self) -> &'static [RowForm] {
                match self { $(Self::$name => &$forms),* }
            }
        }
    };
}

// Name, source of the rows, shape, and the forms of its values: none for numbers, hashes, ids or nothing. The second
// form of the idempotency keys' rows is their residue.
tables! {
    /// Organization ‖ first sequence → count of actions.
    RequestsByOrganization = "requests_by_org", Places, LISTS, [];
    /// Batch id → number.
    BatchIds = "batch_ids", Places, HASHES, [];
    /// Level ‖ index → node of the log tree.
    Tree = "tree", Places, HASHES, [];
    /// Object id → row.
    Objects = "objects", Actions, LARGE_ROWS, [object];
    /// Kind ‖ organization, template or owner ‖ creation sequence → object id.
    ObjectIndex = "object_index", Actions, LISTS_OF_IDS, [];
    /// Template ‖ path ‖ ordered value ‖ creation sequence → object id.
    PropertyIndex = "property_index", Actions, LISTS_OF_IDS, [];
    /// Object id ‖ turn → the object at its last two milestones.
    Milestones = "milestones", Actions, LARGE_ROWS, [object];
    /// Wallet id → row.
    Wallets = "wallets", Actions, ROWS, [row::<Wallet>];
    /// Organization id → row.
    Organizations = "organizations", Actions, ROWS, [row::<Organization>];
    /// Template id → row.
    Templates = "templates", Actions, LARGE_ROWS, [row::<Template>];
    /// Variation id → row.
    Variations = "variations", Actions, LARGE_ROWS, [row::<Variation>];
    /// API key id → row.
    ApiKeys = "api_keys", Actions, ROWS, [row::<ApiKey>];
    /// Webhook id → row.
    Webhooks = "webhooks", Actions, ROWS, [row::<Webhook>];
    /// File id → row.
    Files = "files", Actions, ROWS, [row::<FileRecord>];
    /// Dispute id → row.
    Disputes = "disputes", Actions, ROWS, [row::<Dispute>];
    /// Action id → invitation.
    Invitations = "invitations", Actions, ROWS, [row::<Invitation>];
    /// First batch → sequencer key that the log names.
    SequencerKeys = "sequencer_keys", Actions, FEW, [row::<SequencerKey>];
    /// Kind ‖ key → id.
    Lookup = "lookup", Actions, HASHES, [];
    /// Template id → count of minted objects; template id ‖ 1 → count of burned ones.
    Counters = "counters", Actions, HASHES, [];
    /// Signer → nonce window; signer ‖ slot → a nonce and the first sequence of its request.
    Nonces = "nonces", Actions, HASHES, [];
    /// Issuing organization ‖ sequence → nothing, for each action of another organization's wallet on one of its
    /// objects.
    ForeignActions = "foreign_actions", Actions, LISTS, [];
    /// Organization, or zero ‖ sequence ‖ index → event outside the log.
    Events = "events", Side(1), LISTS, [row::<EventRow>];
    /// Anchor number → row.
    Anchors = "anchors", Side(2), ROWS, [row::<AnchorRow>];
    /// Case of the operator's bond → its answer.
    BondAnswers = "bond_answers", Side(3), ROWS, [];
    /// Digest of a request that failed as a whole → its deadline, Unix seconds.
    Refused = "refused", Side(4), HASHES, [];
    /// Wallet id → password hash.
    Credentials = "credentials", Side(5), HASHES, [];
    /// Prefix number ‖ id → secret of an API key or webhook.
    Secrets = "secrets", Side(6), HASHES, [plain::<SecretRow>];
    /// Hash of caller, endpoint and key → outcome of the first request.
    Idempotency = "idempotency", Side(7), HASHES, [plain::<IdempotencyRow>, residue];
    /// API key id → time of its last use, Unix milliseconds.
    KeyUses = "key_uses", Side(8), HASHES, [];
    /// Position of each webhook, and its deliveries.
    Deliveries = "deliveries", Side(9), ROWS, [row::<DeliveryRow>, row::<OutboxRow>];
    /// Refresh tokens and revoked families.
    Sessions = "sessions", Side(10), HASHES, [row::<SessionRow>];
    /// Organization id → number of requests on its last day. One row each: a new day replaces the previous one.
    Usage = "usage", Side(11), HASHES, [plain::<UsageRow>];
    /// Organization id → bytes that its requests have added to the log and to their resources.
    LogBytes = "log_bytes", Actions, HASHES, [];
    /// Format version, domain, first key, head, and the last applied frame.
    Meta = "meta", Mixed(12), HASHES, [];
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

    /// The permanent number under which side entries of the log name the table.
    pub(crate) fn side_number(self) -> Option<u16> {
        match self.follows() {
            Side(number) | Mixed(number) => Some(number),
            Actions | Places => None,
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

resource! {
    Wallet in Wallets, Wallet, found by put_wallet, listed in WALLETS_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        role,
        nickname,
        email,
        address,
        keys,
        trace,
    }
}

resource! { Organization in Organizations, Organization, found by id { name, tier, trace } }

resource! {
    Template in Templates, Template, found by put_template, listed in TEMPLATES_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        name,
        description,
        properties,
        schema,
        max_supply,
        actions,
        public_access,
        variation_count,
        trace,
    }
}

resource! {
    Variation in Variations, Variation, found by put_variation, listed in VARIATIONS_OF_TEMPLATE by template_id, index {
        template_id: Template,
        organization_id: Organization,
        name,
        properties,
        index,
        created_sequence,
        created_at_ms,
    }
}

resource! {
    ApiKey in ApiKeys, Key, found by id, listed in KEYS_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        wallet_id: Wallet,
        name,
        permissions,
        expires_at_ms,
        rotations,
        overlap_s,
        deleted,
        trace,
    }
}

resource! {
    Webhook in Webhooks, Webhook, found by id, listed in WEBHOOKS_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        url,
        events,
        active,
        description,
        rotations,
        overlap_s,
        deleted,
        trace,
    }
}

resource! {
    FileRecord in Files, File, found by id, listed in FILES_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        wallet_id: Wallet,
        name,
        sha256,
        size_bytes,
        media_type,
        trace,
    }
}

resource! {
    Invitation in Invitations, Action, found by id, listed in INVITATIONS_OF_ORGANIZATION by organization_id, created_sequence {
        organization_id: Organization,
        invited_by: Wallet,
        role,
        email,
        lifetime_s,
        used_by: Wallet,
        revoked,
        created_sequence,
        created_at_ms,
    }
}

resource! {
    @row Dispute in Disputes, Dispute, found by put_dispute, listed in DISPUTES_OF_ORGANIZATION by organization_id, trace.created_sequence
}
