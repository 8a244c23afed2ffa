// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../../src/IKedgeAnchor.sol";
import {KedgeAnchor} from "../../src/KedgeAnchor.sol";
import {Checkpoint} from "../../src/LogRecords.sol";
import {AnchorFixture} from "./AnchorFixture.sol";
import {ReferenceTree} from "./ReferenceTree.sol";

/// @dev The world around the contract: an honest sequencer and owner, a sequencer that forges, and strangers. Each step
/// knows what must happen and fails if it does not, so no step may revert.
contract LogHandler is AnchorFixture {
    struct Sent {
        Checkpoint message;
        bytes signature;
        bytes32[] proof;
    }

    Sent[] private sent;
    uint256[] private secrets;
    uint64[] private secretsFrom;
    address public owner = OWNER;
    bool public isPaused;

    constructor() {
        _deploy();
        secrets.push(SEQUENCER_SECRET);
        secretsFrom.push(0);
    }

    /// @dev The log grows by up to five batches and is anchored, by anyone.
    function anchorMore(uint64 growth, address sender, uint64 wait) external {
        VM.warp(block.timestamp + within(wait, 0, 1 hours));
        (Checkpoint memory message, bytes memory signature, bytes32[] memory proof) =
            _honest(uint64(within(growth, 1, 5)));
        VM.prank(sender);
        try anchorContract.anchor(message, signature, proof) {
            assertTrue(!isPaused, "nothing is anchored while paused");
            sent.push(Sent(message, signature, proof));
        } catch {
            assertTrue(isPaused, "an honest checkpoint is taken");
        }
    }

    /// @dev The sequencer rewrites an anchored batch and signs a log that goes on from there.
    function forgePast(uint64 growth, uint64 place, bool isForgedProof) external {
        uint64 size = anchoredBatches();
        if (size == 0) return;
        (Checkpoint memory message,, bytes32[] memory proof) = _honest(uint64(within(growth, 1, 5)));
        bytes32[] memory forged = leaves;
        forged[place % size] = keccak256("rewritten");
        message.history = ReferenceTree.root(forged, message.batches);
        if (isForgedProof) proof = ReferenceTree.consistency(forged, size, message.batches);
        _mustRefuse(message, _sign(_secretFor(message.batches), message), proof);
    }

    /// @dev A stranger signs what is otherwise right.
    function signAsStranger(uint64 growth) external {
        (Checkpoint memory message,, bytes32[] memory proof) = _honest(uint64(within(growth, 1, 5)));
        _mustRefuse(message, _sign(STRANGER_SECRET, message), proof);
    }

    /// @dev Something that was taken once is sent again.
    function replay(uint256 choice) external {
        if (sent.length == 0) return;
        Sent storage old = sent[choice % sent.length];
        _mustRefuse(old.message, old.signature, old.proof);
    }

    function rotate(uint256 secret, uint64 ahead) external {
        secret = within(secret, 1, type(uint128).max);
        uint64 lastFrom = secretsFrom[secretsFrom.length - 1];
        uint64 size = anchoredBatches();
        uint64 fromBatch = (size > lastFrom ? size : lastFrom + 1) + uint64(within(ahead, 0, 6));
        VM.prank(owner);
        anchorContract.rotate(VM.addr(secret), fromBatch);
        secrets.push(secret);
        secretsFrom.push(fromBatch);
    }

    function rotateTooEarly(uint64 fromBatch) external {
        uint64 lastFrom = secretsFrom[secretsFrom.length - 1];
        uint64 size = anchoredBatches();
        fromBatch = fromBatch % ((size > lastFrom ? size - 1 : lastFrom) + 1);
        VM.prank(owner);
        try anchorContract.rotate(VM.addr(STRANGER_SECRET), fromBatch) {
            revert("a key was put before an anchored batch or another key");
        } catch (bytes memory reason) {
            assertTrue(bytes4(reason) == IKedgeAnchor.RotationTooEarly.selector, "refused as too early");
        }
    }

    function pauseOrUnpause() external {
        VM.prank(owner);
        if (isPaused) anchorContract.unpause();
        else anchorContract.pause();
        isPaused = !isPaused;
    }

    function handOver(address next) external {
        if (next == address(0)) return;
        VM.prank(owner);
        anchorContract.transferOwnership(next);
        assertEq(anchorContract.owner(), owner, "not before it is accepted");
        VM.prank(next);
        anchorContract.acceptOwnership();
        owner = next;
    }

    function target() external view returns (KedgeAnchor) {
        return anchorContract;
    }

    function sentCount() external view returns (uint256) {
        return sent.length;
    }

    function sentAt(uint256 index) external view returns (Checkpoint memory) {
        return sent[index].message;
    }

    function anchoredBatches() public view returns (uint64) {
        return sent.length == 0 ? 0 : sent[sent.length - 1].message.batches;
    }

    /// @dev The honest log's root over its first `size` batches.
    function honestRoot(uint64 size) external view returns (bytes32) {
        return ReferenceTree.root(leaves, size);
    }

    function honestKeyAt(uint64 batch) external view returns (address) {
        return VM.addr(_secretFor(batch + 1));
    }

    function _honest(uint64 growth)
        private
        returns (Checkpoint memory message, bytes memory signature, bytes32[] memory proof)
    {
        uint64 size = anchoredBatches();
        message = _checkpointAt(size + growth);
        message.issuedAt = uint64(block.timestamp) * 1000;
        signature = _sign(_secretFor(message.batches), message);
        proof = _proof(size, message.batches);
    }

    /// @dev The key that signs a checkpoint of that many batches.
    function _secretFor(uint64 batches) private view returns (uint256) {
        uint256 i = secrets.length - 1;
        while (secretsFrom[i] > batches - 1) --i;
        return secrets[i];
    }

    function _mustRefuse(Checkpoint memory message, bytes memory signature, bytes32[] memory proof) private {
        try anchorContract.anchor(message, signature, proof) {
            revert("what must be refused was taken");
        } catch {}
    }
}
