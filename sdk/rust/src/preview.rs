//! Previews: the effect of actions before they are signed.

use hyper::Method;
use kedge_protocol::resource::ObjectStatus;
use kedge_protocol::{Address, Id};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account::{Account, to_json};
use crate::bus::{BatchMode, NewAction, WireAction};
use crate::error::{ClientResult, ServerRefusal};
use crate::types::Properties;

#[derive(Serialize)]
struct WirePreview<'a> {
    actions: Vec<WireAction<'a>>,
    atomic: bool,
    signer: Address,
}

/// The state of an object after the request.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct PreviewedObject {
    /// `None` for a new object, whose identifier depends on the signature.
    pub id: Option<Id>,
    /// Its template.
    pub template_id: Id,
    /// The owning wallet.
    pub owner_id: Id,
    /// Address of the owning wallet.
    pub owner_address: Address,
    /// Its properties.
    pub properties: Properties,
    /// Status of the object, which limits the actions on it.
    pub status: ObjectStatus,
    /// Number of actions on the object.
    pub version: u64,
}

/// Expected result of one action.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum ActionPreview {
    /// The action would be done.
    Done {
        /// The object after the action.
        object: PreviewedObject,
    },
    /// The action would be refused.
    Refused {
        /// Reason of the refusal.
        error: ServerRefusal,
    },
}

/// Expected effect of a request.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct RequestPreview {
    /// Results in request order.
    pub results: Vec<ActionPreview>,
    /// True if at least one action would be done; for an atomic request, if all would.
    pub would_commit: bool,
    /// EIP-712 typed data, for signing with an external wallet (`eth_signTypedData_v4`).
    pub typed_data: Value,
}

impl Account {
    /// Asks the server for the effect of 1 to 500 actions. Signs and changes nothing; the answer is not binding.
    pub async fn preview(
        &self,
        actions: &[NewAction],
        mode: BatchMode,
    ) -> ClientResult<RequestPreview> {
        let body = to_json(&WirePreview {
            actions: actions.iter().map(NewAction::wire).collect(),
            atomic: mode == BatchMode::Atomic,
            signer: self.address(),
        })?;
        let path = "/ebus/actions/preview";
        self.ask(Method::POST, path, body, "a preview").await
    }
}
