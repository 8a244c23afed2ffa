// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {LogHandler} from "./support/LogHandler.sol";
import {TestBase} from "./support/TestBase.sol";

/// @dev What holds whatever was sent, by whomever, in whatever order.
contract InvariantsTest is TestBase {
    LogHandler private handler;
    KedgeAnchor private anchorContract;

    function setUp() public {
        handler = new LogHandler();
        anchorContract = handler.target();
    }

    /// @dev forge calls nothing but the handler.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    // Holds invariant 11.
    function invariant_latestIsTheLastCheckpointTaken() external view {
        (uint64 batches, uint64 sequence, bytes32 history) = anchorContract.latest();
        assertEq(batches, handler.anchoredBatches(), "batches");
        assertEq(sequence, 2 * batches, "sequence");
        assertEq(history, handler.honestRoot(batches), "history");
    }

    function invariant_ownerAndPauseFollowTheOwner() external view {
        assertEq(anchorContract.owner(), handler.owner(), "owner");
        assertTrue(anchorContract.paused() == handler.isPaused(), "paused");
    }

    // Holds invariant 11.
    /// @dev At the end of each run: nothing that was taken was lost or changed, each extends the one before, and no
    /// anchored batch changed its key.
    function afterInvariant() external view {
        uint64 lastBatches = 0;
        for (uint256 i = 0; i < handler.sentCount(); ++i) {
            Checkpoint memory message = handler.sentAt(i);
            IKedgeAnchor.Record memory record = anchorContract.checkpoint(message.batches);
            assertTrue(message.batches > lastBatches, "batches grow");
            assertEq(record.history, message.history, "kept as taken");
            assertEq(record.history, handler.honestRoot(message.batches), "a prefix of the honest log");
            assertEq(record.sequence, message.sequence, "sequence");
            assertEq(record.issuedAt, message.issuedAt, "issuedAt");
            address key = anchorContract.sequencerKeyAt(message.batches - 1);
            assertEq(key, handler.honestKeyAt(message.batches - 1), "key");
            lastBatches = message.batches;
        }
    }
}
