// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionLeaf, Batch, Checkpoint} from "./LogRecords.sol";

/// @notice A header that the operator stands for: signed, or in the history that it anchored.
/// @param header The header.
/// @param signature 65 bytes r, s, v by a sequencer key over its EIP-712 digest; empty if it is shown by its path.
/// @param keyIndex The signing key's place in the anchor contract's list; zero if it is shown by its path.
/// @param anchoredBatches Names the checkpoint that holds it; zero if it is shown by its signature.
/// @param path RFC 9162 inclusion path to that checkpoint's history; empty if it is shown by its signature.
struct HeaderEvidence {
    Batch header;
    bytes signature;
    uint32 keyIndex;
    uint64 anchoredBatches;
    bytes32[] path;
}

/// @notice A checkpoint that the sequencer signed, anchored or not.
/// @param checkpoint The checkpoint.
/// @param signature 65 bytes r, s, v by a sequencer key over its EIP-712 digest.
/// @param keyIndex The signing key's place in the anchor contract's list.
struct CheckpointEvidence {
    Checkpoint checkpoint;
    bytes signature;
    uint32 keyIndex;
}

/// @notice A leaf of a batch that the operator stands for, opened.
/// @param leaf What the leaf is made of.
/// @param index Its place in the batch, from 0.
/// @param path RFC 9162 inclusion path to the batch's root.
/// @param batch The batch.
struct LeafEvidence {
    ActionLeaf leaf;
    uint32 index;
    bytes32[] path;
    HeaderEvidence batch;
}

/// @notice An action that an anchored history holds.
/// @param anchoredBatches Names the checkpoint.
/// @param header The header of its batch.
/// @param leaf Its leaf, opened.
/// @param leafPath RFC 9162 inclusion path to the batch's root.
/// @param batchPath RFC 9162 inclusion path to the checkpoint's history.
struct AnchoredAction {
    uint64 anchoredBatches;
    Batch header;
    ActionLeaf leaf;
    bytes32[] leafPath;
    bytes32[] batchPath;
}

/// @notice What a signed checkpoint's state holds under an id, or that it holds nothing.
/// @param signed The checkpoint; it has a root.
/// @param key The id.
/// @param entry The entry: the RLP list whose keccak256 the trie holds; empty for absence.
/// @param nodes The trie's nodes from the root to where the path of the id ends.
struct StateEvidence {
    CheckpointEvidence signed;
    string key;
    bytes entry;
    bytes[] nodes;
}

/// @notice The five words that an action's content commits to.
/// @param kindHash keccak256 of its kind.
/// @param targetHash keccak256 of its target.
/// @param payloadHash keccak256 of its payload's exact text.
/// @param signer Whose action it is.
/// @param authority keccak256 of the signature's hash and the action's salt.
struct ContentWords {
    bytes32 kindHash;
    bytes32 targetHash;
    bytes32 payloadHash;
    address signer;
    bytes32 authority;
}

/// @notice An action that the operator stands for.
/// @param placed Its leaf, in a batch.
/// @param isOpened Whether the words follow; they count for nothing if they don't.
/// @param words The words of its content.
struct ActionEvidence {
    LeafEvidence placed;
    bool isOpened;
    ContentWords words;
}

/// @notice What an entry says of its last action: what an operator is asked to show a leaf for.
/// @param key The id that the entry stands under.
/// @param isFirst Whether it is an organization's in version 1, whose integrity is not its leaf's.
/// @param sequence The action's sequence.
/// @param integrity The entry's integrity.
struct EntryClaim {
    string key;
    bool isFirst;
    uint64 sequence;
    bytes32 integrity;
}

/// @notice A header that an anchored history holds.
/// @param anchoredBatches Names the checkpoint.
/// @param header The header.
/// @param path RFC 9162 inclusion path to the checkpoint's history.
struct AnchoredHeader {
    uint64 anchoredBatches;
    Batch header;
    bytes32[] path;
}

/// @notice An entry that an anchored checkpoint's state holds.
/// @param anchoredBatches Names the checkpoint.
/// @param key The id.
/// @param entry The entry.
/// @param nodes The trie's nodes from the checkpoint's state to the entry's leaf.
struct AnchoredEntry {
    uint64 anchoredBatches;
    string key;
    bytes entry;
    bytes[] nodes;
}
