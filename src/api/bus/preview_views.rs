//! The result of a preview: the expected outcome of actions, and the typed data to sign.

use kedge_http::scalars::{AddressText, DecimalText, HashText, RawJsonObject, ResourceIdText};
use kedge_http::signing::SignedWords;
use kedge_protocol::Hash;
use kedge_protocol::action::{REQUEST_TYPE, RequestHead, salt};
use kedge_protocol::eip712::{DOMAIN_NAME, DOMAIN_TYPE, DOMAIN_VERSION, Domain};
use kedge_protocol::resource::{Object, ObjectStatus};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::bus::views::RefusedAction;

/// An object as it would be. Some members are not known before the signature: the id of a new
/// object, times, sequence and integrity.
#[derive(Serialize, JsonSchema)]
pub struct PreviewObject {
    /// Its id; null for a new one.
    pub id: Option<ResourceIdText>,
    /// The organization that issued it.
    pub organization_id: ResourceIdText,
    /// The template that it was made from.
    pub template_id: ResourceIdText,
    /// The variation, if one was named.
    pub variation_id: Option<ResourceIdText>,
    /// The wallet that would own it.
    pub owner_id: ResourceIdText,
    /// That wallet's address.
    pub owner_address: AddressText,
    /// Its properties.
    pub properties: RawJsonObject<'static>,
    /// Which actions it allows.
    pub status: ObjectStatus,
    /// How many actions would have created and changed it.
    pub version: u64,
}

impl From<Object> for PreviewObject {
    fn from(object: Object) -> Self {
        Self {
            id: (object.trace.version > 1).then_some(ResourceIdText(object.id)),
            organization_id: ResourceIdText(object.organization_id),
            template_id: ResourceIdText(object.template_id),
            variation_id: object.variation_id.map(ResourceIdText),
            owner_id: ResourceIdText(object.owner_id),
            owner_address: AddressText(object.owner_address),
            properties: object.properties.into(),
            status: object.status,
            version: object.trace.version,
        }
    }
}

/// An action that would be done.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WouldBeDone")]
pub struct PreviewActionView {
    /// The object after it.
    pub object: PreviewObject,
}

/// The expected outcome of one action.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PreviewResult")]
pub enum PreviewOutcome<'a> {
    /// It would be done.
    Done(Box<PreviewActionView>),
    /// It would be refused.
    Refused(RefusedAction<'a>),
}

/// One action in its signed form.
#[derive(Serialize, JsonSchema)]
pub struct TypedAction<'a> {
    kind: &'a str,
    target: &'a str,
    payload: &'a str,
    salt: HashText,
}

/// The message to sign.
#[derive(Serialize, JsonSchema)]
pub struct TypedRequest<'a> {
    signer: AddressText,
    nonce: DecimalText,
    deadline: DecimalText,
    atomic: bool,
    actions: Vec<TypedAction<'a>>,
}

/// The domain of the signature.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypedDomain {
    name: &'static str,
    version: &'static str,
    chain_id: u64,
    verifying_contract: AddressText,
}

/// EIP-712 typed data for `eth_signTypedData_v4`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypedData<'a> {
    /// The members of each type.
    types: Map<String, Value>,
    domain: TypedDomain,
    primary_type: &'static str,
    message: TypedRequest<'a>,
}

impl<'a> TypedData<'a> {
    /// The data that `head`'s signer signs for these actions.
    pub fn of(
        domain: &Domain,
        head: &RequestHead,
        salt_seed: &Hash,
        actions: impl Iterator<Item = SignedWords<'a>>,
    ) -> Self {
        let actions = (0..).zip(actions).map(|(index, action)| TypedAction {
            kind: action.kind,
            target: action.target,
            payload: action.payload,
            salt: HashText(salt(salt_seed, index)),
        });
        Self {
            types: types(),
            domain: TypedDomain {
                name: DOMAIN_NAME,
                version: DOMAIN_VERSION,
                chain_id: domain.chain_id,
                verifying_contract: AddressText(domain.verifying_contract),
            },
            primary_type: "ActionRequest",
            message: TypedRequest {
                signer: AddressText(head.signer),
                nonce: DecimalText(head.nonce),
                deadline: DecimalText(head.deadline_s),
                atomic: head.atomic,
                actions: actions.collect(),
            },
        }
    }
}

/// Members of the types, parsed from the hashed texts.
fn types() -> Map<String, Value> {
    let texts = [DOMAIN_TYPE, REQUEST_TYPE];
    let types = texts.iter().flat_map(|text| text.split_terminator(')'));
    let members = |list: &str| {
        let pairs = list.split(',').filter_map(|member| member.split_once(' '));
        let members = pairs.map(|(of, name)| json!({ "name": name, "type": of }));
        members.collect::<Value>()
    };
    types
        .filter_map(|text| text.split_once('('))
        .map(|(name, list)| (name.to_owned(), members(list)))
        .collect()
}

/// The headers to send together with the signature in `X-Signature`.
#[derive(Serialize, JsonSchema)]
pub struct SignedHeaders {
    /// The signer.
    #[serde(rename = "X-Signature-Address")]
    pub address: AddressText,
    /// One more than the signer's highest.
    #[serde(rename = "X-Signature-Nonce")]
    pub nonce: DecimalText,
    /// Unix seconds.
    #[serde(rename = "X-Signature-Deadline")]
    pub deadline: DecimalText,
    /// The seed of the salts.
    #[serde(rename = "X-Signature-Salt")]
    pub salt: HashText,
}

/// What a request would do, and what to sign for it.
#[derive(Serialize, JsonSchema)]
pub struct PreviewAnswer<'a> {
    /// One result for each action, in request order.
    pub results: Vec<PreviewOutcome<'a>>,
    /// True when at least one action would be done; for an atomic request, when all would.
    pub would_commit: bool,
    /// The data to sign.
    pub typed_data: TypedData<'a>,
    /// The headers to send with the signature.
    pub headers: SignedHeaders,
}

#[cfg(test)]
mod tests {
    use kedge_protocol::action::ACTION_TYPE;

    use super::*;

    /// EIP-712's encodeType of a type of the table.
    fn encoded(name: &str) -> String {
        let types = types();
        let members = types[name].as_array().unwrap().iter().map(|member| {
            let text = |key: &str| member[key].as_str().unwrap().to_owned();
            format!("{} {}", text("type"), text("name"))
        });
        format!("{name}({})", members.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn the_types_are_those_that_are_hashed() {
        assert_eq!(encoded("EIP712Domain"), DOMAIN_TYPE);
        assert_eq!(encoded("Action"), ACTION_TYPE);
        let request = encoded("ActionRequest") + &encoded("Action");
        assert_eq!(request, REQUEST_TYPE);
        assert_eq!(types().len(), 3);
    }
}
