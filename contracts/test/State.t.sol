// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TrieOutcome} from "../src/StateTrie.sol";
import {StateHarness} from "./support/StateHarness.sol";
import {TestBase} from "./support/TestBase.sol";

/// @dev The vectors of the state, made by an independent trie: every proof and entry has its verdict here.
contract StateTest is TestBase {
    bytes32 private constant ZERO = 0;

    string private json;
    StateHarness private state;

    function setUp() public {
        json = VM.readFile("../crates/protocol/vectors/state.json");
        state = new StateHarness();
    }

    // Holds invariant 253.
    function test_everyPresentEntryIsShown() public view {
        uint256 count = 0;
        for (uint256 i = 0; _has(_at(".cases", i)); ++i) {
            bytes32 root = _word(_at(".cases", i), ".root");
            string memory list = string.concat(_at(".cases", i), ".present");
            for (uint256 j = 0; _has(_at(list, j)); ++j) {
                _mustShow(root, _at(list, j));
                ++count;
            }
        }
        assertEq(count, 22, "present entries");
    }

    // Holds invariant 253.
    function test_everyAbsenceIsShown() public view {
        uint256 count = 0;
        for (uint256 i = 0; _has(_at(".cases", i)); ++i) {
            bytes32 root = _word(_at(".cases", i), ".root");
            string memory list = string.concat(_at(".cases", i), ".absent");
            for (uint256 j = 0; _has(_at(list, j)); ++j) {
                bytes32 path = _pathOf(_at(list, j));
                (TrieOutcome outcome,) = state.follow(root, path, _nodes(_at(list, j)));
                assertTrue(outcome == TrieOutcome.Absent, _text(_at(list, j), ".key"));
                ++count;
            }
        }
        assertEq(count, 9, "absences");
    }

    // Holds invariant 253.
    function test_everyWrongProofIsRefused() public view {
        uint256 count = 0;
        for (; _has(_at(".must_refuse", count)); ++count) {
            string memory entry = _at(".must_refuse", count);
            bytes memory raw = VM.parseJsonBytes(json, string.concat(entry, ".entry"));
            (TrieOutcome outcome, bytes32 value) = state.follow(_word(entry, ".root"), _pathOf(entry), _nodes(entry));
            bool isShown = raw.length == 0
                ? outcome == TrieOutcome.Absent
                : outcome == TrieOutcome.Present && value == keccak256(raw);
            assertTrue(!isShown, _text(entry, ".why"));
        }
        assertEq(count, 18, "wrong proofs");
    }

    // Holds invariant 253.
    function test_everyMalformedEntryIsRefused() public view {
        uint256 count = 0;
        for (; _has(_at(".malformed", count)); ++count) {
            string memory entry = _at(".malformed", count);
            bytes memory raw = VM.parseJsonBytes(json, string.concat(entry, ".entry"));
            (TrieOutcome outcome, bytes32 value) = state.follow(_word(entry, ".root"), _pathOf(entry), _nodes(entry));
            assertTrue(outcome == TrieOutcome.Present && value == keccak256(raw), _text(entry, ".why"));
            uint64 sequence = uint64(VM.parseJsonUint(json, string.concat(entry, ".checkpoint_sequence")));
            (, bool isWellFormed) = state.read(_text(entry, ".key"), raw, sequence);
            assertTrue(!isWellFormed, _text(entry, ".why"));
        }
        assertEq(count, 25, "malformed entries");
    }

    // Holds invariant 266.
    /// @dev OpenZeppelin's verifier, which knows nothing of this log, takes every proof of presence.
    function test_openZeppelinTakesEveryProofOfPresence() public view {
        uint256 count = 0;
        for (uint256 i = 0; _has(_at(".cases", i)); ++i) {
            bytes32 root = _word(_at(".cases", i), ".root");
            string memory list = string.concat(_at(".cases", i), ".present");
            for (uint256 j = 0; _has(_at(list, j)); ++j) {
                bytes32 path = _pathOf(_at(list, j));
                bytes memory value = state.traverse(root, abi.encode(path), _nodes(_at(list, j)));
                assertEq(bytes32(value), _word(_at(list, j), ".value"), _text(_at(list, j), ".key"));
                ++count;
            }
        }
        assertEq(count, 22, "present entries");
    }

    function _mustShow(bytes32 root, string memory entry) private view {
        string memory key = _text(entry, ".key");
        bytes memory raw = VM.parseJsonBytes(json, string.concat(entry, ".entry"));
        bytes[] memory nodes = _nodes(entry);
        (TrieOutcome outcome, bytes32 value) = state.follow(root, _pathOf(entry), nodes);
        assertTrue(outcome == TrieOutcome.Present, key);
        assertEq(value, keccak256(raw), key);
        assertEq(value, _word(entry, ".value"), key);
        (, bool isWellFormed) = state.read(key, raw, type(uint64).max);
        assertTrue(isWellFormed, key);
        _mustRefuseChanges(root, _pathOf(entry), nodes);
    }

    /// @dev No bit of a proof may be another, no node may be missing, and none may be too many.
    function _mustRefuseChanges(bytes32 root, bytes32 path, bytes[] memory nodes) private view {
        for (uint256 i = 0; i < nodes.length; ++i) {
            uint256 bit = uint256(keccak256(abi.encode(root, path, i))) % (8 * nodes[i].length);
            nodes[i][bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
            (TrieOutcome outcome,) = state.follow(root, path, nodes);
            assertTrue(outcome == TrieOutcome.Unproven, "a changed bit");
            nodes[i][bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
        }
        bytes[] memory more = new bytes[](nodes.length + 1);
        bytes[] memory fewer = new bytes[](nodes.length - 1);
        for (uint256 i = 0; i < nodes.length; ++i) {
            more[i] = nodes[i];
            if (i != 0) fewer[i - 1] = nodes[i];
        }
        more[nodes.length] = nodes[0];
        (TrieOutcome unused,) = state.follow(root, path, more);
        assertTrue(unused == TrieOutcome.Unproven, "a node too many");
        (unused,) = state.follow(root, path, fewer);
        assertTrue(unused == TrieOutcome.Unproven, "a node too few");
    }

    function _pathOf(string memory entry) private view returns (bytes32 path) {
        string memory key = _text(entry, ".key");
        path = keccak256(bytes(key));
        if (_has(string.concat(entry, ".path"))) assertEq(path, _word(entry, ".path"), key);
        assertTrue(state.parse(key) != ZERO, key);
    }

    function _nodes(string memory entry) private view returns (bytes[] memory) {
        return VM.parseJsonBytesArray(json, string.concat(entry, ".nodes"));
    }

    function _has(string memory key) private view returns (bool) {
        return VM.keyExistsJson(json, key);
    }

    function _word(string memory entry, string memory member) private view returns (bytes32) {
        return VM.parseJsonBytes32(json, string.concat(entry, member));
    }

    function _text(string memory entry, string memory member) private view returns (string memory) {
        return VM.parseJsonString(json, string.concat(entry, member));
    }

    function _at(string memory list, uint256 index) private pure returns (string memory) {
        return string.concat(list, "[", VM.toString(index), "]");
    }
}
