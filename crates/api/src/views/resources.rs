//! Wallets, templates, variations, objects.

use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::{
    File, Object, ObjectStatus, Role, Template, Variation, Wallet, Who,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::scalars::{AddressText, Decimal, HashText, IdText, RawObject, Time};

/// A resource that a request made or changed, with its proof.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Changed{T}")]
pub struct Changed<T> {
    /// The resource.
    #[serde(flatten)]
    pub resource: T,
    /// The action that did so.
    pub action_id: IdText,
    /// Proof that the log holds the action; it can be checked offline at once.
    pub receipt: Receipt,
}

/// A wallet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WalletView {
    /// Its id.
    pub id: IdText,
    /// Its organization.
    pub organization_id: IdText,
    /// Its role there.
    pub role: Role,
    /// A name to show.
    pub nickname: Option<String>,
    /// The e-mail address for logging in.
    pub email: String,
    /// The address that registered it.
    pub address: AddressText,
    /// The current signing keys.
    pub keys: Vec<AddressText>,
    /// When it was registered.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
}

impl From<Wallet> for WalletView {
    fn from(wallet: Wallet) -> Self {
        Self {
            id: IdText(wallet.id),
            organization_id: IdText(wallet.organization_id),
            role: wallet.role,
            nickname: wallet.nickname,
            email: wallet.email,
            address: AddressText(wallet.address),
            keys: wallet.keys.into_iter().map(AddressText).collect(),
            created_at: Time(wallet.trace.created_at_ms),
            updated_at: Time(wallet.trace.updated_at_ms),
            version: wallet.trace.version,
            integrity_hash: HashText(wallet.trace.integrity),
            sequence: wallet.trace.sequence,
        }
    }
}

/// The nonces of one of a wallet's keys.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NonceView {
    /// The key's address.
    pub address: AddressText,
    /// Its highest spent nonce; "0" before the first.
    pub highest: Decimal,
}

/// The caller's own wallet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnWallet {
    /// The wallet.
    #[serde(flatten)]
    pub wallet: WalletView,
    /// The nonces of each key.
    pub nonces: Vec<NonceView>,
}

/// A file's description.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileView {
    /// Its id.
    pub id: IdText,
    /// Its organization.
    pub organization_id: IdText,
    /// The wallet that uploaded it.
    pub wallet_id: IdText,
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: HashText,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The media type detected from the bytes.
    pub media_type: String,
    /// The path of the bytes on this service.
    pub content_path: String,
    /// When it was uploaded.
    pub created_at: Time,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
}

impl From<File> for FileView {
    fn from(file: File) -> Self {
        Self {
            id: IdText(file.id),
            organization_id: IdText(file.organization_id),
            wallet_id: IdText(file.wallet_id),
            name: file.name,
            sha256: HashText(file.sha256),
            size_bytes: file.size_bytes,
            media_type: file.media_type,
            content_path: format!("/files/{}/content", file.id),
            created_at: Time(file.trace.created_at_ms),
            version: file.trace.version,
            integrity_hash: HashText(file.trace.integrity),
            sequence: file.trace.sequence,
        }
    }
}

/// A rule of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RuleView {
    /// The kind of action.
    pub kind: String,
    /// Who may do it.
    pub who: Who,
    /// JSON Schema of its payload; only custom kinds have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<RawObject<'static>>,
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TemplateView {
    /// Its id.
    pub id: IdText,
    /// The organization that issues its objects.
    pub organization_id: IdText,
    /// Its name, unique in the organization.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The initial properties of its objects.
    pub properties: RawObject<'static>,
    /// JSON Schema that its objects' properties must satisfy.
    pub schema: Option<RawObject<'static>>,
    /// How many objects may ever be minted.
    pub max_supply: Option<Decimal>,
    /// How many have been minted.
    pub minted_count: u64,
    /// Who may do what, if the default does not fit.
    pub actions: Vec<RuleView>,
    /// Every organization can read it and its objects.
    pub public_access: bool,
    /// How many variations it has.
    pub variation_count: u64,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was created.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

impl TemplateView {
    /// A template from which `minted_count` objects were minted.
    pub fn of(template: Template, minted_count: u64) -> Self {
        let rules = template.actions.into_iter().map(|rule| RuleView {
            kind: rule.kind.text().to_owned(),
            who: rule.who,
            schema: rule.schema.map(Into::into),
        });
        Self {
            id: IdText(template.id),
            organization_id: IdText(template.organization_id),
            name: template.name,
            description: template.description,
            properties: template.properties.into(),
            schema: template.schema.map(Into::into),
            max_supply: template.max_supply.map(Decimal),
            minted_count,
            actions: rules.collect(),
            public_access: template.public_access,
            variation_count: template.variation_count,
            version: template.trace.version,
            integrity_hash: HashText(template.trace.integrity),
            sequence: template.trace.sequence,
            created_at: Time(template.trace.created_at_ms),
            updated_at: Time(template.trace.updated_at_ms),
        }
    }
}

/// A variation of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariationView {
    /// Its id.
    pub id: IdText,
    /// Its template.
    pub template_id: IdText,
    /// The template's organization.
    pub organization_id: IdText,
    /// Its name.
    pub name: String,
    /// Merged over the template's properties.
    pub properties: RawObject<'static>,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// When it was created.
    pub created_at: Time,
}

impl From<Variation> for VariationView {
    fn from(variation: Variation) -> Self {
        Self {
            id: IdText(variation.id),
            template_id: IdText(variation.template_id),
            organization_id: IdText(variation.organization_id),
            name: variation.name,
            properties: variation.properties.into(),
            index: variation.index,
            created_at: Time(variation.created_at_ms),
        }
    }
}

/// Newly made variations, and their template after that.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariationsMade {
    /// The new variations, in request order.
    pub items: Vec<VariationView>,
    /// The template afterwards.
    pub template: TemplateView,
    /// The action that did so.
    pub action_id: IdText,
    /// Proof that the log holds the action.
    pub receipt: Receipt,
}

/// An object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ObjectView {
    /// Its id.
    pub id: IdText,
    /// The organization that issued it.
    pub organization_id: IdText,
    /// The template that it was made from.
    pub template_id: IdText,
    /// The variation, if one was named.
    pub variation_id: Option<IdText>,
    /// The wallet that owns it.
    pub owner_id: IdText,
    /// That wallet's address.
    pub owner_address: AddressText,
    /// Its properties.
    pub properties: RawObject<'static>,
    /// Which actions it allows.
    pub status: ObjectStatus,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was minted.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

impl From<Object> for ObjectView {
    fn from(object: Object) -> Self {
        Self {
            id: IdText(object.id),
            organization_id: IdText(object.organization_id),
            template_id: IdText(object.template_id),
            variation_id: object.variation_id.map(IdText),
            owner_id: IdText(object.owner_id),
            owner_address: AddressText(object.owner_address),
            properties: object.properties.into(),
            status: object.status,
            version: object.trace.version,
            integrity_hash: HashText(object.trace.integrity),
            sequence: object.trace.sequence,
            created_at: Time(object.trace.created_at_ms),
            updated_at: Time(object.trace.updated_at_ms),
        }
    }
}
