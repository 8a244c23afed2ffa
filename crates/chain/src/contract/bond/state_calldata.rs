//! Calldata of the bond's functions for cases about the state: challenges of entries, and demands.

use ethers_core::abi::Token;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::evidence::{EntryEvidence, OpenedLeafEvidence};
use kedge_protocol::state::StateProof;
use kedge_protocol::{Hash, Id};

use super::{AnchoredAction, EntryClaim, tokens};
use crate::contract::artifact::BOND;
use crate::contract::state_evidence::{entry, key, nodes, opened};
use crate::contract::{number, word};

/// A header that an anchored history holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnchoredHeader<'a> {
    /// The checkpoint's batch count.
    pub anchored_batches: u64,
    pub header: &'a BatchHeader,
    /// From the batch to the checkpoint's history.
    pub path: &'a [Hash],
}

/// Calldata of `challengeEntry`, which asks the operator for the leaf that an entry of the anchored state after
/// `batches` batches tells of. `holder` holds the entry's sequence.
pub fn challenge_entry_calldata(
    batches: u64,
    shown: &StateProof,
    holder: &AnchoredHeader<'_>,
    salt: Hash,
) -> Vec<u8> {
    let shown = Token::Tuple(vec![
        number(batches),
        key(&shown.key),
        Token::Bytes(shown.entry.clone()),
        nodes(&shown.nodes),
    ]);
    let arguments = [shown, anchored_header(holder), word(salt)];
    BOND.encode("challengeEntry", &arguments)
}

/// Calldata of `demandState`, which asks for what the anchored state after `batches` batches holds under the id of an
/// entry that another signed checkpoint has.
pub fn demand_state_calldata(batches: u64, known: &EntryEvidence, salt: Hash) -> Vec<u8> {
    let arguments = [number(batches), entry(known), word(salt)];
    BOND.encode("demandState", &arguments)
}

/// Calldata of `demandMadeState`, which asks for what the anchored state after `batches` batches holds under the id
/// that an action made as its resource number `index` with the id's prefix.
pub fn demand_made_state_calldata(
    batches: u64,
    id: &Id,
    maker: &OpenedLeafEvidence,
    index: u32,
    salt: Hash,
) -> Vec<u8> {
    let arguments = [
        number(batches),
        key(id),
        opened(maker),
        number(u64::from(index)),
        word(salt),
    ];
    BOND.encode("demandMadeState", &arguments)
}

/// Calldata of `answerEntry`, which shows the leaf. `index` is the place of a variation among those that the action
/// made.
pub fn answer_entry_calldata(
    claim: &EntryClaim,
    action: &AnchoredAction<'_>,
    index: u32,
) -> Vec<u8> {
    let arguments = [
        entry_claim(claim),
        tokens::anchored_action(action),
        number(u64::from(index)),
    ];
    BOND.encode("answerEntry", &arguments)
}

/// Calldata of `answerStaleEntry`: the checkpoint holds the entry's batch, and the batch's challenge window had closed
/// before the challenge.
pub fn answer_stale_entry_calldata(claim: &EntryClaim, holder: &AnchoredHeader<'_>) -> Vec<u8> {
    let arguments = [entry_claim(claim), anchored_header(holder)];
    BOND.encode("answerStaleEntry", &arguments)
}

/// Calldata of `answerState`, which shows an entry, or of `answerAbsence` for a proof that there is none.
pub fn answer_state_calldata(batches: u64, proof: &StateProof) -> Vec<u8> {
    if proof.entry.is_empty() {
        return answer_absence_calldata(batches, proof);
    }
    let arguments = [
        number(batches),
        key(&proof.key),
        Token::Bytes(proof.entry.clone()),
        nodes(&proof.nodes),
    ];
    BOND.encode("answerState", &arguments)
}

fn answer_absence_calldata(batches: u64, proof: &StateProof) -> Vec<u8> {
    let arguments = [number(batches), key(&proof.key), nodes(&proof.nodes)];
    BOND.encode("answerAbsence", &arguments)
}

/// The contracts' struct `EntryClaim`.
fn entry_claim(claim: &EntryClaim) -> Token {
    Token::Tuple(vec![
        key(&claim.key),
        Token::Bool(claim.is_first),
        number(claim.sequence),
        word(claim.integrity),
    ])
}

/// The contracts' struct `AnchoredHeader`.
fn anchored_header(held: &AnchoredHeader<'_>) -> Token {
    Token::Tuple(vec![
        number(held.anchored_batches),
        tokens::batch(held.header),
        tokens::words(held.path),
    ])
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;
    use kedge_protocol::chain::LogLeaf;
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::evidence::{CheckpointEvidence, HeaderEvidence, LeafEvidence};
    use kedge_protocol::signature::Signature;

    use super::*;

    const WORD: Hash = Hash([1; 32]);

    fn header() -> BatchHeader {
        BatchHeader {
            number: 1,
            first_sequence: 2,
            count: 3,
            previous_head: WORD,
            head: WORD,
            root: WORD,
            history: WORD,
            state: Hash::ZERO,
            sealed_at_ms: 8,
        }
    }

    fn leaf() -> LogLeaf {
        LogLeaf {
            sequence: 2,
            timestamp_ms: 9,
            content: WORD,
            integrity: WORD,
        }
    }

    fn id() -> Id {
        Id::made_by(Prefix::Object, &WORD, 0)
    }

    fn proof(entry: &[u8]) -> StateProof {
        StateProof {
            key: id(),
            entry: entry.to_vec(),
            nodes: vec![vec![1, 2], vec![3]],
        }
    }

    fn known() -> EntryEvidence {
        let checkpoint = Checkpoint {
            batches: 2,
            sequence: 4,
            head: WORD,
            history: WORD,
            state: WORD,
            issued_at_ms: 5,
        };
        EntryEvidence {
            checkpoint: CheckpointEvidence {
                checkpoint,
                signature: Signature([9; 65]),
                key_index: 0,
            },
            proof: proof(&[7]),
        }
    }

    fn maker() -> OpenedLeafEvidence {
        OpenedLeafEvidence {
            action: LeafEvidence {
                leaf: leaf(),
                index: 0,
                path: vec![WORD],
                batch: HeaderEvidence::anchored(header(), 2, vec![WORD]),
            },
            words: None,
        }
    }

    #[test]
    fn every_call_encodes_with_the_artifacts_abi() {
        let (word, header, leaf, id) = (WORD, header(), leaf(), id());
        let (known, maker) = (known(), maker());
        let claim = EntryClaim {
            key: id,
            is_first: false,
            sequence: 2,
            integrity: word,
        };
        let path = [word];
        let holder = AnchoredHeader {
            anchored_batches: 2,
            header: &header,
            path: &path,
        };
        let action = AnchoredAction {
            anchored_batches: 2,
            header: &header,
            leaf: &leaf,
            leaf_path: &path,
            batch_path: &path,
        };
        let calls = [
            (
                "challengeEntry",
                challenge_entry_calldata(2, &proof(&[7]), &holder, word),
            ),
            ("demandState", demand_state_calldata(3, &known, word)),
            (
                "demandMadeState",
                demand_made_state_calldata(2, &id, &maker, 0, word),
            ),
            ("answerEntry", answer_entry_calldata(&claim, &action, 4)),
            (
                "answerStaleEntry",
                answer_stale_entry_calldata(&claim, &holder),
            ),
            ("answerState", answer_state_calldata(2, &proof(&[7]))),
            ("answerAbsence", answer_state_calldata(2, &proof(&[]))),
        ];
        for (name, data) in calls {
            assert_eq!(data[..4], BOND.function(name).short_signature(), "{name}");
        }
    }
}
