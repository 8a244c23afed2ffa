// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, CheckpointEvidence, StateEvidence} from "../src/Evidence.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {ReferenceTrie} from "./support/ReferenceTrie.sol";
import {StateFixture} from "./support/StateFixture.sol";

/// @dev Every fault of the state once, with a real trie, signatures and leaves, next to an innocent neighbour.
contract StateJudgesTest is StateFixture {
    bytes32 private constant PROVEN = keccak256("Kedge fault proven");
    bytes32 private constant I1 = keccak256("integrity 1");
    bytes32 private constant I2 = keccak256("integrity 2");

    function setUp() public {
        _deployState();
        _put(ORG, _entry(1, 1, keccak256("an organization"), ""));
        _put("fil_35rx61b9m631xvdezsjp7mjky6", hex"c0");
    }

    // Entries alone.

    function test_unrootedCheckpoint() public {
        CheckpointEvidence memory rooted = _checkpoint();
        _seal(1);
        CheckpointEvidence memory later = _signedCheckpoint(_trueCheckpoint(uint64(headers.length)));
        _acquit(abi.encodeCall(stateJudge.unrootedCheckpoint, (rooted, _checkpoint())));
        _acquit(abi.encodeCall(stateJudge.unrootedCheckpoint, (later, rooted)));
        _convict(abi.encodeCall(stateJudge.unrootedCheckpoint, (rooted, later)));
    }

    function test_malformedState() public {
        StateEvidence memory right = _shown(OBJECT, _object(1, 1, I1, WALLET, 0));
        StateEvidence memory wrong = _shown(OBJECT, _object(1, 1, I1, WALLET, 3));
        _acquit(abi.encodeCall(stateJudge.malformedState, (right)));
        // A malformed entry is no entry to any other fault.
        _acquit(abi.encodeCall(stateJudge.changedConstant, (right, wrong)));
        _convict(abi.encodeCall(stateJudge.malformedState, (wrong)));
    }

    function test_brokenTrie() public view {
        bytes[] memory nodes = new bytes[](1);
        bytes32 path = keccak256("path");
        nodes[0] = ReferenceTrie.pair(ReferenceTrie.compact(path, 0, 64, true), I1);
        Checkpoint memory checkpoint = _trueCheckpoint(1);
        checkpoint.state = keccak256(nodes[0]);
        _acquit(abi.encodeCall(stateJudge.brokenTrie, (_signedCheckpoint(checkpoint), path, nodes)));
        nodes[0] = ReferenceTrie.pair(ReferenceTrie.compact(path, 0, 63, true), I1);
        _acquit(abi.encodeCall(stateJudge.brokenTrie, (_signedCheckpoint(checkpoint), path, nodes)));
        checkpoint.state = keccak256(nodes[0]);
        _convict(abi.encodeCall(stateJudge.brokenTrie, (_signedCheckpoint(checkpoint), path, nodes)));
    }

    /// @dev The empty trie's root is the hash of a byte that is no node.
    function test_theEmptyTrieIsNotBroken() public view {
        bytes[] memory nodes = new bytes[](1);
        nodes[0] = hex"80";
        Checkpoint memory checkpoint = _trueCheckpoint(1);
        checkpoint.state = keccak256(nodes[0]);
        _acquit(abi.encodeCall(stateJudge.brokenTrie, (_signedCheckpoint(checkpoint), 0, nodes)));
    }

    function test_rewrittenState() public {
        StateEvidence memory absent = _prove(_checkpoint(), OBJECT);
        StateEvidence memory first = _shown(OBJECT, _object(1, 3, I1, WALLET, 0));
        StateEvidence memory second = _shown(OBJECT, _object(2, 7, I2, WALLET, 0));
        StateEvidence memory old = _shown(OBJECT, _object(1, 2, I2, WALLET, 0));
        _acquit(abi.encodeCall(stateJudge.rewrittenState, (first, second)));
        _acquit(abi.encodeCall(stateJudge.rewrittenState, (absent, first)));
        _acquit(abi.encodeCall(stateJudge.rewrittenState, (old, first)));
        _convict(abi.encodeCall(stateJudge.rewrittenState, (absent, old)));
        _convict(abi.encodeCall(stateJudge.rewrittenState, (first, old)));
    }

    function test_entriesOfOneId() public {
        StateEvidence memory first = _shown(OBJECT, _object(1, 3, I1, WALLET, 0));
        StateEvidence memory second = _shown(OBJECT, _object(2, 7, I2, WALLET, 0));
        StateEvidence memory lone = _shown(OBJECT, _object(2, 7, I1, WALLET, 0));
        _acquit(abi.encodeCall(stateJudge.loneStep, (first, second)));
        _convict(abi.encodeCall(stateJudge.loneStep, (first, lone)));
        _acquit(abi.encodeCall(stateJudge.twoFacedState, (first, second)));
        _convict(abi.encodeCall(stateJudge.twoFacedState, (first, lone)));
        StateEvidence memory burned = _shown(OBJECT, _object(3, 8, I2, WALLET, 2));
        StateEvidence memory risen = _shown(OBJECT, _object(3, 8, I2, WALLET, 0));
        _acquit(abi.encodeCall(stateJudge.changedConstant, (second, burned)));
        _convict(abi.encodeCall(stateJudge.changedConstant, (burned, risen)));
    }

    function test_entriesOfTwoIds() public {
        (StateEvidence memory a, StateEvidence memory b) =
            _shown(OBJECT, _object(1, 3, I1, WALLET, 0), WALLET, _wallet(1, 2, I2, ORG, OWNER_KEY));
        _acquit(abi.encodeCall(stateJudge.twinState, (a, b)));
        _acquit(abi.encodeCall(stateJudge.falseAddress, (a, b)));
        _convict(abi.encodeCall(stateJudge.twinState, (a, _shown(WALLET, _wallet(1, 2, I1, ORG, OWNER_KEY)))));
        (a, b) = _shown(OBJECT, _object(1, 3, I1, WALLET, 0), WALLET, _wallet(1, 2, I2, ORG, OTHER_KEY));
        _convict(abi.encodeCall(stateJudge.falseAddress, (a, b)));
        StateEvidence memory other = _shown(OTHER_WALLET, _wallet(1, 2, I1, ORG, OWNER_KEY));
        _acquit(abi.encodeCall(stateJudge.sharedAddress, (b, other)));
        other = _shown(OTHER_WALLET, _wallet(1, 2, I1, ORG, OWNER_KEY, OTHER_KEY));
        _convict(abi.encodeCall(stateJudge.sharedAddress, (b, other)));
        (a, b) = _shown(OBJECT, _object(1, 3, I1, WALLET, 0), TEMPLATE, _template(1, 2, I2, ORG, 1, ""));
        _acquit(abi.encodeCall(stateJudge.falseOrganization, (a, b)));
        _acquit(abi.encodeCall(stateJudge.oversuppliedTemplate, (a, b)));
        (a, b) = _shown(OBJECT, _object(1, 3, I1, WALLET, 0), TEMPLATE, _template(1, 2, I2, OTHER_ORG, 0, ""));
        _convict(abi.encodeCall(stateJudge.falseOrganization, (a, b)));
        _convict(abi.encodeCall(stateJudge.oversuppliedTemplate, (a, b)));
        _acquit(abi.encodeCall(stateJudge.repeatedSerial, (a, a)));
        _convict(abi.encodeCall(stateJudge.repeatedSerial, (a, _shown(OTHER_OBJECT, _object(1, 4, I2, WALLET, 0)))));
        bytes memory unbounded = _template(1, 2, I2, ORG, 1, "");
        a = _shown(TEMPLATE, unbounded);
        _acquit(abi.encodeCall(stateJudge.changedMaxSupply, (a, _shown(TEMPLATE, unbounded))));
        _convict(abi.encodeCall(stateJudge.changedMaxSupply, (a, _shown(TEMPLATE, _bounded()))));
    }

    // Entries and leaves.

    function test_staleState() public {
        _shown(OBJECT, _object(1, 1, I1, WALLET, 0));
        StateEvidence memory before = _prove(_checkpoint(), OBJECT);
        ActionEvidence memory leaf = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        _acquit(abi.encodeCall(historyJudge.staleState, (before, leaf)));
        _convict(abi.encodeCall(historyJudge.staleState, (_prove(_checkpoint(), OBJECT), leaf)));
    }

    function test_falseEntry() public {
        ActionEvidence memory leaf = _act(I1, "lock", OBJECT, "{}", OWNER_KEY);
        StateEvidence memory right = _shown(OBJECT, _object(2, _sequence(leaf), _integrity(leaf), WALLET, 1));
        _acquit(abi.encodeCall(historyJudge.falseEntry, (right, leaf, "lock", "")));
        StateEvidence memory wrong = _shown(OBJECT, _object(2, _sequence(leaf), _integrity(leaf), WALLET, 0));
        _convict(abi.encodeCall(historyJudge.falseEntry, (wrong, leaf, "lock", "")));
        wrong = _shown(OBJECT, _object(2, _sequence(leaf), I2, WALLET, 1));
        leaf.isOpened = false;
        _convict(abi.encodeCall(historyJudge.falseEntry, (wrong, leaf, "", "")));
    }

    /// @dev A payload that says more than one wallet is not "exactly" that one, however the text is cut.
    function test_aTransferIsReadAsOneWalletAlone() public {
        string memory payload = string.concat('{"to":"', OTHER_WALLET, '"}');
        ActionEvidence memory leaf = _act(I1, "transfer", OBJECT, payload, OWNER_KEY);
        StateEvidence memory shown = _shown(OBJECT, _object(2, _sequence(leaf), _integrity(leaf), WALLET, 0));
        _acquit(abi.encodeCall(historyJudge.falseEntry, (shown, leaf, "transfer", WALLET)));
        _convict(abi.encodeCall(historyJudge.falseEntry, (shown, leaf, "transfer", OTHER_WALLET)));
        string memory text = string.concat(OTHER_WALLET, '","note":"x');
        payload = string.concat('{"to":"', text, '"}');
        leaf = _act(I1, "transfer", OBJECT, payload, OWNER_KEY);
        shown = _shown(OBJECT, _object(2, _sequence(leaf), _integrity(leaf), WALLET, 0));
        _acquit(abi.encodeCall(historyJudge.falseEntry, (shown, leaf, "transfer", text)));
        leaf = _act(I1, "transfer", OBJECT, string.concat('{"to":"', ORG, '"}'), OWNER_KEY);
        shown = _shown(OBJECT, _object(2, _sequence(leaf), _integrity(leaf), WALLET, 0));
        _acquit(abi.encodeCall(historyJudge.falseEntry, (shown, leaf, "transfer", ORG)));
    }

    function test_missingState() public {
        CheckpointEvidence memory before = _checkpoint();
        ActionEvidence memory mint = _act(0, "mint", TEMPLATE, "{}", OWNER_KEY);
        string memory id = _idOf("obj", mint);
        _acquit(abi.encodeCall(historyJudge.missingState, (_prove(before, id), mint, "mint")));
        _convict(abi.encodeCall(historyJudge.missingState, (_prove(_checkpoint(), id), mint, "mint")));
        StateEvidence memory there = _shown(id, _object(1, _sequence(mint), _integrity(mint), WALLET, 0));
        _acquit(abi.encodeCall(historyJudge.missingState, (there, mint, "mint")));
        // Of a sequencer's key, absence is evidence, though the anchor does not show it.
        ActionEvidence memory key = _act(0, "system.sequencer_key", "0x", "{}", OWNER);
        StateEvidence memory absent = _prove(_checkpoint(), _idOf("act", key));
        _convict(abi.encodeCall(historyJudge.missingState, (absent, key, "system.sequencer_key")));
        key = _act(0, "system.prune", "0x", "{}", OWNER);
        absent = _prove(_checkpoint(), _idOf("act", key));
        _acquit(abi.encodeCall(historyJudge.missingState, (absent, key, "system.prune")));
    }

    function test_changesThatLeavesDoNotMake() public {
        ActionEvidence memory leaf = _act(I1, "emit", OBJECT, "{}", OWNER_KEY);
        uint64 sequence = _sequence(leaf);
        bytes32 integrity = _integrity(leaf);
        StateEvidence memory first = _shown(OBJECT, _object(2, 1 + 1, I1, WALLET, 0));
        StateEvidence memory right = _shown(OBJECT, _object(3, sequence, integrity, WALLET, 0));
        StateEvidence memory moved = _shown(OBJECT, _object(3, sequence, integrity, OTHER_WALLET, 0));
        StateEvidence memory grown = _shown(OBJECT, _object(4, sequence, integrity, WALLET, 0));
        StateEvidence memory painted = _shown(OBJECT, _object(3, sequence, integrity, WALLET, 0, I1));
        _acquit(abi.encodeCall(historyJudge.falseOwner, (first, right, _list(leaf))));
        _convict(abi.encodeCall(historyJudge.falseOwner, (first, moved, _list(leaf))));
        _acquit(abi.encodeCall(historyJudge.falseVersion, (first, moved, _list(leaf))));
        _convict(abi.encodeCall(historyJudge.falseVersion, (first, grown, _list(leaf))));
        _acquit(abi.encodeCall(historyJudge.hiddenChange, (first, moved, _list(leaf))));
        _convict(abi.encodeCall(historyJudge.hiddenChange, (first, painted, _list(leaf))));
        leaf.isOpened = false;
        _acquit(abi.encodeCall(historyJudge.falseOwner, (first, moved, _list(leaf))));
        _convict(abi.encodeCall(historyJudge.falseVersion, (first, grown, _list(leaf))));
    }

    function test_falseKeys() public {
        ActionEvidence memory leaf = _act(I1, "wallet.update", WALLET, "{}", OWNER_KEY);
        StateEvidence memory first = _shown(WALLET, _wallet(2, 2, I1, ORG, OWNER_KEY));
        bytes memory entry = _wallet(3, _sequence(leaf), _integrity(leaf), ORG, OWNER_KEY);
        _acquit(abi.encodeCall(historyJudge.falseKeys, (first, _shown(WALLET, entry), _list(leaf))));
        entry = _wallet(3, _sequence(leaf), _integrity(leaf), ORG, OWNER_KEY, OTHER_KEY);
        _convict(abi.encodeCall(historyJudge.falseKeys, (first, _shown(WALLET, entry), _list(leaf))));
    }

    // Signers.

    function test_trespass() public {
        (StateEvidence memory object, StateEvidence memory template) =
            _shown(OBJECT, _object(1, 3, I1, WALLET, 0), TEMPLATE, _template(1, 2, I2, ORG, 1, ""));
        ActionEvidence memory first = _act(I1, "emit", OBJECT, "{}", OWNER_KEY);
        ActionEvidence memory leaf = _act(_integrity(first), "update", OBJECT, "{}", OTHER_KEY);
        StateEvidence memory thief = _shown(OTHER_WALLET, _wallet(1, 4, I2, ORG, OTHER_KEY));
        _convict(abi.encodeCall(signerJudge.trespass, (object, template, _list(first), leaf, thief)));
        ActionEvidence[] memory none = new ActionEvidence[](0);
        _acquit(abi.encodeCall(signerJudge.trespass, (object, template, none, leaf, thief)));
        leaf = _act(_integrity(first), "update", OBJECT, "{}", OWNER_KEY);
        _acquit(abi.encodeCall(signerJudge.trespass, (object, template, _list(first), leaf, thief)));
        leaf = _act(_integrity(first), "x.paint", OBJECT, "{}", OWNER_KEY);
        _convict(abi.encodeCall(signerJudge.unruledKind, (object, template, _list(first), leaf, "x.paint")));
        bytes memory rule = ReferenceTrie.list(abi.encodePacked(_text("x.paint"), hex"80a0", PROPERTIES));
        (object, template) = _shown(OBJECT, _object(1, 3, I1, WALLET, 0), TEMPLATE, _template(1, 2, I2, ORG, 1, rule));
        first = _act(I1, "emit", OBJECT, "{}", OWNER_KEY);
        leaf = _act(_integrity(first), "x.paint", OBJECT, "{}", OWNER_KEY);
        _acquit(abi.encodeCall(signerJudge.unruledKind, (object, template, _list(first), leaf, "x.paint")));
    }

    function test_foreignHands() public {
        StateEvidence memory other = _shown(OTHER_WALLET, _wallet(1, 2, I2, OTHER_ORG, OTHER_KEY));
        StateEvidence memory template = _shown(TEMPLATE, _template(1, 2, I1, ORG, 1, ""));
        ActionEvidence memory leaf = _act(I1, "template.update", TEMPLATE, "{}", OTHER_KEY);
        _convict(abi.encodeCall(signerJudge.foreignHand, (template, leaf, other)));
        template = _shown(TEMPLATE, _template(1, 2, I1, OTHER_ORG, 1, ""));
        _acquit(abi.encodeCall(signerJudge.foreignHand, (template, leaf, other)));
        StateEvidence memory wallet = _shown(WALLET, _wallet(1, 2, I1, ORG, OWNER_KEY));
        leaf = _act(I1, "wallet.update", WALLET, "{}", OTHER_KEY);
        _convict(abi.encodeCall(signerJudge.unknownHand, (wallet, leaf)));
        leaf = _act(I1, "wallet.update", WALLET, "{}", OWNER_KEY);
        _acquit(abi.encodeCall(signerJudge.unknownHand, (wallet, leaf)));
    }

    function test_foreignMakers() public {
        StateEvidence memory other = _shown(OTHER_WALLET, _wallet(1, 2, I2, OTHER_ORG, OTHER_KEY));
        ActionEvidence memory maker = _act(0, "template.create", "", "{}", OTHER_KEY);
        string memory id = _idOf("tpl", maker);
        bytes memory entry = _template(1, _sequence(maker), _integrity(maker), OTHER_ORG, 0, "");
        _acquit(abi.encodeCall(signerJudge.foreignMaker, (_shown(id, entry), maker, other)));
        entry = _template(1, _sequence(maker), _integrity(maker), ORG, 0, "");
        StateEvidence memory template = _shown(id, entry);
        _convict(abi.encodeCall(signerJudge.foreignMaker, (template, maker, other)));
        ActionEvidence memory mint = _act(0, "mint", id, "{}", OTHER_KEY);
        _acquit(abi.encodeCall(signerJudge.foreignMint, (template, mint, other)));
        _convict(abi.encodeCall(signerJudge.foreignMint, (_shown(id, entry), mint, other)));
    }

    function test_mintsAndRegistrations() public {
        ActionEvidence memory mint = _act(0, "mint", TEMPLATE, "{}", OWNER_KEY);
        string memory id = _idOf("obj", mint);
        StateEvidence memory wallet = _shown(WALLET, _wallet(1, 2, I2, ORG, OWNER_KEY));
        StateEvidence memory object = _shown(id, _object(1, _sequence(mint), _integrity(mint), WALLET, 0));
        _acquit(abi.encodeCall(signerJudge.falseMinter, (object, mint, wallet)));
        object = _shown(id, _object(1, _sequence(mint), _integrity(mint), OTHER_WALLET, 0));
        _convict(abi.encodeCall(signerJudge.falseMinter, (object, mint, wallet)));
        ActionEvidence memory register = _act(0, "wallet.register", "", "sha-256=:x:", OWNER_KEY);
        id = _idOf("wal", register);
        wallet = _shown(id, _wallet(4, _sequence(register) + 1, I1, ORG, OWNER_KEY));
        _acquit(abi.encodeCall(signerJudge.falseRegistration, (wallet, register)));
        wallet = _shown(id, _wallet(4, _sequence(register) + 1, I1, ORG, OTHER_KEY, OWNER_KEY));
        _convict(abi.encodeCall(signerJudge.falseRegistration, (wallet, register)));
    }

    function test_actionsOutOfTime() public {
        ActionEvidence memory update = _act(I2, "template.update", TEMPLATE, "{}", OWNER_KEY);
        StateEvidence memory object = _shown(OBJECT, _object(1, _sequence(update) - 1, I1, WALLET, 0));
        _convict(abi.encodeCall(signerJudge.liveUpdate, (object, update)));
        object = _shown(OBJECT, _object(1, _sequence(update), I1, WALLET, 0));
        _acquit(abi.encodeCall(signerJudge.liveUpdate, (object, update)));
        ActionEvidence memory leaf = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        _acquit(abi.encodeCall(signerJudge.deadHand, (object, leaf)));
        object = _shown(OBJECT, _object(1, _sequence(update), I1, WALLET, 2));
        _convict(abi.encodeCall(signerJudge.deadHand, (object, leaf)));
        string memory payload = string.concat('{"wallet_id":"', WALLET, '"}');
        CheckpointEvidence memory before = _checkpoint();
        _put(WALLET, _wallet(1, 2, I2, ORG, OWNER_KEY));
        before = _checkpoint();
        StateEvidence memory member = _prove(before, WALLET);
        leaf = _act(keccak256("an organization"), "org.member_remove", ORG, payload, OTHER_KEY);
        _acquit(abi.encodeCall(signerJudge.ghostMember, (leaf, member)));
        _convict(abi.encodeCall(signerJudge.ghostMember, (leaf, _prove(_checkpoint(), WALLET))));
        member = _shown(WALLET, _wallet(1, 2, I2, ORG, OWNER_KEY, address(0)));
        _acquit(abi.encodeCall(signerJudge.ghostMember, (leaf, member)));
    }

    // Ties to the operator.

    function test_evidenceIsTiedToTheOperator() public {
        StateEvidence memory shown = _shown(OBJECT, _object(1, 1, I1, WALLET, 0));
        ActionEvidence memory leaf = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        shown = _prove(_checkpoint(), OBJECT);
        StateEvidence memory strange = _prove(_checkpoint(), OBJECT);
        strange.signed.signature = _sign(STRANGER_SECRET, strange.signed.checkpoint);
        _refuse(abi.encodeCall(historyJudge.staleState, (strange, leaf)), IKedgeJudge.NotSigned.selector);
        ActionEvidence memory other = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        other.placed.batch.signature = _signHeader(STRANGER_SECRET, other.placed.batch.header);
        _refuse(abi.encodeCall(historyJudge.staleState, (shown, other)), IKedgeJudge.NotSigned.selector);
        other = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        other.placed.leaf.sequence = 1;
        _refuse(abi.encodeCall(historyJudge.staleState, (shown, other)), IKedgeJudge.PathLeadsElsewhere.selector);
        other = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        other.words.signer = OTHER_KEY;
        _refuse(abi.encodeCall(historyJudge.staleState, (shown, other)), IKedgeJudge.AnotherAction.selector);
        _convict(abi.encodeCall(historyJudge.staleState, (shown, leaf)));
    }

    function test_stateEvidenceIsAProof() public {
        StateEvidence memory shown = _shown(OBJECT, _object(1, 1, I1, WALLET, 3));
        StateEvidence memory other = _prove(shown.signed, OBJECT);
        other.entry = _object(1, 1, I2, WALLET, 3);
        _refuse(abi.encodeCall(stateJudge.malformedState, (other)), IKedgeAnchor.StateNotProven.selector);
        other.entry = "";
        _refuse(abi.encodeCall(stateJudge.malformedState, (other)), IKedgeAnchor.StateNotProven.selector);
        other = _prove(shown.signed, OBJECT);
        other.key = OTHER_OBJECT;
        _refuse(abi.encodeCall(stateJudge.malformedState, (other)), IKedgeAnchor.StateNotProven.selector);
        other.key = "bat_35rx61b9m631xvdezsjp7mjky6";
        _refuse(abi.encodeCall(stateJudge.malformedState, (other)), IKedgeAnchor.UnfitStateKey.selector);
        other = _prove(_checkpoint(), OBJECT);
        other.signed.checkpoint.state = 0;
        other.signed.signature = _sign(SEQUENCER_SECRET, other.signed.checkpoint);
        _refuse(abi.encodeCall(stateJudge.malformedState, (other)), IKedgeAnchor.UnrootedCheckpoint.selector);
        _convict(abi.encodeCall(stateJudge.malformedState, (shown)));
    }

    /// @dev Checkpoints over as many batches with two roots, one of them zero too.
    function test_twoRootsOfOneCheckpointAreEquivocation() public {
        CheckpointEvidence memory rooted = _checkpoint();
        CheckpointEvidence memory bare = _signedCheckpoint(_trueCheckpoint(uint64(headers.length)));
        (bool isProven,) = address(judge).staticcall(abi.encodeCall(judge.conflictingCheckpoints, (rooted, rooted)));
        assertTrue(!isProven, "one checkpoint twice");
        _mustSlash(abi.encodeCall(judge.conflictingCheckpoints, (rooted, bare)));
    }

    function test_theBondTakesEveryJudgesVerdict() public {
        uint256 before = VM.snapshotState();
        _mustSlash(abi.encodeCall(stateJudge.malformedState, (_shown(OBJECT, _object(1, 1, I1, WALLET, 3)))));
        VM.revertToState(before);
        _shown(OBJECT, _object(1, 1, I1, WALLET, 0));
        ActionEvidence memory leaf = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        _mustSlash(abi.encodeCall(historyJudge.staleState, (_prove(_checkpoint(), OBJECT), leaf)));
        VM.revertToState(before);
        StateEvidence memory burned = _shown(OBJECT, _object(1, 1, I1, WALLET, 2));
        leaf = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        _mustSlash(abi.encodeCall(signerJudge.deadHand, (burned, leaf)));
    }

    function test_aRefusalOfALaterJudgeIsPassedOn() public {
        StateEvidence memory active = _shown(OBJECT, _object(1, 1, I1, WALLET, 0));
        ActionEvidence memory leaf = _act(I1, "update", OBJECT, "{}", OWNER_KEY);
        bytes memory evidence = abi.encodeCall(signerJudge.deadHand, (active, leaf));
        _commit(REPORTER, keccak256(evidence));
        VM.expectRevert(IKedgeJudge.NoFault.selector);
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        assertEq(bond.bond(), BOND_WEI, "untouched");
    }

    function _bounded() private pure returns (bytes memory) {
        return
            _entry(
                1, 2, I2, abi.encodePacked(_text(ORG), hex"80c105018080a0", PROPERTIES, hex"a0", PROPERTIES, hex"c0")
            );
    }

    /// @dev One judge proves it, and no other has the function.
    function _convict(bytes memory evidence) private view {
        address[4] memory list = [address(judge), address(stateJudge), address(historyJudge), address(signerJudge)];
        uint256 proven = 0;
        for (uint256 i = 0; i < list.length; ++i) {
            (bool isAnswered, bytes memory verdict) = list[i].staticcall(evidence);
            if (isAnswered && abi.decode(verdict, (bytes32)) == PROVEN) ++proven;
            else assertEq(verdict.length, 0, "the function is another judge's");
        }
        assertEq(proven, 1, "a fault");
    }

    function _acquit(bytes memory evidence) private view {
        _refuse(evidence, IKedgeJudge.NoFault.selector);
    }

    function _refuse(bytes memory evidence, bytes4 reason) private view {
        address[3] memory list = [address(stateJudge), address(historyJudge), address(signerJudge)];
        uint256 refused = 0;
        for (uint256 i = 0; i < list.length; ++i) {
            (bool isAnswered, bytes memory refusal) = list[i].staticcall(evidence);
            assertTrue(!isAnswered, "no fault is proven");
            if (refusal.length == 0) continue;
            assertEq(bytes32(bytes4(refusal)), bytes32(reason), "the reason");
            ++refused;
        }
        assertEq(refused, 1, "one judge has the function");
    }
}
