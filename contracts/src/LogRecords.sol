// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

/// @notice A signed statement about the whole log: what is anchored.
/// @param batches How many batches the log holds; the last one's number is one less.
/// @param sequence The last action's sequence.
/// @param head The hash chain's head after that action.
/// @param history The log tree's root over all batches.
/// @param state The place of a commitment to all resources' states.
/// @param issuedAt When it was signed, in milliseconds of Unix time.
struct Checkpoint {
    uint64 batches;
    uint64 sequence;
    bytes32 head;
    bytes32 history;
    bytes32 state;
    uint64 issuedAt;
}

/// @notice The header of a batch.
/// @param number The batch's number, from 0.
/// @param firstSequence The sequence of its first action.
/// @param count How many actions it holds.
/// @param previousHead The hash chain's head before it.
/// @param head The hash chain's head after it.
/// @param root The root of the tree over its leaves.
/// @param history The log tree's root over all batches before it.
/// @param state The place of a commitment to all resources' states.
/// @param sealedAt When it was sealed, in milliseconds of Unix time.
struct Batch {
    uint64 number;
    uint64 firstSequence;
    uint32 count;
    bytes32 previousHead;
    bytes32 head;
    bytes32 root;
    bytes32 history;
    bytes32 state;
    uint64 sealedAt;
}

/// @notice What an action's leaf is made of.
/// @param sequence The action's place in the log, from 1.
/// @param timestampMs When it was committed, in milliseconds of Unix time.
/// @param content The commitment to what was asked and by whom; `LogRecords.content` makes it.
/// @param integrity The hash over the history of the resource it acted on, this action included.
struct ActionLeaf {
    uint64 sequence;
    uint64 timestampMs;
    bytes32 content;
    bytes32 integrity;
}

/// @notice An action opened, with the signed request that it came in.
/// @param kindHash keccak256 of its kind.
/// @param targetHash keccak256 of its target.
/// @param payloadHash keccak256 of its payload's exact text.
/// @param salt The action's salt.
/// @param signer Who signed the request.
/// @param nonce The request's nonce.
/// @param deadline The request's deadline, in seconds of Unix time.
/// @param atomic Whether the request was all or nothing.
/// @param index The action's place in the request, from 0; failed actions count.
/// @param actionHashes EIP-712 hashes of all the request's actions.
/// @param signature The signer's 65 bytes r, s, v.
struct Opening {
    bytes32 kindHash;
    bytes32 targetHash;
    bytes32 payloadHash;
    bytes32 salt;
    address signer;
    uint64 nonce;
    uint64 deadline;
    bool atomic;
    uint32 index;
    bytes32[] actionHashes;
    bytes signature;
}

/// @title How the log's records are hashed
library LogRecords {
    /// @notice EIP-712 type hash of `Checkpoint`.
    bytes32 internal constant CHECKPOINT_TYPEHASH = keccak256(
        "Checkpoint(uint64 batches,uint64 sequence,bytes32 head,bytes32 history,bytes32 state,uint64 issuedAt)"
    );

    /// @notice EIP-712 type hash of `Batch`.
    bytes32 internal constant BATCH_TYPEHASH = keccak256(
        "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)"
    );

    /// @notice EIP-712 type hash of `Action`.
    bytes32 internal constant ACTION_TYPEHASH =
        keccak256("Action(string kind,string target,string payload,bytes32 salt)");

    /// @notice EIP-712 type hash of `ActionRequest`.
    bytes32 internal constant REQUEST_TYPEHASH = keccak256(
        "ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)Action(string kind,string target,string payload,bytes32 salt)"
    );

    /// @notice EIP-712 `hashStruct` of a checkpoint.
    function hash(Checkpoint memory checkpoint) internal pure returns (bytes32) {
        return keccak256(abi.encode(CHECKPOINT_TYPEHASH, checkpoint));
    }

    /// @notice EIP-712 `hashStruct` of a batch header: the batch hash.
    function hash(Batch calldata batch) internal pure returns (bytes32) {
        return keccak256(abi.encode(BATCH_TYPEHASH, batch));
    }

    /// @notice The leaf of an action in its batch's tree: keccak256 of 81 bytes, the first of them zero.
    function hash(ActionLeaf calldata action) internal pure returns (bytes32) {
        return keccak256(
            abi.encodePacked(bytes1(0x00), action.sequence, action.timestampMs, action.content, action.integrity)
        );
    }

    /// @notice SHA-256 over the five words that an action's content commits to.
    function content(bytes32 kindHash, bytes32 targetHash, bytes32 payloadHash, address signer, bytes32 authority)
        internal
        pure
        returns (bytes32)
    {
        return sha256(abi.encode(kindHash, targetHash, payloadHash, signer, authority));
    }

    /// @notice The hash chain's head after the leaves of a batch.
    function headAfter(bytes32 previousHead, bytes32[] calldata leaves) internal pure returns (bytes32 head) {
        head = previousHead;
        for (uint256 i = 0; i < leaves.length; ++i) {
            head = Hashes.efficientKeccak256(head, leaves[i]);
        }
    }

    /// @notice EIP-712 `hashStruct` of an opened action.
    function actionHash(Opening calldata opening) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encode(ACTION_TYPEHASH, opening.kindHash, opening.targetHash, opening.payloadHash, opening.salt)
            );
    }

    /// @notice EIP-712 `hashStruct` of the request that an opened action came in.
    function requestHash(Opening calldata opening) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                REQUEST_TYPEHASH,
                opening.signer,
                opening.nonce,
                opening.deadline,
                opening.atomic,
                keccak256(abi.encodePacked(opening.actionHashes))
            )
        );
    }
}
