//! Shapes that other crates write, described for the document. A test holds each against what is
//! really written.

use schemars::JsonSchema;
use serde::Deserialize;

/// A log's domain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct Domain {
    /// EIP-155 chain id.
    chain_id: u64,
    /// The log's first anchor contract.
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
    previous_head: String,
    /// The log's head after it.
    head: String,
    /// The root of the tree over its leaves.
    root: String,
    /// The root of the log tree over all batches before it.
    history: String,
    /// Zero for now.
    state: String,
    /// When it was sealed, milliseconds.
    sealed_at_ms: u64,
}

/// A header and the sequencer's signature.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct SignedBatch {
    /// What is signed.
    header: BatchHeader,
    /// The signature.
    signature: String,
}

/// What a leaf is made of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the test alone, described by its schema")]
pub struct ReceiptLeaf {
    /// The action's place in the log.
    sequence: u64,
    /// When it was placed, milliseconds.
    timestamp_ms: u64,
    /// The action's content.
    content: String,
    /// The resource's integrity before it.
    previous_integrity: String,
    /// The resource's integrity with it.
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
    /// Its place among the batch's leaves.
    leaf_index: u32,
    /// From the leaf to the batch root, bottom up.
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
    /// Its place in the log.
    sequence: u64,
    /// When it was placed, milliseconds.
    timestamp_ms: u64,
    /// Its place among the batch's leaves.
    leaf_index: u32,
    /// The resource's integrity before it.
    previous_integrity: String,
}

/// The receipt of all the actions of a request that were done.
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
    /// The multiproof of their leaves; empty where they are the whole batch.
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
    head: String,
    /// The root of the log tree.
    history: String,
    /// Zero for now.
    state: String,
    /// When it was issued, milliseconds.
    issued_at_ms: u64,
}

/// A proof file: docs/PROTOCOL.md tells its members.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "described by its schema")]
pub struct ProofFile {
    /// The format's version.
    version: u32,
    /// The log's domain.
    domain: Domain,
    /// The sequencer's address.
    sequencer: String,
    /// The action, opened.
    action: serde_json::Map<String, serde_json::Value>,
    /// The leaf.
    leaf: ReceiptLeaf,
    /// The leaf's place in the batch.
    inclusion: serde_json::Map<String, serde_json::Value>,
    /// The signed header.
    batch: SignedBatch,
    /// Null until the chain has finalized an anchor that covers the batch.
    anchor: Option<serde_json::Map<String, serde_json::Value>>,
    /// Only in the authorship form.
    authorship: Option<serde_json::Map<String, serde_json::Value>>,
}

/// What an error says besides its code.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "described by its schema")]
pub struct ErrorBody {
    /// What went wrong and what to do.
    message: String,
    /// The request's id.
    request_id: String,
}

/// An error.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "described by its schema")]
pub struct Error {
    /// What went wrong, for programs.
    code: String,
    /// The HTTP status.
    status: u16,
    /// What went wrong, with `errors`, `resource` and `id`, or `index` and `error` where they apply.
    body: ErrorBody,
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
