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
    /// @param state The root of the trie of all resources; zero where the checkpoint has none, or the contract that took it
    /// did not keep it. Contracts of before give a record without this word.
    struct Record {
        uint64 sequence;
        uint64 issuedAt;
        uint64 anchoredAt;
        uint64 blockNumber;
        bytes32 history;
        bytes32 state;
    }

    /// @notice Whether the contract takes checkpoints.
    /// @dev Waiting: a later contract of the log, before it took over. Retired: it handed over. Frozen: a fault was proven.
    enum Status {
        Open,
        Waiting,
        Retired,
        Frozen
    }

    /// @notice For which batches a key's signature counts, and until when.
    /// @param key The key's address.
    /// @param fromBatch The first batch that it signs.
    /// @param untilBatch The first batch that the next key signs; the highest number while there is no next key.
    /// @param replacedAt When the next key was named, in seconds of Unix time; zero while there is none.
    /// @param closedAt When a checkpoint held all its batches, in seconds, as `closeKey` found it; zero before.
    struct KeyTerm {
        address key;
        uint64 fromBatch;
        uint64 untilBatch;
        uint64 replacedAt;
        uint64 closedAt;
    }

    /// @notice A checkpoint was taken.
    event Anchored(
        uint64 indexed batches, uint64 sequence, bytes32 head, bytes32 history, bytes32 state, uint64 issuedAt
    );

    /// @notice From batch `fromBatch` on, `key` signs for the log.
    event SequencerKeyRotated(address indexed key, uint64 indexed fromBatch);

    /// @notice All batches of key `index` were anchored by `closedAt`, in seconds of Unix time.
    event SequencerKeyClosed(uint32 indexed index, uint64 closedAt);

    /// @notice `bond` is the one contract that may freeze this one.
    event BondNamed(address indexed bond);

    /// @notice A fault was proven: nothing is anchored here any more.
    event Frozen();

    /// @notice `successor` goes on from the last checkpoint.
    event Retired(address indexed successor, uint64 batches);

    /// @notice This contract goes on from the last checkpoint of `predecessor`.
    event TakenOver(address indexed predecessor, uint64 batches, uint64 sequence, bytes32 history);

    /// @notice The contract takes no checkpoint and hands none over, for the reason that its status names.
    error NotOpen(Status status);

    /// @notice Only the bond freezes.
    error NotTheBond(address caller);

    /// @notice The bond is named once, and has to be one over this contract.
    error WrongBond(address bond);

    /// @notice A successor has this log's domain, waits, and begins with the key that is valid now.
    error WrongSuccessor(address successor);

    /// @notice Only the contract to which the log's first contract leads hands over.
    error NotThePredecessor(address caller);

    /// @notice The key has no next one, or the checkpoint does not hold all its batches.
    error KeyStillInUse(uint32 index, uint64 batches);

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

    /// @notice The checkpoint has no root of the state, so it proves no resource.
    error UnrootedCheckpoint(uint64 batches);

    /// @notice The key is no id, or one of a kind that this proof is not made for.
    error UnfitStateKey(string key);

    /// @notice The nodes don't show this entry, or its absence, in the checkpoint's state.
    error StateNotProven(uint64 batches, string key);

    /// @notice The proof is right, and the entry is not its type's list.
    error MalformedEntry(uint64 batches, string key);

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

    /// @notice Names the contract that holds the operator's bond. Once; the owner alone.
    function nameBond(address bondContract) external;

    /// @notice Stops anchoring for good, after a proven fault. Everything stays readable and verifiable.
    function freeze() external;

    /// @notice Hands the log over to a later contract, once. Everything stays readable and verifiable here.
    /// @dev Anchor everything that was signed before: the bond's demands for it are answered from here alone.
    /// @param nextContract A contract of the same domain that waits, its first key the one valid for the next batch.
    function retire(address nextContract) external;

    /// @notice Goes on from the caller's last checkpoint; only the predecessor calls it, when it retires.
    function takeOver() external;

    /// @notice Notes that a checkpoint holds all batches of a replaced key; evidence under that key ages from its time.
    /// @param index The key's place in the list.
    /// @param batches Names a checkpoint that reaches the next key's first batch.
    function closeKey(uint32 index, uint64 batches) external;

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

    /// @notice Proves a resource's entry at a checkpoint; reverts if the proof does not show it.
    /// @param batches Names the checkpoint.
    /// @param key The resource's id.
    /// @param entry Its entry: the RLP list whose keccak256 the trie holds.
    /// @param nodes The nodes from the checkpoint's state to the entry's leaf.
    /// @return sequence The checkpoint's sequence: the entry is what the actions up to it made.
    function verifyState(uint64 batches, string calldata key, bytes calldata entry, bytes[] calldata nodes)
        external
        view
        returns (uint64 sequence);

    /// @notice Proves that the log had made no resource with this id at a checkpoint; reverts if the proof does not show it.
    /// @param batches Names the checkpoint.
    /// @param key The id; not an action's.
    /// @param nodes The nodes from the checkpoint's state to where the path ends; none if the trie is empty.
    /// @return sequence The checkpoint's sequence.
    function verifyAbsence(uint64 batches, string calldata key, bytes[] calldata nodes)
        external
        view
        returns (uint64 sequence);

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

    /// @notice For which batches the `index`-th key's signature counts.
    function keyTerm(uint32 index) external view returns (KeyTerm memory);

    /// @notice The batches that this contract answers for: those from `fromBatch` on and below `untilBatch`. Evidence of
    /// faults counts for later batches too, until its age is over: retiring undoes no signature.
    /// @return fromBatch The batches that the predecessor holds.
    /// @return untilBatch The batches that the last checkpoint holds; the highest number before retirement.
    /// @return retiredAt When the contract handed over, in seconds of Unix time; zero before.
    function coverage() external view returns (uint64 fromBatch, uint64 untilBatch, uint64 retiredAt);

    /// @notice Whether checkpoints are taken; a pause comes on top.
    function status() external view returns (Status);

    /// @notice The contract that holds the operator's bond; zero while there is none.
    function bond() external view returns (address);

    /// @notice The contract that went before; zero if there is none.
    function predecessor() external view returns (address);

    /// @notice The contract that goes on from here; zero if there is none.
    function successor() external view returns (address);

    /// @notice EIP-712 domain separator of everything that is signed for this log; also the hash chain's first head.
    function domainSeparator() external view returns (bytes32);
}
