//! API keys and their permissions.

use serde::{Deserialize, Serialize};

use super::ResourceTrace;
use crate::ids::Id;

macro_rules! areas {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What an API key may be used for.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Area {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Area {
            /// Every area.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in permissions.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

areas! {
    /// The caller's wallet, its keys, the organization and its members.
    Wallets = "wallets",
    /// API keys.
    ApiKeys = "api_keys",
    /// Objects, and actions on them.
    Objects = "objects",
    /// Templates and variations.
    Templates = "templates",
    /// The action bus.
    Actions = "actions",
    /// Events.
    Events = "events",
    /// Files.
    Files = "files",
    /// Webhooks.
    Webhooks = "webhooks",
    /// Batches, anchors, exports.
    Batches = "batches",
}

/// Which of the four operations are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "four independent rights")]
pub struct Crud {
    /// Create.
    #[serde(default)]
    pub create: bool,
    /// Read.
    #[serde(default)]
    pub read: bool,
    /// Change.
    #[serde(default)]
    pub update: bool,
    /// Delete.
    #[serde(default)]
    pub delete: bool,
}

/// A right of an API key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Permission {
    /// On what.
    pub resource: Area,
    /// Which operations.
    #[serde(deserialize_with = "crate::json::object")]
    pub crud: Crud,
}

/// An API key, without its secret: the log never holds one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKey {
    /// Its identifier.
    pub id: Id,
    /// The organization that it acts for.
    pub organization_id: Id,
    /// The wallet that made it.
    pub wallet_id: Id,
    /// Its name; not unique.
    pub name: String,
    /// Its rights.
    pub permissions: Vec<Permission>,
    /// When it expires, milliseconds.
    pub expires_at_ms: Option<u64>,
    /// Number of rotations of its secret.
    pub rotations: u64,
    /// Seconds after the last rotation in which the previous secret stays valid.
    pub overlap_s: u64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Its position in its history and in the log.
    pub trace: ResourceTrace,
}
