// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Checkpoint, LogRecords} from "../src/LogRecords.sol";
import {ShownEntry, StateFaults} from "../src/StateFaults.sol";
import {LeafFacts, StateHistory} from "../src/StateHistory.sol";
import {StateSigners} from "../src/StateSigners.sol";
import {StateHarness} from "./support/StateHarness.sol";
import {TestBase} from "./support/TestBase.sol";

/// @dev The table of verdicts over entries and leaves that all checkers share.
contract StateVerdictsTest is TestBase {
    uint256 private constant VERDICTS = 144;

    string private json;
    StateHarness private state;

    function setUp() public {
        json = VM.readFile("../crates/protocol/vectors/state-faults.json");
        state = new StateHarness();
    }

    function test_thereAreNoMoreVerdicts() public view {
        assertTrue(VM.keyExistsJson(json, _at(".vectors", VERDICTS - 1)), "the last one");
        assertTrue(!VM.keyExistsJson(json, _at(".vectors", VERDICTS)), "none after it");
    }

    function test_verdicts0To35() public view {
        _judgeQuarter(0, 15);
    }

    function test_verdicts36To71() public view {
        _judgeQuarter(1, 17);
    }

    function test_verdicts72To107() public view {
        _judgeQuarter(2, 10);
    }

    function test_verdicts108To143() public view {
        _judgeQuarter(3, 9);
    }

    /// @dev A quarter of the table: the whole does not fit into one test's gas.
    function _judgeQuarter(uint256 quarter, uint256 convictions) private view {
        uint256 found = 0;
        for (uint256 i = quarter * VERDICTS / 4; i < (quarter + 1) * VERDICTS / 4; ++i) {
            string memory vector = _at(".vectors", i);
            string memory name = VM.parseJsonString(json, string.concat(vector, ".name"));
            bool isConvicted = _isText(string.concat(vector, ".verdict"), "convict");
            bytes32 fault = keccak256(bytes(VM.parseJsonString(json, string.concat(vector, ".fault"))));
            assertTrue(_judge(fault, string.concat(vector, ".evidence")) == isConvicted, name);
            if (isConvicted) ++found;
        }
        assertEq(found, convictions, "convictions");
    }

    function _judge(bytes32 fault, string memory evidence) private view returns (bool) {
        if (fault == keccak256("unrooted checkpoint")) {
            return StateFaults.isUnrooted(
                _checkpoint(string.concat(evidence, ".first")), _checkpoint(string.concat(evidence, ".second"))
            );
        }
        if (fault == keccak256("malformed state")) return StateFaults.isMalformed(_entry(evidence, ".entry"));
        if (fault == keccak256("stale state")) {
            return StateHistory.isStale(_entry(evidence, ".entry"), _leaf(string.concat(evidence, ".leaf")));
        }
        if (fault == keccak256("false entry")) {
            return StateHistory.isEntryFalse(
                _entry(evidence, ".entry"),
                _leaf(string.concat(evidence, ".leaf")),
                VM.parseJsonString(json, string.concat(evidence, ".kind")),
                state.parse(VM.parseJsonString(json, string.concat(evidence, ".to")))
            );
        }
        if (fault == keccak256("missing state")) {
            return StateHistory.isMissing(
                _entry(evidence, ".entry"),
                _leaf(string.concat(evidence, ".leaf")),
                VM.parseJsonString(json, string.concat(evidence, ".kind"))
            );
        }
        if (fault == keccak256("false owner")) {
            return StateHistory.isOwnerFalse(_entry(evidence, ".first"), _entry(evidence, ".second"), _leaves(evidence));
        }
        if (fault == keccak256("trespass")) return _isTrespass(evidence);
        if (fault == keccak256("foreign hand")) {
            ShownEntry memory entry = _entry(evidence, ".entry");
            LeafFacts memory leaf = _leaf(string.concat(evidence, ".leaf"));
            return StateSigners.isHandForeign(entry, leaf, _entry(evidence, ".wallet"));
        }
        if (fault == keccak256("ghost member")) {
            return StateSigners.isMemberGhost(_leaf(string.concat(evidence, ".leaf")), _entry(evidence, ".wallet"));
        }
        return _judgePair(fault, evidence);
    }

    function _judgePair(bytes32 fault, string memory evidence) private view returns (bool) {
        if (fault == keccak256("false address")) {
            return StateFaults.isAddressFalse(_entry(evidence, ".object"), _entry(evidence, ".wallet"));
        }
        if (fault == keccak256("oversupply: template")) {
            return StateFaults.isOversupplied(_entry(evidence, ".object"), _entry(evidence, ".template"));
        }
        ShownEntry memory first = _entry(evidence, ".first");
        ShownEntry memory second = _entry(evidence, ".second");
        if (fault == keccak256("rewritten state")) return StateFaults.isRewritten(first, second);
        if (fault == keccak256("two-faced state")) return StateFaults.isTwoFaced(first, second);
        if (fault == keccak256("twin state")) return StateFaults.isTwin(first, second);
        if (fault == keccak256("oversupply: serial")) return StateFaults.isSerialRepeated(first, second);
        if (fault == keccak256("oversupply: max_supply")) return StateFaults.isMaxSupplyChanged(first, second);
        revert("a fault that this test does not know");
    }

    /// @dev Both forms: by a wallet, and by the plain text of a kind that has no rule.
    function _isTrespass(string memory evidence) private view returns (bool isConvicted) {
        ShownEntry memory object = _entry(evidence, ".object");
        ShownEntry memory template = _entry(evidence, ".template");
        LeafFacts[] memory leaves = _leaves(evidence);
        LeafFacts memory leaf = _leaf(string.concat(evidence, ".leaf"));
        if (VM.keyExistsJson(json, string.concat(evidence, ".wallet.id"))) {
            isConvicted = StateSigners.isTrespass(object, template, leaves, leaf, _entry(evidence, ".wallet"));
        }
        string memory kind = VM.parseJsonString(json, string.concat(evidence, ".kind"));
        return isConvicted || StateSigners.isKindUnruled(object, template, leaves, leaf, kind);
    }

    function _checkpoint(string memory member) private view returns (Checkpoint memory checkpoint) {
        checkpoint.batches = uint64(VM.parseJsonUint(json, string.concat(member, ".batches")));
        checkpoint.sequence = uint64(VM.parseJsonUint(json, string.concat(member, ".sequence")));
        if (VM.parseJsonBool(json, string.concat(member, ".root"))) checkpoint.state = keccak256("a root");
    }

    function _entry(string memory evidence, string memory member) private view returns (ShownEntry memory) {
        string memory shown = string.concat(evidence, member);
        Checkpoint memory checkpoint = _checkpoint(string.concat(shown, ".checkpoint"));
        return state.show(
            checkpoint.batches,
            checkpoint.sequence,
            checkpoint.state != 0,
            VM.parseJsonString(json, string.concat(shown, ".id")),
            VM.parseJsonBytes(json, string.concat(shown, ".entry"))
        );
    }

    function _leaves(string memory evidence) private view returns (LeafFacts[] memory leaves) {
        string memory list = string.concat(evidence, ".leaves");
        uint256 count = 0;
        while (VM.keyExistsJson(json, _at(list, count))) ++count;
        leaves = new LeafFacts[](count);
        for (uint256 i = 0; i < count; ++i) {
            leaves[i] = _leaf(_at(list, i));
        }
    }

    function _leaf(string memory member) private view returns (LeafFacts memory leaf) {
        leaf.sequence = uint64(VM.parseJsonUint(json, string.concat(member, ".sequence")));
        leaf.content = VM.parseJsonBytes32(json, string.concat(member, ".content"));
        leaf.integrity = VM.parseJsonBytes32(json, string.concat(member, ".integrity"));
        string memory list = string.concat(member, ".words");
        leaf.isOpened = VM.keyExistsJson(json, list);
        if (!leaf.isOpened) return leaf;
        bytes32[] memory words = VM.parseJsonBytes32Array(json, list);
        (leaf.kindHash, leaf.targetHash, leaf.payloadHash) = (words[0], words[1], words[2]);
        leaf.signer = address(uint160(uint256(words[3])));
        bytes32 content = LogRecords.content(words[0], words[1], words[2], leaf.signer, words[4]);
        assertEq(content, leaf.content, "the words are the content's");
    }

    function _isText(string memory key, string memory text) private view returns (bool) {
        return keccak256(bytes(VM.parseJsonString(json, key))) == keccak256(bytes(text));
    }

    function _at(string memory list, uint256 index) private pure returns (string memory) {
        return string.concat(list, "[", VM.toString(index), "]");
    }
}
