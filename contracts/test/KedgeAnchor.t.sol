// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";

/// @dev What `anchor` takes and what it refuses.
contract AnchorTest is AnchorFixture {
    uint256 private constant CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;

    function setUp() public {
        _deploy();
    }

    function test_startsEmpty() public view {
        _assertLatest(0);
        IKedgeAnchor.Record memory start = anchorContract.checkpoint(0);
        assertEq(start.history, keccak256(""), "the empty log's history");
        assertEq(start.anchoredAt, START_S, "the deployment's time");
    }

    function test_everyCheckpointStaysReadable() public {
        uint64[4] memory sizes = [uint64(1), 2, 7, 20];
        for (uint64 i = 0; i < sizes.length; ++i) {
            VM.warp(START_S + 900 * i);
            Checkpoint memory message = _checkpointAt(sizes[i]);
            VM.expectEmit(address(anchorContract));
            emit IKedgeAnchor.Anchored(
                message.batches, message.sequence, message.head, message.history, message.state, message.issuedAt
            );
            _anchorTo(sizes[i]);
            _assertLatest(sizes[i]);
        }
        for (uint64 i = 0; i < sizes.length; ++i) {
            IKedgeAnchor.Record memory record = anchorContract.checkpoint(sizes[i]);
            assertEq(record.history, ReferenceTree.root(leaves, sizes[i]), "history");
            assertEq(record.sequence, 2 * sizes[i], "sequence");
            assertEq(record.issuedAt, START_S * 1000, "issuedAt");
            assertEq(record.anchoredAt, START_S + 900 * i, "anchoredAt");
            assertEq(record.blockNumber, block.number, "blockNumber");
        }
    }

    function test_unknownCheckpointIsRefused() public {
        _anchorTo(5);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnknownCheckpoint.selector, 4));
        anchorContract.checkpoint(4);
    }

    function testFuzz_anyoneMaySend(address sender, uint64 size) public {
        size = uint64(within(size, 1, 40));
        Checkpoint memory message = _checkpointAt(size);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.prank(sender);
        anchorContract.anchor(message, signature, new bytes32[](0));
        _assertLatest(size);
    }

    function testFuzz_growsByAnySteps(uint64 first, uint64 second) public {
        first = uint64(within(first, 1, 60));
        second = uint64(within(second, first + 1, 120));
        _anchorTo(first);
        _anchorTo(second);
        _assertLatest(second);
    }

    function testFuzz_aForgedHistoryIsRefused(uint64 oldSize, uint64 newSize, uint64 changed, bool isForgedProof)
        public
    {
        oldSize = uint64(within(oldSize, 1, 30));
        newSize = uint64(within(newSize, oldSize + 1, 60));
        changed = changed % oldSize;
        _anchorTo(oldSize);
        bytes32[] memory honestProof = _proof(oldSize, newSize);
        leaves[changed] = keccak256("rewritten");
        Checkpoint memory message = _checkpointAt(newSize);
        bytes32[] memory proof = isForgedProof ? _proof(oldSize, newSize) : honestProof;
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.HistoryNotExtended.selector, oldSize, newSize));
        anchorContract.anchor(message, signature, proof);
    }

    function test_theFirstProofIsEmpty() public {
        Checkpoint memory message = _checkpointAt(3);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.HistoryNotExtended.selector, 0, 3));
        anchorContract.anchor(message, signature, new bytes32[](1));
    }

    function test_anUnfinishedOrPaddedProofIsRefused() public {
        _anchorTo(3);
        Checkpoint memory message = _checkpointAt(7);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        bytes32[] memory proof = _proof(3, 7);
        bytes32[] memory padded = new bytes32[](proof.length + 1);
        bytes32[] memory cut = new bytes32[](proof.length - 1);
        for (uint256 i = 0; i < proof.length; ++i) {
            padded[i] = proof[i];
        }
        for (uint256 i = 0; i < cut.length; ++i) {
            cut[i] = proof[i];
        }
        VM.expectPartialRevert(IKedgeAnchor.HistoryNotExtended.selector);
        anchorContract.anchor(message, signature, padded);
        VM.expectPartialRevert(IKedgeAnchor.HistoryNotExtended.selector);
        anchorContract.anchor(message, signature, cut);
    }

    function test_aReplayIsRefused() public {
        Checkpoint memory message = _anchorTo(5);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotNewer.selector, 5, 10, 5, 10));
        anchorContract.anchor(message, signature, new bytes32[](0));
    }

    function testFuzz_batchesAndSequenceMustGrow(uint64 batches, uint64 sequence) public {
        _anchorTo(8);
        Checkpoint memory message = _checkpointAt(9);
        message.batches = batches;
        message.sequence = sequence;
        VM.assume(batches <= 8 || sequence <= 16);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotNewer.selector, 8, 16, batches, sequence));
        anchorContract.anchor(message, signature, _empty());
    }

    function testFuzz_anotherKeyIsRefused(uint256 secret) public {
        secret = within(secret, 1, CURVE_ORDER - 2);
        if (secret >= SEQUENCER_SECRET) ++secret;
        Checkpoint memory message = _checkpointAt(3);
        bytes memory signature = _sign(secret, message);
        VM.expectRevert(
            abi.encodeWithSelector(IKedgeAnchor.WrongSigner.selector, VM.addr(secret), VM.addr(SEQUENCER_SECRET))
        );
        anchorContract.anchor(message, signature, _empty());
    }

    function testFuzz_aChangedFieldIsRefused(uint256 field, uint256 change) public {
        Checkpoint memory message = _checkpointAt(3);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        bytes32 flip = bytes32(within(change, 1, type(uint256).max - 1));
        field = field % 6;
        if (field == 0) message.batches += 1;
        else if (field == 1) message.sequence += 1;
        else if (field == 2) message.head ^= flip;
        else if (field == 3) message.history ^= flip;
        else if (field == 4) message.state ^= flip;
        else message.issuedAt -= 1;
        VM.expectPartialRevert(IKedgeAnchor.WrongSigner.selector);
        anchorContract.anchor(message, signature, _empty());
    }

    function test_anotherDomainIsRefused() public {
        Checkpoint memory message = _checkpointAt(3);
        KedgeAnchor other = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(0));
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.expectPartialRevert(IKedgeAnchor.WrongSigner.selector);
        other.anchor(message, signature, _empty());
    }

    function test_malformedSignaturesAreRefused() public {
        Checkpoint memory message = _checkpointAt(3);
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(SEQUENCER_SECRET, _digest(anchorContract.domainSeparator(), message));
        bytes32 highS = bytes32(CURVE_ORDER - uint256(s));
        VM.expectRevert(abi.encodeWithSelector(ECDSA.ECDSAInvalidSignatureS.selector, highS));
        anchorContract.anchor(message, abi.encodePacked(r, highS, v == 27 ? uint8(28) : uint8(27)), _empty());
        VM.expectRevert(abi.encodeWithSelector(ECDSA.ECDSAInvalidSignatureLength.selector, 64));
        anchorContract.anchor(message, abi.encodePacked(r, s), _empty());
        VM.expectRevert(abi.encodeWithSelector(ECDSA.ECDSAInvalidSignatureLength.selector, 66));
        anchorContract.anchor(message, abi.encodePacked(r, s, v, v), _empty());
        VM.expectRevert(ECDSA.ECDSAInvalidSignature.selector);
        anchorContract.anchor(message, abi.encodePacked(r, s, v - 27), _empty());
        VM.expectRevert(ECDSA.ECDSAInvalidSignature.selector);
        anchorContract.anchor(message, new bytes(65), _empty());
    }

    function test_issuedAtMayBeAheadByTheBoundAlone() public {
        uint64 latestAllowed = START_S * 1000 + anchorContract.MAX_AHEAD_MS();
        Checkpoint memory message = _checkpointAt(3);
        message.issuedAt = latestAllowed + 1;
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.IssuedAhead.selector, latestAllowed + 1, latestAllowed));
        anchorContract.anchor(message, signature, _empty());
        message.issuedAt = latestAllowed;
        anchorContract.anchor(message, _sign(SEQUENCER_SECRET, message), _empty());
        _assertLatest(3);
    }

    function test_numbersWiderThanTheirTypesAreRefused() public {
        Checkpoint memory message = _checkpointAt(3);
        bytes memory call = abi.encodeCall(anchorContract.anchor, (message, _sign(SEQUENCER_SECRET, message), _empty()));
        // The highest byte of `batches`, after the selector: a second text of the same numbers must not pass.
        call[4] = 0x01;
        (bool isTaken,) = address(anchorContract).call(call);
        assertTrue(!isTaken, "dirty bits are refused");
        call[4] = 0x00;
        (isTaken,) = address(anchorContract).call(call);
        assertTrue(isTaken, "the clean call is taken");
    }

    function test_pauseStopsAnchoringAlone() public {
        _anchorTo(3);
        VM.prank(OWNER);
        anchorContract.pause();
        Checkpoint memory message = _checkpointAt(5);
        bytes memory signature = _sign(SEQUENCER_SECRET, message);
        bytes32[] memory proof = _proof(3, 5);
        VM.expectRevert(Pausable.EnforcedPause.selector);
        anchorContract.anchor(message, signature, proof);
        _assertLatest(3);
        assertEq(anchorContract.checkpoint(3).sequence, 6, "checkpoints stay readable");
        VM.prank(OWNER);
        anchorContract.unpause();
        anchorContract.anchor(message, signature, proof);
        _assertLatest(5);
    }

    function _empty() private pure returns (bytes32[] memory) {
        return new bytes32[](0);
    }
}

/// @dev Keys, their rotation, and who may do what.
contract GovernanceTest is AnchorFixture {
    address private constant NEXT_OWNER = address(0xB0B);
    uint256 private constant NEXT_SECRET = 0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1;

    function setUp() public {
        _deploy();
    }

    function test_aKeySignsFromItsBatchOn() public {
        _anchorTo(4);
        VM.expectEmit(address(anchorContract));
        emit IKedgeAnchor.SequencerKeyRotated(VM.addr(NEXT_SECRET), 6);
        _rotate(NEXT_SECRET, 6);
        assertEq(anchorContract.sequencerKeyAt(5), VM.addr(SEQUENCER_SECRET), "the last batch of the old key");
        assertEq(anchorContract.sequencerKeyAt(6), VM.addr(NEXT_SECRET), "the first batch of the new key");

        // Six batches end with number 5, seven with number 6.
        _refuseSigner(6, NEXT_SECRET, SEQUENCER_SECRET);
        _anchorTo(6);
        _refuseSigner(7, SEQUENCER_SECRET, NEXT_SECRET);
        Checkpoint memory message = _checkpointAt(7);
        anchorContract.anchor(message, _sign(NEXT_SECRET, message), _proof(6, 7));
        _assertLatest(7);
    }

    function test_rotationMustBeAboveTheLastAnchoredBatch() public {
        _anchorTo(4);
        address key = VM.addr(NEXT_SECRET);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.RotationTooEarly.selector, 3, 4, 0));
        VM.prank(OWNER);
        anchorContract.rotate(key, 3);
        _rotate(NEXT_SECRET, 4);
        assertEq(anchorContract.sequencerKeyAt(4), key, "the first open batch");
    }

    function test_rotationMustBeAboveTheLastRotation() public {
        address key = VM.addr(NEXT_SECRET);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.RotationTooEarly.selector, 0, 0, 0));
        VM.prank(OWNER);
        anchorContract.rotate(key, 0);
        _rotate(NEXT_SECRET, 9);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.RotationTooEarly.selector, 9, 0, 9));
        VM.prank(OWNER);
        anchorContract.rotate(key, 9);
        _rotate(STRANGER_SECRET, 10);
        assertEq(anchorContract.sequencerKeyAt(9), key, "a key of one batch");
    }

    function test_keysAreListed() public {
        for (uint64 i = 1; i <= 12; ++i) {
            _rotate(i, 10 * i);
        }
        assertEq(anchorContract.sequencerKeyCount(), 13, "count");
        for (uint32 i = 1; i <= 12; ++i) {
            (address key, uint64 fromBatch) = anchorContract.sequencerKey(i);
            assertEq(key, VM.addr(i), "key");
            assertEq(fromBatch, 10 * i, "fromBatch");
            assertEq(anchorContract.sequencerKeyAt(fromBatch), key, "valid from its batch");
            assertEq(anchorContract.sequencerKeyAt(fromBatch + 9), key, "to the next rotation");
        }
        assertEq(anchorContract.sequencerKeyAt(9), VM.addr(SEQUENCER_SECRET), "the first key");
        assertEq(anchorContract.sequencerKeyAt(type(uint64).max), VM.addr(12), "the last key");
    }

    function test_theZeroKeyIsRefused() public {
        VM.expectRevert(IKedgeAnchor.ZeroSequencerKey.selector);
        VM.prank(OWNER);
        anchorContract.rotate(address(0), 1);
        VM.expectRevert(IKedgeAnchor.ZeroSequencerKey.selector);
        new KedgeAnchor(OWNER, address(0), address(0));
    }

    function testFuzz_onlyTheOwnerGoverns(address caller) public {
        // Nobody sends from the zero address, which is also no owner's successor.
        VM.assume(caller != OWNER && caller != address(0));
        bytes memory refusal = abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, caller);
        VM.expectRevert(refusal);
        VM.prank(caller);
        anchorContract.rotate(caller, 5);
        VM.expectRevert(refusal);
        VM.prank(caller);
        anchorContract.pause();
        VM.expectRevert(refusal);
        VM.prank(caller);
        anchorContract.unpause();
        VM.expectRevert(refusal);
        VM.prank(caller);
        anchorContract.transferOwnership(caller);
        VM.expectRevert(refusal);
        VM.prank(caller);
        anchorContract.acceptOwnership();
    }

    function test_ownershipTakesTwoSteps() public {
        VM.prank(OWNER);
        anchorContract.transferOwnership(NEXT_OWNER);
        assertEq(anchorContract.owner(), OWNER, "not before it is accepted");
        VM.prank(NEXT_OWNER);
        anchorContract.acceptOwnership();
        assertEq(anchorContract.owner(), NEXT_OWNER, "the new owner");
        VM.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, OWNER));
        VM.prank(OWNER);
        anchorContract.pause();
    }

    function test_ownershipIsNeverDropped() public {
        VM.expectRevert(IKedgeAnchor.OwnershipRequired.selector);
        VM.prank(OWNER);
        anchorContract.renounceOwnership();
        assertEq(anchorContract.owner(), OWNER, "still owned");
    }

    function test_aSuccessorKeepsTheLogsDomain() public {
        KedgeAnchor successor = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), DOMAIN_CONTRACT);
        assertEq(successor.domainSeparator(), anchorContract.domainSeparator(), "one domain for the log's life");
        (,,,, address verifyingContract,,) = successor.eip712Domain();
        assertEq(verifyingContract, DOMAIN_CONTRACT, "the first contract");
        bytes32 separator = successor.domainSeparator();
        VM.chainId(1);
        assertEq(successor.domainSeparator(), separator, "fixed at construction");
        (,,, uint256 chainId,,,) = successor.eip712Domain();
        assertEq(chainId, 31337, "the chain id of construction");
    }

    function _rotate(uint256 secret, uint64 fromBatch) private {
        address key = VM.addr(secret);
        VM.prank(OWNER);
        anchorContract.rotate(key, fromBatch);
    }

    function _refuseSigner(uint64 size, uint256 secret, uint256 expectedSecret) private {
        Checkpoint memory message = _checkpointAt(size);
        bytes memory signature = _sign(secret, message);
        VM.expectRevert(
            abi.encodeWithSelector(IKedgeAnchor.WrongSigner.selector, VM.addr(secret), VM.addr(expectedSecret))
        );
        anchorContract.anchor(message, signature, new bytes32[](0));
    }
}
