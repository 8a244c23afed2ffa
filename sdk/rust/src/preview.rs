//! Asking what actions would do, before they are signed.

use hyper::Method;
use kedge_protocol::resource::ObjectStatus;
use kedge_protocol::{Address, Id};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account::{Account, to_json};
use crate::bus::{BatchMode, NewAction, WireAction};
use crate::error::{Envelope, Result};
use crate::types::Properties;

#[derive(Serialize)]
struct WirePreview<'a> {
    actions: Vec<WireAction<'a>>,
    atomic: bool,
    signer: Address,
}

/// An object as it would become.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct PreviewedObject {
    /// Its identifier; `None` for a new one, whose signature determines it.
    pub id: Option<Id>,
    /// Its template.
    pub template_id: Id,
    /// The wallet that would own it.
    pub owner_id: Id,
    /// That wallet's address.
    pub owner_address: Address,
    /// Its properties.
    pub properties: Properties,
    /// What may be done with it.
    pub status: ObjectStatus,
    /// How many actions it would be the result of.
    pub version: u64,
}

/// The result that one action would have.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum PreviewResult {
    /// It would be done.
    Done {
        /// The object after it.
        object: PreviewedObject,
    },
    /// It would be refused.
    Refused {
        /// The reason.
        error: Envelope,
    },
}

/// What a request would do.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Preview {
    /// One for each action, in request order.
    pub results: Vec<PreviewResult>,
    /// True if at least one action would be done; for an atomic request, if all would.
    pub would_commit: bool,
    /// EIP-712 typed data for a wallet that signs on its own (`eth_signTypedData_v4`).
    pub typed_data: Value,
}

impl Account {
    /// Asks what 1 to 500 actions would do now. Signs and changes nothing; the server's answer promises nothing.
    pub async fn preview(&self, actions: &[NewAction], mode: BatchMode) -> Result<Preview> {
        let body = to_json(&WirePreview {
            actions: actions.iter().map(NewAction::wire).collect(),
            atomic: mode == BatchMode::Atomic,
            signer: self.address(),
        })?;
        let path = "/ebus/actions/preview";
        self.ask(Method::POST, path, body, "a preview").await
    }
}
