// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

import {CheckpointEvidence, HeaderEvidence, LeafEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeJudge} from "./IKedgeJudge.sol";
import {ActionLeaf, Batch, Checkpoint, LogRecords, Opening} from "./LogRecords.sol";
import {LogTree} from "./LogTree.sol";

/// @title The judge of a log's faults
/// @notice See `IKedgeJudge`. It keeps nothing and changes nothing.
/// @dev Every record is first tied to the operator, by signature or by an anchored path, and then compared. Both ties hold
/// the log's domain, so evidence of another log, chain or contract leads nowhere.
contract KedgeJudge is IKedgeJudge {
    using LogRecords for ActionLeaf;
    using LogRecords for Batch;
    using LogRecords for Checkpoint;
    using LogRecords for Opening;

    /// @dev What a proof of a fault returns. No other function of this contract returns it.
    bytes32 private constant PROVEN = keccak256("Kedge fault proven");
    /// @dev The most actions of a batch, and of a request.
    uint256 private constant ACTIONS_MAX = 500;

    IKedgeAnchor private immutable ANCHOR;
    bytes32 private immutable DOMAIN_SEPARATOR;
    uint64 private immutable EVIDENCE_AGE_S;

    /// @param anchor The log's anchor contract.
    /// @param ageS How long evidence counts after its key was replaced, in seconds: the bond's withdrawal delay.
    constructor(IKedgeAnchor anchor, uint64 ageS) {
        ANCHOR = anchor;
        DOMAIN_SEPARATOR = anchor.domainSeparator();
        EVIDENCE_AGE_S = ageS;
    }

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

    /// @inheritdoc IKedgeJudge
    function anchorContract() external view override returns (address) {
        return address(ANCHOR);
    }

    /// @inheritdoc IKedgeJudge
    function evidenceAgeS() external view override returns (uint64) {
        return EVIDENCE_AGE_S;
    }

    /// @dev Ties a header to the operator, by its signature or, without one, by its path to an anchored history.
    function _requireStanding(HeaderEvidence calldata evidence) private view returns (bytes32 batchHash) {
        uint64 number = evidence.header.number;
        _requireCovered(number);
        if (evidence.signature.length == 0) {
            return
                _holderOf(evidence.anchoredBatches)
                    .verifyBatch(evidence.anchoredBatches, evidence.header, evidence.path);
        }
        batchHash = evidence.header.hash();
        _requireSigner(batchHash, number, evidence.signature, evidence.keyIndex);
    }

    function _requireSignedCheckpoint(CheckpointEvidence calldata evidence) private view {
        // A checkpoint of nothing is signed by nobody; zero batches revert here.
        uint64 last = evidence.checkpoint.batches - 1;
        _requireCovered(last);
        _requireSigner(evidence.checkpoint.hash(), last, evidence.signature, evidence.keyIndex);
    }

    function _requireLeaf(LeafEvidence calldata evidence) private view {
        _requireStanding(evidence.batch);
        Batch calldata header = evidence.batch.header;
        _requirePath(
            LogTree.verifyInclusion(header.root, evidence.leaf.hash(), evidence.index, header.count, evidence.path)
        );
    }

    function _requireBeginning(uint64 size, uint64 anchoredBatches, bytes32 beginning, bytes32[] calldata proof)
        private
        view
    {
        bytes32 history = _historyOf(anchoredBatches);
        _requirePath(LogTree.verifyConsistency(size, beginning, anchoredBatches, history, proof));
    }

    /// @dev Batches that were signed and not anchored before retirement stay covered until evidence of them is too old:
    /// otherwise an operator could retire its bond's reach away.
    function _requireCovered(uint64 batch) private view {
        (uint64 fromBatch, uint64 untilBatch, uint64 retiredAt) = ANCHOR.coverage();
        // Delays are days: the seconds that a block's builder can shift don't matter.
        // slither-disable-next-line timestamp
        bool isOver = batch >= untilBatch && block.timestamp > uint256(retiredAt) + EVIDENCE_AGE_S;
        if (batch < fromBatch || isOver) revert NotCovered(batch, fromBatch, untilBatch);
    }

    function _historyOf(uint64 anchoredBatches) private view returns (bytes32) {
        return _holderOf(anchoredBatches).checkpoint(anchoredBatches).history;
    }

    /// @dev The contract of the log that holds the checkpoint, if any does: after retirement, a later one.
    function _holderOf(uint64 anchoredBatches) private view returns (IKedgeAnchor holder) {
        holder = ANCHOR;
        while (true) {
            // One contract a handing-over: an owner's doing, and rare.
            // slither-disable-next-line calls-loop,unused-return
            (uint64 batches,,) = holder.latest();
            if (anchoredBatches <= batches) return holder;
            // slither-disable-next-line calls-loop
            address next = holder.successor();
            if (next == address(0)) return holder;
            holder = IKedgeAnchor(next);
        }
    }

    /// @dev A key counts for the batches from its first on. Those that it signs in the end count until some time after
    /// all of them are anchored; those that a rotation took from it, until some time after the rotation.
    function _requireSigner(bytes32 structHash, uint64 batch, bytes calldata signature, uint32 keyIndex) private view {
        address recovered = _recover(structHash, signature);
        IKedgeAnchor.KeyTerm memory term = ANCHOR.keyTerm(keyIndex);
        if (recovered != term.key || batch < term.fromBatch) revert NotSigned(batch, recovered);
        if (term.replacedAt == 0) return;
        uint64 since = batch < term.untilBatch ? term.closedAt : term.replacedAt;
        // Delays are days: the seconds that a block's builder can shift don't matter.
        // slither-disable-next-line timestamp
        if (since != 0 && block.timestamp > uint256(since) + EVIDENCE_AGE_S) revert EvidenceTooOld(batch, keyIndex);
    }

    function _recover(bytes32 structHash, bytes calldata signature) private view returns (address) {
        return ECDSA.recoverCalldata(MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR, structHash), signature);
    }

    /// @dev The sequence that the next batch begins with.
    function _sequenceAfter(Batch calldata header) private pure returns (uint256) {
        return uint256(header.firstSequence) + header.count;
    }

    function _extends(ActionLeaf calldata leaf, bytes32 previous) private pure returns (bool) {
        return keccak256(abi.encode(previous, leaf.content)) == leaf.integrity;
    }

    function _requirePath(bool isRight) private pure {
        if (!isRight) revert PathLeadsElsewhere();
    }

    function _provenIf(bool isFault) private pure returns (bytes32) {
        if (!isFault) revert NoFault();
        return PROVEN;
    }
}
