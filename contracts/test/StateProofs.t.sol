// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {StateTrie, TrieOutcome} from "../src/StateTrie.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";
import {GasMeter} from "./support/GasMeter.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";
import {ReferenceTrie} from "./support/ReferenceTrie.sol";
import {StateHarness} from "./support/StateHarness.sol";

/// @dev The predecessor of a log that is older than roots: its record has no state.
contract StatelessAnchor {
    struct StatelessRecord {
        uint64 sequence;
        uint64 issuedAt;
        uint64 anchoredAt;
        uint64 blockNumber;
        bytes32 history;
    }

    KedgeAnchor private immutable ANCHOR;
    address private _successor;

    constructor(KedgeAnchor anchor) {
        ANCHOR = anchor;
    }

    function checkpoint(uint64 batches) external view returns (StatelessRecord memory) {
        IKedgeAnchor.Record memory record = ANCHOR.checkpoint(batches);
        return StatelessRecord(record.sequence, record.issuedAt, record.anchoredAt, record.blockNumber, record.history);
    }

    function latest() external view returns (uint64, uint64, bytes32) {
        return ANCHOR.latest();
    }

    function takeOver(IKedgeAnchor next) external {
        next.takeOver();
    }

    function successor() external view returns (address) {
        return _successor;
    }

    function retire(address next) external {
        _successor = next;
    }
}

/// @dev Proofs of the state against anchored checkpoints, and the forms that a trie's nodes must not have.
contract StateProofsTest is AnchorFixture, GasMeter {
    uint256 private constant PROOF_GAS_MAX = 300_000;
    bytes32 private constant PATH = 0x123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0;
    bytes32 private constant VALUE = keccak256("value");
    string private constant KEY = "org_35rx61b9m631xvdezsjp7mjky6";
    bytes private constant ENTRY = hex"e4010309a0a41c1aa15e8ca5ea281348e474c978114d3abe65aea9968faedcaa613c295d8e";
    uint64 private constant SIZE = 7;

    StateHarness private state;
    bytes32[] private paths;
    bytes32[] private values;

    function setUp() public {
        _deploy();
        state = new StateHarness();
    }

    function test_theAnchorShowsAnEntry() public {
        bytes[] memory nodes = _anchorEntry(ENTRY);
        assertEq(anchorContract.checkpoint(SIZE).state, _root(), "the state is kept");
        assertEq(anchorContract.verifyState(SIZE, KEY, ENTRY, nodes), 2 * SIZE, "the checkpoint's sequence");
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, KEY));
        anchorContract.verifyState(SIZE, KEY, hex"c0", nodes);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, KEY));
        anchorContract.verifyAbsence(SIZE, KEY, nodes);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnknownCheckpoint.selector, SIZE + 1));
        anchorContract.verifyState(SIZE + 1, KEY, ENTRY, nodes);
    }

    function test_theAnchorShowsAnAbsence() public {
        _anchorEntry(ENTRY);
        string memory key = "obj_13abd7507hvv63nkrvn17bjhe9";
        bytes[] memory nodes = ReferenceTrie.proof(paths, values, keccak256(bytes(key)));
        assertEq(anchorContract.verifyAbsence(SIZE, key, nodes), 2 * SIZE, "the checkpoint's sequence");
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, key));
        anchorContract.verifyState(SIZE, key, ENTRY, nodes);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, key));
        anchorContract.verifyAbsence(SIZE, key, new bytes[](0));
    }

    function test_theAnchorRefusesAMalformedEntry() public {
        // Version 3 at sequence 15 of a checkpoint that ends at 14.
        bytes memory entry = bytes.concat(hex"e401030fa0", VALUE);
        bytes[] memory nodes = _anchorEntry(entry);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.MalformedEntry.selector, SIZE, KEY));
        anchorContract.verifyState(SIZE, KEY, entry, nodes);
    }

    function test_aCheckpointWithoutARootProvesNothing() public {
        _anchorTo(3);
        bytes[] memory none = new bytes[](0);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnrootedCheckpoint.selector, 3));
        anchorContract.verifyAbsence(3, KEY, none);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnrootedCheckpoint.selector, 3));
        anchorContract.verifyState(3, KEY, ENTRY, none);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnrootedCheckpoint.selector, 0));
        anchorContract.verifyAbsence(0, KEY, none);
    }

    function test_onlyIdsOfEntriesAreKeys() public {
        _anchorState(StateTrie.EMPTY_ROOT);
        bytes[] memory none = new bytes[](0);
        string[9] memory kept = ["obj", "wal", "org", "tpl", "var", "key", "whk", "fil", "dsp"];
        for (uint256 i = 0; i < kept.length; ++i) {
            string memory key = string.concat(kept[i], "_35rx61b9m631xvdezsjp7mjky6");
            assertEq(anchorContract.verifyAbsence(SIZE, key, none), 2 * SIZE, key);
            VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, key));
            anchorContract.verifyState(SIZE, key, ENTRY, none);
        }
        string[5] memory others = ["act", "bat", "anc", "evt", "dlv"];
        for (uint256 i = 0; i < others.length; ++i) {
            _mustBeUnfit(string.concat(others[i], "_35rx61b9m631xvdezsjp7mjky6"));
        }
        // Of an action, presence alone is asked for.
        string memory action = "act_35rx61b9m631xvdezsjp7mjky6";
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, SIZE, action));
        anchorContract.verifyState(SIZE, action, ENTRY, none);
        _mustBeUnfit("");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjky");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjky60");
        _mustBeUnfit("org-35rx61b9m631xvdezsjp7mjky6");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjkY6");
        _mustBeUnfit("org_85rx61b9m631xvdezsjp7mjky6");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjku6");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjki6");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjkl6");
        _mustBeUnfit("org_35rx61b9m631xvdezsjp7mjko6");
        _mustBeUnfit(unicode"org_35rx61b9m631xvdezsjp7mjké");
    }

    function test_aPredecessorWithoutStateLeavesNone() public {
        Checkpoint memory last = _anchorTo(3);
        StatelessAnchor old = new StatelessAnchor(anchorContract);
        KedgeAnchor next = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(old));
        old.retire(address(next));
        old.takeOver(next);
        IKedgeAnchor.Record memory record = next.checkpoint(3);
        assertEq(record.history, last.history, "the successor has the history");
        assertEq(record.issuedAt, last.issuedAt, "and the time");
        assertEq(record.state, 0, "there is no state");
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnrootedCheckpoint.selector, 3));
        next.verifyAbsence(3, KEY, new bytes[](0));
    }

    function test_aSuccessorTakesTheStateOver() public {
        bytes[] memory nodes = _anchorEntry(ENTRY);
        KedgeAnchor next = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(anchorContract));
        VM.prank(OWNER);
        anchorContract.retire(address(next));
        assertEq(next.verifyState(SIZE, KEY, ENTRY, nodes), 2 * SIZE, "the entry is shown there");
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_theTrieShowsWhatItHolds(uint256 seed, uint8 count) public view {
        (bytes32[] memory keys, bytes32[] memory held) = _fill(seed, within(count, 1, 40));
        bytes32 root = ReferenceTrie.root(keys, held);
        for (uint256 i = 0; i < keys.length; ++i) {
            bytes[] memory nodes = ReferenceTrie.proof(keys, held, keys[i]);
            (TrieOutcome outcome, bytes32 value) = state.follow(root, keys[i], nodes);
            assertTrue(outcome == TrieOutcome.Present && value == held[i], "what is held is shown");
            bytes32 other = keys[i] ^ bytes32(1 << (seed % 256));
            bool isHeld = false;
            for (uint256 j = 0; j < keys.length; ++j) {
                if (keys[j] == other) isHeld = true;
            }
            if (isHeld) continue;
            nodes = ReferenceTrie.proof(keys, held, other);
            (outcome,) = state.follow(root, other, nodes);
            assertTrue(outcome == TrieOutcome.Absent, "what is not held is absent");
        }
    }

    /// @dev Two paths that part at the last nibble: 63 shared ones, and leaves without a path.
    function test_thePathsPartAtTheLastNibble() public view {
        bytes32[] memory keys = new bytes32[](2);
        bytes32[] memory held = new bytes32[](2);
        (keys[0], keys[1]) = (PATH, PATH | bytes32(uint256(1)));
        (held[0], held[1]) = (VALUE, PATH);
        bytes[] memory nodes = ReferenceTrie.proof(keys, held, keys[1]);
        assertEq(nodes.length, 3, "an extension, a branch, a leaf");
        (TrieOutcome outcome, bytes32 value) = state.follow(ReferenceTrie.root(keys, held), keys[1], nodes);
        assertTrue(outcome == TrieOutcome.Present && value == PATH, "present");
        // An extension through all 64 nibbles leads nowhere.
        bytes[] memory one = new bytes[](1);
        one[0] = ReferenceTrie.pair(ReferenceTrie.compact(PATH, 0, 64, false), VALUE);
        (outcome,) = state.follow(keccak256(one[0]), PATH, one);
        assertTrue(outcome == TrieOutcome.Broken, "an extension of 64 nibbles");
    }

    /// @dev The root of the empty trie is the hash of one byte, which is no node: showing it is no fault.
    function test_theEmptyTrieHasNoNodes() public view {
        bytes[] memory nodes = new bytes[](1);
        nodes[0] = hex"80";
        (TrieOutcome outcome,) = state.follow(keccak256(hex"80"), PATH, nodes);
        assertTrue(outcome == TrieOutcome.Unproven, "one node");
        (outcome,) = state.follow(keccak256(hex"80"), PATH, new bytes[](0));
        assertTrue(outcome == TrieOutcome.Absent, "none");
        (outcome,) = state.follow(0, PATH, new bytes[](0));
        assertTrue(outcome == TrieOutcome.Unproven, "zero is no root");
    }

    function test_brokenForms() public view {
        bytes memory leaf = ReferenceTrie.compact(PATH, 0, 64, true);
        _mustBreak(abi.encodePacked(hex"f843", hex"a1", leaf, hex"a0", VALUE, hex"00"), "a byte after it");
        _mustBreak(abi.encodePacked(hex"f90043", hex"a1", leaf, hex"a0", VALUE), "a long length");
        _mustBreak(abi.encodePacked(hex"f844", hex"b821", leaf, hex"a0", VALUE), "a long length of the path");
        _mustBreak(ReferenceTrie.pair(hex"", VALUE), "no path");
        _mustBreak(ReferenceTrie.pair(hex"00", VALUE), "an extension without a path");
        _mustBreak(ReferenceTrie.pair(hex"20", VALUE), "a leaf without a path, at the root");
        _mustBreak(ReferenceTrie.list(abi.encodePacked(hex"8120a0", VALUE)), "a byte as a string");
        _mustBreak(ReferenceTrie.list(hex"2080"), "below 32 bytes");
        _mustBreak(ReferenceTrie.text(abi.encodePacked(leaf, VALUE)), "no list");
        leaf[0] = 0x40;
        _mustBreak(ReferenceTrie.pair(leaf, VALUE), "a flag of 4");
        leaf[0] = 0x21;
        _mustBreak(ReferenceTrie.pair(leaf, VALUE), "a pad");
        leaf[0] = 0x30;
        _mustBreak(ReferenceTrie.pair(leaf, VALUE), "65 nibbles");
        leaf[0] = 0x20;
        _mustBreak(ReferenceTrie.list(abi.encodePacked(hex"a1", leaf, hex"a0", VALUE, hex"80")), "a member too many");
        _mustBreak(ReferenceTrie.list(abi.encodePacked(hex"a1", leaf, hex"9f", bytes31(VALUE))), "31 bytes");
        _mustBreak(_branch(1, hex"80"), "one child");
        _mustBreak(_branch(0, hex"80"), "no child");
        _mustBreak(_branch(2, hex"01"), "a value");
        _mustBreak(_branch(2, hex""), "16 members");
        _mustBreak(_branch(2, hex"8080"), "18 members");
        bytes[] memory right = new bytes[](1);
        right[0] = _branch(2, hex"80");
        (TrieOutcome outcome,) = state.follow(keccak256(right[0]), PATH, right);
        assertTrue(outcome == TrieOutcome.Unproven, "two children are enough");
    }

    function test_anExtensionLeadsToABranch() public view {
        bytes[] memory nodes = new bytes[](2);
        nodes[1] = ReferenceTrie.pair(ReferenceTrie.compact(PATH, 5, 64, true), VALUE);
        nodes[0] = ReferenceTrie.pair(ReferenceTrie.compact(PATH, 0, 5, false), keccak256(nodes[1]));
        (TrieOutcome outcome,) = state.follow(keccak256(nodes[0]), PATH, nodes);
        assertTrue(outcome == TrieOutcome.Broken, "to a leaf");
        nodes[1] = ReferenceTrie.pair(ReferenceTrie.compact(PATH, 5, 9, false), VALUE);
        nodes[0] = ReferenceTrie.pair(ReferenceTrie.compact(PATH, 0, 5, false), keccak256(nodes[1]));
        (outcome,) = state.follow(keccak256(nodes[0]), PATH, nodes);
        assertTrue(outcome == TrieOutcome.Broken, "to another extension");
        // Broken is the last node alone.
        bytes[] memory more = new bytes[](3);
        (more[0], more[1], more[2]) = (nodes[0], nodes[1], nodes[1]);
        (outcome,) = state.follow(keccak256(nodes[0]), PATH, more);
        assertTrue(outcome == TrieOutcome.Unproven, "a node after the broken one");
    }

    /// @dev Six full branches, one of two children and a leaf: a deep place among ten million.
    /// forge-config: default.isolate = true
    function test_gasOfAProofOverTenMillionEntries() public {
        string memory key = "obj_13abd7507hvv63nkrvn17bjhe9";
        bytes memory entry =
            hex"f8d8010108a0dd7f2f70bf019aafe72379c0bea15b5880254534f89cfaa54f245c3a4575ab609e6f72675f33357278363162396d363331787664657a736a70376d6a6b79369e74706c5f373371363534763872743239796d71716b653863316b79736e749e7661725f32636a683435773331316e737034336b67787a73787071797065019e77616c5f3330726e636779777165796139666a6e32747a676d6279727961947bbd9f89b699cb3699d65bed4e819867fcb88d6880a07b49e11dbc5b9f405355eb626e42f5c801e1f9d60b478af95f9c6949d9ecc90e";
        (bytes32 root, bytes[] memory nodes) = ReferenceTrie.deepProof(keccak256(bytes(key)), keccak256(entry), 7);
        _anchorState(root);
        _record(
            "state proof over 10 M entries",
            address(anchorContract),
            abi.encodeCall(anchorContract.verifyState, (SIZE, key, entry, nodes)),
            0,
            PROOF_GAS_MAX
        );
        string memory absent = "obj_23abd7507hvv63nkrvn17bjhe9";
        (root, nodes) = ReferenceTrie.deepProof(keccak256(bytes(absent)) ^ bytes32(uint256(1)), keccak256(entry), 7);
        _deploy();
        delete leaves;
        _anchorState(root);
        _record(
            "proof of absence over 10 M entries",
            address(anchorContract),
            abi.encodeCall(anchorContract.verifyAbsence, (SIZE, absent, nodes)),
            0,
            PROOF_GAS_MAX
        );
    }

    function _branch(uint256 children, bytes memory end) private pure returns (bytes memory) {
        bytes memory payload = "";
        for (uint256 i = 0; i < 16; ++i) {
            payload = i < children
                ? abi.encodePacked(payload, hex"a0", keccak256(abi.encode(i)))
                : abi.encodePacked(payload, hex"80");
        }
        return ReferenceTrie.list(abi.encodePacked(payload, end));
    }

    function _mustBreak(bytes memory node, string memory what) private view {
        bytes[] memory nodes = new bytes[](1);
        nodes[0] = node;
        (TrieOutcome outcome,) = state.follow(keccak256(node), PATH, nodes);
        assertTrue(outcome == TrieOutcome.Broken, what);
    }

    function _mustBeUnfit(string memory key) private {
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnfitStateKey.selector, key));
        anchorContract.verifyAbsence(SIZE, key, new bytes[](0));
    }

    function _anchorEntry(bytes memory entry) private returns (bytes[] memory) {
        (paths, values) = _fill(7, 20);
        bytes32 path = keccak256(bytes(KEY));
        for (uint256 i = 0; i < paths.length; ++i) {
            if (i + 1 == paths.length || paths[i + 1] > path) {
                (paths[i], values[i]) = (path, keccak256(entry));
                break;
            }
        }
        _anchorState(_root());
        return ReferenceTrie.proof(paths, values, path);
    }

    function _root() private view returns (bytes32) {
        return ReferenceTrie.root(paths, values);
    }

    function _anchorState(bytes32 root) private {
        Checkpoint memory message = _checkpointAt(SIZE);
        message.state = root;
        bytes32[] memory proof = ReferenceTree.consistency(leaves, 0, SIZE);
        anchorContract.anchor(message, _sign(SEQUENCER_SECRET, message), proof);
    }

    /// @dev Ascending paths, some of which share a long beginning.
    function _fill(uint256 seed, uint256 count) private pure returns (bytes32[] memory keys, bytes32[] memory held) {
        keys = new bytes32[](count);
        held = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            bytes32 key = keccak256(abi.encode(seed, i));
            if (i % 3 == 2) key = keys[i - 1] ^ bytes32(1 << (uint256(key) % 256));
            uint256 place = i;
            while (place > 0 && keys[place - 1] > key) {
                keys[place] = keys[place - 1];
                --place;
            }
            keys[place] = key;
        }
        for (uint256 i = 0; i < count; ++i) {
            held[i] = keccak256(abi.encode(seed, keys[i]));
            if (i != 0 && keys[i] == keys[i - 1]) keys[i] = bytes32(uint256(keys[i]) + 1);
        }
    }

    function _group() internal pure override returns (string memory) {
        return "StateProofs";
    }
}
