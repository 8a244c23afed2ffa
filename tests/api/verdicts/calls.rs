//! Calls of the contract's views about a file, in Solidity's ABI.

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::eip712::word;
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::proof::OpenedAction;
use kedge_protocol::{Address, Hash};
use kedge_prover::calldata::resolve_claim;
use kedge_prover::claim::ClaimFile;
use serde::{Deserialize, Serialize};

const HEADER: &str = "(uint64,uint64,uint32,bytes32,bytes32,bytes32,bytes32,bytes32,uint64)";
const WORD_BYTES: usize = 32;

/// The contract to call.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    Anchor,
    Claims,
}

/// A query to the contract, whose answer is the table's verdict.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) to: To,
    /// The sender: only the claimant can submit a claim.
    pub(crate) from: Address,
    pub(crate) calldata: String,
    /// A call that must return the leaf's content; none if no words are opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opening: Option<String>,
    /// The content that it must return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Hash>,
    /// The error that the contract reverts with, or `OtherContent` if the opening returns another content; null if the
    /// contract accepts the file.
    pub(crate) refused: Option<String>,
}

fn number(number: u64) -> Hash {
    Hash(word(number))
}

fn header_words(header: &BatchHeader) -> Vec<Hash> {
    vec![
        number(header.number),
        number(header.first_sequence),
        number(u64::from(header.count)),
        header.previous_head,
        header.head,
        header.root,
        header.history,
        header.state,
        number(header.sealed_at_ms),
    ]
}

/// A call with fixed arguments followed by lists of words.
fn encoded(signature: &str, fixed: Vec<Hash>, lists: &[&[Hash]]) -> String {
    let mut place = fixed.len() + lists.len();
    let mut words = fixed;
    for list in lists {
        words.push(number((place * WORD_BYTES) as u64));
        place += 1 + list.len();
    }
    for list in lists {
        words.push(number(list.len() as u64));
        words.extend(*list);
    }
    let mut data = keccak(signature.as_bytes()).0[..4].to_vec();
    data.extend(words.iter().flat_map(|word| word.0));
    to_hex(&data)
}

impl Call {
    fn of(to: To, calldata: String) -> Self {
        Self {
            to,
            from: Address::ZERO,
            calldata,
            opening: None,
            content: None,
            refused: None,
        }
    }

    /// Asks whether the anchored history holds the batch.
    pub(crate) fn verify_batch(batches: u64, header: &BatchHeader, path: &[Hash]) -> Self {
        let mut fixed = vec![number(batches)];
        fixed.extend(header_words(header));
        let signature = format!("verifyBatch(uint64,{HEADER},bytes32[])");
        Self::of(To::Anchor, encoded(&signature, fixed, &[path]))
    }

    /// Asks whether the anchored history holds the action.
    pub(crate) fn verify_action(
        batches: u64,
        header: &BatchHeader,
        leaf: &LogLeaf,
        paths: [&[Hash]; 2],
    ) -> Self {
        let mut fixed = vec![number(batches)];
        fixed.extend(header_words(header));
        fixed.extend([number(leaf.sequence), number(leaf.timestamp_ms)]);
        fixed.extend([leaf.content, leaf.integrity]);
        let leaf = "(uint64,uint64,bytes32,bytes32)";
        let signature = format!("verifyAction(uint64,{HEADER},{leaf},bytes32[],bytes32[])");
        Self::of(To::Anchor, encoded(&signature, fixed, &paths))
    }

    /// Also asks whether its content opens to these words.
    pub(crate) fn opened(mut self, action: &OpenedAction, content: Hash) -> Self {
        let words = vec![
            keccak(action.kind.as_bytes()),
            keccak(action.target.as_bytes()),
            keccak(action.payload.as_bytes()),
            Hash(action.signer.to_word()),
            action.authority,
        ];
        let signature = "contentOf(bytes32,bytes32,bytes32,address,bytes32)";
        self.opening = Some(encoded(signature, words, &[]));
        self.content = Some(content);
        self
    }

    /// The claim, sent by its claimant; `None` for a claim that is not anchored.
    pub(crate) fn resolve(claim: &ClaimFile) -> Option<Self> {
        let calldata = to_hex(&resolve_claim(claim, 1)?);
        Some(Self {
            from: claim.binding.claimant,
            ..Self::of(To::Claims, calldata)
        })
    }
}
