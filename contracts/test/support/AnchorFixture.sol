// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {KedgeAnchor} from "../../src/KedgeAnchor.sol";
import {Checkpoint} from "../../src/LogRecords.sol";
import {ReferenceTree} from "./ReferenceTree.sol";
import {TestBase} from "./TestBase.sol";

/// @dev A contract at the vectors' address, and a log of made-up batches that its sequencer signs.
abstract contract AnchorFixture is TestBase {
    /// @dev The first contract of this account has the vectors' address.
    address internal constant DEPLOYER = 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266;
    address internal constant DOMAIN_CONTRACT = 0x5FbDB2315678afecb367f032d93F642f64180aa3;
    uint256 internal constant SEQUENCER_SECRET = 0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e;
    uint256 internal constant STRANGER_SECRET = 0xb2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2;
    address internal constant OWNER = address(0x0FFE);
    uint64 internal constant START_S = 1_790_000_000;
    bytes32 internal constant CHECKPOINT_TYPEHASH = keccak256(
        "Checkpoint(uint64 batches,uint64 sequence,bytes32 head,bytes32 history,bytes32 state,uint64 issuedAt)"
    );

    KedgeAnchor internal anchorContract;
    bytes32[] internal leaves;

    function _deploy() internal {
        VM.chainId(31337);
        VM.warp(START_S);
        VM.prank(DEPLOYER);
        anchorContract = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(0));
    }

    /// @dev Adds made-up batches until the log holds `size`.
    function _growTo(uint256 size) internal {
        while (leaves.length < size) leaves.push(keccak256(abi.encode("batch", leaves.length)));
    }

    /// @dev The checkpoint over the log's first `size` batches, two actions in each.
    function _checkpointAt(uint64 size) internal returns (Checkpoint memory) {
        _growTo(size);
        return Checkpoint({
            batches: size,
            sequence: 2 * size,
            head: keccak256(abi.encode("head", size)),
            history: ReferenceTree.root(leaves, size),
            state: 0,
            issuedAt: START_S * 1000
        });
    }

    function _digest(bytes32 domainSeparator, Checkpoint memory message) internal pure returns (bytes32) {
        bytes32 structHash = keccak256(
            abi.encode(
                CHECKPOINT_TYPEHASH,
                message.batches,
                message.sequence,
                message.head,
                message.history,
                message.state,
                message.issuedAt
            )
        );
        return keccak256(abi.encodePacked("\x19\x01", domainSeparator, structHash));
    }

    function _sign(uint256 secret, Checkpoint memory message) internal view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(secret, _digest(anchorContract.domainSeparator(), message));
        return abi.encodePacked(r, s, v);
    }

    function _proof(uint64 oldSize, uint64 newSize) internal returns (bytes32[] memory) {
        _growTo(newSize);
        return ReferenceTree.consistency(leaves, oldSize, newSize);
    }

    /// @dev Anchors the first `size` batches after the last checkpoint, as an honest sender does.
    function _anchorTo(uint64 size) internal returns (Checkpoint memory message) {
        (uint64 last,,) = anchorContract.latest();
        message = _checkpointAt(size);
        anchorContract.anchor(message, _sign(SEQUENCER_SECRET, message), _proof(last, size));
    }

    function _assertLatest(uint64 size) internal view {
        (uint64 batches, uint64 sequence, bytes32 history) = anchorContract.latest();
        assertEq(batches, size, "latest batches");
        assertEq(sequence, 2 * size, "latest sequence");
        assertEq(history, ReferenceTree.root(leaves, size), "latest history");
    }
}
