// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, StateEvidence} from "../src/Evidence.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {GasMeter} from "./support/GasMeter.sol";
import {ReferenceTrie} from "./support/ReferenceTrie.sol";
import {StateFixture} from "./support/StateFixture.sol";

/// @dev What a report of the state's faults costs, over ten million entries: six full branches, one of two, a leaf.
contract StateGasTest is StateFixture, GasMeter {
    uint256 private constant PAIR_GAS_MAX = 700_000;
    uint256 private constant TRESPASS_GAS_MAX = 2_000_000;
    bytes32 private constant I1 = keccak256("integrity 1");
    bytes32 private constant I2 = keccak256("integrity 2");

    function setUp() public {
        _deployState();
    }

    /// forge-config: default.isolate = true
    function test_reportOfAnEntry() public {
        _report(
            "malformed state",
            abi.encodeCall(stateJudge.malformedState, (_deep(OBJECT, _object(1, 1, I1, WALLET, 3)))),
            PAIR_GAS_MAX
        );
    }

    /// forge-config: default.isolate = true
    function test_reportOfTwoEntries() public {
        StateEvidence memory burned = _deep(OBJECT, _object(1, 1, I1, WALLET, 2));
        StateEvidence memory risen = _deep(OBJECT, _object(1, 1, I1, WALLET, 0));
        _report("changed constant", abi.encodeCall(stateJudge.changedConstant, (burned, risen)), PAIR_GAS_MAX);
    }

    /// forge-config: default.isolate = true
    function test_reportOfAnEntryAndItsLeaf() public {
        ActionEvidence memory leaf = _act(I1, "lock", OBJECT, "{}", OWNER_KEY);
        StateEvidence memory shown = _deep(OBJECT, _object(2, _sequence(leaf), _integrity(leaf), WALLET, 0));
        _report("false entry", abi.encodeCall(historyJudge.falseEntry, (shown, leaf, "lock", "")), PAIR_GAS_MAX);
    }

    /// @dev All 500 variations that the action could have made are tried.
    /// forge-config: default.isolate = true
    function test_reportOfAVariation() public {
        ActionEvidence memory leaf = _act(I2, "template.variations", TEMPLATE, "[]", OWNER_KEY);
        bytes memory members = abi.encodePacked(_text(ORG), _text(TEMPLATE), hex"80a0", PROPERTIES, hex"a0", PROPERTIES);
        StateEvidence memory shown = _deep("var_35rx61b9m631xvdezsjp7mjky6", _entry(1, _sequence(leaf), I1, members));
        _report(
            "false entry of a variation", abi.encodeCall(historyJudge.falseEntry, (shown, leaf, "", "")), PAIR_GAS_MAX
        );
    }

    /// @dev Three entries, and three leaves between the object's entry and the action.
    /// forge-config: default.isolate = true
    function test_reportOfTrespass() public {
        StateEvidence memory object = _deep(OBJECT, _object(1, 1, I1, WALLET, 0));
        StateEvidence memory template = _deep(TEMPLATE, _template(1, 1, I2, ORG, 1, ""));
        StateEvidence memory thief = _deep(OTHER_WALLET, _wallet(1, 1, I2, ORG, OTHER_KEY));
        ActionEvidence[] memory between = new ActionEvidence[](3);
        bytes32 last = I1;
        for (uint256 i = 0; i < between.length; ++i) {
            between[i] = _act(last, "emit", OBJECT, "{}", OWNER_KEY);
            last = _integrity(between[i]);
        }
        ActionEvidence memory leaf = _act(last, "update", OBJECT, "{}", OTHER_KEY);
        _report(
            "trespass, after three actions",
            abi.encodeCall(signerJudge.trespass, (object, template, between, leaf, thief)),
            TRESPASS_GAS_MAX
        );
    }

    function _deep(string memory key, bytes memory entry) private view returns (StateEvidence memory shown) {
        Checkpoint memory checkpoint = _trueCheckpoint(uint64(headers.length));
        shown.key = key;
        shown.entry = entry;
        (checkpoint.state, shown.nodes) = ReferenceTrie.deepProof(keccak256(bytes(key)), keccak256(entry), 7);
        shown.signed = _signedCheckpoint(checkpoint);
    }

    function _report(string memory name, bytes memory evidence, uint256 gasMax) private {
        _commit(REPORTER, keccak256(evidence));
        _recordAs(REPORTER, name, address(bond), abi.encodeCall(bond.report, (evidence, SALT)), 0, gasMax);
    }

    function _group() internal pure override returns (string memory) {
        return "StateJudges";
    }
}
