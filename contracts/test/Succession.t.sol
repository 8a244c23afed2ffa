// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

import {AnchoredAction, HeaderEvidence} from "../src/Evidence.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeBond} from "../src/IKedgeBond.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {KedgeBond} from "../src/KedgeBond.sol";
import {KedgeJudge} from "../src/KedgeJudge.sol";
import {Batch, Checkpoint} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev Says of itself that it hands over a log that it made up.
contract FalsePredecessor {
    address public successor;

    function handOver(KedgeAnchor next) external {
        successor = address(next);
        next.takeOver();
    }

    function latest() external pure returns (uint64, uint64, bytes32) {
        return (9, 18, keccak256("made up"));
    }
}

/// @dev Handing over to a later contract, and for which batches a key's signature counts.
contract SuccessionTest is BondFixture {
    uint256 private constant NEXT_SECRET = 0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1;
    uint64 private constant SIZE = 6;
    uint64 private constant ANCHORED = 4;

    KedgeAnchor private next;

    function setUp() public {
        _deployBonded();
        for (uint32 i = 0; i < SIZE; ++i) {
            _seal(2 + i % 2);
        }
        _anchorLog(ANCHORED);
        next = _successor();
    }

    function test_theSuccessorGoesOnFromTheLastCheckpoint() public {
        (uint64 batches, uint64 sequence, bytes32 history) = anchorContract.latest();
        VM.expectEmit(address(next));
        emit IKedgeAnchor.TakenOver(address(anchorContract), batches, sequence, history);
        _retire();
        assertTrue(anchorContract.status() == IKedgeAnchor.Status.Retired, "retired");
        assertEq(anchorContract.successor(), address(next), "successor");
        assertEq(next.predecessor(), address(anchorContract), "predecessor");
        (uint64 nextBatches, uint64 nextSequence, bytes32 nextHistory) = next.latest();
        assertEq(nextBatches, batches, "batches");
        assertEq(nextSequence, sequence, "sequence");
        assertEq(nextHistory, history, "history");
        _anchorIn(next, SIZE);
        bytes32[] memory path = ReferenceTree.path(leaves, 1, SIZE);
        assertEq(next.verifyBatch(SIZE, headers[1], path), _batchHash(headers[1]), "the whole log is proven there");
        path = ReferenceTree.path(leaves, 1, ANCHORED);
        assertEq(anchorContract.verifyBatch(ANCHORED, headers[1], path), _batchHash(headers[1]), "and proofs stay here");
    }

    // Holds invariant 64.
    function test_aRetiredContractAnchorsNothing() public {
        _retire();
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotOpen.selector, IKedgeAnchor.Status.Retired));
        this.anchorIn(anchorContract, SIZE);
        KedgeAnchor third = _successor();
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotOpen.selector, IKedgeAnchor.Status.Retired));
        VM.prank(OWNER);
        anchorContract.retire(address(third));
    }

    // Holds invariant 65.
    function test_aSuccessorWaitsForItsPredecessor() public {
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotOpen.selector, IKedgeAnchor.Status.Waiting));
        this.anchorIn(next, SIZE);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotThePredecessor.selector, address(this)));
        next.takeOver();
        FalsePredecessor impostor = new FalsePredecessor();
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotThePredecessor.selector, address(impostor)));
        impostor.handOver(next);
    }

    /// @dev The first contract handed over to another one: who has the domain alone takes over nothing.
    function test_aSecondSuccessorTakesOverNothing() public {
        KedgeAnchor other = _successor();
        _retire();
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotThePredecessor.selector, address(anchorContract)));
        VM.prank(address(anchorContract));
        other.takeOver();
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotOpen.selector, IKedgeAnchor.Status.Open));
        VM.prank(address(anchorContract));
        next.takeOver();
    }

    function test_aChainOfSuccessors() public {
        _retire();
        _anchorIn(next, SIZE - 1);
        KedgeAnchor third = _successor();
        VM.prank(OWNER);
        next.retire(address(third));
        _anchorIn(third, SIZE);
        assertEq(third.predecessor(), address(next), "predecessor");
        (uint64 fromBatch, uint64 untilBatch, uint64 retiredAt) = next.coverage();
        assertEq(fromBatch, ANCHORED, "from where it took over");
        assertEq(untilBatch, SIZE - 1, "to where it handed over");
        assertEq(retiredAt, START_S, "and when");
        (,, retiredAt) = third.coverage();
        assertEq(retiredAt, 0, "not yet");
    }

    /// @dev A successor has one key of its own at first; those of the batches before are the old contract's to tell.
    function test_oldKeysAreAskedOfTheOldContract() public {
        _rotate(ANCHORED);
        next = new KedgeAnchor(OWNER, VM.addr(NEXT_SECRET), DOMAIN_CONTRACT);
        _retire();
        assertEq(next.sequencerKeyAt(ANCHORED - 1), VM.addr(SEQUENCER_SECRET), "the old key's last batch");
        assertEq(next.sequencerKeyAt(ANCHORED), VM.addr(NEXT_SECRET), "the first batch here");
    }

    function test_aWrongSuccessorIsRefused() public {
        KedgeAnchor foreign = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(0x1));
        KedgeAnchor otherKey = new KedgeAnchor(OWNER, VM.addr(NEXT_SECRET), DOMAIN_CONTRACT);
        address[3] memory wrong = [address(foreign), address(otherKey), address(anchorContract)];
        for (uint256 i = 0; i < wrong.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.WrongSuccessor.selector, wrong[i]));
            VM.prank(OWNER);
            anchorContract.retire(wrong[i]);
        }
        VM.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, REPORTER));
        VM.prank(REPORTER);
        anchorContract.retire(address(next));
    }

    // Holds invariant 111.
    /// @dev What was signed and not anchored before retirement counts until evidence of it is too old.
    function testFuzz_retiringUndoesNoSignature(uint64 wait) public {
        _retire();
        wait = uint64(within(wait, 0, WITHDRAWAL_DELAY_S - REVEAL_S));
        VM.warp(START_S + wait);
        _mustSlash(_equivocation(ANCHORED, SEQUENCER_SECRET, 0));
        assertTrue(next.status() == IKedgeAnchor.Status.Open, "the successor continues");
    }

    // Holds invariant 111.
    function test_afterTheEvidencesAgeTheOldBondAnswersForItsOwnBatches() public {
        _retire();
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        _mustRefuse(abi.encodeCall(judge.brokenHeader, (_signed(headers[ANCHORED]))), IKedgeJudge.NoFault.selector);
        VM.warp(START_S + WITHDRAWAL_DELAY_S + 1);
        _mustRefuse(_equivocation(ANCHORED, SEQUENCER_SECRET, 0), IKedgeJudge.NotCovered.selector);
        _mustSlash(_equivocation(ANCHORED - 1, SEQUENCER_SECRET, 0));
        assertTrue(next.status() == IKedgeAnchor.Status.Open, "the successor continues");
    }

    // Holds invariant 111.
    /// @dev A header that was signed before retirement and left out of what the successor anchored.
    function test_whatTheSuccessorLeavesOutIsShownByItsHistory() public {
        _retire();
        _anchorIn(next, SIZE - 1);
        KedgeAnchor third = _successor();
        VM.prank(OWNER);
        next.retire(address(third));
        _anchorIn(third, SIZE);
        Batch memory left = headers[ANCHORED];
        left.head = keccak256("another head");
        bytes32 held = _batchHash(headers[ANCHORED]);
        for (uint64 size = SIZE - 1; size <= SIZE; ++size) {
            bytes32[] memory path = ReferenceTree.path(leaves, ANCHORED, size);
            bytes memory honest = abi.encodeCall(judge.omittedBatch, (_signed(headers[ANCHORED]), size, held, path));
            _mustRefuse(honest, IKedgeJudge.NoFault.selector);
        }
        bytes32[] memory unknown = ReferenceTree.path(leaves, ANCHORED, SIZE);
        _mustRefuse(
            abi.encodeCall(judge.omittedBatch, (_signed(left), SIZE + 1, held, unknown)),
            IKedgeAnchor.UnknownCheckpoint.selector
        );
        bytes32[] memory last = ReferenceTree.path(leaves, ANCHORED, SIZE);
        _mustSlash(abi.encodeCall(judge.omittedBatch, (_signed(left), SIZE, held, last)));
    }

    /// @dev A demand is answered with the contract's own checkpoints: for what it will never anchor there is none.
    function test_nobodyDemandsWhatARetiredContractCannotAnchor() public {
        _retire();
        HeaderEvidence memory evidence = _signed(headers[ANCHORED]);
        _commit(REPORTER, bond.inclusionCaseId(_batchHash(headers[ANCHORED])));
        VM.expectPartialRevert(IKedgeJudge.NotCovered.selector);
        VM.prank(REPORTER);
        bond.demandInclusion{value: DEPOSIT_WEI}(evidence, SALT);
    }

    function test_theNewBondAnswersForWhatComes() public {
        _retire();
        KedgeJudge nextJudge = new KedgeJudge(next, WITHDRAWAL_DELAY_S);
        KedgeBond nextBond = new KedgeBond(next, _judges(next, nextJudge), _terms());
        VM.prank(OWNER);
        next.nameBond(address(nextBond));
        nextBond.deposit{value: 1 ether}();
        (judge, bond) = (nextJudge, nextBond);
        _mustRefuse(_equivocation(ANCHORED - 1, SEQUENCER_SECRET, 0), IKedgeJudge.NotCovered.selector);
        _anchorIn(next, SIZE);
        AnchoredAction memory old = _anchoredAction(ANCHORED - 1, 0, SIZE);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.BatchOutOfReach.selector, ANCHORED - 1));
        bond.challengeAction{value: DEPOSIT_WEI}(old, SALT);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.BatchOutOfReach.selector, ANCHORED - 1));
        bond.demandLeaves{value: DEPOSIT_WEI}(SIZE, ANCHORED - 1, SALT);
        bytes memory evidence = _equivocation(ANCHORED, SEQUENCER_SECRET, 0);
        _commit(REPORTER, keccak256(evidence));
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        assertTrue(next.status() == IKedgeAnchor.Status.Frozen, "frozen");
    }

    function test_theBondIsWithdrawnAfterRetirement() public {
        _retire();
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(BOND_WEI));
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        assertEq(OWNER.balance, BOND_WEI, "paid");
    }

    // Keys and evidence under them.

    function test_aKeyThatNeverSignedForTheBatchProvesNothing() public {
        _rotate(5);
        _mustRefuse(_equivocation(3, NEXT_SECRET, 1), IKedgeJudge.NotSigned.selector);
        _mustRefuse(_equivocation(3, SEQUENCER_SECRET, 1), IKedgeJudge.NotSigned.selector);
        _mustSlash(_equivocation(5, NEXT_SECRET, 1));
    }

    /// @dev Rotating from a batch that was signed already does not undo the signature, until the delay is over.
    function testFuzz_aRotationDoesNotUndoWhatWasSigned(uint64 wait) public {
        _rotate(4);
        wait = uint64(within(wait, 0, WITHDRAWAL_DELAY_S - REVEAL_S));
        VM.warp(START_S + wait);
        _mustSlash(_equivocation(5, SEQUENCER_SECRET, 0));
    }

    function test_whatARotationTookFromAKeyAges() public {
        _rotate(4);
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        _mustRefuse(abi.encodeCall(judge.brokenHeader, (_signed(headers[5]))), IKedgeJudge.NoFault.selector);
        VM.warp(START_S + WITHDRAWAL_DELAY_S + 1);
        _mustRefuse(_equivocation(5, SEQUENCER_SECRET, 0), IKedgeJudge.EvidenceTooOld.selector);
        _mustSlash(_equivocation(3, SEQUENCER_SECRET, 0));
    }

    /// @dev A key's own batches count until the delay after all of them are anchored, once that is noted.
    function test_aReplacedKeysEvidenceAges() public {
        _rotate(5);
        VM.warp(START_S + 1 days);
        _anchorLog(5);
        VM.warp(START_S + 2 days);
        Checkpoint memory all = _trueCheckpoint(SIZE);
        anchorContract.anchor(all, _sign(NEXT_SECRET, all), ReferenceTree.consistency(leaves, 5, SIZE));
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.KeyStillInUse.selector, 0, ANCHORED));
        anchorContract.closeKey(0, ANCHORED);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.KeyStillInUse.selector, 1, SIZE));
        anchorContract.closeKey(1, SIZE);
        anchorContract.closeKey(0, SIZE);
        assertEq(anchorContract.keyTerm(0).closedAt, START_S + 2 days, "a later checkpoint shows it too");
        anchorContract.closeKey(0, 5);
        assertEq(anchorContract.keyTerm(0).closedAt, START_S + 1 days, "the earliest counts");
        anchorContract.closeKey(0, SIZE);
        assertEq(anchorContract.keyTerm(0).closedAt, START_S + 1 days, "and stays");
        VM.warp(START_S + 1 days + WITHDRAWAL_DELAY_S + 1);
        _mustRefuse(_equivocation(3, SEQUENCER_SECRET, 0), IKedgeJudge.EvidenceTooOld.selector);
        _mustSlash(_equivocation(5, NEXT_SECRET, 1));
    }

    /// @dev Naming a key for a far batch does not let the present one's evidence age.
    function test_aFarRotationLetsNothingAge() public {
        _rotate(1_000_000);
        VM.warp(START_S + 10 * WITHDRAWAL_DELAY_S);
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.KeyStillInUse.selector, 0, ANCHORED));
        anchorContract.closeKey(0, ANCHORED);
        _mustSlash(_equivocation(5, SEQUENCER_SECRET, 0));
    }

    function anchorIn(KedgeAnchor where, uint64 size) external {
        _anchorIn(where, size);
    }

    function _anchorIn(KedgeAnchor where, uint64 size) private {
        Checkpoint memory checkpoint = _trueCheckpoint(size);
        (uint64 last,,) = where.latest();
        where.anchor(checkpoint, _sign(SEQUENCER_SECRET, checkpoint), ReferenceTree.consistency(leaves, last, size));
    }

    function _successor() private returns (KedgeAnchor) {
        return new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), DOMAIN_CONTRACT);
    }

    function _retire() private {
        VM.prank(OWNER);
        anchorContract.retire(address(next));
    }

    function _rotate(uint64 fromBatch) private {
        address key = VM.addr(NEXT_SECRET);
        VM.prank(OWNER);
        anchorContract.rotate(key, fromBatch);
    }

    function _equivocation(uint64 number, uint256 secret, uint32 keyIndex) private view returns (bytes memory) {
        Batch memory other = headers[number];
        other.head = keccak256("another head");
        HeaderEvidence memory first = _signed(headers[number]);
        HeaderEvidence memory second = _signed(other);
        (first.signature, first.keyIndex) = (_signHeader(secret, headers[number]), keyIndex);
        (second.signature, second.keyIndex) = (_signHeader(secret, other), keyIndex);
        return abi.encodeCall(judge.conflictingBatches, (first, second));
    }
}
