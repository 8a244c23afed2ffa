// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LogTreeHarness} from "./support/LogTreeHarness.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";
import {TestBase} from "./support/TestBase.sol";

/// @dev The library against the plain recursive reference.
contract LogTreeTest is TestBase {
    LogTreeHarness private harness;

    function setUp() public {
        harness = new LogTreeHarness();
    }

    function testFuzz_hashesAreDomainSeparated(bytes32 left, bytes32 right) public view {
        assertEq(harness.leaf(left), keccak256(abi.encodePacked(bytes1(0x00), left)), "leaf");
        assertEq(harness.node(left, right), keccak256(abi.encodePacked(bytes1(0x01), left, right)), "node");
    }

    function test_everyPathOfSmallTreesIsAcceptedAtItsPlaceOnly() public view {
        for (uint64 size = 1; size <= 17; ++size) {
            bytes32[] memory leaves = _leaves(size);
            bytes32 root = ReferenceTree.root(leaves, size);
            for (uint64 index = 0; index < size; ++index) {
                bytes32[] memory path = ReferenceTree.path(leaves, index, size);
                for (uint64 claimed = 0; claimed <= size; ++claimed) {
                    bool isAccepted = harness.verifyInclusion(root, leaves[index], claimed, size, path);
                    assertTrue(isAccepted == (claimed == index), "a path holds at its own index alone");
                }
            }
        }
    }

    function test_everyConsistencyProofOfSmallTreesIsAccepted() public view {
        bytes32[] memory leaves = _leaves(20);
        for (uint64 newSize = 0; newSize <= 20; ++newSize) {
            for (uint64 oldSize = 0; oldSize <= newSize; ++oldSize) {
                bytes32[] memory proof = ReferenceTree.consistency(leaves, oldSize, newSize);
                bytes32 oldRoot = ReferenceTree.root(leaves, oldSize);
                bytes32 newRoot = ReferenceTree.root(leaves, newSize);
                assertTrue(harness.verifyConsistency(oldSize, oldRoot, newSize, newRoot, proof), "honest proof");
            }
        }
    }

    function test_noProofOfARewrittenPastIsAccepted() public view {
        bytes32[] memory leaves = _leaves(9);
        for (uint64 oldSize = 1; oldSize < 9; ++oldSize) {
            bytes32 oldRoot = ReferenceTree.root(leaves, oldSize);
            for (uint64 changed = 0; changed < oldSize; ++changed) {
                bytes32[] memory forged = _leaves(9);
                forged[changed] = keccak256("rewritten");
                bytes32 forgedRoot = ReferenceTree.root(forged, 9);
                bytes32[] memory proof = ReferenceTree.consistency(forged, oldSize, 9);
                assertTrue(!harness.verifyConsistency(oldSize, oldRoot, 9, forgedRoot, proof), "forged proof");
                proof = ReferenceTree.consistency(leaves, oldSize, 9);
                assertTrue(
                    !harness.verifyConsistency(oldSize, oldRoot, 9, forgedRoot, proof), "honest proof, forged root"
                );
            }
        }
    }

    function test_edgesOfTheConsistencyCheck() public view {
        bytes32[] memory none = new bytes32[](0);
        bytes32[] memory one = new bytes32[](1);
        bytes32 emptyRoot = keccak256("");
        bytes32 root = keccak256("root");
        assertTrue(harness.verifyConsistency(0, emptyRoot, 7, root, none), "anything extends the empty log");
        assertTrue(!harness.verifyConsistency(0, emptyRoot, 7, root, one), "the first proof is empty");
        assertTrue(!harness.verifyConsistency(0, root, 7, root, none), "the empty log has one root");
        assertTrue(harness.verifyConsistency(7, root, 7, root, none), "a log extends itself");
        assertTrue(!harness.verifyConsistency(7, root, 7, root, one), "with an empty proof alone");
        assertTrue(!harness.verifyConsistency(7, root, 7, emptyRoot, none), "equal sizes, other roots");
        assertTrue(!harness.verifyConsistency(7, root, 8, root, none), "growth needs a proof");
        assertTrue(!harness.verifyConsistency(8, root, 7, root, one), "a log never shrinks");
        assertTrue(!harness.verifyConsistency(8, root, 0, emptyRoot, none), "a log is never emptied");
    }

    function test_longestProofsAreTakenAndNoLonger() public view {
        uint64 size = type(uint64).max;
        _checkPathOf(7, size - 2, size, 64);
        _checkConsistencyOf(8, size - 1, size, 64);
        _checkConsistencyOf(9, (1 << 63) - 1, size, 65);
    }

    function testFuzz_inclusionAgreesWithReference(uint64 size, uint64 index, uint256 seed, uint8 fault) public view {
        size = _scaled(size, seed);
        VM.assume(size != 0);
        index = index % size;
        bytes32 leafHash = keccak256(abi.encode(seed));
        bytes32[] memory path = _hashes(seed, ReferenceTree.pathLength(index, size));
        (, bytes32 root) = ReferenceTree.rootByPath(leafHash, index, size, path);
        assertTrue(harness.verifyInclusion(root, leafHash, index, size, path), "the right path");

        (path, index, size) = _spoil(path, index, size, fault, seed);
        (bool isWhole, bytes32 led) = ReferenceTree.rootByPath(leafHash, index, size, path);
        bool isAccepted = harness.verifyInclusion(root, leafHash, index, size, path);
        assertTrue(isAccepted == (isWhole && led == root), "the verdict on a spoilt path");
    }

    function testFuzz_consistencyAgreesWithReference(uint64 oldSize, uint64 newSize, uint256 seed, uint8 fault)
        public
        view
    {
        newSize = _scaled(newSize, seed);
        VM.assume(newSize > 1);
        oldSize = uint64(within(oldSize, 1, newSize - 1));
        bytes32[] memory proof = _hashes(seed, ReferenceTree.consistencyLength(oldSize, newSize));
        bytes32 oldRoot = keccak256(abi.encode("old", seed));
        (, bytes32 first, bytes32 second) = ReferenceTree.rootsByConsistency(oldSize, oldRoot, newSize, proof);
        assertTrue(harness.verifyConsistency(oldSize, first, newSize, second, proof), "the right proof");

        (proof, oldSize, newSize) = _spoil(proof, oldSize, newSize, fault, seed);
        VM.assume(oldSize != 0 && oldSize < newSize);
        (bool isWhole, bytes32 ledFirst, bytes32 ledSecond) =
            ReferenceTree.rootsByConsistency(oldSize, first, newSize, proof);
        bool isAccepted = harness.verifyConsistency(oldSize, first, newSize, second, proof);
        bool isRight = isWhole && ledFirst == first && ledSecond == second;
        assertTrue(isAccepted == isRight, "the verdict on a spoilt proof");
    }

    function testFuzz_noiseIsRefused(uint64 oldSize, uint64 newSize, bytes32 root, bytes32[] memory noise) public view {
        VM.assume(oldSize != 0 && oldSize < newSize);
        assertTrue(!harness.verifyConsistency(oldSize, root, newSize, keccak256("new"), noise), "consistency");
        assertTrue(!harness.verifyInclusion(root, keccak256("leaf"), oldSize, newSize, noise), "inclusion");
    }

    /// @dev Spreads sizes over all magnitudes, so that short proofs are met as often as long ones.
    function _scaled(uint64 size, uint256 seed) private pure returns (uint64) {
        return size >> (uint256(keccak256(abi.encode("scale", seed))) % 64);
    }

    function _spoil(bytes32[] memory proof, uint64 place, uint64 size, uint8 fault, uint256 seed)
        private
        pure
        returns (bytes32[] memory, uint64, uint64)
    {
        fault = fault % 6;
        if (fault == 0) return (_resized(proof, proof.length + 1), place, size);
        if (fault == 1 && proof.length != 0) return (_resized(proof, proof.length - 1), place, size);
        if (fault == 2 && proof.length != 0) proof[seed % proof.length] ^= bytes32(uint256(1) << (seed % 256));
        if (fault == 3) return (proof, place ^ uint64(1 << (seed % 8)), size);
        if (fault == 4 && size > 1) return (proof, place, size - 1);
        if (fault == 5 && size < type(uint64).max) return (proof, place, size + 1);
        return (proof, place, size);
    }

    function _resized(bytes32[] memory proof, uint256 length) private pure returns (bytes32[] memory resized) {
        resized = new bytes32[](length);
        for (uint256 i = 0; i < length && i < proof.length; ++i) {
            resized[i] = proof[i];
        }
    }

    function _checkPathOf(uint256 seed, uint64 index, uint64 size, uint256 length) private view {
        bytes32[] memory path = _hashes(seed, ReferenceTree.pathLength(index, size));
        assertEq(path.length, length, "path length");
        (, bytes32 root) = ReferenceTree.rootByPath(bytes32(seed), index, size, path);
        assertTrue(harness.verifyInclusion(root, bytes32(seed), index, size, path), "long path");
        path = _resized(path, length + 1);
        assertTrue(!harness.verifyInclusion(root, bytes32(seed), index, size, path), "longer path");
    }

    function _checkConsistencyOf(uint256 seed, uint64 oldSize, uint64 newSize, uint256 length) private view {
        bytes32[] memory proof = _hashes(seed, ReferenceTree.consistencyLength(oldSize, newSize));
        assertEq(proof.length, length, "proof length");
        (, bytes32 first, bytes32 second) = ReferenceTree.rootsByConsistency(oldSize, 0, newSize, proof);
        assertTrue(harness.verifyConsistency(oldSize, first, newSize, second, proof), "long proof");
        proof = _resized(proof, length + 1);
        assertTrue(!harness.verifyConsistency(oldSize, first, newSize, second, proof), "longer proof");
    }

    function _leaves(uint64 size) private pure returns (bytes32[] memory) {
        return _hashes(0, size);
    }

    function _hashes(uint256 seed, uint256 count) private pure returns (bytes32[] memory hashes) {
        hashes = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            hashes[i] = keccak256(abi.encode(seed, i));
        }
    }
}
