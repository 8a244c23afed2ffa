// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../../src/IKedgeAnchor.sol";
import {KedgeAnchor} from "../../src/KedgeAnchor.sol";
import {Checkpoint} from "../../src/LogRecords.sol";
import {LogTreeHarness} from "../support/LogTreeHarness.sol";
import {ReferenceTree} from "../support/ReferenceTree.sol";
import {Svm} from "./Svm.sol";

/// @dev Proofs for halmos over all values, for logs of bounded size. keccak256 is taken as free of collisions.
contract ExtensionProof {
    Svm private constant SVM = Svm(address(uint160(uint256(keccak256("svm cheat code")))));
    uint64 private constant SIZE_MAX = 12;
    uint64 private constant CHECKPOINT_SIZE_MAX = 5;
    /// @dev One more than the longest proof of such a log has.
    uint256 private constant PROOF_LENGTH_MAX = 6;

    LogTreeHarness private harness;
    KedgeAnchor private anchorContract;

    function setUp() public {
        harness = new LogTreeHarness();
        anchorContract = new KedgeAnchor(address(this), address(0x5E9), address(0));
    }

    /// @dev Whatever the leaves, the claimed old root and the proof: if it is accepted, the old root is the root over
    /// the new log's own first leaves.
    function check_anAcceptedProofShowsAPrefix(uint256 oldSize, uint256 newSize, uint256 length, bytes32 oldRoot)
        public
        view
    {
        newSize = _oneOf(newSize, 2, SIZE_MAX);
        oldSize = _oneOf(oldSize, 1, newSize - 1);
        bytes32[] memory proof = _words(_oneOf(length, 0, PROOF_LENGTH_MAX));
        bytes32[] memory leaves = _words(newSize);
        bytes32 newRoot = ReferenceTree.root(leaves, newSize);
        if (harness.verifyConsistency(uint64(oldSize), oldRoot, uint64(newSize), newRoot, proof)) {
            assert(oldRoot == ReferenceTree.root(leaves, oldSize));
        }
    }

    // Holds invariant 11.
    /// @dev Whatever two checkpoints hold, and whatever signatures and proof come with them: if both are taken, the
    /// second goes beyond the first, its log begins with the first one's, and the first stays as it was.
    function check_aCheckpointTakenExtendsTheLast(uint256 oldSize, uint256 newSize, uint256 length) public {
        newSize = _oneOf(newSize, 1, CHECKPOINT_SIZE_MAX);
        oldSize = _oneOf(oldSize, 1, CHECKPOINT_SIZE_MAX);
        bytes32[] memory proof = _words(_oneOf(length, 0, PROOF_LENGTH_MAX));
        bytes32[] memory leaves = _words(newSize);
        Checkpoint memory first = _checkpoint(uint64(oldSize), SVM.createBytes32("history"));
        Checkpoint memory second = _checkpoint(uint64(newSize), ReferenceTree.root(leaves, newSize));
        anchorContract.anchor(first, SVM.createBytes(65, "signature"), new bytes32[](0));
        anchorContract.anchor(second, SVM.createBytes(65, "signature"), proof);

        assert(newSize > oldSize && second.sequence > first.sequence);
        assert(first.history == ReferenceTree.root(leaves, oldSize));
        (uint64 batches, uint64 sequence, bytes32 history) = anchorContract.latest();
        assert(batches == newSize && sequence == second.sequence && history == second.history);
        IKedgeAnchor.Record memory kept = anchorContract.checkpoint(first.batches);
        assert(kept.history == first.history && kept.sequence == first.sequence && kept.issuedAt == first.issuedAt);
    }

    /// @dev Splits the proof into one path a value, on each of which the value is known.
    function _oneOf(uint256 value, uint256 low, uint256 high) private pure returns (uint256 known) {
        for (known = low; known < high; ++known) {
            if (value == known) return known;
        }
    }

    function _checkpoint(uint64 batches, bytes32 history) private pure returns (Checkpoint memory) {
        return Checkpoint({
            batches: batches,
            sequence: uint64(SVM.createUint(64, "sequence")),
            head: SVM.createBytes32("head"),
            history: history,
            state: SVM.createBytes32("state"),
            issuedAt: uint64(SVM.createUint(64, "issuedAt"))
        });
    }

    function _words(uint256 count) private pure returns (bytes32[] memory words) {
        words = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            words[i] = SVM.createBytes32("word");
        }
    }
}
