// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

import {CheckpointEvidence, HeaderEvidence, LeafEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeFaultJudge} from "./IKedgeFaultJudge.sol";
import {IKedgeJudge} from "./IKedgeJudge.sol";
import {ActionLeaf, Batch, Checkpoint, LogRecords} from "./LogRecords.sol";
import {LogTree} from "./LogTree.sol";

/// @title How evidence is tied to the operator
/// @dev By signature or by an anchored path. Both hold the log's domain, so evidence of another log, chain or contract leads
/// nowhere.
abstract contract JudgeBase is IKedgeFaultJudge {
    using LogRecords for ActionLeaf;
    using LogRecords for Batch;
    using LogRecords for Checkpoint;

    /// @dev What a proof of a fault returns. No other function of a judge returns it.
    bytes32 internal constant PROVEN = keccak256("Kedge fault proven");

    IKedgeAnchor internal immutable ANCHOR;
    bytes32 internal immutable DOMAIN_SEPARATOR;
    uint64 internal immutable EVIDENCE_AGE_S;

    constructor(IKedgeAnchor anchor, uint64 ageS) {
        ANCHOR = anchor;
        DOMAIN_SEPARATOR = anchor.domainSeparator();
        EVIDENCE_AGE_S = ageS;
    }

    /// @inheritdoc IKedgeFaultJudge
    function anchorContract() external view override returns (address) {
        return address(ANCHOR);
    }

    /// @inheritdoc IKedgeFaultJudge
    function evidenceAgeS() external view override returns (uint64) {
        return EVIDENCE_AGE_S;
    }

    /// @dev Ties a header to the operator, by its signature or, without one, by its path to an anchored history.
    function _requireStanding(HeaderEvidence calldata evidence) internal view returns (bytes32 batchHash) {
        uint64 number = evidence.header.number;
        _requireCovered(number);
        if (evidence.signature.length == 0) {
            // slither-disable-next-line calls-loop
            return
                _holderOf(evidence.anchoredBatches)
                    .verifyBatch(evidence.anchoredBatches, evidence.header, evidence.path);
        }
        batchHash = evidence.header.hash();
        _requireSigner(batchHash, number, evidence.signature, evidence.keyIndex);
    }

    function _requireSignedCheckpoint(CheckpointEvidence calldata evidence) internal view {
        // No sequencer signs a checkpoint of nothing; zero batches revert here.
        uint64 last = evidence.checkpoint.batches - 1;
        _requireCovered(last);
        _requireSigner(evidence.checkpoint.hash(), last, evidence.signature, evidence.keyIndex);
    }

    function _requireLeaf(LeafEvidence calldata evidence) internal view {
        _requireStanding(evidence.batch);
        Batch calldata header = evidence.batch.header;
        _requirePath(
            LogTree.verifyInclusion(header.root, evidence.leaf.hash(), evidence.index, header.count, evidence.path)
        );
    }

    /// @dev Batches that were signed and not anchored before retirement stay covered until evidence of them is too old:
    /// otherwise an operator could retire its bond's reach away.
    function _requireCovered(uint64 batch) internal view {
        (uint64 fromBatch, uint64 untilBatch, uint64 retiredAt) = ANCHOR.coverage();
        // Delays are days: the seconds that a block's builder can shift don't matter.
        // slither-disable-next-line timestamp
        bool isOver = batch >= untilBatch && block.timestamp > uint256(retiredAt) + EVIDENCE_AGE_S;
        if (batch < fromBatch || isOver) revert IKedgeJudge.NotCovered(batch, fromBatch, untilBatch);
    }

    /// @dev The contract of the log that holds the checkpoint, if any does: after retirement, a later one.
    function _holderOf(uint64 anchoredBatches) internal view returns (IKedgeAnchor holder) {
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
    function _requireSigner(bytes32 structHash, uint64 batch, bytes calldata signature, uint32 keyIndex) internal view {
        address recovered = _recover(structHash, signature);
        IKedgeAnchor.KeyTerm memory term = ANCHOR.keyTerm(keyIndex);
        if (recovered != term.key || batch < term.fromBatch) revert IKedgeJudge.NotSigned(batch, recovered);
        if (term.replacedAt == 0) return;
        uint64 since = batch < term.untilBatch ? term.closedAt : term.replacedAt;
        // Delays are days: the seconds that a block's builder can shift don't matter.
        // slither-disable-next-line timestamp
        if (since != 0 && block.timestamp > uint256(since) + EVIDENCE_AGE_S) {
            revert IKedgeJudge.EvidenceTooOld(batch, keyIndex);
        }
    }

    function _recover(bytes32 structHash, bytes calldata signature) internal view returns (address) {
        return ECDSA.recoverCalldata(MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR, structHash), signature);
    }

    function _requirePath(bool isRight) internal pure {
        if (!isRight) revert IKedgeJudge.PathLeadsElsewhere();
    }

    function _provenIf(bool isFault) internal pure returns (bytes32) {
        if (!isFault) revert IKedgeJudge.NoFault();
        return PROVEN;
    }
}
