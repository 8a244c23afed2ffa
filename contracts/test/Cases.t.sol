// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {AnchoredAction, HeaderEvidence} from "../src/Evidence.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeBond} from "../src/IKedgeBond.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {ActionLeaf, Batch, Opening} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev Challenges and demands: what a silent or lying operator loses, and how an honest one answers.
contract CasesTest is BondFixture {
    uint64 private constant SIZE = 5;
    uint64 private constant ANCHORED = 4;
    bytes32 private constant FORGED = keccak256("forged");

    function setUp() public {
        _deployBonded();
        for (uint32 i = 0; i < SIZE; ++i) {
            _seal(3 + i);
        }
        _anchorLog(ANCHORED);
    }

    // An action that its signer did not sign.

    // Holds invariant 62.
    function testFuzz_anHonestOperatorAnswersEveryChallenge(uint64 number, uint32 index) public {
        number = number % ANCHORED;
        index = index % headers[number].count;
        bytes32 id = _challenge(number, index, ANCHORED);
        uint256 burntBefore = BURN_ADDRESS.balance;
        VM.warp(block.timestamp + RESPONSE_S);
        VM.expectEmit(address(bond));
        emit IKedgeBond.CaseAnswered(id);
        _answer(number, index);
        _assertAnswered(id);
        assertEq(bond.owed(OWNER), DEPOSIT_WEI / 2, "half of the deposit is the operator's");
        assertEq(BURN_ADDRESS.balance - burntBefore, DEPOSIT_WEI / 2, "half is burnt");
    }

    // Holds invariant 63.
    function test_aChallengeWithoutAnAnswerTakesTheBond() public {
        _mustLapse(_challenge(2, 1, ANCHORED));
    }

    /// @dev The sequencer made the action up: nobody's signature opens it.
    function testFuzz_aForgedActionHasNoAnswer(uint256 thief) public {
        Opening memory opening = _opening(SIZE, 0, 2);
        thief = within(thief, 1, type(uint128).max);
        VM.assume(VM.addr(thief) != opening.signer);
        opening.signature = _signature(thief, _requestHash(opening));
        ActionLeaf memory leaf = _forge(opening);
        bytes32 batchHash = _batchHash(headers[SIZE]);
        bytes32 id = _challenge(SIZE, 0, SIZE + 1);
        VM.expectPartialRevert(IKedgeJudge.NotTheSigner.selector);
        bond.answerAction(batchHash, leaf, opening);
        opening.signature = _signature(_signerSecret(SIZE), _requestHash(opening));
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.answerAction(batchHash, leaf, opening);
        _mustLapse(id);
    }

    /// @dev Signed by the signer, but for another payload: the request's other hashes don't cover the action.
    function test_anActionOutsideItsRequestHasNoAnswer() public {
        Opening memory opening = _opening(SIZE, 0, 2);
        opening.payloadHash = FORGED;
        ActionLeaf memory leaf = _forge(opening);
        bytes32 id = _challenge(SIZE, 0, SIZE + 1);
        bytes32 batchHash = _batchHash(headers[SIZE]);
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.answerAction(batchHash, leaf, opening);
        _mustLapse(id);
    }

    function test_anActionPlacedTooLateHasNoAnswer() public {
        Opening memory opening = _opening(SIZE, 0, 2);
        opening.deadline = START_S;
        opening.signature = _signature(_signerSecret(SIZE), _requestHash(opening));
        ActionLeaf memory leaf = _forge(opening);
        assertTrue(leaf.timestampMs > uint256(START_S) * 1000, "later than the deadline");
        bytes32 batchHash = _batchHash(headers[SIZE]);
        bytes32 id = _challenge(SIZE, 0, SIZE + 1);
        VM.expectRevert(abi.encodeWithSelector(IKedgeJudge.PastDeadline.selector, leaf.timestampMs, START_S));
        bond.answerAction(batchHash, leaf, opening);
        _mustLapse(id);
    }

    function testFuzz_aSpoiltOpeningIsNoAnswer(uint256 field, uint64 change) public {
        bytes32 id = _challenge(1, 1, ANCHORED);
        Opening memory opening = _opening(1, 1, headers[1].count);
        ActionLeaf memory leaf = actions[1][1];
        change = uint64(within(change, 1, 1 << 40));
        field = field % 12;
        if (field == 0) opening.kindHash ^= FORGED;
        else if (field == 1) opening.targetHash ^= FORGED;
        else if (field == 2) opening.payloadHash ^= FORGED;
        else if (field == 3) opening.salt ^= FORGED;
        else if (field == 4) opening.signer = address(uint160(opening.signer) ^ uint160(change));
        else if (field == 5) opening.nonce ^= change;
        else if (field == 6) opening.deadline ^= change;
        else if (field == 7) opening.atomic = !opening.atomic;
        else if (field == 8) opening.index ^= uint32(change % 7 + 1);
        else if (field == 9) opening.actionHashes[change % opening.actionHashes.length] ^= FORGED;
        else if (field == 10) opening.signature[change % 65] ^= 0x01;
        else leaf.timestampMs += change;
        bytes32 batchHash = _batchHash(headers[1]);
        (bool isTaken,) = address(bond).call(abi.encodeCall(bond.answerAction, (batchHash, leaf, opening)));
        assertTrue(!isTaken, "refused");
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Open, "still open");
    }

    function test_anotherActionsOpeningIsNoAnswer() public {
        _challenge(2, 1, ANCHORED);
        bytes32 batchHash = _batchHash(headers[2]);
        Opening memory opening = _opening(2, 2, headers[2].count);
        ActionLeaf memory other = actions[2][2];
        VM.expectPartialRevert(IKedgeBond.CaseNotOpen.selector);
        bond.answerAction(batchHash, other, opening);
        ActionLeaf memory challenged = actions[2][1];
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.answerAction(batchHash, challenged, opening);
    }

    function test_aChallengeHasToComeWithinItsWindow() public {
        VM.warp(START_S + WINDOW_S + 1 - REVEAL_S);
        AnchoredAction memory action = _anchoredAction(1, 1, ANCHORED);
        _commit(REPORTER, _actionId(1, 1));
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.WindowClosed.selector, START_S + WINDOW_S));
        VM.prank(REPORTER);
        bond.challengeAction{value: DEPOSIT_WEI}(action, SALT);
    }

    /// @dev A later checkpoint holds the old action too, but does not reopen its window.
    function test_aLaterCheckpointDoesNotReopenTheWindow() public {
        VM.warp(START_S + WINDOW_S);
        _anchorLog(SIZE);
        bytes32 id = _challenge(1, 1, SIZE);
        Batch memory header = headers[1];
        bytes32 leafHash = actionHashes[1][1];
        bytes32[] memory late = ReferenceTree.path(leaves, 1, SIZE);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.WindowOpen.selector, START_S + 2 * WINDOW_S));
        bond.answerStale(header, leafHash, SIZE, late);
        bond.answerStale(header, leafHash, ANCHORED, ReferenceTree.path(leaves, 1, ANCHORED));
        _assertAnswered(id);
    }

    function test_aTimelyChallengeIsNotStale() public {
        bytes32 id = _challenge(1, 1, ANCHORED);
        VM.warp(START_S + RESPONSE_S);
        bytes32[] memory path = ReferenceTree.path(leaves, 1, ANCHORED);
        Batch memory header = headers[1];
        bytes32 leafHash = actionHashes[1][1];
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.WindowOpen.selector, START_S + WINDOW_S));
        bond.answerStale(header, leafHash, ANCHORED, path);
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Open, "still open");
    }

    function test_anActionThatTheLogLacksIsNotChallenged() public {
        AnchoredAction memory action = _anchoredAction(1, 1, ANCHORED);
        action.leaf.content ^= FORGED;
        bytes32 id = bond.actionCaseId(_batchHash(headers[1]), _leafHash(action.leaf));
        _commit(REPORTER, id);
        VM.expectPartialRevert(IKedgeAnchor.ActionNotInBatch.selector);
        VM.prank(REPORTER);
        bond.challengeAction{value: DEPOSIT_WEI}(action, SALT);
    }

    // A signed header that is not anchored.

    function test_anHonestOperatorAnchorsWhatItSigned() public {
        bytes32 id = _demandInclusion(headers[ANCHORED]);
        VM.warp(block.timestamp + RESPONSE_S);
        _anchorLog(SIZE);
        bond.answerInclusion(headers[ANCHORED], SIZE, ReferenceTree.path(leaves, ANCHORED, SIZE));
        _assertAnswered(id);
    }

    function test_aHeaderThatIsNeverAnchoredTakesTheBond() public {
        Batch memory dropped = headers[ANCHORED];
        dropped.head = FORGED;
        bytes32 id = _demandInclusion(dropped);
        _anchorLog(SIZE);
        Batch memory held = headers[ANCHORED];
        bytes32[] memory path = ReferenceTree.path(leaves, ANCHORED, SIZE);
        VM.expectPartialRevert(IKedgeBond.CaseNotOpen.selector);
        bond.answerInclusion(held, SIZE, path);
        VM.expectPartialRevert(IKedgeAnchor.BatchNotInHistory.selector);
        bond.answerInclusion(dropped, SIZE, path);
        _mustLapse(id);
    }

    function test_aPauseIsNoExcuse() public {
        bytes32 id = _demandInclusion(headers[ANCHORED]);
        VM.prank(OWNER);
        anchorContract.pause();
        _mustLapse(id);
        VM.expectRevert(Pausable.EnforcedPause.selector);
        this.anchorAll();
    }

    function anchorAll() external {
        _anchorLog(SIZE);
    }

    function test_anUnsignedHeaderIsNotDemanded() public {
        HeaderEvidence memory evidence = _signed(headers[ANCHORED]);
        evidence.header.head ^= FORGED;
        _commit(REPORTER, bond.inclusionCaseId(_batchHash(evidence.header)));
        VM.expectPartialRevert(IKedgeJudge.NotSigned.selector);
        VM.prank(REPORTER);
        bond.demandInclusion{value: DEPOSIT_WEI}(evidence, SALT);
    }

    // Leaves that nobody can read.

    function testFuzz_anHonestOperatorPublishesLeaves(uint64 number) public {
        number = number % ANCHORED;
        bytes32 id = _demandLeaves(number);
        bytes32[] memory path = ReferenceTree.path(leaves, number, ANCHORED);
        bond.answerLeaves(ANCHORED, headers[number], path, actionHashes[number]);
        _assertAnswered(id);
    }

    function test_leavesThatAreKeptBackTakeTheBond() public {
        _mustLapse(_demandLeaves(2));
    }

    function testFuzz_otherLeavesAreNoAnswer(uint256 change, uint64 place) public {
        bytes32 id = _demandLeaves(2);
        bytes32[] memory path = ReferenceTree.path(leaves, 2, ANCHORED);
        bytes32[] memory hashes = actionHashes[2];
        if (change % 3 == 0) hashes[place % hashes.length] ^= FORGED;
        else if (change % 3 == 1) hashes = new bytes32[](0);
        else hashes = _cut(hashes);
        Batch memory header = headers[2];
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.LeavesOfAnotherBatch.selector, 2));
        bond.answerLeaves(ANCHORED, header, path, hashes);
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Open, "still open");
    }

    function test_leavesOfABatchThatIsNotAnchoredAreNotDemanded() public {
        _commit(REPORTER, bond.leavesCaseId(ANCHORED));
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.BatchOutOfReach.selector, ANCHORED));
        VM.prank(REPORTER);
        bond.demandLeaves{value: DEPOSIT_WEI}(ANCHORED, ANCHORED, SALT);
        VM.expectPartialRevert(IKedgeAnchor.UnknownCheckpoint.selector);
        VM.prank(REPORTER);
        bond.demandLeaves{value: DEPOSIT_WEI}(SIZE, ANCHORED, SALT);
    }

    // What every case has to keep to.

    function test_anAnswerIsForEverybodyAndForGood() public {
        bytes32 id = _challenge(1, 1, ANCHORED);
        _answer(1, 1);
        AnchoredAction memory action = _anchoredAction(1, 1, ANCHORED);
        _commit(REPORTER, id);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.CaseKnown.selector, id));
        VM.prank(REPORTER);
        bond.challengeAction{value: DEPOSIT_WEI}(action, SALT);
        VM.warp(block.timestamp + RESPONSE_S + 1);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.CaseNotOpen.selector, id));
        bond.settle(id);
        assertEq(bond.bond(), BOND_WEI, "untouched");
    }

    function test_anAnswerAfterItsDeadlineIsNone() public {
        bytes32 id = _challenge(1, 1, ANCHORED);
        uint64 deadline = bond.caseOf(id).deadline;
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.AnswerStillPossible.selector, deadline));
        bond.settle(id);
        VM.warp(deadline + 1);
        Opening memory opening = _opening(1, 1, headers[1].count);
        bytes32 batchHash = _batchHash(headers[1]);
        ActionLeaf memory leaf = actions[1][1];
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.AnswerTooLate.selector, deadline));
        bond.answerAction(batchHash, leaf, opening);
        _mustLapse(id);
    }

    function test_openingNeedsACommitment() public {
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotCommitted.selector, 0));
        VM.prank(REPORTER);
        bond.demandLeaves{value: DEPOSIT_WEI}(ANCHORED, 1, SALT);
    }

    function testFuzz_openingNeedsItsDeposit(uint256 sent) public {
        sent = within(sent, 0, DEPOSIT_WEI - 1);
        _commit(REPORTER, bond.leavesCaseId(1));
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.DepositTooSmall.selector, sent, DEPOSIT_WEI));
        VM.prank(REPORTER);
        bond.demandLeaves{value: sent}(ANCHORED, 1, SALT);
    }

    function test_openCasesAreCappedAndGetDearer() public {
        uint256 paid = 0;
        for (uint32 i = 0; i < OPEN_CASES_MAX; ++i) {
            assertEq(bond.caseDeposit(), uint256(DEPOSIT_WEI) * (i + 1), "dearer with each");
            paid += bond.caseDeposit();
            if (i < 4) _demandLeaves(i);
            else _challenge(3, i - 4, ANCHORED);
        }
        assertEq(address(bond).balance, BOND_WEI + paid, "all deposits are held");
        _commit(REPORTER, _actionId(2, 0));
        AnchoredAction memory action = _anchoredAction(2, 0, ANCHORED);
        VM.expectRevert(IKedgeBond.TooManyCases.selector);
        VM.prank(REPORTER);
        bond.challengeAction{value: 10 ether}(action, SALT);
        _answer(3, 0);
        _commit(REPORTER, _actionId(2, 1));
        action = _anchoredAction(2, 1, ANCHORED);
        VM.prank(REPORTER);
        bond.challengeAction{value: 10 ether}(action, SALT);
        assertEq(bond.openCases(), OPEN_CASES_MAX, "an answer makes room");
    }

    /// @dev Another fault took the bond: nobody who waits for an answer loses by it, and nothing is answered any more.
    function test_depositsComeBackWhenTheBondIsTaken() public {
        bytes32 first = _challenge(1, 1, ANCHORED);
        bytes32 second = _demandLeaves(2);
        _mustLapse(_demandInclusion(headers[ANCHORED]));
        Opening memory opening = _opening(1, 1, headers[1].count);
        bytes32 batchHash = _batchHash(headers[1]);
        ActionLeaf memory leaf = actions[1][1];
        VM.expectRevert(IKedgeBond.AlreadyFrozen.selector);
        bond.answerAction(batchHash, leaf, opening);
        bond.settle(first);
        bond.settle(second);
        assertEq(bond.openCases(), 0, "none is open");
        assertEq(bond.owed(REPORTER), BOND_WEI / 2 + 6 * DEPOSIT_WEI, "the reward and all deposits");
        assertEq(address(bond).balance, bond.owed(REPORTER), "and the money for it");
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.CaseNotOpen.selector, first));
        bond.settle(first);
        VM.expectRevert(IKedgeBond.AlreadyFrozen.selector);
        VM.prank(REPORTER);
        bond.demandLeaves{value: DEPOSIT_WEI}(ANCHORED, 1, SALT);
    }

    /// @dev An operator that leaves: what was opened before the withdrawal was due is settled before it is paid.
    function test_aWithdrawalWaitsForOpenCases() public {
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(BOND_WEI));
        VM.warp(START_S + WITHDRAWAL_DELAY_S - 1 hours);
        bytes32 id = _demandLeaves(1);
        uint64 readyAt = uint64(block.timestamp) + 2 * RESPONSE_S;
        assertEq(bond.withdrawal().readyAt, readyAt, "put off");
        VM.warp(bond.caseOf(id).deadline + 1);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotReady.selector, readyAt));
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        _mustLapse(id);
    }

    /// @dev Nobody keeps an honest operator's bond for ever by opening cases.
    function test_aWithdrawalIsNotPutOffForEver() public {
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(BOND_WEI));
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        bytes32 id = _demandLeaves(1);
        assertEq(bond.withdrawal().readyAt, START_S + WITHDRAWAL_DELAY_S, "not put off");
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        assertEq(OWNER.balance, BOND_WEI, "paid");
        bond.answerLeaves(ANCHORED, headers[1], ReferenceTree.path(leaves, 1, ANCHORED), actionHashes[1]);
        _assertAnswered(id);
    }

    function _actionId(uint64 number, uint32 index) private view returns (bytes32) {
        return bond.actionCaseId(_batchHash(headers[number]), actionHashes[number][index]);
    }

    function _challenge(uint64 number, uint32 index, uint64 anchored) private returns (bytes32 id) {
        id = _actionId(number, index);
        AnchoredAction memory action = _anchoredAction(number, index, anchored);
        _commit(REPORTER, id);
        uint256 deposit = bond.caseDeposit();
        VM.prank(REPORTER);
        bond.challengeAction{value: deposit}(action, SALT);
        _assertOpen(id, deposit);
    }

    function _demandInclusion(Batch memory header) private returns (bytes32 id) {
        id = bond.inclusionCaseId(_batchHash(header));
        HeaderEvidence memory evidence = _signed(header);
        _commit(REPORTER, id);
        uint256 deposit = bond.caseDeposit();
        VM.prank(REPORTER);
        bond.demandInclusion{value: deposit}(evidence, SALT);
        _assertOpen(id, deposit);
    }

    function _demandLeaves(uint64 number) private returns (bytes32 id) {
        id = bond.leavesCaseId(number);
        _commit(REPORTER, id);
        uint256 deposit = bond.caseDeposit();
        VM.prank(REPORTER);
        bond.demandLeaves{value: deposit}(ANCHORED, number, SALT);
        _assertOpen(id, deposit);
    }

    function _answer(uint64 number, uint32 index) private {
        Opening memory opening = _opening(number, index, headers[number].count);
        bond.answerAction(_batchHash(headers[number]), actions[number][index], opening);
    }

    /// @dev The sequencer puts an action of two that this opening makes into the log, and anchors it.
    function _forge(Opening memory opening) private returns (ActionLeaf memory leaf) {
        Batch memory next = _next(2);
        leaf = actions[SIZE][0];
        leaf.content = _contentOf(opening);
        _replaceLeaf(next, 0, leaf);
        _append(next);
        _anchorLog(SIZE + 1);
    }

    function _mustLapse(bytes32 id) private {
        IKedgeBond.Case memory entry = bond.caseOf(id);
        if (block.timestamp <= entry.deadline) VM.warp(entry.deadline + 1);
        uint256 before = bond.bond();
        uint256 burntBefore = BURN_ADDRESS.balance;
        bond.settle(id);
        assertTrue(anchorContract.status() == IKedgeAnchor.Status.Frozen, "frozen");
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Closed, "closed");
        assertEq(bond.bond(), 0, "the bond is taken");
        assertEq(BURN_ADDRESS.balance - burntBefore, before - before / 2, "half is burnt");
        assertEq(bond.owed(entry.opener), before / 2 + entry.deposit, "half, and the deposit, are the opener's");
    }

    function _assertOpen(bytes32 id, uint256 deposit) private view {
        IKedgeBond.Case memory entry = bond.caseOf(id);
        assertTrue(entry.state == IKedgeBond.CaseState.Open, "open");
        assertEq(entry.opener, REPORTER, "opener");
        assertEq(entry.deposit, deposit, "deposit");
        assertEq(entry.deadline, block.timestamp + RESPONSE_S, "deadline");
    }

    function _assertAnswered(bytes32 id) private view {
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Answered, "answered");
        assertEq(bond.openCases(), 0, "none is open");
        assertTrue(anchorContract.status() == IKedgeAnchor.Status.Open, "not frozen");
    }

    function _cut(bytes32[] memory hashes) private pure returns (bytes32[] memory shorter) {
        shorter = new bytes32[](hashes.length - 1);
        for (uint256 i = 0; i < shorter.length; ++i) {
            shorter[i] = hashes[i];
        }
    }
}
