//! The action bus: actions on objects, one at a time or up to 500 under one signature.

pub(crate) mod exactly_once;

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::receipt::BatchReceipt;
use kedge_protocol::{Hash, Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::account::{Account, AuthorizedRequest, SigningPayload, to_json};
use crate::error::{ClientError, ClientResult, ServerRefusal};
use crate::sign::SignableAction;
use crate::types::{ActionResource, NewObject, Properties};

/// A new action. Its payload is serialized once; exactly this text is signed and sent.
#[derive(Clone, Debug)]
pub struct NewAction {
    kind: Kind,
    target: Id,
    payload: Box<RawValue>,
}

impl NewAction {
    /// An action of any kind of the bus. The target is an object, or a template for a mint.
    pub fn new(kind: Kind, target: Id, payload: &impl Serialize) -> ClientResult<Self> {
        if !kind.is_bus() {
            let kind = kind.text();
            return Err(ClientError::Usage(format!(
                "{kind} is not a kind of the action bus"
            )));
        }
        let payload = to_raw_value(payload)
            .map_err(|error| ClientError::Usage(format!("the payload is not JSON: {error}")))?;
        Ok(Self {
            kind,
            target,
            payload,
        })
    }

    /// Mints an object.
    pub fn mint(template_id: Id, object: &NewObject) -> ClientResult<Self> {
        Self::new(Kind::Mint, template_id, object)
    }

    /// Merges a patch into an object's properties (RFC 7396).
    pub fn update(object_id: Id, properties: &Properties) -> ClientResult<Self> {
        let payload = serde_json::json!({ "properties": properties });
        Self::new(Kind::Update, object_id, &payload)
    }

    /// Transfers an object to a wallet, by id or address.
    pub fn transfer(object_id: Id, to: &str) -> ClientResult<Self> {
        Self::new(Kind::Transfer, object_id, &serde_json::json!({ "to": to }))
    }

    /// The target in its signed form.
    fn target(&self) -> String {
        self.target.to_string()
    }

    /// The object that the action creates (with this content hash) or acts on.
    fn object_id(&self, content: &Hash) -> Id {
        if self.kind == Kind::Mint {
            Id::made_by(Prefix::Object, content, 0)
        } else {
            self.target
        }
    }

    pub(crate) fn wire(&self) -> WireAction<'_> {
        let mint = self.kind == Kind::Mint;
        WireAction {
            action_type: self.kind.text(),
            template_id: mint.then_some(self.target),
            object_id: (!mint).then_some(self.target),
            payload: &self.payload,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct WireAction<'a> {
    action_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    template_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_id: Option<Id>,
    payload: &'a RawValue,
}

#[derive(Serialize)]
struct WireBatch<'a> {
    actions: Vec<WireAction<'a>>,
    atomic: bool,
}

/// Whether the actions of a request depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BatchMode {
    /// Each action succeeds or fails on its own.
    #[default]
    Independent,
    /// One refused action refuses the whole request.
    Atomic,
}

/// A completed action of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct DoneAction {
    /// Its identifier.
    pub id: Id,
    /// Content hash.
    pub content: Hash,
    /// The object created or acted on.
    pub object_id: Id,
    /// Version of the object after the action.
    pub object_version: u64,
    /// Sequence of the action in the log.
    pub sequence: u64,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
}

/// The result of one action of a request.
#[derive(Clone, PartialEq, Debug)]
pub enum BatchActionResult {
    /// The action was done.
    Done(DoneAction),
    /// The action was refused and changed nothing.
    Refused(ServerRefusal),
}

impl BatchActionResult {
    /// The completed action; `None` if it was refused.
    pub fn done(&self) -> Option<&DoneAction> {
        match self {
            Self::Done(done) => Some(done),
            Self::Refused(_) => None,
        }
    }
}

/// The result of a request of many actions.
#[derive(Clone, PartialEq, Debug)]
pub struct BatchOutcome {
    /// Results in request order.
    pub results: Vec<BatchActionResult>,
    /// Receipt of all completed actions; `None` if there are none.
    pub receipt: Option<BatchReceipt>,
}

impl BatchOutcome {
    /// The completed actions, in request order.
    pub fn done(&self) -> impl Iterator<Item = &DoneAction> {
        self.results.iter().filter_map(BatchActionResult::done)
    }

    /// The first refusal and the index of its action.
    pub fn first_refusal(&self) -> Option<(usize, &ServerRefusal)> {
        let mut results = self.results.iter().enumerate();
        results.find_map(|(index, result)| match result {
            BatchActionResult::Refused(envelope) => Some((index, envelope)),
            BatchActionResult::Done(_) => None,
        })
    }
}

/// A result in the form of `Prefer: return=minimal`; the client computes the rest.
#[derive(Clone, Deserialize)]
struct WireResult {
    error: Option<ServerRefusal>,
    sequence: Option<u64>,
    leaf_index: Option<u32>,
    object_version: Option<u64>,
}

#[derive(Clone, Deserialize)]
struct WireOutcome {
    results: Vec<WireResult>,
    receipt: Option<BatchReceipt>,
}

impl WireResult {
    fn read(self, action: &NewAction, content: &Hash) -> Option<BatchActionResult> {
        if let Some(envelope) = self.error {
            return Some(BatchActionResult::Refused(envelope));
        }
        Some(BatchActionResult::Done(DoneAction {
            id: Id::of_hash(Prefix::Action, content),
            content: *content,
            object_id: action.object_id(content),
            object_version: self.object_version?,
            sequence: self.sequence?,
            leaf_index: self.leaf_index?,
        }))
    }
}

impl Account {
    /// Submits one action and verifies its receipt.
    pub async fn act(&self, action: &NewAction) -> ClientResult<ActionResource> {
        let target = action.target.to_string();
        let text = SignableAction {
            kind: &action.kind,
            target: &target,
            payload: action.payload.get().as_bytes(),
        };
        let body = to_json(&action.wire())?;
        let request = post("/ebus/actions", body, Vec::new());
        let signs = SigningPayload {
            actions: std::slice::from_ref(&text),
            atomic: false,
        };
        let (answer, signed) = self.signed(&request, &signs).await?;
        let done: ActionResource = answer.read("an action")?;
        let batch = done.receipt.as_ref().map(|receipt| &receipt.batch);
        self.client().learn_key_of(batch).await;
        self.check_single(&signed.contents[0], done.id, done.receipt.as_ref())?;
        Ok(done)
    }

    /// Submits 1 to 500 actions under one signature and verifies their receipt.
    pub async fn batch(
        &self,
        actions: &[NewAction],
        mode: BatchMode,
    ) -> ClientResult<BatchOutcome> {
        let targets: Vec<String> = actions.iter().map(NewAction::target).collect();
        let texts = batch_texts(actions, &targets);
        let atomic = mode == BatchMode::Atomic;
        let body = batch_body(actions, atomic)?;
        let minimal = vec![("prefer", "return=minimal".to_owned())];
        let request = post(BATCHES, body, minimal);
        let signs = SigningPayload {
            actions: &texts,
            atomic,
        };
        let (answer, signed) = self.signed(&request, &signs).await?;
        let outcome: WireOutcome = answer.read("a batch of actions")?;
        let batch = outcome.receipt.as_ref().map(|receipt| &receipt.batch);
        self.client().learn_key_of(batch).await;
        self.read_outcome(actions, &signed.contents, outcome)
    }

    /// Verifies the answer to a request whose actions have these content hashes.
    fn read_outcome(
        &self,
        actions: &[NewAction],
        contents: &[Hash],
        outcome: WireOutcome,
    ) -> ClientResult<BatchOutcome> {
        let unreadable = |why: &str| ClientError::Answer {
            what: "a batch of actions",
            error: serde::de::Error::custom(why),
        };
        if outcome.results.len() != actions.len() {
            return Err(unreadable("not one result for each action"));
        }
        let mut results = Vec::with_capacity(actions.len());
        for ((result, action), content) in outcome.results.into_iter().zip(actions).zip(contents) {
            let result = result.read(action, content);
            results.push(result.ok_or_else(|| unreadable("a result lacks members"))?);
        }
        let done: Vec<(usize, u64)> = results
            .iter()
            .enumerate()
            .filter_map(|(index, result)| Some((index, result.done()?.sequence)))
            .collect();
        self.check_many(contents, &done, outcome.receipt.as_ref())?;
        Ok(BatchOutcome {
            results,
            receipt: outcome.receipt,
        })
    }
}

/// Endpoint for requests of many actions.
const BATCHES: &str = "/ebus/actions/batch";

/// The actions in their signed form; `targets` holds the text of each target.
fn batch_texts<'a>(actions: &'a [NewAction], targets: &'a [String]) -> Vec<SignableAction<'a>> {
    let text = |(action, target): (&'a NewAction, &'a String)| SignableAction {
        kind: &action.kind,
        target,
        payload: action.payload.get().as_bytes(),
    };
    actions.iter().zip(targets).map(text).collect()
}

fn batch_body(actions: &[NewAction], atomic: bool) -> ClientResult<Bytes> {
    to_json(&WireBatch {
        actions: actions.iter().map(NewAction::wire).collect(),
        atomic,
    })
}

fn post<'a>(
    path: &'a str,
    body: Bytes,
    headers: Vec<(&'static str, String)>,
) -> AuthorizedRequest<'a> {
    AuthorizedRequest {
        headers,
        ..AuthorizedRequest::new(Method::POST, path, body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_payload_on_the_wire_is_the_text_that_is_signed() {
        let template = "tpl_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap();
        let object = NewObject {
            properties: json!({"seat": "Ä2 \u{1}", "row": 1.50})
                .as_object()
                .unwrap()
                .clone(),
            ..NewObject::default()
        };
        let action = NewAction::mint(template, &object).unwrap();
        let wire = serde_json::to_string(&action.wire()).unwrap();
        let ending = format!(r#""payload":{}}}"#, action.payload.get());
        assert!(wire.ends_with(&ending), "{wire}");
        assert!(wire.contains(r#""template_id":"tpl_"#) && !wire.contains("object_id"));
    }

    #[test]
    fn resource_kinds_are_not_for_the_bus() {
        let id = "tpl_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap();
        let made = NewAction::new(Kind::TemplateCreate, id, &json!({}));
        assert!(matches!(made, Err(ClientError::Usage(_))));
    }
}
