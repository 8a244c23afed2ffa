// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {CheckpointEvidence, HeaderEvidence, LeafEvidence} from "./Evidence.sol";
import {IKedgeFaultJudge} from "./IKedgeFaultJudge.sol";
import {ActionLeaf, Batch, Opening} from "./LogRecords.sol";

/// @title The judge of a log's faults
/// @notice One function a fault. Each returns `PROVEN` if the evidence shows it, and reverts if it does not; no sequencer
/// that keeps to the protocol leaves evidence that passes. The data of such a call is what the bond takes as evidence.
interface IKedgeJudge is IKedgeFaultJudge {
    /// @notice The signature is no key's that could sign this batch, or this checkpoint's last one.
    error NotSigned(uint64 batch, address recovered);

    /// @notice The key was replaced too long ago.
    error EvidenceTooOld(uint64 batch, uint32 keyIndex);

    /// @notice Another contract of this log answers for the batch.
    error NotCovered(uint64 batch, uint64 fromBatch, uint64 untilBatch);

    /// @notice A path does not lead where it has to.
    error PathLeadsElsewhere();

    /// @notice Both pieces of evidence are right, but they don't contradict each other or the protocol.
    error NoFault();

    /// @notice The opened action is another than the leaf's.
    error AnotherAction();

    /// @notice The request was not signed by the signer that the action names.
    error NotTheSigner(address recovered, address signer);

    /// @notice The action was placed after its request's deadline; milliseconds and seconds of Unix time.
    error PastDeadline(uint64 timestampMs, uint64 deadline);

    /// @notice Equivocation: two headers with one number.
    function conflictingBatches(HeaderEvidence calldata first, HeaderEvidence calldata second)
        external
        view
        returns (bytes32);

    /// @notice Equivocation: two checkpoints over as many batches that differ in more than their time.
    function conflictingCheckpoints(CheckpointEvidence calldata first, CheckpointEvidence calldata second)
        external
        view
        returns (bytes32);

    /// @notice Omission: a header that the anchored history does not hold at its number.
    /// @param left The header that was left out.
    /// @param anchoredBatches Names the checkpoint.
    /// @param held The batch hash that the history holds there.
    /// @param path RFC 9162 inclusion path of `held`.
    function omittedBatch(HeaderEvidence calldata left, uint64 anchoredBatches, bytes32 held, bytes32[] calldata path)
        external
        view
        returns (bytes32);

    /// @notice False checkpoint: its head or sequence is not its last batch's.
    /// @param signed The checkpoint.
    /// @param last The header of its last batch.
    /// @param path RFC 9162 inclusion path of that header to the checkpoint's history.
    function falseCheckpoint(CheckpointEvidence calldata signed, Batch calldata last, bytes32[] calldata path)
        external
        view
        returns (bytes32);

    /// @notice False history: a header's history is not the anchored log's beginning.
    /// @param evidence The header.
    /// @param anchoredBatches Names a checkpoint of at least as many batches as come before the header.
    /// @param beginning The root over the anchored log's batches before the header.
    /// @param proof RFC 9162 consistency proof from `beginning` to the checkpoint's history.
    function falseHistory(
        HeaderEvidence calldata evidence,
        uint64 anchoredBatches,
        bytes32 beginning,
        bytes32[] calldata proof
    ) external view returns (bytes32);

    /// @notice False history: a checkpoint's history is not the anchored log's beginning. As for a header.
    function falseCheckpointHistory(
        CheckpointEvidence calldata signed,
        uint64 anchoredBatches,
        bytes32 beginning,
        bytes32[] calldata proof
    ) external view returns (bytes32);

    /// @notice Broken link: a batch does not go on where the one before ended, in sequence, head or time.
    function brokenLink(HeaderEvidence calldata before, HeaderEvidence calldata next) external view returns (bytes32);

    /// @notice Broken link: a count out of range, or a first batch that does not begin at the log's start.
    function brokenHeader(HeaderEvidence calldata evidence) external view returns (bytes32);

    /// @notice Broken link: a leaf with another sequence than its place gives, or a time after its batch was sealed.
    function brokenLeaf(LeafEvidence calldata evidence) external view returns (bytes32);

    /// @notice Broken link: of two actions the later one has the earlier time.
    function fallingTime(LeafEvidence calldata earlier, LeafEvidence calldata later) external view returns (bytes32);

    /// @notice Broken chain: a batch's leaves give its root but not its head.
    function brokenChain(HeaderEvidence calldata evidence, bytes32[] calldata leaves) external view returns (bytes32);

    /// @notice Replay: one content at two sequences.
    function replayedContent(LeafEvidence calldata first, LeafEvidence calldata second) external view returns (bytes32);

    /// @notice Fork: two actions that extend one integrity.
    /// @param first One action.
    /// @param second The other.
    /// @param previous The integrity that both extend; not zero, which every resource begins with.
    function forkedIntegrity(LeafEvidence calldata first, LeafEvidence calldata second, bytes32 previous)
        external
        view
        returns (bytes32);

    /// @notice Reverts unless the header was signed by a key that could sign it, and this contract answers for it.
    function requireSigned(HeaderEvidence calldata evidence) external view;

    /// @notice Reverts unless the signer of the action signed it, in time.
    /// @param leaf The action's leaf.
    /// @param opening The action's words and its request.
    function requireAuthorised(ActionLeaf calldata leaf, Opening calldata opening) external view;
}
