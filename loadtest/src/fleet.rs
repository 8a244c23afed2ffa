//! Organizations of a run, as they are passed between its processes.

use std::fmt::Write as _;

use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Id};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An organization with its only wallet, and its objects. Contains secrets, so it is passed through pipes and never
/// written to a file.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LoadOrganization {
    pub(crate) id: Id,
    #[serde(serialize_with = "write_key", deserialize_with = "read_key")]
    pub(crate) key: SigningKey,
    pub(crate) api_key: Option<String>,
    pub(crate) access_token: Option<String>,
    pub(crate) template: Id,
    pub(crate) objects: Vec<Id>,
    /// Actions whose proof files are requested.
    pub(crate) actions: Vec<Id>,
    /// Alternating recipients of the objects: this wallet and another one.
    pub(crate) recipients: [Address; 2],
    /// The first unspent nonce.
    pub(crate) next_nonce: u64,
}

impl LoadOrganization {
    /// The head lines that identify the caller.
    pub(crate) fn credentials(&self) -> String {
        let mut lines = String::new();
        // Writing to a String cannot fail.
        if let Some(token) = &self.access_token {
            let _ = write!(lines, "authorization: Bearer {token}\r\n");
        }
        if let Some(key) = &self.api_key {
            let _ = write!(lines, "x-api-key: {key}\r\n");
        }
        lines
    }
}

fn write_key<S: Serializer>(key: &SigningKey, serializer: S) -> Result<S::Ok, S::Error> {
    key.to_bytes().serialize(serializer)
}

fn read_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SigningKey, D::Error> {
    let bytes = <[u8; 32]>::deserialize(deserializer)?;
    SigningKey::from_bytes(&bytes).map_err(serde::de::Error::custom)
}
