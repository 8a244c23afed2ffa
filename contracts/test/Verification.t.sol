// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {ActionLeaf, Batch, Checkpoint} from "../src/LogRecords.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev The views that prove batches and actions, over a log of made-up actions.
contract VerificationTest is AnchorFixture {
    uint64 private constant LOG_SIZE = 11;
    uint32 private constant COUNT = 5;

    function setUp() public {
        _deploy();
        for (uint64 number = 0; number < LOG_SIZE; ++number) {
            leaves.push(_batchLeaf(_header(number)));
        }
        _anchorTo(LOG_SIZE - 3);
        _anchorTo(LOG_SIZE);
    }

    function testFuzz_everyBatchIsProvenAtEveryCheckpoint(uint64 number, bool isLast, bool isPaused) public {
        uint64 size = isLast ? LOG_SIZE : LOG_SIZE - 3;
        number = number % size;
        if (isPaused) {
            VM.prank(OWNER);
            anchorContract.pause();
        }
        Batch memory header = _header(number);
        bytes32 batchHash = anchorContract.verifyBatch(size, header, ReferenceTree.path(leaves, number, size));
        assertEq(keccak256(abi.encodePacked(bytes1(0x00), batchHash)), leaves[number], "batch hash");
    }

    function testFuzz_everyActionIsProven(uint64 number, uint64 index, bool isPaused) public {
        number = number % LOG_SIZE;
        index = index % COUNT;
        if (isPaused) {
            VM.prank(OWNER);
            anchorContract.pause();
        }
        bytes32 leaf = _verify(_header(number), _action(number, index), _actionPath(number, index));
        assertEq(leaf, _actionLeaf(_action(number, index)), "leaf");
    }

    function testFuzz_aChangedHeaderIsRefused(uint64 number, uint256 field) public {
        number = number % LOG_SIZE;
        Batch memory header = _header(number);
        field = field % 8;
        if (field == 0) header.firstSequence += 1;
        else if (field == 1) header.count += 1;
        else if (field == 2) header.previousHead ^= bytes32(uint256(1));
        else if (field == 3) header.head ^= bytes32(uint256(1));
        else if (field == 4) header.root ^= bytes32(uint256(1));
        else if (field == 5) header.history ^= bytes32(uint256(1));
        else if (field == 6) header.state ^= bytes32(uint256(1));
        else header.sealedAt += 1;
        bytes32[] memory path = ReferenceTree.path(leaves, number, LOG_SIZE);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.BatchNotInHistory.selector, LOG_SIZE, number));
        anchorContract.verifyBatch(LOG_SIZE, header, path);
    }

    function testFuzz_aChangedActionIsRefused(uint64 number, uint64 index, uint256 field) public {
        number = number % LOG_SIZE;
        index = index % COUNT;
        ActionLeaf memory action = _action(number, index);
        field = field % 4;
        if (field == 0) action.sequence += 1;
        else if (field == 1) action.timestampMs += 1;
        else if (field == 2) action.content ^= bytes32(uint256(1));
        else action.integrity ^= bytes32(uint256(1));
        _refuseAction(number, action, _actionPath(number, index));
    }

    function test_aBatchPastTheCheckpointIsRefused() public {
        Batch memory header = _header(LOG_SIZE - 3);
        bytes32[] memory path = ReferenceTree.path(leaves, LOG_SIZE - 3, LOG_SIZE);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.BatchNotInHistory.selector, LOG_SIZE - 3, LOG_SIZE - 3));
        anchorContract.verifyBatch(LOG_SIZE - 3, header, path);
    }

    function test_theStartHoldsNoBatch() public {
        Batch memory header = _header(0);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.BatchNotInHistory.selector, 0, 0));
        anchorContract.verifyBatch(0, header, new bytes32[](0));
    }

    function test_aCheckpointNeverTakenProvesNothing() public {
        Batch memory header = _header(0);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnknownCheckpoint.selector, LOG_SIZE - 1));
        anchorContract.verifyBatch(LOG_SIZE - 1, header, new bytes32[](0));
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnknownCheckpoint.selector, LOG_SIZE + 1));
        anchorContract.verifyAction(LOG_SIZE + 1, header, _action(0, 0), new bytes32[](0), new bytes32[](0));
    }

    function test_sequencesOutsideTheBatchAreRefused() public {
        ActionLeaf memory action = _action(2, 0);
        action.sequence -= 1;
        _refuseAction(2, action, _actionPath(2, 0));
        action.sequence += COUNT + 1;
        _refuseAction(2, action, _actionPath(2, 0));
        action.sequence = 0;
        _refuseAction(2, action, _actionPath(2, 0));
    }

    function test_anActionOfAnotherBatchIsRefused() public {
        _refuseAction(2, _action(3, 1), _actionPath(3, 1));
    }

    function testFuzz_contentIsTheHashOf160Bytes(
        bytes32 kindHash,
        bytes32 targetHash,
        bytes32 payloadHash,
        address signer,
        bytes32 authority
    ) public view {
        bytes memory preimage = abi.encodePacked(
            kindHash, targetHash, payloadHash, bytes32(uint256(uint160(signer))), authority
        );
        assertEq(preimage.length, 160, "length");
        bytes32 content = anchorContract.contentOf(kindHash, targetHash, payloadHash, signer, authority);
        assertEq(content, sha256(preimage), "content");
    }

    function _refuseAction(uint64 number, ActionLeaf memory action, bytes32[] memory path) private {
        Batch memory header = _header(number);
        bytes32[] memory batchPath = ReferenceTree.path(leaves, number, LOG_SIZE);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.ActionNotInBatch.selector, number, action.sequence));
        anchorContract.verifyAction(LOG_SIZE, header, action, path, batchPath);
    }

    function _verify(Batch memory header, ActionLeaf memory action, bytes32[] memory path)
        private
        view
        returns (bytes32)
    {
        bytes32[] memory batchPath = ReferenceTree.path(leaves, header.number, LOG_SIZE);
        return anchorContract.verifyAction(LOG_SIZE, header, action, path, batchPath);
    }

    function _header(uint64 number) private pure returns (Batch memory) {
        return Batch({
            number: number,
            firstSequence: 1 + number * COUNT,
            count: COUNT,
            previousHead: keccak256(abi.encode("previous", number)),
            head: keccak256(abi.encode("head", number)),
            root: ReferenceTree.root(_actionLeaves(number), COUNT),
            history: keccak256(abi.encode("history", number)),
            state: 0,
            sealedAt: 1_790_000_000_000 + number
        });
    }

    function _action(uint64 number, uint64 index) private pure returns (ActionLeaf memory) {
        return ActionLeaf({
            sequence: 1 + number * COUNT + index,
            timestampMs: 1_790_000_000_000 + number,
            content: keccak256(abi.encode("content", number, index)),
            integrity: keccak256(abi.encode("integrity", number, index))
        });
    }

    function _actionPath(uint64 number, uint64 index) private pure returns (bytes32[] memory) {
        return ReferenceTree.path(_actionLeaves(number), index, COUNT);
    }

    function _actionLeaves(uint64 number) private pure returns (bytes32[] memory hashes) {
        hashes = new bytes32[](COUNT);
        for (uint64 i = 0; i < COUNT; ++i) {
            hashes[i] = _actionLeaf(_action(number, i));
        }
    }

    function _actionLeaf(ActionLeaf memory action) private pure returns (bytes32) {
        return keccak256(
            abi.encodePacked(bytes1(0x00), action.sequence, action.timestampMs, action.content, action.integrity)
        );
    }

    function _batchLeaf(Batch memory header) private pure returns (bytes32) {
        bytes32 typeHash = keccak256(
            "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)"
        );
        return keccak256(abi.encodePacked(bytes1(0x00), keccak256(abi.encode(typeHash, header))));
    }
}
