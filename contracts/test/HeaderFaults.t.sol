// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {CheckpointEvidence, HeaderEvidence} from "../src/Evidence.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {Batch, Checkpoint} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev Faults that headers and checkpoints show: a faulty sequencer commits each one and loses its bond.
contract HeaderFaultsTest is BondFixture {
    uint64 private constant SIZE = 7;
    bytes32 private constant FORGED = keccak256("forged");

    function setUp() public {
        _deployBonded();
        for (uint32 i = 0; i < SIZE; ++i) {
            _seal(1 + i % 4);
        }
    }

    // Holds invariant 63.
    function testFuzz_twoHeadersOfOneNumber(uint64 number, uint256 field) public {
        Batch memory other = _changed(headers[number % SIZE], field);
        _mustSlash(abi.encodeCall(judge.conflictingBatches, (_signed(headers[number % SIZE]), _signed(other))));
    }

    // Holds invariant 63.
    function test_aSignedHeaderAgainstTheAnchoredOne() public {
        _anchorLog(SIZE);
        Batch memory other = headers[3];
        other.head = FORGED;
        _mustSlash(abi.encodeCall(judge.conflictingBatches, (_signed(other), _anchored(3, SIZE))));
    }

    // Holds invariant 63.
    function testFuzz_twoCheckpointsOfAsManyBatches(uint256 field) public {
        Checkpoint memory other = _trueCheckpoint(SIZE);
        field = field % 4;
        if (field == 0) other.sequence += 1;
        else if (field == 1) other.head = FORGED;
        else if (field == 2) other.history = FORGED;
        else other.state = FORGED;
        CheckpointEvidence memory one = _signedCheckpoint(_trueCheckpoint(SIZE));
        _mustSlash(abi.encodeCall(judge.conflictingCheckpoints, (one, _signedCheckpoint(other))));
    }

    // Holds invariant 63.
    function testFuzz_aHeaderThatWasLeftOut(uint64 number, uint256 field) public {
        number = number % SIZE;
        Batch memory left = _changed(headers[number], field);
        _anchorLog(SIZE);
        bytes32[] memory path = ReferenceTree.path(leaves, number, SIZE);
        _mustSlash(abi.encodeCall(judge.omittedBatch, (_signed(left), SIZE, _batchHash(headers[number]), path)));
    }

    // Holds invariant 63.
    function testFuzz_aCheckpointThatIsNotItsLastHeaders(bool isSequence, bool isAnchored) public {
        Checkpoint memory checkpoint = _trueCheckpoint(SIZE);
        if (isSequence) checkpoint.sequence += 1;
        else checkpoint.head = FORGED;
        if (isAnchored) {
            anchorContract.anchor(checkpoint, _sign(SEQUENCER_SECRET, checkpoint), new bytes32[](0));
        }
        bytes32[] memory path = ReferenceTree.path(leaves, SIZE - 1, SIZE);
        _mustSlash(abi.encodeCall(judge.falseCheckpoint, (_signedCheckpoint(checkpoint), headers[SIZE - 1], path)));
    }

    // Holds invariant 63.
    function testFuzz_aHeaderWithAnotherHistory(uint64 number, bool isAnchored) public {
        number = number % SIZE;
        Batch memory header = headers[number];
        header.history = FORGED;
        if (isAnchored) {
            headers[number] = header;
            leaves[number] = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(header)));
        }
        _anchorLog(SIZE);
        HeaderEvidence memory evidence = isAnchored ? _anchored(number, SIZE) : _signed(header);
        _mustSlash(abi.encodeCall(judge.falseHistory, (evidence, SIZE, _rootOf(number), _consistency(number))));
    }

    // Holds invariant 63.
    /// @dev The header right behind the checkpoint has to hold the checkpoint's own history.
    function test_theNextHeaderWithAnotherHistory() public {
        _anchorLog(SIZE);
        Batch memory header = _next(2);
        header.history = FORGED;
        bytes32[] memory none = new bytes32[](0);
        _mustSlash(abi.encodeCall(judge.falseHistory, (_signed(header), SIZE, _rootOf(SIZE), none)));
    }

    // Holds invariant 63.
    function testFuzz_aCheckpointWithAnotherHistory(uint64 size) public {
        size = uint64(within(size, 1, SIZE));
        _anchorLog(SIZE);
        Checkpoint memory checkpoint = _trueCheckpoint(size);
        checkpoint.history = FORGED;
        CheckpointEvidence memory evidence = _signedCheckpoint(checkpoint);
        _mustSlash(abi.encodeCall(judge.falseCheckpointHistory, (evidence, SIZE, _rootOf(size), _consistency(size))));
    }

    // Holds invariant 63.
    function testFuzz_headersThatDoNotJoin(uint64 number, uint256 field, uint64 change) public {
        number = uint64(within(number, 1, SIZE - 1));
        Batch memory next = headers[number];
        field = field % 3;
        uint64 other = uint64(within(change, 1, 1000));
        if (field == 0) next.firstSequence += other;
        else if (field == 1) next.previousHead = keccak256(abi.encode(change));
        else next.sealedAt = headers[number - 1].sealedAt - other;
        _mustSlash(abi.encodeCall(judge.brokenLink, (_signed(headers[number - 1]), _signed(next))));
    }

    // Holds invariant 63.
    function test_aLinkWhoseSequenceOverflows() public {
        Batch memory before = headers[1];
        before.firstSequence = type(uint64).max;
        Batch memory next = headers[2];
        next.firstSequence = uint64(before.count) - 1;
        next.previousHead = before.head;
        _mustSlash(abi.encodeCall(judge.brokenLink, (_signed(before), _signed(next))));
    }

    // Holds invariant 63.
    function test_linksOfAnchoredHeaders() public {
        headers[4].firstSequence += 1;
        leaves[4] = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(headers[4])));
        _anchorLog(SIZE);
        _mustSlash(abi.encodeCall(judge.brokenLink, (_anchored(3, SIZE), _anchored(4, SIZE))));
    }

    // Holds invariant 63.
    function testFuzz_countsOutOfRange(uint64 number, uint32 count, bool isZero) public {
        Batch memory header = headers[number % SIZE];
        header.count = isZero ? 0 : uint32(within(count, 501, type(uint32).max));
        _mustSlash(abi.encodeCall(judge.brokenHeader, (_signed(header))));
    }

    // Holds invariant 63.
    function testFuzz_aFirstBatchThatIsNotTheStart(uint256 field) public {
        Batch memory header = headers[0];
        field = field % 3;
        if (field == 0) header.firstSequence = 2;
        else if (field == 1) header.previousHead = FORGED;
        else header.history = FORGED;
        _mustSlash(abi.encodeCall(judge.brokenHeader, (_signed(header))));
    }

    // Holds invariant 63.
    function testFuzz_leavesThatDoNotGiveTheHead(uint32 count) public {
        Batch memory header = _next(uint32(within(count, 1, 60)));
        header.head = FORGED;
        bytes32[] memory hashes = actionHashes[header.number];
        _mustSlash(abi.encodeCall(judge.brokenChain, (_signed(header), hashes)));
    }

    // Holds invariant 63.
    /// @dev The head is honest over the leaves, the order in the tree is not.
    function test_leavesThatWereReordered() public {
        Batch memory header = _next(5);
        bytes32[] storage hashes = actionHashes[header.number];
        (hashes[1], hashes[3]) = (hashes[3], hashes[1]);
        header.root = ReferenceTree.root(hashes, 5);
        bytes32[] memory reordered = hashes;
        _mustSlash(abi.encodeCall(judge.brokenChain, (_signed(header), reordered)));
    }

    function test_theReasonsOfRefusal() public {
        _anchorLog(SIZE);
        Batch memory header = headers[2];
        HeaderEvidence memory unsigned = _signed(header);
        unsigned.header.head = FORGED;
        _mustRefuse(
            abi.encodeCall(judge.conflictingBatches, (_signed(header), unsigned)), IKedgeJudge.NotSigned.selector
        );
        _mustRefuse(
            abi.encodeCall(judge.conflictingBatches, (_signed(header), _signed(header))), IKedgeJudge.NoFault.selector
        );
        bytes32[] memory path = ReferenceTree.path(leaves, 3, SIZE);
        _mustRefuse(
            abi.encodeCall(judge.omittedBatch, (_signed(header), SIZE, _batchHash(headers[3]), path)),
            IKedgeJudge.PathLeadsElsewhere.selector
        );
        bytes32[] memory hashes = actionHashes[3];
        _mustRefuse(
            abi.encodeCall(judge.brokenChain, (_signed(header), hashes)), IKedgeJudge.PathLeadsElsewhere.selector
        );
    }

    function _changed(Batch memory header, uint256 field) private pure returns (Batch memory) {
        field = field % 8;
        if (field == 0) header.firstSequence += 1;
        else if (field == 1) header.count += 1;
        else if (field == 2) header.previousHead ^= FORGED;
        else if (field == 3) header.head ^= FORGED;
        else if (field == 4) header.root ^= FORGED;
        else if (field == 5) header.history ^= FORGED;
        else if (field == 6) header.state ^= FORGED;
        else header.sealedAt += 1;
        return header;
    }

    function _rootOf(uint64 size) private view returns (bytes32) {
        return ReferenceTree.root(leaves, size);
    }

    function _consistency(uint64 size) private view returns (bytes32[] memory) {
        return ReferenceTree.consistency(leaves, size, SIZE);
    }
}
