// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";
import {StateHarness} from "./support/StateHarness.sol";

/// @dev Proofs that a real server gave of a thousand present ids and of a thousand absent ones. OpenZeppelin's verifier,
/// which knows nothing of this log, reads presence. It does not read absence, so the anchor does.
contract ServedStateTest is AnchorFixture {
    /// @dev An id and the hash of its entry. The proof's nodes are places in the list of all nodes.
    struct PresentId {
        string key;
        uint256[] nodes;
        bytes32 value;
    }

    struct AbsentId {
        string key;
        uint256[] nodes;
    }

    uint64 private constant SIZE = 7;
    uint256 private constant COUNT = 1_000;

    StateHarness private state;
    bytes32 private root;

    function setUp() public {
        _deploy();
        state = new StateHarness();
    }

    // Holds invariant 266.
    function test_openZeppelinFindsEveryPresentId() public {
        (bytes[] memory nodes, PresentId[] memory present,) = _served();
        for (uint256 i = 0; i < COUNT; ++i) {
            bytes[] memory proof = _nodesAt(nodes, present[i].nodes);
            assertTrue(_isFound(present[i].key, present[i].value, proof), present[i].key);
        }
    }

    // Holds invariant 266.
    function test_openZeppelinRefusesChangedProofs() public {
        (bytes[] memory nodes, PresentId[] memory present,) = _served();
        for (uint256 i = 0; i < COUNT; ++i) {
            bytes32 value = present[i].value;
            bytes[] memory proof = _nodesAt(nodes, present[i].nodes);
            if (i % 4 == 0) value ^= bytes32(1 << (uint256(keccak256(abi.encode(value))) % 256));
            else proof = _changed(proof, i, _foreign(nodes, present, proof));
            assertTrue(!_isFound(present[i].key, value, proof), present[i].key);
        }
    }

    // Holds invariant 253.
    function test_theAnchorShowsEveryAbsentId() public {
        (bytes[] memory nodes,, AbsentId[] memory absent) = _served();
        for (uint256 i = 0; i < COUNT; ++i) {
            bytes[] memory proof = _nodesAt(nodes, absent[i].nodes);
            assertEq(anchorContract.verifyAbsence(SIZE, absent[i].key, proof), 2 * SIZE, absent[i].key);
        }
    }

    // Holds invariant 253.
    function test_theAnchorRefusesChangedAbsences() public {
        (bytes[] memory nodes, PresentId[] memory present, AbsentId[] memory absent) = _served();
        for (uint256 i = 0; i < COUNT; ++i) {
            string memory key = absent[i].key;
            bytes[] memory proof = _nodesAt(nodes, absent[i].nodes);
            if (i % 4 == 0) key = present[i].key;
            else proof = _changed(proof, i, _foreign(nodes, present, proof));
            VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, key));
            anchorContract.verifyAbsence(SIZE, key, proof);
        }
    }

    /// @dev Reads the file, and anchors a checkpoint with its root.
    function _served() private returns (bytes[] memory nodes, PresentId[] memory present, AbsentId[] memory absent) {
        string memory json = VM.readFile("../crates/protocol/vectors/state-served.json");
        nodes = VM.parseJsonBytesArray(json, ".nodes");
        bytes memory encoded =
            VM.parseJsonTypeArray(json, ".present", "PresentId(string key,uint256[] nodes,bytes32 value)");
        present = abi.decode(encoded, (PresentId[]));
        encoded = VM.parseJsonTypeArray(json, ".absent", "AbsentId(string key,uint256[] nodes)");
        absent = abi.decode(encoded, (AbsentId[]));
        assertTrue(present.length == COUNT && absent.length == COUNT, "a thousand of each");
        root = VM.parseJsonBytes32(json, ".root");
        Checkpoint memory message = _checkpointAt(SIZE);
        message.state = root;
        anchorContract.anchor(message, _sign(SEQUENCER_SECRET, message), _proof(0, SIZE));
    }

    function _isFound(string memory key, bytes32 value, bytes[] memory proof) private view returns (bool) {
        bytes memory path = abi.encode(keccak256(bytes(key)));
        try state.traverse(root, path, proof) returns (bytes memory found) {
            return found.length == 32 && bytes32(found) == value;
        } catch {
            return false;
        }
    }

    /// @dev Flips a bit, leaves a node out, or replaces the last node.
    function _changed(bytes[] memory proof, uint256 number, bytes memory foreign)
        private
        pure
        returns (bytes[] memory)
    {
        uint256 dice = uint256(keccak256(abi.encode(number)));
        uint256 place = dice % proof.length;
        if (number % 4 == 1) {
            uint256 bit = (dice >> 128) % (8 * proof[place].length);
            // A copy, because proofs share their nodes.
            proof[place] = bytes.concat(proof[place]);
            proof[place][bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
            return proof;
        }
        if (number % 4 == 2) {
            bytes[] memory fewer = new bytes[](proof.length - 1);
            for (uint256 i = 0; i < fewer.length; ++i) {
                fewer[i] = proof[i < place ? i : i + 1];
            }
            return fewer;
        }
        proof[proof.length - 1] = foreign;
        return proof;
    }

    /// @dev A present id's leaf that the proof does not end with.
    function _foreign(bytes[] memory nodes, PresentId[] memory present, bytes[] memory proof)
        private
        pure
        returns (bytes memory leaf)
    {
        bytes32 last = keccak256(proof[proof.length - 1]);
        uint256 i = uint256(last) % (COUNT - 1);
        leaf = _leafOf(nodes, present[i]);
        if (keccak256(leaf) == last) leaf = _leafOf(nodes, present[i + 1]);
    }

    function _leafOf(bytes[] memory nodes, PresentId memory id) private pure returns (bytes memory) {
        return nodes[id.nodes[id.nodes.length - 1]];
    }

    function _nodesAt(bytes[] memory nodes, uint256[] memory places) private pure returns (bytes[] memory proof) {
        proof = new bytes[](places.length);
        for (uint256 i = 0; i < places.length; ++i) {
            proof[i] = nodes[places[i]];
        }
    }
}
