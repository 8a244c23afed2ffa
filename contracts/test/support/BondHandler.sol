// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction, HeaderEvidence} from "../../src/Evidence.sol";
import {IKedgeBond} from "../../src/IKedgeBond.sol";
import {KedgeAnchor} from "../../src/KedgeAnchor.sol";
import {KedgeBond} from "../../src/KedgeBond.sol";
import {ActionLeaf, Batch, Checkpoint, Opening} from "../../src/LogRecords.sol";
import {BondFixture} from "./BondFixture.sol";
import {ReferenceTree} from "./ReferenceTree.sol";

/// @dev The world around a bond: an operator that anchors and answers, people that accuse, challenge and demand, money in
/// and out. Each step knows what must happen and fails if it does not, so no step may revert. The operator is honest,
/// unless the test lets it fail: then it equivocates once, or leaves a case without an answer.
contract BondHandler is BondFixture {
    struct Asked {
        bytes32 id;
        IKedgeBond.CaseKind kind;
        uint64 number;
        uint32 index;
    }

    bool private immutable MAY_FAIL;

    Asked[] private asked;
    uint256 public expectedBond = BOND_WEI;
    uint256 public burnt;
    uint256 public answered;
    uint256 public refused;
    bool public isFrozen;
    uint64 public anchored;

    constructor(bool mayFail) payable {
        MAY_FAIL = mayFail;
        _deployBonded();
        _seal(3);
        _anchorLog(1);
        anchored = 1;
    }

    // The operator.

    function sealBatch(uint32 count) external {
        if (headers.length < 40) _seal(uint32(within(count, 1, 5)));
    }

    function anchorAll() external {
        uint64 size = uint64(headers.length);
        if (size == anchored) return;
        Checkpoint memory next = _trueCheckpoint(size);
        bytes memory signature = _sign(SEQUENCER_SECRET, next);
        bytes32[] memory proof = ReferenceTree.consistency(leaves, anchored, size);
        try anchorContract.anchor(next, signature, proof) {
            assertTrue(!isFrozen, "a frozen contract anchors nothing");
            anchored = size;
        } catch {
            assertTrue(isFrozen, "an honest checkpoint is taken");
        }
    }

    function answerOne(uint256 choice) external {
        if (asked.length == 0) return;
        if (!isFrozen) return _answer(choice % asked.length);
        try this.answerAt(choice % asked.length) {
            revert("an answer was taken after the bond was");
        } catch {}
    }

    function requestWithdrawal(uint128 amount) external {
        if (isFrozen) return;
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(amount % (expectedBond + 1)));
    }

    function withdraw() external {
        IKedgeBond.Withdrawal memory pending = bond.withdrawal();
        VM.prank(OWNER);
        try bond.withdraw(payable(OWNER)) {
            assertTrue(!isFrozen && pending.amount != 0 && block.timestamp >= pending.readyAt, "only when it is due");
            expectedBond -= pending.amount;
        } catch {
            assertTrue(isFrozen || pending.amount == 0 || block.timestamp < pending.readyAt, "a due one is paid");
        }
    }

    // Everybody else.

    function deposit(uint64 amount) external {
        try bond.deposit{value: amount}() {
            assertTrue(!isFrozen, "a frozen bond takes nothing");
            expectedBond += amount;
        } catch {
            assertTrue(isFrozen, "a deposit is taken");
        }
    }

    /// @dev Evidence of an honest log, right or spoilt, reported as one would report a fault.
    function accuse(uint8 fault, uint64 first, uint64 second, uint32 index, uint256 spoil) external {
        bytes memory evidence = _honestEvidence(fault % 6, first, second, index);
        if (spoil % 3 == 0) {
            uint256 place = within(spoil, 4, evidence.length - 1);
            evidence[place] = bytes1(uint8(evidence[place]) ^ uint8(within(spoil >> 128, 1, 255)));
        }
        _answerWhatWouldLapse(REVEAL_S);
        _commit(REPORTER, keccak256(evidence));
        VM.prank(REPORTER);
        try bond.report(evidence, SALT) {
            revert("an honest log proved a fault");
        } catch {
            ++refused;
        }
    }

    function challenge(uint64 number, uint32 index) external {
        number = number % anchored;
        index = index % headers[number].count;
        AnchoredAction memory action = _anchoredAction(number, index, anchored);
        bytes32 id = bond.actionCaseId(_batchHash(headers[number]), actionHashes[number][index]);
        bytes memory call = abi.encodeCall(bond.challengeAction, (action, SALT));
        _open(Asked(id, IKedgeBond.CaseKind.Action, number, index), call);
    }

    function demandInclusion(uint64 number) external {
        number = number % uint64(headers.length);
        bytes32 id = bond.inclusionCaseId(_batchHash(headers[number]));
        bytes memory call = abi.encodeCall(bond.demandInclusion, (_signed(headers[number]), SALT));
        _open(Asked(id, IKedgeBond.CaseKind.Inclusion, number, 0), call);
    }

    function demandLeaves(uint64 number) external {
        number = number % anchored;
        bytes memory call = abi.encodeCall(bond.demandLeaves, (anchored, number, SALT));
        _open(Asked(bond.leavesCaseId(number), IKedgeBond.CaseKind.Leaves, number, 0), call);
    }

    function settle(uint256 choice) external {
        if (asked.length == 0) return;
        choice = choice % asked.length;
        bytes32 id = asked[choice].id;
        try bond.settle(id) {
            assertTrue(isFrozen, "an open case is settled only when the bond is gone");
            _forget(choice);
        } catch {
            assertTrue(!isFrozen, "a deposit comes back when the bond is gone");
        }
    }

    function collect(bool isReporter) external {
        address account = isReporter ? REPORTER : OWNER;
        if (bond.owed(account) == 0) return;
        VM.prank(account);
        bond.collect(payable(account));
    }

    function wait(uint64 time) external {
        time = uint64(within(time, 1, 9 days));
        _answerWhatWouldLapse(time);
        VM.warp(block.timestamp + time);
    }

    // A faulty operator.

    function equivocate(uint64 number) external {
        if (!MAY_FAIL || isFrozen) return;
        number = number % uint64(headers.length);
        Batch memory other = headers[number];
        other.head = keccak256("another head");
        bytes memory evidence = abi.encodeCall(judge.conflictingBatches, (_signed(headers[number]), _signed(other)));
        _answerWhatWouldLapse(REVEAL_S);
        _mustSlash(evidence);
        _taken();
    }

    function leaveUnanswered(uint256 choice) external {
        if (!MAY_FAIL || isFrozen || asked.length == 0) return;
        choice = choice % asked.length;
        uint64 deadline = bond.caseOf(asked[choice].id).deadline;
        if (block.timestamp <= deadline) VM.warp(deadline + 1);
        bond.settle(asked[choice].id);
        _forget(choice);
        _taken();
    }

    // What the invariants ask for.

    function target() external view returns (KedgeAnchor, KedgeBond) {
        return (anchorContract, bond);
    }

    function openDeposits() external view returns (uint256 sum) {
        for (uint256 i = 0; i < asked.length; ++i) {
            sum += bond.caseOf(asked[i].id).deposit;
        }
    }

    function owedInAll() external view returns (uint256) {
        return bond.owed(REPORTER) + bond.owed(OWNER);
    }

    function openCount() external view returns (uint256) {
        return asked.length;
    }

    function batchAt(uint64 number) external view returns (Batch memory, bytes32[] memory path, bytes32 batchHash) {
        return (headers[number], ReferenceTree.path(leaves, number, anchored), _batchHash(headers[number]));
    }

    /// @dev External, so that the handler can try it; for nobody else.
    function answerAt(uint256 choice) external {
        if (msg.sender != address(this)) return;
        Asked memory one = asked[choice];
        Batch memory header = headers[one.number];
        bytes32[] memory path =
            one.number < anchored ? ReferenceTree.path(leaves, one.number, anchored) : new bytes32[](0);
        if (one.kind == IKedgeBond.CaseKind.Inclusion) {
            bond.answerInclusion(header, anchored, path);
        } else if (one.kind == IKedgeBond.CaseKind.Leaves) {
            bond.answerLeaves(anchored, header, path, actionHashes[one.number]);
        } else {
            Opening memory opening = _opening(one.number, one.index, header.count);
            ActionLeaf memory leaf = actions[one.number][one.index];
            bond.answerAction(_batchHash(header), leaf, opening);
        }
    }

    function _open(Asked memory one, bytes memory call) private {
        _answerWhatWouldLapse(REVEAL_S);
        bool isNew = bond.caseOf(one.id).state == IKedgeBond.CaseState.None;
        bool isRoom = asked.length < OPEN_CASES_MAX;
        _commit(REPORTER, one.id);
        VM.deal(REPORTER, 100 ether);
        uint256 price = bond.caseDeposit();
        VM.prank(REPORTER);
        (bool isOpened,) = address(bond).call{value: price}(call);
        assertTrue(isOpened == (isNew && isRoom && !isFrozen && _isTimely(one)), "opened if it may be");
        if (isOpened) asked.push(one);
    }

    function _isTimely(Asked memory one) private view returns (bool) {
        if (one.kind != IKedgeBond.CaseKind.Action) return true;
        return block.timestamp <= anchorContract.checkpoint(anchored).anchoredAt + WINDOW_S;
    }

    /// @dev An honest operator never lets a deadline pass.
    function _answerWhatWouldLapse(uint64 time) private {
        if (isFrozen) return;
        for (uint256 i = asked.length; i > 0; --i) {
            if (bond.caseOf(asked[i - 1].id).deadline <= block.timestamp + time) _answer(i - 1);
        }
    }

    function _answer(uint256 choice) private {
        if (asked[choice].number >= anchored) this.anchorAll();
        burnt += _burntOf(asked[choice].id);
        this.answerAt(choice);
        ++answered;
        _forget(choice);
    }

    function _burntOf(bytes32 id) private view returns (uint256) {
        uint256 amount = bond.caseOf(id).deposit;
        return amount - amount / 2;
    }

    function _forget(uint256 choice) private {
        asked[choice] = asked[asked.length - 1];
        asked.pop();
    }

    function _taken() private {
        isFrozen = true;
        burnt += expectedBond - expectedBond / 2;
        expectedBond = 0;
    }

    function _honestEvidence(uint8 fault, uint64 first, uint64 second, uint32 index)
        private
        view
        returns (bytes memory)
    {
        first = first % uint64(headers.length);
        second = second % uint64(headers.length);
        HeaderEvidence memory one = _signed(headers[first]);
        HeaderEvidence memory two = second < anchored ? _anchored(second, anchored) : _signed(headers[second]);
        if (fault == 0) return abi.encodeCall(judge.conflictingBatches, (one, two));
        if (fault == 1) return abi.encodeCall(judge.brokenLink, (one, two));
        if (fault == 2) return abi.encodeCall(judge.brokenHeader, (two));
        if (fault == 3) return abi.encodeCall(judge.brokenChain, (one, actionHashes[first]));
        index = index % headers[first].count;
        if (fault == 4) return abi.encodeCall(judge.brokenLeaf, (_leafOf(headers[first], index)));
        return abi.encodeCall(judge.replayedContent, (_leafOf(headers[first], index), _leafOf(headers[second], 0)));
    }
}
