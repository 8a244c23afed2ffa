// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    ActionEvidence,
    AnchoredAction,
    AnchoredEntry,
    AnchoredHeader,
    CheckpointEvidence,
    EntryClaim,
    StateEvidence
} from "../src/Evidence.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeBond} from "../src/IKedgeBond.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {IKedgeStateCases} from "../src/IKedgeStateCases.sol";
import {IKedgeStateJudge} from "../src/IKedgeStateJudge.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {GasMeter} from "./support/GasMeter.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";
import {StateFixture} from "./support/StateFixture.sol";

/// @dev Challenges of entries and demands of the state: what a silent operator loses, and how an honest one answers.
contract StateCasesTest is StateFixture, GasMeter {
    bytes32 private constant I1 = keccak256("integrity 1");
    uint256 private constant PATH_GAS_MAX = 400_000;

    ActionEvidence private action;

    function setUp() public {
        _deployState();
        _put("fil_35rx61b9m631xvdezsjp7mjky6", hex"c0");
        ActionEvidence memory made = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        action = made;
        _put(OBJECT, _object(2, _sequence(made), _integrity(made), WALLET, 0));
    }

    // A challenge of an entry.

    function test_anHonestOperatorAnswersAChallengeOfAnEntry() public {
        uint64 size = _anchorState();
        EntryClaim memory claim = _claimOf(OBJECT);
        bytes32 id = _challenge(OBJECT, size, size);
        AnchoredAction memory wrong = _anchoredAction(1, 0, size);
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.answerEntry(claim, wrong, 0);
        VM.warp(block.timestamp + RESPONSE_S);
        bond.answerEntry(claim, _anchoredAction(1, 1, size), 0);
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Answered, "answered");
        assertEq(bond.owed(OWNER), DEPOSIT_WEI / 2, "half of the deposit is the operator's");
    }

    function test_anEntryWithoutItsLeafTakesTheBond() public {
        _put(OBJECT, _object(2, _sequence(action), keccak256("forged"), WALLET, 0));
        uint64 size = _anchorState();
        bytes32 id = _challenge(OBJECT, size, size);
        EntryClaim memory claim = _claimOf(OBJECT);
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.answerEntry(claim, _anchoredAction(1, 1, size), 0);
        _mustLapse(id);
    }

    /// @dev An organization's first version and a variation have integrities that their leaf's content gives.
    function test_whatIsMadeBesideAnotherIsAnsweredByItsContent() public {
        bytes32 content = action.placed.leaf.content;
        bytes32 second = keccak256(abi.encodePacked(bytes32(0), keccak256(abi.encodePacked(content, uint32(1)))));
        bytes32 third = keccak256(abi.encodePacked(bytes32(0), keccak256(abi.encodePacked(content, uint32(3)))));
        string memory variation = "var_35rx61b9m631xvdezsjp7mjky6";
        _put(ORG, _entry(1, _sequence(action), second, ""));
        _put(
            variation,
            _entry(
                1,
                _sequence(action),
                third,
                abi.encodePacked(_text(ORG), _text(TEMPLATE), hex"02a0", PROPERTIES, hex"a0", PROPERTIES)
            )
        );
        uint64 size = _anchorState();
        bytes32 id = _challenge(ORG, size, size);
        bond.answerEntry(_claimOf(ORG), _anchoredAction(1, 1, size), 0);
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Answered, "the organization");
        id = _challenge(variation, size, size);
        EntryClaim memory claim = _claimOf(variation);
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.answerEntry(claim, _anchoredAction(1, 1, size), 1);
        bond.answerEntry(claim, _anchoredAction(1, 1, size), 2);
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Answered, "the variation");
    }

    function test_anEntryIsChallengedWithinItsBatchsWindow() public {
        uint64 first = _anchorState();
        uint256 closesAt = block.timestamp + WINDOW_S;
        VM.warp(closesAt + 1);
        _seal(2);
        uint64 second = _anchorState();
        AnchoredEntry memory shown = _anchoredEntry(OBJECT, second);
        AnchoredHeader memory batch = _held(1, first);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.WindowClosed.selector, closesAt));
        bond.challengeEntry{value: DEPOSIT_WEI}(shown, batch, SALT);
        // By the later checkpoint alone the contract can't know that the batch is older; the operator shows it.
        bytes32 id = _challenge(OBJECT, second, second);
        EntryClaim memory claim = _claimOf(OBJECT);
        VM.expectRevert(
            abi.encodeWithSelector(
                IKedgeBond.WindowOpen.selector, anchorContract.checkpoint(second).anchoredAt + WINDOW_S
            )
        );
        bond.answerStaleEntry(claim, _held(1, second));
        VM.expectRevert(abi.encodeWithSelector(IKedgeStateCases.SequenceOutOfBatch.selector, 0, _sequence(action)));
        bond.answerStaleEntry(claim, _held(0, first));
        bond.answerStaleEntry(claim, _held(1, first));
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Answered, "answered");
    }

    function test_aChallengeNeedsTheBatchOfItsSequence() public {
        uint64 size = _anchorState();
        AnchoredHeader memory other = _held(0, size);
        AnchoredEntry memory shown = _anchoredEntry(OBJECT, size);
        VM.expectRevert(abi.encodeWithSelector(IKedgeStateCases.SequenceOutOfBatch.selector, 0, _sequence(action)));
        bond.challengeEntry{value: DEPOSIT_WEI}(shown, other, SALT);
        shown.entry = _object(2, _sequence(action), I1, WALLET, 0);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.StateNotProven.selector, size, OBJECT));
        bond.challengeEntry{value: DEPOSIT_WEI}(shown, _held(1, size), SALT);
    }

    // A demand of the state.

    function test_anHonestOperatorAnswersADemandOfTheState() public {
        StateEvidence memory known = _prove(_checkpoint(), OBJECT);
        _seal(2);
        uint64 size = _anchorState();
        bytes32 id = _demand(size, known);
        AnchoredEntry memory shown = _anchoredEntry(OBJECT, size);
        VM.expectRevert(abi.encodeWithSelector(IKedgeStateJudge.StillPresent.selector, OBJECT));
        bond.answerAbsence(size, OBJECT, shown.nodes);
        bond.answerState(size, OBJECT, shown.entry, shown.nodes);
        assertTrue(bond.caseOf(id).state == IKedgeBond.CaseState.Answered, "answered");
    }

    function test_aDemandOfTheStateWithoutAnAnswerTakesTheBond() public {
        StateEvidence memory known = _prove(_checkpoint(), OBJECT);
        _seal(2);
        _mustLapse(_demand(_anchorState(), known));
    }

    function test_anOperatorAnswersWithAbsence() public {
        ActionEvidence memory key = _act(0, "system.sequencer_key", "0x", "{}", OWNER);
        string memory id = _idOf("act", key);
        ActionEvidence memory mint = _act(0, "mint", TEMPLATE, "{}", OWNER_KEY);
        uint64 size = _anchorState();
        bytes32 caseId = _demandMade(size, _idOf("obj", mint), mint);
        bond.answerAbsence(size, _idOf("obj", mint), _prove(_checkpoint(), _idOf("obj", mint)).nodes);
        assertTrue(bond.caseOf(caseId).state == IKedgeBond.CaseState.Answered, "an object");
        caseId = _demandMade(size, id, key);
        bond.answerAbsence(size, id, _prove(_checkpoint(), id).nodes);
        assertTrue(bond.caseOf(caseId).state == IKedgeBond.CaseState.Answered, "a sequencer's key");
    }

    function test_aDemandNeedsWhatOnlyAFewHold() public {
        StateEvidence memory known = _prove(_checkpoint(), OBJECT);
        StateEvidence memory absent = _prove(_checkpoint(), TEMPLATE);
        ActionEvidence memory mint = _act(0, "mint", TEMPLATE, "{}", OWNER_KEY);
        uint64 size = _anchorState();
        StateEvidence memory same = _prove(_checkpoint(), OBJECT);
        VM.expectRevert(abi.encodeWithSelector(IKedgeStateCases.CheckpointKnown.selector, size));
        bond.demandState{value: DEPOSIT_WEI}(size, same, SALT);
        VM.expectPartialRevert(IKedgeAnchor.MalformedEntry.selector);
        bond.demandState{value: DEPOSIT_WEI}(size, absent, SALT);
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.demandMadeState{value: DEPOSIT_WEI}(size, OBJECT, mint, 0, SALT);
        string memory id = _idOf("obj", mint);
        mint.isOpened = false;
        VM.expectRevert(IKedgeJudge.AnotherAction.selector);
        bond.demandMadeState{value: DEPOSIT_WEI}(size, id, mint, 0, SALT);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.BatchOutOfReach.selector, 0));
        bond.demandState{value: DEPOSIT_WEI}(0, known, SALT);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotCommitted.selector, 0));
        bond.demandState{value: DEPOSIT_WEI}(size, known, SALT);
        uint256 closesAt = block.timestamp + WINDOW_S;
        VM.warp(closesAt + 1);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.WindowClosed.selector, closesAt));
        bond.demandState{value: DEPOSIT_WEI}(size, known, SALT);
    }

    function test_aCheckpointWithoutARootHoldsNothing() public {
        StateEvidence memory known = _prove(_checkpoint(), OBJECT);
        _seal(2);
        uint64 size = uint64(headers.length);
        _anchorLog(size);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.UnrootedCheckpoint.selector, size));
        bond.demandState{value: DEPOSIT_WEI}(size, known, SALT);
    }

    /// @dev A checkpoint that was taken over is the predecessor's to answer for.
    function test_aCheckpointThatWasTakenOverIsOutOfReach() public {
        uint64 size = _anchorState();
        KedgeAnchor next = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(anchorContract));
        VM.prank(OWNER);
        anchorContract.retire(address(next));
        anchorContract = next;
        _seal(2);
        StateEvidence memory known = _prove(_checkpoint(), OBJECT);
        _renewBond();
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.BatchOutOfReach.selector, size));
        bond.demandState{value: DEPOSIT_WEI}(size, known, SALT);
    }

    // What it costs.

    /// forge-config: default.isolate = true
    function test_gasOfTheCases() public {
        StateEvidence memory known = _prove(_checkpoint(), OBJECT);
        _seal(2);
        uint64 size = _anchorState();
        _commit(REPORTER, bond.entryCaseId(_claimOf(OBJECT)));
        bytes memory data = abi.encodeCall(bond.challengeEntry, (_anchoredEntry(OBJECT, size), _held(1, size), SALT));
        _recordAs(REPORTER, "challenge of an entry", address(bond), data, DEPOSIT_WEI, PATH_GAS_MAX);
        data = abi.encodeCall(bond.answerEntry, (_claimOf(OBJECT), _anchoredAction(1, 1, size), 0));
        _record("answer with a leaf", address(bond), data, 0, PATH_GAS_MAX);
        _commit(REPORTER, bond.stateCaseId(size, OBJECT));
        data = abi.encodeCall(bond.demandState, (size, known, SALT));
        _recordAs(REPORTER, "demand of the state", address(bond), data, DEPOSIT_WEI, PATH_GAS_MAX);
        AnchoredEntry memory shown = _anchoredEntry(OBJECT, size);
        data = abi.encodeCall(bond.answerState, (size, OBJECT, shown.entry, shown.nodes));
        _record("answer with an entry", address(bond), data, 0, PATH_GAS_MAX);
    }

    function _challenge(string memory key, uint64 size, uint64 batchSize) private returns (bytes32 id) {
        EntryClaim memory claim = _claimOf(key);
        id = bond.entryCaseId(claim);
        AnchoredEntry memory shown = _anchoredEntry(key, size);
        AnchoredHeader memory batch = _held(1, batchSize);
        _commit(REPORTER, id);
        VM.expectEmit(address(bond));
        emit IKedgeStateCases.StateCaseOpened(
            id,
            IKedgeBond.CaseKind.Entry,
            REPORTER,
            size,
            key,
            claim.sequence,
            claim.integrity,
            uint64(block.timestamp) + RESPONSE_S
        );
        VM.prank(REPORTER);
        bond.challengeEntry{value: DEPOSIT_WEI}(shown, batch, SALT);
    }

    function _demand(uint64 size, StateEvidence memory known) private returns (bytes32 id) {
        id = bond.stateCaseId(size, known.key);
        _commit(REPORTER, id);
        VM.prank(REPORTER);
        bond.demandState{value: DEPOSIT_WEI}(size, known, SALT);
    }

    function _demandMade(uint64 size, string memory key, ActionEvidence memory leaf) private returns (bytes32 id) {
        id = bond.stateCaseId(size, key);
        _commit(REPORTER, id);
        VM.prank(REPORTER);
        bond.demandMadeState{value: DEPOSIT_WEI}(size, key, leaf, 0, SALT);
    }

    function _mustLapse(bytes32 id) private {
        uint64 deadline = bond.caseOf(id).deadline;
        VM.warp(deadline);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.AnswerStillPossible.selector, deadline));
        bond.settle(id);
        VM.warp(deadline + 1);
        bond.settle(id);
        assertTrue(anchorContract.status() == IKedgeAnchor.Status.Frozen, "frozen");
        assertEq(bond.owed(REPORTER), DEPOSIT_WEI + BOND_WEI / 2, "deposit and half of the bond");
    }

    function _anchorState() private returns (uint64 size) {
        (uint64 last,,) = anchorContract.latest();
        CheckpointEvidence memory signed = _checkpoint();
        size = signed.checkpoint.batches;
        anchorContract.anchor(signed.checkpoint, signed.signature, ReferenceTree.consistency(leaves, last, size));
    }

    function _anchoredEntry(string memory key, uint64 size) private view returns (AnchoredEntry memory) {
        StateEvidence memory shown = _prove(_checkpoint(), key);
        return AnchoredEntry({anchoredBatches: size, key: key, entry: shown.entry, nodes: shown.nodes});
    }

    function _held(uint64 number, uint64 size) private view returns (AnchoredHeader memory) {
        return AnchoredHeader({
            anchoredBatches: size, header: headers[number], path: ReferenceTree.path(leaves, number, size)
        });
    }

    function _claimOf(string memory key) private view returns (EntryClaim memory) {
        return stateJudge.claimOf(key, entries[key], type(uint64).max);
    }

    function _group() internal pure override returns (string memory) {
        return "StateCases";
    }
}
