// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionLeaf, Batch, Checkpoint} from "./LogRecords.sol";

/// @title The anchor of an ordered log of signed actions
/// @notice Holds the log's checkpoints. A checkpoint is taken only if it extends the last one, so a past that was
/// anchored can't be rewritten; batches and actions can be verified against every checkpoint ever taken.
interface IKedgeAnchor {
    /// @notice What is kept of a checkpoint; the rest is in the `Anchored` event of its block.
    /// @param sequence The last action's sequence.
    /// @param issuedAt When the sequencer signed it, in milliseconds of Unix time.
    /// @param anchoredAt Time of the block that took it, in seconds of Unix time; zero where there is none.
    /// @param blockNumber Number of the block that took it.
    /// @param history The log tree's root over all batches.
    struct Record {
        uint64 sequence;
        uint64 issuedAt;
        uint64 anchoredAt;
        uint64 blockNumber;
        bytes32 history;
    }

    /// @notice A checkpoint was taken.
    event Anchored(
        uint64 indexed batches, uint64 sequence, bytes32 head, bytes32 history, bytes32 state, uint64 issuedAt
    );

    /// @notice From batch `fromBatch` on, `key` signs for the log.
    event SequencerKeyRotated(address indexed key, uint64 indexed fromBatch);

    /// @notice The checkpoint does not go beyond the last one, in batches and in sequence.
    error NotNewer(uint64 lastBatches, uint64 lastSequence, uint64 batches, uint64 sequence);

    /// @notice The checkpoint's time is later than this block may take; both in milliseconds.
    error IssuedAhead(uint64 issuedAt, uint256 latestAllowed);

    /// @notice The signature is another key's than the one valid for the checkpoint's last batch.
    error WrongSigner(address recovered, address expected);

    /// @notice The proof does not show that the new history begins with the last one.
    error HistoryNotExtended(uint64 lastBatches, uint64 batches);

    /// @notice No checkpoint with that many batches was taken.
    error UnknownCheckpoint(uint64 batches);

    /// @notice The header is not what the checkpoint's history holds at its number.
    error BatchNotInHistory(uint64 anchoredBatches, uint64 number);

    /// @notice The leaf is not what the batch holds at its sequence.
    error ActionNotInBatch(uint64 number, uint64 sequence);

    /// @notice A key must be valid from a batch that is not anchored yet and comes after every earlier rotation.
    error RotationTooEarly(uint64 fromBatch, uint64 anchoredBatches, uint96 lastFromBatch);

    /// @notice The zero address signs nothing.
    error ZeroSequencerKey();

    /// @notice Ownership can be handed over, not dropped: rotation and pause need an owner.
    error OwnershipRequired();

    /// @notice Takes a checkpoint. Anyone may send it: the sequencer's signature is what counts.
    /// @param sent The checkpoint.
    /// @param signature 65 bytes r, s, v over its EIP-712 digest, by the key valid for its last batch; low s only.
    /// @param consistencyProof RFC 9162 proof that its history extends the last one's; empty for the first one.
    function anchor(Checkpoint calldata sent, bytes calldata signature, bytes32[] calldata consistencyProof) external;

    /// @notice Makes `key` the sequencer's key from batch `fromBatch` on.
    /// @param key The new key's address.
    /// @param fromBatch First batch it signs: not anchored yet, and above the last rotation's.
    function rotate(address key, uint64 fromBatch) external;

    /// @notice Stops anchoring. Everything stays readable and verifiable.
    function pause() external;

    /// @notice Takes checkpoints again.
    function unpause() external;

    /// @notice Proves that a batch is in the log as anchored; reverts if it is not.
    /// @param anchoredBatches Names the checkpoint.
    /// @param header The batch's header.
    /// @param path RFC 9162 inclusion path to the checkpoint's history.
    /// @return batchHash The header's hash: what the sequencer signed.
    function verifyBatch(uint64 anchoredBatches, Batch calldata header, bytes32[] calldata path)
        external
        view
        returns (bytes32 batchHash);

    /// @notice Proves that an action is in the log as anchored; reverts if it is not.
    /// @param anchoredBatches Names the checkpoint.
    /// @param header The header of the action's batch.
    /// @param action The action's leaf, opened.
    /// @param actionPath RFC 9162 inclusion path to the batch's root.
    /// @param batchPath RFC 9162 inclusion path to the checkpoint's history.
    /// @return leafHash The action's leaf.
    function verifyAction(
        uint64 anchoredBatches,
        Batch calldata header,
        ActionLeaf calldata action,
        bytes32[] calldata actionPath,
        bytes32[] calldata batchPath
    ) external view returns (bytes32 leafHash);

    /// @notice The content of an action, from the five words it commits to.
    /// @param kindHash keccak256 of its kind.
    /// @param targetHash keccak256 of its target.
    /// @param payloadHash keccak256 of its payload's exact text.
    /// @param signer Whose action it is.
    /// @param authority keccak256 of the signature's hash and the action's salt.
    function contentOf(bytes32 kindHash, bytes32 targetHash, bytes32 payloadHash, address signer, bytes32 authority)
        external
        pure
        returns (bytes32);

    /// @notice The last checkpoint taken; before the first one, the empty log's start.
    function latest() external view returns (uint64 batches, uint64 sequence, bytes32 history);

    /// @notice The checkpoint with that many batches; 0 gives the start. Reverts if there is none.
    function checkpoint(uint64 batches) external view returns (Record memory);

    /// @notice The key that signs batch `batch` and a checkpoint that ends with it.
    function sequencerKeyAt(uint64 batch) external view returns (address);

    /// @notice How many keys there have been, those of planned rotations included.
    function sequencerKeyCount() external view returns (uint256);

    /// @notice The `index`-th key and the batch that it is valid from.
    function sequencerKey(uint32 index) external view returns (address key, uint64 fromBatch);

    /// @notice EIP-712 domain separator of everything that is signed for this log; also the hash chain's first head.
    function domainSeparator() external view returns (bytes32);
}
