// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {BondCases} from "./BondCases.sol";
import {ActionEvidence, AnchoredAction, AnchoredEntry, AnchoredHeader, EntryClaim, StateEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeStateCases} from "./IKedgeStateCases.sol";
import {Batch} from "./LogRecords.sol";

/// @title Challenges of entries and demands of the state
/// @dev Answers are checked against the state that the anchor contract keeps: it was signed, and taken by `anchor`.
abstract contract StateCases is BondCases, IKedgeStateCases {
    constructor(IKedgeAnchor anchor, FaultJudges memory faultJudges, Terms memory bondTerms)
        BondCases(anchor, faultJudges, bondTerms)
    {}

    /// @inheritdoc IKedgeStateCases
    function challengeEntry(AnchoredEntry calldata shown, AnchoredHeader calldata batch, bytes32 salt)
        external
        payable
        override
        whileNotFrozen
    {
        uint64 sequence = ANCHOR.verifyState(shown.anchoredBatches, shown.key, shown.entry, shown.nodes);
        EntryClaim memory claim = STATE_JUDGE.claimOf(shown.key, shown.entry, sequence);
        _requireCovered(batch.header.number);
        _requireHeld(batch, claim.sequence);
        _requireWindowOpen(batch.anchoredBatches);
        bytes32 id = entryCaseId(claim);
        uint64 deadline = _open(id, salt);
        emit StateCaseOpened(
            id, CaseKind.Entry, msg.sender, shown.anchoredBatches, claim.key, claim.sequence, claim.integrity, deadline
        );
    }

    /// @inheritdoc IKedgeStateCases
    function demandState(uint64 anchoredBatches, StateEvidence calldata known, bytes32 salt)
        external
        payable
        override
        whileNotFrozen
    {
        if (known.signed.checkpoint.batches == anchoredBatches) revert CheckpointKnown(anchoredBatches);
        STATE_JUDGE.requireEntry(known);
        _openDemand(anchoredBatches, known.key, salt);
    }

    /// @inheritdoc IKedgeStateCases
    function demandMadeState(
        uint64 anchoredBatches,
        string calldata key,
        ActionEvidence calldata leaf,
        uint32 index,
        bytes32 salt
    ) external payable override whileNotFrozen {
        STATE_JUDGE.requireMaker(leaf, key, index);
        _openDemand(anchoredBatches, key, salt);
    }

    /// @inheritdoc IKedgeStateCases
    function answerEntry(EntryClaim calldata claim, AnchoredAction calldata action, uint32 index)
        external
        override
        whileNotFrozen
    {
        // The leaf itself is what counts; its hash is of no use here.
        // slither-disable-next-line unused-return
        ANCHOR.verifyAction(action.anchoredBatches, action.header, action.leaf, action.leafPath, action.batchPath);
        STATE_JUDGE.requireAnswer(claim, action.leaf, index);
        _answer(entryCaseId(claim));
    }

    /// @inheritdoc IKedgeStateCases
    function answerStaleEntry(EntryClaim calldata claim, AnchoredHeader calldata batch)
        external
        override
        whileNotFrozen
    {
        _requireHeld(batch, claim.sequence);
        bytes32 id = entryCaseId(claim);
        _requireWindowClosed(id, batch.anchoredBatches);
        _answer(id);
    }

    /// @inheritdoc IKedgeStateCases
    function answerState(uint64 anchoredBatches, string calldata key, bytes calldata entry, bytes[] calldata nodes)
        external
        override
        whileNotFrozen
    {
        // The checkpoint's sequence is of no use here.
        // slither-disable-next-line unused-return
        ANCHOR.verifyState(anchoredBatches, key, entry, nodes);
        _answer(stateCaseId(anchoredBatches, key));
    }

    /// @inheritdoc IKedgeStateCases
    function answerAbsence(uint64 anchoredBatches, string calldata key, bytes[] calldata nodes)
        external
        override
        whileNotFrozen
    {
        // Not by the anchor's view, which takes no action's id.
        STATE_JUDGE.requireAbsence(ANCHOR.checkpoint(anchoredBatches).state, key, nodes);
        _answer(stateCaseId(anchoredBatches, key));
    }

    /// @inheritdoc IKedgeStateCases
    function entryCaseId(EntryClaim memory claim) public pure override returns (bytes32) {
        return keccak256(
            abi.encode(CaseKind.Entry, keccak256(bytes(claim.key)), claim.isFirst, claim.sequence, claim.integrity)
        );
    }

    /// @inheritdoc IKedgeStateCases
    function stateCaseId(uint64 anchoredBatches, string calldata key) public pure override returns (bytes32) {
        return keccak256(abi.encode(CaseKind.State, anchoredBatches, keccak256(bytes(key))));
    }

    /// @dev A checkpoint that was taken over is the predecessor's to answer for, and the start holds nothing.
    function _openDemand(uint64 anchoredBatches, string calldata key, bytes32 salt) private {
        // slither-disable-next-line unused-return
        (uint64 fromBatch,,) = ANCHOR.coverage();
        if (anchoredBatches <= fromBatch) revert BatchOutOfReach(anchoredBatches);
        if (ANCHOR.checkpoint(anchoredBatches).state == 0) revert IKedgeAnchor.UnrootedCheckpoint(anchoredBatches);
        _requireWindowOpen(anchoredBatches);
        bytes32 id = stateCaseId(anchoredBatches, key);
        uint64 deadline = _open(id, salt);
        emit StateCaseOpened(id, CaseKind.State, msg.sender, anchoredBatches, key, 0, 0, deadline);
    }

    /// @dev The batch is in the anchored history and holds the sequence.
    function _requireHeld(AnchoredHeader calldata batch, uint64 sequence) private view {
        Batch calldata header = batch.header;
        // slither-disable-next-line unused-return
        ANCHOR.verifyBatch(batch.anchoredBatches, header, batch.path);
        if (sequence < header.firstSequence || sequence - header.firstSequence >= header.count) {
            revert SequenceOutOfBatch(header.number, sequence);
        }
    }
}
