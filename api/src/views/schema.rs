//! Shapes that other crates write, described for the document. A test compares each with what is really written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::scalars::{AddressText, Decimal, HashText, SignatureText};
use crate::{Code, Field};

/// A log's domain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct Domain {
    /// EIP-155 chain id.
    chain_id: u64,
    /// The log's first anchor contract.
    #[schemars(with = "AddressText")]
    verifying_contract: String,
}

/// A batch header.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct BatchHeader {
    /// The batch's number, from 0.
    number: u64,
    /// The sequence of its first action.
    first_sequence: u64,
    /// How many actions it holds.
    count: u32,
    /// The log's head before it.
    #[schemars(with = "HashText")]
    previous_head: String,
    /// The log's head after it.
    #[schemars(with = "HashText")]
    head: String,
    /// The root of the tree over its leaves.
    #[schemars(with = "HashText")]
    root: String,
    /// The root of the log tree over all batches before it.
    #[schemars(with = "HashText")]
    history: String,
    /// Zero for now.
    #[schemars(with = "HashText")]
    state: String,
    /// When it was sealed, milliseconds.
    sealed_at_ms: u64,
}

/// A header and the sequencer's signature.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct SignedBatch {
    /// The signed data.
    header: BatchHeader,
    /// The signature.
    #[schemars(with = "SignatureText")]
    signature: String,
}

/// The members of a leaf.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct ReceiptLeaf {
    /// The action's position in the log.
    sequence: u64,
    /// When it was placed, milliseconds.
    timestamp_ms: u64,
    /// The action's content.
    #[schemars(with = "HashText")]
    content: String,
    /// The resource's integrity before it.
    #[schemars(with = "HashText")]
    previous_integrity: String,
    /// The resource's integrity after it.
    #[schemars(with = "HashText")]
    integrity: String,
}

/// The receipt of one action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct Receipt {
    /// The format's version.
    version: u32,
    /// The log's domain.
    domain: Domain,
    /// The leaf, opened.
    leaf: ReceiptLeaf,
    /// Its index among the batch's leaves.
    leaf_index: u32,
    /// From the leaf to the batch root, bottom up.
    #[schemars(with = "Vec<HashText>")]
    path: Vec<String>,
    /// The signed header.
    batch: SignedBatch,
}

/// One action of a receipt of many.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct ReceiptAction {
    /// The action's index in the request.
    index: u32,
    /// Its position in the log.
    sequence: u64,
    /// When it was placed, milliseconds.
    timestamp_ms: u64,
    /// Its index among the batch's leaves.
    leaf_index: u32,
    /// The resource's integrity before it.
    #[schemars(with = "HashText")]
    previous_integrity: String,
}

/// The receipt of all actions of a request that were done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct BatchReceipt {
    /// The format's version.
    version: u32,
    /// The log's domain.
    domain: Domain,
    /// The signed header.
    batch: SignedBatch,
    /// The actions, in request order.
    actions: Vec<ReceiptAction>,
    /// The multiproof of their leaves; empty if they are the whole batch.
    #[schemars(with = "Vec<HashText>")]
    proof: Vec<String>,
}

/// A checkpoint.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct Checkpoint {
    /// How many batches the log holds.
    batches: u64,
    /// The last action's sequence.
    sequence: u64,
    /// The log's head.
    #[schemars(with = "HashText")]
    head: String,
    /// The root of the log tree.
    #[schemars(with = "HashText")]
    history: String,
    /// Zero for now.
    #[schemars(with = "HashText")]
    state: String,
    /// When it was issued, milliseconds.
    issued_at_ms: u64,
}

/// A checkpoint and the sequencer's signature.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct SignedCheckpoint {
    /// The signed data.
    checkpoint: Checkpoint,
    /// The signature.
    #[schemars(with = "SignatureText")]
    signature: String,
}

/// The action, opened: the five words that make up its content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct OpenedAction {
    /// The kind.
    kind: String,
    /// The target; may be empty.
    target: String,
    /// The payload's exact text.
    payload: String,
    /// The signing address.
    #[schemars(with = "AddressText")]
    signer: String,
    /// The hash over the signature's hash and the salt.
    #[schemars(with = "HashText")]
    authority: String,
}

/// The position of the leaf in its batch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct BatchPath {
    /// Its index among the batch's leaves.
    leaf_index: u32,
    /// From the leaf to the batch root, bottom up.
    #[schemars(with = "Vec<HashText>")]
    path: Vec<String>,
}

/// The anchor that covers the batch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct AnchorProof {
    /// The signed checkpoint.
    checkpoint: SignedCheckpoint,
    /// From the batch's leaf of the log tree to the checkpoint's history, bottom up.
    #[schemars(with = "Vec<HashText>")]
    path: Vec<String>,
    /// The contract that holds the checkpoint.
    #[schemars(with = "AddressText")]
    contract: String,
    /// The transaction; null if the chain held it already.
    #[schemars(with = "Option<HashText>")]
    transaction_hash: Option<String>,
    /// That transaction's block.
    block_number: Option<u64>,
}

/// Proof that the signer signed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct Authorship {
    /// The request's signature.
    #[schemars(with = "SignatureText")]
    signature: String,
    /// Its nonce.
    #[schemars(with = "Decimal")]
    nonce: String,
    /// Its deadline, Unix seconds.
    deadline: u64,
    /// Whether the request was all or none.
    atomic: bool,
    /// The action's index in it.
    index: u32,
    /// The action's salt.
    #[schemars(with = "HashText")]
    salt: String,
    /// The hashes of all its actions, in order.
    #[schemars(with = "Vec<HashText>")]
    action_hashes: Vec<String>,
}

/// A proof file: docs/PROTOCOL.md explains how to check it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct ProofFile {
    /// The format's version.
    version: u32,
    /// The log's domain.
    domain: Domain,
    /// The sequencer's address.
    #[schemars(with = "AddressText")]
    sequencer: String,
    /// The action, opened.
    action: OpenedAction,
    /// The leaf.
    leaf: ReceiptLeaf,
    /// The position of the leaf in the batch.
    inclusion: BatchPath,
    /// The signed header.
    batch: SignedBatch,
    /// Null until the chain has finalized an anchor that covers the batch.
    anchor: Option<AnchorProof>,
    /// Only in the authorship form.
    #[serde(skip_serializing_if = "Option::is_none")]
    authorship: Option<Authorship>,
}

/// An error in the service's envelope.
pub struct Error;

impl JsonSchema for Error {
    fn schema_name() -> Cow<'static, str> {
        "Error".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut members = details(generator);
        members["message"] =
            json!({ "type": "string", "description": "What went wrong and what to do." });
        members["request_id"] = request_id();
        json_schema!({
            "type": "object",
            "properties": {
                "code": code(),
                "status": { "type": "integer", "description": "The HTTP status." },
                "body": {
                    "type": "object",
                    "description": "The context; members that do not apply are absent.",
                    "properties": members,
                    "required": ["message", "request_id"],
                },
            },
            "required": ["code", "status", "body"],
        })
    }
}

/// An error as problem details (RFC 9457).
pub struct Problem;

impl JsonSchema for Problem {
    fn schema_name() -> Cow<'static, str> {
        "Problem".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut members = details(generator);
        let more = [
            (
                "type",
                json!({ "type": "string", "description": "`about:blank`: the code identifies the error." }),
            ),
            (
                "title",
                json!({ "type": "string", "description": "The status' name." }),
            ),
            (
                "status",
                json!({ "type": "integer", "description": "The HTTP status." }),
            ),
            (
                "detail",
                json!({ "type": "string", "description": "What went wrong and what to do." }),
            ),
            ("code", code()),
            ("request_id", request_id()),
        ];
        let required = more.each_ref().map(|(name, _)| *name);
        for (name, schema) in more {
            members[name] = schema;
        }
        json_schema!({ "type": "object", "properties": members, "required": required })
    }
}

fn code() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    json!({ "type": "string", "enum": codes, "description": "What went wrong, for programs." })
}

fn request_id() -> Value {
    json!({ "type": "string", "description": "The request's id, as in `X-Request-Id`." })
}

/// Members of errors besides code and message, each where it applies.
fn details(generator: &mut SchemaGenerator) -> Value {
    json!({
        "errors": {
            "type": "array",
            "description": "With VALIDATION_ERROR: what is wrong, and where.",
            "items": generator.subschema_for::<Field<'static>>(),
        },
        "resource": { "type": "string", "description": "The kind of resource that was not found." },
        "id": { "type": "string", "description": "The identifier that was not found." },
        "reason": {
            "type": "string",
            "enum": ["done", "refused"],
            "description": "With NONCE_REUSED: `done` if something of the request that spent the \
                nonce was done, `refused` if nothing was and a new request is needed. Absent while \
                this is unknown.",
        },
        "sequence": {
            "type": "integer",
            "description": "With NONCE_REUSED and `done`: the first sequence of the request that \
                spent the nonce, shown only to the signer's own organization.",
        },
        "recovered": {
            "type": "string",
            "description": "With SIGNATURE_INVALID: the address whose key made the signature.",
        },
        "policy": { "type": "string", "description": "With RATE_LIMITED: the limit that is used up." },
        "outcome": {
            "type": "string",
            "enum": ["nothing_done", "unknown"],
            "description": "With UNAVAILABLE: `nothing_done` means that nothing was done and \
                nothing will be; `unknown` that the request may be done, now or later: send exactly \
                the same signed request again, never a new one.",
        },
        "signer": { "type": "string", "description": "Of a signed request with an unknown outcome: its signer." },
        "nonce": { "type": "string", "description": "Its nonce, which is spent at most once." },
        "index": {
            "type": "integer",
            "description": "The first refused action of an atomic batch.",
        },
        "error": {
            "description": "That action's error, in the service's envelope.",
            "allOf": [generator.subschema_for::<Error>()],
        },
    })
}

#[cfg(test)]
mod tests {
    use kedge_protocol::batch::BatchHeader as Header;
    use kedge_protocol::receipt;
    use kedge_protocol::signature::SigningKey;
    use kedge_protocol::{Address, Hash, eip712};

    use super::*;

    #[test]
    fn described_shapes_are_the_written_ones() {
        let domain = eip712::Domain {
            chain_id: 1,
            verifying_contract: Address::ZERO,
        };
        let header = Header {
            number: 0,
            first_sequence: 1,
            count: 1,
            previous_head: Hash::ZERO,
            head: Hash::ZERO,
            root: Hash::ZERO,
            history: Hash::ZERO,
            state: Hash::ZERO,
            sealed_at_ms: 1,
        };
        let key = SigningKey::from_bytes(&[1; 32]).unwrap();
        let batch = header.sign(&domain.separator(), &key);
        let single = receipt::Receipt {
            version: 1,
            domain,
            leaf: receipt::ReceiptLeaf {
                sequence: 1,
                timestamp_ms: 1,
                content: Hash::ZERO,
                previous_integrity: Hash::ZERO,
                integrity: Hash::ZERO,
            },
            leaf_index: 0,
            path: vec![Hash::ZERO],
            batch,
        };
        let many = receipt::BatchReceipt {
            version: 1,
            domain,
            batch,
            actions: vec![receipt::ReceiptAction {
                index: 0,
                sequence: 1,
                timestamp_ms: 1,
                leaf_index: 0,
                previous_integrity: Hash::ZERO,
            }],
            proof: vec![],
        };
        let checkpoint = kedge_protocol::checkpoint::Checkpoint {
            batches: 1,
            sequence: 1,
            head: Hash::ZERO,
            history: Hash::ZERO,
            state: Hash::ZERO,
            issued_at_ms: 1,
        };
        serde_json::from_value::<Receipt>(serde_json::to_value(single).unwrap()).unwrap();
        serde_json::from_value::<BatchReceipt>(serde_json::to_value(many).unwrap()).unwrap();
        serde_json::from_value::<Checkpoint>(serde_json::to_value(checkpoint).unwrap()).unwrap();
    }
}
