//! Calldata of the bond's functions.

use ethers_core::abi::Token;
use ethers_core::types::U256;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::evidence::ActionOpening;
use kedge_protocol::{Address, Hash};

use super::tokens;
use crate::contract::artifact::BOND;
use crate::contract::{account, number, word};

/// Calldata of `deposit`: the value sent with it is added to the bond.
pub fn deposit_calldata() -> Vec<u8> {
    BOND.encode("deposit", &[])
}

/// Calldata of `requestWithdrawal`; zero cancels a pending one.
pub fn request_withdrawal_calldata(amount_wei: u128) -> Vec<u8> {
    BOND.encode("requestWithdrawal", &[Token::Uint(U256::from(amount_wei))])
}

/// Calldata of `withdraw`, which pays to `to`.
pub fn withdraw_calldata(to: Address) -> Vec<u8> {
    BOND.encode("withdraw", &[account(to)])
}

/// Calldata of `collect`, which pays the sender's credit to `to`.
pub fn collect_calldata(to: Address) -> Vec<u8> {
    BOND.encode("collect", &[account(to)])
}

/// Calldata of `commit`; [`super::commitment`] computes the word.
pub fn commit_calldata(commitment: Hash) -> Vec<u8> {
    BOND.encode("commit", &[word(commitment)])
}

/// Calldata of `report`: `evidence` is the calldata of the judge's function, `salt` the commitment's.
pub fn report_calldata(evidence: &[u8], salt: Hash) -> Vec<u8> {
    BOND.encode("report", &[Token::Bytes(evidence.to_vec()), word(salt)])
}

/// An action in an anchored batch: to challenge, or to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnchoredAction<'a> {
    /// The checkpoint's batch count.
    pub anchored_batches: u64,
    pub header: &'a BatchHeader,
    pub leaf: &'a LogLeaf,
    /// From the leaf to the batch's root.
    pub leaf_path: &'a [Hash],
    /// From the batch to the checkpoint's history.
    pub batch_path: &'a [Hash],
}

/// Calldata of `challengeAction`, which asks the operator for the signer's signature.
pub fn challenge_action_calldata(action: &AnchoredAction<'_>, salt: Hash) -> Vec<u8> {
    let arguments = [tokens::anchored_action(action), word(salt)];
    BOND.encode("challengeAction", &arguments)
}

/// Calldata of `demandInclusion`, which asks the operator to anchor a header signed with the key at `key_index` of the
/// contract's list.
pub fn demand_inclusion_calldata(batch: &SignedBatch, key_index: u32, salt: Hash) -> Vec<u8> {
    let evidence = Token::Tuple(vec![
        tokens::batch(&batch.header),
        Token::Bytes(batch.signature.0.to_vec()),
        number(u64::from(key_index)),
        number(0),
        tokens::words(&[]),
    ]);
    BOND.encode("demandInclusion", &[evidence, word(salt)])
}

/// Calldata of `demandLeaves`: the checkpoint of `anchored_batches` holds batch `batch`.
pub fn demand_leaves_calldata(anchored_batches: u64, batch: u64, salt: Hash) -> Vec<u8> {
    let arguments = [number(anchored_batches), number(batch), word(salt)];
    BOND.encode("demandLeaves", &arguments)
}

/// Calldata of `settle`: ends a case that no longer needs an answer.
pub fn settle_calldata(case: Hash) -> Vec<u8> {
    BOND.encode("settle", &[word(case)])
}

/// Calldata of `answerAction`, which shows that the signer signed the action in time.
pub fn answer_action_calldata(
    batch_hash: Hash,
    leaf: &LogLeaf,
    opening: &ActionOpening,
) -> Vec<u8> {
    let arguments = [
        word(batch_hash),
        tokens::action_leaf(leaf),
        tokens::opening(opening),
    ];
    BOND.encode("answerAction", &arguments)
}

/// Calldata of `answerStale`: the checkpoint of `anchored_batches` holds the batch by `path`, and the batch's challenge
/// window had closed before the challenge.
pub fn answer_stale_calldata(
    header: &BatchHeader,
    leaf: Hash,
    anchored_batches: u64,
    path: &[Hash],
) -> Vec<u8> {
    let arguments = [
        tokens::batch(header),
        word(leaf),
        number(anchored_batches),
        tokens::words(path),
    ];
    BOND.encode("answerStale", &arguments)
}

/// Calldata of `answerInclusion`: the checkpoint of `anchored_batches` holds the header by `path`.
pub fn answer_inclusion_calldata(
    header: &BatchHeader,
    anchored_batches: u64,
    path: &[Hash],
) -> Vec<u8> {
    let arguments = [
        tokens::batch(header),
        number(anchored_batches),
        tokens::words(path),
    ];
    BOND.encode("answerInclusion", &arguments)
}

/// Calldata of `answerLeaves`: the batch's header with its path, and all of the batch's leaves.
pub fn answer_leaves_calldata(
    anchored_batches: u64,
    header: &BatchHeader,
    path: &[Hash],
    leaves: &[Hash],
) -> Vec<u8> {
    let arguments = [
        number(anchored_batches),
        tokens::batch(header),
        tokens::words(path),
        tokens::words(leaves),
    ];
    BOND.encode("answerLeaves", &arguments)
}

#[cfg(test)]
mod tests {
    use kedge_protocol::action::{ActionWords, RequestHead};
    use kedge_protocol::signature::Signature;

    use super::*;

    #[test]
    fn every_call_encodes_with_the_artifacts_abi() {
        let header = BatchHeader {
            number: 1,
            first_sequence: 2,
            count: 3,
            previous_head: Hash([4; 32]),
            head: Hash([5; 32]),
            root: Hash([6; 32]),
            history: Hash([7; 32]),
            state: Hash::ZERO,
            sealed_at_ms: 8,
        };
        let leaf = LogLeaf {
            sequence: 2,
            timestamp_ms: 9,
            content: Hash([1; 32]),
            integrity: Hash([2; 32]),
        };
        let opening = ActionOpening {
            words: ActionWords {
                kind: Hash([1; 32]),
                target: Hash([2; 32]),
                payload: Hash([3; 32]),
            },
            salt: Hash([4; 32]),
            head: RequestHead {
                signer: Address([5; 20]),
                nonce: 6,
                deadline_s: 7,
                atomic: true,
            },
            index: 0,
            action_hashes: vec![Hash([8; 32])],
            signature: Signature([9; 65]),
        };
        let path = [Hash([3; 32])];
        let to = Address([1; 20]);
        let calls = [
            ("deposit", deposit_calldata()),
            ("requestWithdrawal", request_withdrawal_calldata(1)),
            ("withdraw", withdraw_calldata(to)),
            ("collect", collect_calldata(to)),
            ("commit", commit_calldata(path[0])),
            ("report", report_calldata(&[1, 2], path[0])),
            ("demandLeaves", demand_leaves_calldata(3, 1, path[0])),
            (
                "challengeAction",
                challenge_action_calldata(
                    &AnchoredAction {
                        anchored_batches: 3,
                        header: &header,
                        leaf: &leaf,
                        leaf_path: &path,
                        batch_path: &path,
                    },
                    path[0],
                ),
            ),
            (
                "demandInclusion",
                demand_inclusion_calldata(
                    &SignedBatch {
                        header,
                        signature: Signature([9; 65]),
                    },
                    0,
                    path[0],
                ),
            ),
            ("settle", settle_calldata(path[0])),
            (
                "answerAction",
                answer_action_calldata(header.hash(), &leaf, &opening),
            ),
            (
                "answerStale",
                answer_stale_calldata(&header, leaf.hash(), 3, &path),
            ),
            (
                "answerInclusion",
                answer_inclusion_calldata(&header, 3, &path),
            ),
            (
                "answerLeaves",
                answer_leaves_calldata(3, &header, &path, &path),
            ),
        ];
        for (name, data) in calls {
            assert_eq!(data[..4], BOND.function(name).short_signature(), "{name}");
        }
    }
}
