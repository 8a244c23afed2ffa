// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LeafEvidence} from "../src/Evidence.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {ActionLeaf, Batch} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";

/// @dev Faults that opened leaves show: a faulty sequencer commits each one and loses its bond.
contract ActionFaultsTest is BondFixture {
    uint64 private constant SIZE = 4;

    function setUp() public {
        _deployBonded();
        for (uint32 i = 0; i < SIZE; ++i) {
            _seal(4 + i);
        }
    }

    // Holds invariant 63.
    function testFuzz_oneContentTwice(uint64 number, uint32 index, uint32 place, bool isAnchored) public {
        number = number % SIZE;
        index = index % headers[number].count;
        Batch memory next = _next(6);
        place = place % 6;
        ActionLeaf memory again = actions[SIZE][place];
        again.content = actions[number][index].content;
        _replaceLeaf(next, place, again);
        _append(next);
        LeafEvidence memory second = _leafOf(next, place);
        if (isAnchored) {
            _anchorLog(SIZE + 1);
            second.batch = _anchored(SIZE, SIZE + 1);
        }
        _mustSlash(abi.encodeCall(judge.replayedContent, (_leafOf(headers[number], index), second)));
    }

    // Holds invariant 63.
    function test_oneContentTwiceInABatch() public {
        Batch memory next = _next(6);
        ActionLeaf memory again = actions[SIZE][5];
        again.content = actions[SIZE][2].content;
        _replaceLeaf(next, 5, again);
        _mustSlash(abi.encodeCall(judge.replayedContent, (_leafOf(next, 2), _leafOf(next, 5))));
    }

    // Holds invariant 63.
    /// @dev Batch 2's action extends what batch 1's has extended already: the sequencer dropped that one's effect.
    function testFuzz_twoActionsExtendOneIntegrity(uint32 index) public {
        index = index % uint32(OBJECTS);
        bytes32 previous = previousIntegrities[1][index];
        Batch memory next = _next(6);
        ActionLeaf memory forked = actions[SIZE][index];
        forked.integrity = keccak256(abi.encodePacked(previous, forked.content));
        _replaceLeaf(next, index, forked);
        LeafEvidence memory one = _leafOf(headers[1], index);
        _mustSlash(abi.encodeCall(judge.forkedIntegrity, (one, _leafOf(next, index), previous)));
    }

    // Holds invariant 63.
    function testFuzz_aLeafThatIsNotOfItsPlace(uint32 index, uint64 sequence) public {
        Batch memory next = _next(6);
        index = index % 6;
        ActionLeaf memory leaf = actions[SIZE][index];
        if (sequence == leaf.sequence) ++sequence;
        leaf.sequence = sequence;
        _replaceLeaf(next, index, leaf);
        _mustSlash(abi.encodeCall(judge.brokenLeaf, (_leafOf(next, index))));
    }

    // Holds invariant 63.
    function testFuzz_aLeafThatIsLaterThanItsSeal(uint32 index, uint64 late) public {
        Batch memory next = _next(6);
        index = index % 6;
        ActionLeaf memory leaf = actions[SIZE][index];
        leaf.timestampMs = next.sealedAt + uint64(within(late, 1, 1 << 60));
        _replaceLeaf(next, index, leaf);
        _mustSlash(abi.encodeCall(judge.brokenLeaf, (_leafOf(next, index))));
    }

    // Holds invariant 63.
    function testFuzz_timeThatFalls(uint64 number, uint32 index, uint64 early) public {
        number = number % SIZE;
        index = index % headers[number].count;
        Batch memory next = _next(6);
        ActionLeaf memory leaf = actions[SIZE][3];
        uint64 before = actions[number][index].timestampMs;
        leaf.timestampMs = before - uint64(within(early, 1, before));
        _replaceLeaf(next, 3, leaf);
        _mustSlash(abi.encodeCall(judge.fallingTime, (_leafOf(headers[number], index), _leafOf(next, 3))));
    }

    /// @dev Every resource begins with zero: that two do is no fork.
    function test_twoBeginningsAreNoFork() public view {
        assertEq(previousIntegrities[0][0], 0, "an object's first action");
        assertEq(previousIntegrities[0][1], 0, "another object's first action");
        _mustRefuse(
            abi.encodeCall(judge.forkedIntegrity, (_leafOf(headers[0], 0), _leafOf(headers[0], 1), bytes32(0))),
            IKedgeJudge.NoFault.selector
        );
    }

    function test_oneActionShownTwiceIsNoFault() public {
        _anchorLog(SIZE);
        LeafEvidence memory one = _leafOf(headers[2], 1);
        LeafEvidence memory same = _leafOf(headers[2], 1);
        same.batch = _anchored(2, SIZE);
        bytes32 previous = previousIntegrities[2][1];
        _mustRefuse(abi.encodeCall(judge.replayedContent, (one, same)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.forkedIntegrity, (one, same, previous)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.fallingTime, (one, same)), IKedgeJudge.NoFault.selector);
    }

    function testFuzz_aLeafThatTheBatchLacksIsRefused(uint256 field) public view {
        LeafEvidence memory evidence = _leafOf(headers[1], 2);
        field = field % 6;
        if (field == 0) evidence.leaf.sequence += 1;
        else if (field == 1) evidence.leaf.timestampMs += 1 << 60;
        else if (field == 2) evidence.leaf.content ^= bytes32(uint256(1));
        else if (field == 3) evidence.leaf.integrity ^= bytes32(uint256(1));
        else if (field == 4) evidence.index += 1;
        else evidence.path[0] ^= bytes32(uint256(1));
        _mustRefuse(abi.encodeCall(judge.brokenLeaf, (evidence)), IKedgeJudge.PathLeadsElsewhere.selector);
    }
}
