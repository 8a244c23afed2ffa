//! Bodies for accounts, API keys, files and webhooks.

use kedge_protocol::event::EventType;
use kedge_protocol::limits::{
    DESCRIPTION_CHARS_MAX, EMAIL_BYTES_MAX, FILE_NAME_CHARS_MAX, INVITATION_S_MAX,
    KEY_PERMISSIONS_MAX, ROTATION_OVERLAP_S_MAX, URL_BYTES_MAX, WEBHOOK_EVENTS_MAX,
};
use kedge_protocol::resource::{Area, Role};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::scalars::{AddressInput, NameInput, SignatureInput, WalletId};

/// A signing key to add.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SignerBody {
    /// Its address, which no other wallet may have, now or ever.
    address: AddressInput,
    /// The new key's own signature over the EIP-712 type `KeyConsent(string wallet,address key)` in the log's domain, with
    /// the id of the caller's wallet and this address.
    possession: SignatureInput,
}

/// A member's new role.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RoleBody {
    /// The member, as in the path: the signed body must name them.
    wallet_id: WalletId,
    /// The new role.
    role: Role,
}

/// An invitation to create.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct InviteBody {
    /// The only e-mail address that may use it; any if absent.
    #[schemars(extend("format" = "email"), length(max = EMAIL_BYTES_MAX))]
    email: Option<String>,
    /// The role of the wallet that joins; member if absent.
    role: Option<Role>,
    /// How long the invitation is valid, seconds; a week if absent.
    #[schemars(range(min = 1, max = INVITATION_S_MAX))]
    expires_in_s: Option<u64>,
}

/// What an API key may do with one kind of resource.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct WantedPermission {
    /// The resource.
    resource: Area,
    /// The kinds of access; each is false if absent.
    crud: WantedCrud,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the members of a body")]
struct WantedCrud {
    /// Create.
    #[schemars(default)]
    create: bool,
    /// Read.
    #[schemars(default)]
    read: bool,
    /// Update.
    #[schemars(default)]
    update: bool,
    /// Delete.
    #[schemars(default)]
    delete: bool,
}

/// An API key to create.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct KeyBody {
    /// A name to recognise it by; not unique.
    name: NameInput,
    /// Each resource at most once; anything not granted is refused.
    #[schemars(length(min = 1, max = KEY_PERMISSIONS_MAX))]
    permissions: Vec<WantedPermission>,
    /// When the key expires, RFC 3339; it must be in the future.
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
}

/// The options of a new secret.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RotateBody {
    /// How long the previous secret stays valid, seconds: a day if absent, at most a week.
    #[schemars(range(max = ROTATION_OVERLAP_S_MAX))]
    overlap_s: Option<u64>,
}

/// An upload: a multipart body.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UploadBody {
    /// The bytes. The signed payload is their digest, `sha-256=:<base64>:`.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    file: String,
    /// The file's name, which is the signed target; the filename of the part `file` if absent.
    #[schemars(length(min = 1, max = FILE_NAME_CHARS_MAX), regex(pattern = FILE_NAME_PATTERN), required)]
    name: Option<String>,
}

/// No control characters, and at least one character that is not white space.
const FILE_NAME_PATTERN: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*\
    [^\\s\\u0000-\\u001f\\u007f-\\u009f]\
    [^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// A content's bytes.
pub struct Content;

impl JsonSchema for Content {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The bytes, with the media type detected from them." })
    }
}

/// Lines of JSON: `log`, then for each batch `batch` and the caller's `request`s, then `checkpoint`.
#[derive(JsonSchema)]
pub struct Lines(String);

/// Where events are sent, and which.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WebhookBody {
    /// An https URL whose host is on the public internet.
    #[schemars(length(max = URL_BYTES_MAX), regex(pattern = URL_PATTERN))]
    url: String,
    /// Types of events, each once; `*` is every type.
    #[schemars(length(min = 1, max = WEBHOOK_EVENTS_MAX))]
    events: Vec<WantedEvent>,
    /// Whether anything is sent.
    #[schemars(default = "yes")]
    active: bool,
    /// What it is for.
    #[schemars(default, length(max = DESCRIPTION_CHARS_MAX))]
    description: String,
}

fn yes() -> bool {
    true
}

/// The changes to a webhook.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WebhookPatch {
    /// An https URL whose host is on the public internet.
    #[schemars(length(max = URL_BYTES_MAX), regex(pattern = URL_PATTERN))]
    url: Option<String>,
    /// Types of events, each once; `*` is every type.
    #[schemars(length(min = 1, max = WEBHOOK_EVENTS_MAX))]
    events: Option<Vec<WantedEvent>>,
    /// Whether anything is sent.
    active: Option<bool>,
    /// What it is for.
    #[schemars(length(max = DESCRIPTION_CHARS_MAX))]
    description: Option<String>,
}

/// A host, optionally a port and a path; no credentials and no fragment.
const URL_PATTERN: &str = "^https?://[^/?#@\\s]+([/?][!-\"$-~]*)?$";

/// A type of events.
struct WantedEvent;

impl JsonSchema for WantedEvent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WantedEvent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let types = EventType::ALL.iter().map(|known| known.text());
        let types: Vec<&str> = types.chain(["*"]).collect();
        json_schema!({ "type": "string", "enum": types })
    }
}
