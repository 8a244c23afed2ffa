// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Checkpoint} from "../src/LogRecords.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev What a transaction costs. Isolated calls are transactions of their own, with cold storage and paid calldata.
contract GasTest is AnchorFixture {
    uint256 private constant ANCHOR_GAS_MAX = 145_000;
    uint256 private constant TRANSACTION_GAS = 21_000;
    uint64 private constant LOG_SIZE_MAX = 1 << 32;

    function setUp() public {
        _deploy();
    }

    /// forge-config: default.isolate = true
    function test_firstAnchor() public {
        _snapshot("anchor, the first", 0, 1);
    }

    /// forge-config: default.isolate = true
    function test_anchorOfAnotherBatch() public {
        _snapshot("anchor, from 1 batch to 2", 1, 2);
    }

    /// forge-config: default.isolate = true
    function test_anchorOfAUsualPeriod() public {
        _snapshot("anchor, from 1000000 batches to 1009000", 1_000_000, 1_009_000);
    }

    /// @dev The longest proof, 33 hashes, where every level but one is hashed for both trees.
    /// forge-config: default.isolate = true
    function test_anchorWithTheLongestProof() public {
        assertEq(ReferenceTree.consistencyLength(LOG_SIZE_MAX - 1, LOG_SIZE_MAX), 33, "proof length");
        _snapshot("anchor, from 2^32 - 1 batches to 2^32", LOG_SIZE_MAX - 1, LOG_SIZE_MAX);
    }

    /// forge-config: default.isolate = true
    /// forge-config: default.fuzz.runs = 256
    function testFuzz_anchorStaysWithinTheBound(uint64 oldSize, uint64 newSize, uint256 seed) public {
        newSize = uint64(within(newSize, 2, LOG_SIZE_MAX));
        oldSize = uint64(within(oldSize, 1, newSize - 1));
        (uint256 total,) = _measure(oldSize, newSize, seed);
        assertTrue(total <= ANCHOR_GAS_MAX, "within the bound, transaction and calldata included");
    }

    function _snapshot(string memory name, uint64 oldSize, uint64 newSize) private {
        (uint256 total, uint256 execution) = _measure(oldSize, newSize, 0);
        VM.snapshotValue("KedgeAnchor", string.concat(name, ": transaction"), total);
        VM.snapshotValue("KedgeAnchor", string.concat(name, ": execution"), execution);
        assertTrue(total <= ANCHOR_GAS_MAX, "within the bound, transaction and calldata included");
    }

    /// @dev Anchors a log of `oldSize` batches and then one of `newSize`, with a proof of random hashes: what it leads
    /// to are the histories.
    function _measure(uint64 oldSize, uint64 newSize, uint256 seed) private returns (uint256 total, uint256 execution) {
        bytes32[] memory proof = new bytes32[](ReferenceTree.consistencyLength(oldSize, newSize));
        for (uint256 i = 0; i < proof.length; ++i) {
            proof[i] = keccak256(abi.encode(seed, i));
        }
        bytes32 oldRoot = keccak256(abi.encode(seed));
        bytes32 newRoot = oldRoot;
        if (oldSize != 0) {
            (, oldRoot, newRoot) = ReferenceTree.rootsByConsistency(oldSize, oldRoot, newSize, proof);
            _anchor(oldSize, oldRoot, new bytes32[](0));
        }
        bytes memory call = _anchor(newSize, newRoot, proof);
        total = VM.lastCallGas().gasTotalUsed;
        execution = total - TRANSACTION_GAS - _calldataGas(call);
    }

    function _anchor(uint64 size, bytes32 history, bytes32[] memory proof) private returns (bytes memory call) {
        Checkpoint memory message = Checkpoint({
            batches: size,
            sequence: 500 * size,
            head: keccak256("head"),
            history: history,
            state: keccak256("state"),
            issuedAt: START_S * 1000
        });
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        anchorContract.anchor(message, signature, proof);
        return abi.encodeCall(anchorContract.anchor, (message, signature, proof));
    }

    /// @dev EIP-2028: 16 gas a byte, 4 where it is zero.
    function _calldataGas(bytes memory call) private pure returns (uint256 gasUsed) {
        for (uint256 i = 0; i < call.length; ++i) {
            gasUsed += call[i] == 0 ? 4 : 16;
        }
    }
}
