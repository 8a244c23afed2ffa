// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {CheckpointEvidence, HeaderEvidence, LeafEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeJudge} from "./IKedgeJudge.sol";
import {JudgeBase} from "./JudgeBase.sol";
import {ActionLeaf, Batch, Checkpoint, LogRecords, Opening} from "./LogRecords.sol";
import {LogTree} from "./LogTree.sol";

/// @title The judge of a log's faults
/// @notice See `IKedgeJudge`. It keeps nothing and changes nothing.
/// @dev Every record is first tied to the operator, by signature or by an anchored path, and then compared. Both ties hold
/// the log's domain, so evidence of another log, chain or contract leads nowhere.
contract KedgeJudge is IKedgeJudge, JudgeBase {
    using LogRecords for ActionLeaf;
    using LogRecords for Batch;
    using LogRecords for Checkpoint;
    using LogRecords for Opening;

    /// @dev The most actions of a batch, and of a request.
    uint256 private constant ACTIONS_MAX = 500;

    /// @param anchor The log's anchor contract.
    /// @param ageS How long evidence counts after its key was replaced, in seconds: the bond's withdrawal delay.
    constructor(IKedgeAnchor anchor, uint64 ageS) JudgeBase(anchor, ageS) {}

    /// @inheritdoc IKedgeJudge
    function conflictingBatches(HeaderEvidence calldata first, HeaderEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(
            _requireStanding(first) != _requireStanding(second) && first.header.number == second.header.number
        );
    }

    /// @inheritdoc IKedgeJudge
    function conflictingCheckpoints(CheckpointEvidence calldata first, CheckpointEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        _requireSignedCheckpoint(first);
        _requireSignedCheckpoint(second);
        Checkpoint calldata one = first.checkpoint;
        Checkpoint calldata other = second.checkpoint;
        return _provenIf(
            one.batches == other.batches
                && (one.sequence != other.sequence
                    || one.head != other.head
                    || one.history != other.history
                    || one.state != other.state)
        );
    }

    /// @inheritdoc IKedgeJudge
    function omittedBatch(HeaderEvidence calldata left, uint64 anchoredBatches, bytes32 held, bytes32[] calldata path)
        external
        view
        override
        returns (bytes32)
    {
        bytes32 batchHash = _requireStanding(left);
        bytes32 history = _historyOf(anchoredBatches);
        _requirePath(LogTree.verifyInclusion(history, LogTree.leaf(held), left.header.number, anchoredBatches, path));
        return _provenIf(held != batchHash);
    }

    /// @inheritdoc IKedgeJudge
    function falseCheckpoint(CheckpointEvidence calldata signed, Batch calldata last, bytes32[] calldata path)
        external
        view
        override
        returns (bytes32)
    {
        _requireSignedCheckpoint(signed);
        Checkpoint calldata checkpoint = signed.checkpoint;
        _requirePath(
            LogTree.verifyInclusion(
                checkpoint.history, LogTree.leaf(last.hash()), checkpoint.batches - 1, checkpoint.batches, path
            )
        );
        return _provenIf(checkpoint.head != last.head || uint256(checkpoint.sequence) + 1 != _sequenceAfter(last));
    }

    /// @inheritdoc IKedgeJudge
    function falseHistory(
        HeaderEvidence calldata evidence,
        uint64 anchoredBatches,
        bytes32 beginning,
        bytes32[] calldata proof
    ) external view override returns (bytes32) {
        _requireStanding(evidence);
        _requireBeginning(evidence.header.number, anchoredBatches, beginning, proof);
        return _provenIf(evidence.header.history != beginning);
    }

    /// @inheritdoc IKedgeJudge
    function falseCheckpointHistory(
        CheckpointEvidence calldata signed,
        uint64 anchoredBatches,
        bytes32 beginning,
        bytes32[] calldata proof
    ) external view override returns (bytes32) {
        _requireSignedCheckpoint(signed);
        _requireBeginning(signed.checkpoint.batches, anchoredBatches, beginning, proof);
        return _provenIf(signed.checkpoint.history != beginning);
    }

    /// @inheritdoc IKedgeJudge
    function brokenLink(HeaderEvidence calldata before, HeaderEvidence calldata next)
        external
        view
        override
        returns (bytes32)
    {
        _requireStanding(before);
        _requireStanding(next);
        Batch calldata one = before.header;
        Batch calldata two = next.header;
        return _provenIf(
            uint256(one.number) + 1 == two.number
                && (two.firstSequence != _sequenceAfter(one)
                    || two.previousHead != one.head
                    || two.sealedAt < one.sealedAt)
        );
    }

    /// @inheritdoc IKedgeJudge
    function brokenHeader(HeaderEvidence calldata evidence) external view override returns (bytes32) {
        _requireStanding(evidence);
        Batch calldata header = evidence.header;
        bool isFalseStart = header.number == 0
            && (header.firstSequence != 1
                || header.previousHead != DOMAIN_SEPARATOR
                || header.history != LogTree.EMPTY_ROOT);
        return _provenIf(isFalseStart || header.count == 0 || header.count > ACTIONS_MAX);
    }

    /// @inheritdoc IKedgeJudge
    function brokenLeaf(LeafEvidence calldata evidence) external view override returns (bytes32) {
        _requireLeaf(evidence);
        Batch calldata header = evidence.batch.header;
        return _provenIf(
            evidence.leaf.sequence != uint256(header.firstSequence) + evidence.index
                || evidence.leaf.timestampMs > header.sealedAt
        );
    }

    /// @inheritdoc IKedgeJudge
    function fallingTime(LeafEvidence calldata earlier, LeafEvidence calldata later)
        external
        view
        override
        returns (bytes32)
    {
        _requireLeaf(earlier);
        _requireLeaf(later);
        return
            _provenIf(earlier.leaf.sequence < later.leaf.sequence && earlier.leaf.timestampMs > later.leaf.timestampMs);
    }

    /// @inheritdoc IKedgeJudge
    function brokenChain(HeaderEvidence calldata evidence, bytes32[] calldata leaves)
        external
        view
        override
        returns (bytes32)
    {
        _requireStanding(evidence);
        Batch calldata header = evidence.header;
        _requirePath(leaves.length == header.count && leaves.length != 0 && LogTree.rootOf(leaves) == header.root);
        return _provenIf(LogRecords.headAfter(header.previousHead, leaves) != header.head);
    }

    /// @inheritdoc IKedgeJudge
    function replayedContent(LeafEvidence calldata first, LeafEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        _requireLeaf(first);
        _requireLeaf(second);
        return _provenIf(first.leaf.content == second.leaf.content && first.leaf.sequence != second.leaf.sequence);
    }

    /// @inheritdoc IKedgeJudge
    function forkedIntegrity(LeafEvidence calldata first, LeafEvidence calldata second, bytes32 previous)
        external
        view
        override
        returns (bytes32)
    {
        _requireLeaf(first);
        _requireLeaf(second);
        return _provenIf(
            previous != 0 && first.leaf.sequence != second.leaf.sequence && _extends(first.leaf, previous)
                && _extends(second.leaf, previous)
        );
    }

    /// @inheritdoc IKedgeJudge
    function requireSigned(HeaderEvidence calldata evidence) external view override {
        uint64 number = evidence.header.number;
        // A demand is answered with a checkpoint of the anchor contract, so here retirement ends at once what it covers.
        // slither-disable-next-line unused-return
        (uint64 fromBatch, uint64 untilBatch,) = ANCHOR.coverage();
        if (number < fromBatch || number >= untilBatch) revert NotCovered(number, fromBatch, untilBatch);
        _requireSigner(evidence.header.hash(), number, evidence.signature, evidence.keyIndex);
    }

    /// @inheritdoc IKedgeJudge
    function requireAuthorised(ActionLeaf calldata leaf, Opening calldata opening) external view override {
        bytes32 authority = keccak256(abi.encode(keccak256(opening.signature), opening.salt));
        bytes32 content =
            LogRecords.content(opening.kindHash, opening.targetHash, opening.payloadHash, opening.signer, authority);
        if (
            content != leaf.content || opening.actionHashes.length > ACTIONS_MAX
                || opening.index >= opening.actionHashes.length
                || opening.actionHashes[opening.index] != opening.actionHash()
        ) revert AnotherAction();
        address recovered = _recover(opening.requestHash(), opening.signature);
        if (recovered != opening.signer) revert NotTheSigner(recovered, opening.signer);
        if (leaf.timestampMs > uint256(opening.deadline) * 1000) {
            revert PastDeadline(leaf.timestampMs, opening.deadline);
        }
    }

    function _requireBeginning(uint64 size, uint64 anchoredBatches, bytes32 beginning, bytes32[] calldata proof)
        private
        view
    {
        bytes32 history = _historyOf(anchoredBatches);
        _requirePath(LogTree.verifyConsistency(size, beginning, anchoredBatches, history, proof));
    }

    function _historyOf(uint64 anchoredBatches) private view returns (bytes32) {
        return _holderOf(anchoredBatches).checkpoint(anchoredBatches).history;
    }

    /// @dev The sequence that the next batch begins with.
    function _sequenceAfter(Batch calldata header) private pure returns (uint256) {
        return uint256(header.firstSequence) + header.count;
    }

    function _extends(ActionLeaf calldata leaf, bytes32 previous) private pure returns (bool) {
        return keccak256(abi.encode(previous, leaf.content)) == leaf.integrity;
    }
}
