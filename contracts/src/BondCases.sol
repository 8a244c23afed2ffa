// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {BondBase} from "./BondBase.sol";
import {AnchoredAction, HeaderEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeBond} from "./IKedgeBond.sol";
import {ActionLeaf, Batch, LogRecords, Opening} from "./LogRecords.sol";
import {LogTree} from "./LogTree.sol";

/// @title Challenges and demands
/// @notice What nobody can prove because only the operator holds it, the operator is asked for.
/// @dev A case exists once, whatever its end: what was answered is answered for everybody. Opening one needs a commitment,
/// so that nobody takes a reward by copying.
abstract contract BondCases is BondBase {
    using LogRecords for ActionLeaf;
    using LogRecords for Batch;

    mapping(bytes32 id => Case) private _cases;
    uint32 private _openCases;

    constructor(IKedgeAnchor anchor, FaultJudges memory faultJudges, Terms memory bondTerms)
        BondBase(anchor, faultJudges, bondTerms)
    {}

    /// @inheritdoc IKedgeBond
    function challengeAction(AnchoredAction calldata action, bytes32 salt) external payable override whileNotFrozen {
        _requireCovered(action.header.number);
        bytes32 leafHash =
            ANCHOR.verifyAction(action.anchoredBatches, action.header, action.leaf, action.leafPath, action.batchPath);
        _requireWindowOpen(action.anchoredBatches);
        bytes32 batchHash = action.header.hash();
        bytes32 id = actionCaseId(batchHash, leafHash);
        uint64 deadline = _open(id, salt);
        emit CaseOpened(
            id, CaseKind.Action, msg.sender, action.header.number, batchHash, leafHash, action.leaf.sequence, deadline
        );
    }

    /// @inheritdoc IKedgeBond
    function demandInclusion(HeaderEvidence calldata evidence, bytes32 salt) external payable override whileNotFrozen {
        JUDGE.requireSigned(evidence);
        bytes32 batchHash = evidence.header.hash();
        bytes32 id = inclusionCaseId(batchHash);
        uint64 deadline = _open(id, salt);
        emit CaseOpened(id, CaseKind.Inclusion, msg.sender, evidence.header.number, batchHash, 0, 0, deadline);
    }

    /// @inheritdoc IKedgeBond
    function demandLeaves(uint64 anchoredBatches, uint64 number, bytes32 salt)
        external
        payable
        override
        whileNotFrozen
    {
        _requireCovered(number);
        // Reverts if there is no such checkpoint.
        // slither-disable-next-line unused-return
        ANCHOR.checkpoint(anchoredBatches);
        if (number >= anchoredBatches) revert BatchOutOfReach(number);
        bytes32 id = leavesCaseId(number);
        uint64 deadline = _open(id, salt);
        emit CaseOpened(id, CaseKind.Leaves, msg.sender, number, 0, 0, 0, deadline);
    }

    /// @inheritdoc IKedgeBond
    function answerAction(bytes32 batchHash, ActionLeaf calldata leaf, Opening calldata opening)
        external
        override
        whileNotFrozen
    {
        JUDGE.requireAuthorised(leaf, opening);
        _answer(actionCaseId(batchHash, leaf.hash()));
    }

    /// @inheritdoc IKedgeBond
    function answerStale(Batch calldata header, bytes32 leafHash, uint64 anchoredBatches, bytes32[] calldata path)
        external
        override
        whileNotFrozen
    {
        bytes32 id = actionCaseId(ANCHOR.verifyBatch(anchoredBatches, header, path), leafHash);
        _requireWindowClosed(id, anchoredBatches);
        _answer(id);
    }

    /// @inheritdoc IKedgeBond
    function answerInclusion(Batch calldata header, uint64 anchoredBatches, bytes32[] calldata path)
        external
        override
        whileNotFrozen
    {
        _answer(inclusionCaseId(ANCHOR.verifyBatch(anchoredBatches, header, path)));
    }

    /// @inheritdoc IKedgeBond
    function answerLeaves(
        uint64 anchoredBatches,
        Batch calldata header,
        bytes32[] calldata path,
        bytes32[] calldata leaves
    ) external override whileNotFrozen {
        // The header itself is what counts; its hash is of no use here.
        // slither-disable-next-line unused-return
        ANCHOR.verifyBatch(anchoredBatches, header, path);
        if (leaves.length == 0 || leaves.length != header.count || LogTree.rootOf(leaves) != header.root) {
            revert LeavesOfAnotherBatch(header.number);
        }
        _answer(leavesCaseId(header.number));
    }

    /// @inheritdoc IKedgeBond
    function settle(bytes32 id) external override {
        Case storage entry = _requireOpen(id);
        uint64 deadline = entry.deadline;
        bool isFrozen = _isFrozen();
        // slither-disable-next-line timestamp
        if (!isFrozen && block.timestamp <= deadline) revert AnswerStillPossible(deadline);
        address opener = entry.opener;
        entry.state = CaseState.Closed;
        --_openCases;
        _owed[opener] += entry.deposit;
        emit CaseClosed(id);
        if (!isFrozen) _slash(opener);
    }

    /// @inheritdoc IKedgeBond
    function caseOf(bytes32 id) external view override returns (Case memory) {
        return _cases[id];
    }

    /// @inheritdoc IKedgeBond
    function openCases() external view override returns (uint32) {
        return _openCases;
    }

    /// @inheritdoc IKedgeBond
    function caseDeposit() public view override returns (uint256) {
        // Dearer with each open case: filling all places, to keep others out or to flood the operator, costs the square.
        return uint256(CASE_DEPOSIT_WEI) * (uint256(_openCases) + 1);
    }

    /// @inheritdoc IKedgeBond
    function actionCaseId(bytes32 batchHash, bytes32 leafHash) public pure override returns (bytes32) {
        return keccak256(abi.encode(CaseKind.Action, batchHash, leafHash));
    }

    /// @inheritdoc IKedgeBond
    function inclusionCaseId(bytes32 batchHash) public pure override returns (bytes32) {
        return keccak256(abi.encode(CaseKind.Inclusion, batchHash));
    }

    /// @inheritdoc IKedgeBond
    function leavesCaseId(uint64 number) public pure override returns (bytes32) {
        return keccak256(abi.encode(CaseKind.Leaves, number));
    }

    function _open(bytes32 id, bytes32 salt) internal returns (uint64 deadline) {
        // No bond without a contract that can be frozen, and no case without both.
        if (ANCHOR.bond() != address(this)) revert NotNamed();
        // It takes the case's state for a time, because both are in one slot.
        // slither-disable-next-line timestamp
        if (_cases[id].state != CaseState.None) revert CaseKnown(id);
        if (_openCases >= OPEN_CASES_MAX) revert TooManyCases();
        uint256 needed = caseDeposit();
        if (msg.value < needed) revert DepositTooSmall(msg.value, needed);
        _useCommitment(id, salt);
        deadline = _after(RESPONSE_TIME_S);
        _cases[id] = Case({
            opener: msg.sender,
            deadline: deadline,
            state: CaseState.Open,
            deposit: SafeCast.toUint128(msg.value),
            openedAt: uint64(block.timestamp)
        });
        ++_openCases;
        _putWithdrawalOff(deadline);
    }

    /// @dev A withdrawal waits for the cases that were opened before it was due, and as long again for their settling.
    /// Later cases don't put it off further, so that nobody can keep the bond for ever.
    function _putWithdrawalOff(uint64 deadline) private {
        Withdrawal storage pending = _withdrawal;
        if (pending.amount == 0) return;
        uint64 readyAt = deadline + RESPONSE_TIME_S;
        // slither-disable-next-line timestamp
        if (block.timestamp < pending.requestedAt + WITHDRAWAL_DELAY_S && readyAt > pending.readyAt) {
            pending.readyAt = readyAt;
            emit WithdrawalPutOff(readyAt);
        }
    }

    /// @dev Half of the deposit is the operator's, for the gas of the answer. The rest is burnt, so that an operator pays
    /// for cases that it opens and answers itself to keep the places taken.
    function _answer(bytes32 id) internal {
        Case storage entry = _requireOpen(id);
        // slither-disable-next-line timestamp
        if (block.timestamp > entry.deadline) revert AnswerTooLate(entry.deadline);
        uint256 share = entry.deposit / 2;
        uint256 burnt = entry.deposit - share;
        entry.state = CaseState.Answered;
        --_openCases;
        // Not the sender's: whoever copies an answer earns nothing by it.
        _owed[Ownable(address(ANCHOR)).owner()] += share;
        emit CaseAnswered(id);
        _burn(burnt);
    }

    function _requireOpen(bytes32 id) private view returns (Case storage entry) {
        entry = _cases[id];
        if (entry.state != CaseState.Open) revert CaseNotOpen(id);
    }

    function _requireCovered(uint64 number) internal view {
        // A case is answered with the anchor contract's own checkpoints, whenever it retired.
        // slither-disable-next-line unused-return
        (uint64 fromBatch, uint64 untilBatch,) = ANCHOR.coverage();
        if (number < fromBatch || number >= untilBatch) revert BatchOutOfReach(number);
    }

    /// @dev What a checkpoint holds can still be challenged, as far as this checkpoint tells.
    function _requireWindowOpen(uint64 anchoredBatches) internal view {
        uint256 closesAt = _windowEnd(anchoredBatches);
        // slither-disable-next-line timestamp
        if (block.timestamp > closesAt) revert WindowClosed(closesAt);
    }

    /// @dev What a checkpoint holds could not be challenged any more when the case was opened.
    function _requireWindowClosed(bytes32 id, uint64 anchoredBatches) internal view {
        uint256 closedAt = _windowEnd(anchoredBatches);
        // slither-disable-next-line timestamp
        if (_cases[id].openedAt <= closedAt) revert WindowOpen(closedAt);
    }

    /// @dev Until when the actions that a checkpoint holds can be challenged, as far as this checkpoint tells.
    function _windowEnd(uint64 anchoredBatches) private view returns (uint256) {
        return uint256(ANCHOR.checkpoint(anchoredBatches).anchoredAt) + CHALLENGE_WINDOW_S;
    }
}
