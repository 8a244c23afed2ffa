//! Answers that show wallets.

use kedge_http::scalars::{AddressText, DecimalText, HashText, ResourceIdText, TimeText};
use kedge_protocol::resource::{Role, Wallet};
use schemars::JsonSchema;
use serde::Serialize;

/// A wallet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WalletView {
    /// Its id.
    pub id: ResourceIdText,
    /// Its organization.
    pub organization_id: ResourceIdText,
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
    pub created_at: TimeText,
    /// When it was last changed.
    pub updated_at: TimeText,
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
            id: ResourceIdText(wallet.id),
            organization_id: ResourceIdText(wallet.organization_id),
            role: wallet.role,
            nickname: wallet.nickname,
            email: wallet.email,
            address: AddressText(wallet.address),
            keys: wallet.keys.into_iter().map(AddressText).collect(),
            created_at: TimeText(wallet.trace.created_at_ms),
            updated_at: TimeText(wallet.trace.updated_at_ms),
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
    pub highest: DecimalText,
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
