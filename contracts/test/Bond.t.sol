// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeBond} from "../src/IKedgeBond.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {KedgeBond} from "../src/KedgeBond.sol";
import {KedgeJudge} from "../src/KedgeJudge.sol";
import {Batch, Checkpoint} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";

/// @dev Takes its money with a call back into the bond.
contract Reentrant {
    KedgeBond private immutable BOND;
    uint256 public entered;
    bool private isOwner;

    constructor(KedgeBond bond) {
        BOND = bond;
    }

    function acceptOwnership(KedgeAnchor anchor) external {
        isOwner = true;
        anchor.acceptOwnership();
    }

    function requestWithdrawal(uint128 amount) external {
        BOND.requestWithdrawal(amount);
    }

    function commit(bytes32 commitment) external {
        BOND.commit(commitment);
    }

    function report(bytes calldata evidence, bytes32 salt) external {
        BOND.report(evidence, salt);
    }

    function withdraw() public {
        BOND.withdraw(payable(address(this)));
    }

    function collect() public {
        BOND.collect(payable(address(this)));
    }

    receive() external payable {
        ++entered;
        if (isOwner) {
            try this.withdraw() {} catch {}
        } else {
            try this.collect() {} catch {}
        }
    }
}

/// @dev Money in and out, commitments, and what a proven fault does.
contract BondTest is BondFixture {
    address private constant COPIER = address(0xC0B1E4);

    function setUp() public {
        _deployBonded();
        _seal(2);
        _seal(3);
    }

    function testFuzz_anyoneAddsToTheBond(address sender, uint96 amount) public {
        VM.assume(sender != address(0));
        VM.deal(sender, amount);
        VM.expectEmit(address(bond));
        emit IKedgeBond.Deposited(sender, amount, BOND_WEI + amount);
        VM.prank(sender);
        bond.deposit{value: amount}();
        assertEq(bond.bond(), BOND_WEI + amount, "bond");
        assertEq(address(bond).balance, BOND_WEI + amount, "balance");
    }

    function test_aBondThatCouldNotFreezeTakesNothing() public {
        KedgeBond unnamed = new KedgeBond(anchorContract, _judges(anchorContract, judge), _terms());
        VM.expectRevert(IKedgeBond.NotNamed.selector);
        unnamed.deposit{value: 1}();
    }

    function testFuzz_termsThatLeaveAGapAreRefused(uint256 field) public {
        IKedgeBond.Terms memory terms = _terms();
        field = field % 7;
        if (field == 0) terms.withdrawalDelayS = terms.challengeWindowS + terms.responseTimeS + terms.revealDelayS;
        else if (field == 1) terms.challengeWindowS = 0;
        else if (field == 2) terms.responseTimeS = 0;
        else if (field == 3) terms.revealDelayS = 0;
        else if (field == 4) terms.openCasesMax = 0;
        else if (field == 5) terms.challengeWindowS = type(uint64).max;
        else terms.withdrawalDelayS = type(uint64).max;
        VM.expectRevert(IKedgeBond.UnfitTerms.selector);
        new KedgeBond(anchorContract, _judges(anchorContract, judge), terms);
    }

    function test_aJudgeOfAnotherLogOrDelayIsRefused() public {
        KedgeAnchor other = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(0));
        KedgeJudge foreign = new KedgeJudge(other, WITHDRAWAL_DELAY_S);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.UnfitJudge.selector, address(foreign)));
        new KedgeBond(anchorContract, _judges(anchorContract, foreign), _terms());
        KedgeJudge hasty = new KedgeJudge(anchorContract, WITHDRAWAL_DELAY_S - 1);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.UnfitJudge.selector, address(hasty)));
        new KedgeBond(anchorContract, _judges(anchorContract, hasty), _terms());
    }

    function test_theBondIsNamedOnceAndIsOneOverThisContract() public {
        KedgeBond second = new KedgeBond(anchorContract, _judges(anchorContract, judge), _terms());
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.WrongBond.selector, address(second)));
        VM.prank(OWNER);
        anchorContract.nameBond(address(second));
        KedgeAnchor other = new KedgeAnchor(OWNER, VM.addr(SEQUENCER_SECRET), address(0));
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.WrongBond.selector, address(bond)));
        VM.prank(OWNER);
        other.nameBond(address(bond));
    }

    function testFuzz_onlyTheOwnerWithdrawsAndNames(address caller) public {
        VM.assume(caller != OWNER && caller != address(0));
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotTheOwner.selector, caller));
        VM.prank(caller);
        bond.requestWithdrawal(1);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotTheOwner.selector, caller));
        VM.prank(caller);
        bond.withdraw(payable(caller));
        VM.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, caller));
        VM.prank(caller);
        anchorContract.nameBond(address(bond));
    }

    function testFuzz_aWithdrawalWaitsOutItsDelay(uint128 amount, uint64 wait) public {
        amount = uint128(within(amount, 1, BOND_WEI));
        wait = uint64(within(wait, 0, WITHDRAWAL_DELAY_S - 1));
        VM.prank(OWNER);
        bond.requestWithdrawal(amount);
        assertEq(bond.bond(), BOND_WEI, "still bonded");
        assertEq(bond.secured(), BOND_WEI - amount, "but not for what comes");
        VM.warp(START_S + wait);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotReady.selector, START_S + WITHDRAWAL_DELAY_S));
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        VM.prank(OWNER);
        bond.withdraw(payable(address(0xCAFE)));
        assertEq(address(0xCAFE).balance, amount, "paid");
        assertEq(bond.bond(), BOND_WEI - amount, "the rest stays");
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotReady.selector, 0));
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
    }

    function test_aWithdrawalIsCalledOffOrBegunAnew() public {
        VM.prank(OWNER);
        bond.requestWithdrawal(5 ether);
        VM.warp(START_S + 20 days);
        VM.prank(OWNER);
        bond.requestWithdrawal(6 ether);
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotReady.selector, START_S + 20 days + WITHDRAWAL_DELAY_S));
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        VM.prank(OWNER);
        bond.requestWithdrawal(0);
        assertEq(bond.secured(), BOND_WEI, "all of it again");
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotEnough.selector, BOND_WEI + 1, BOND_WEI));
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(BOND_WEI + 1));
    }

    function testFuzz_aFaultTakesWhatIsBeingWithdrawnToo(uint128 amount) public {
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(within(amount, 1, BOND_WEI)));
        _mustSlash(_equivocation());
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        VM.expectRevert(IKedgeBond.AlreadyFrozen.selector);
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        assertEq(bond.withdrawal().amount, 0, "nothing is being withdrawn");
    }

    function testFuzz_atLeastHalfIsBurnt(uint96 extra) public {
        VM.deal(address(this), extra);
        bond.deposit{value: extra}();
        uint256 all = BOND_WEI + extra;
        _mustSlash(_equivocation());
        assertTrue(BURN_ADDRESS.balance * 2 >= all, "at least half");
        assertEq(address(bond).balance, bond.owed(REPORTER), "what is left is the reporter's");
        VM.prank(REPORTER);
        bond.collect(payable(address(0xCAFE)));
        assertEq(address(0xCAFE).balance, all / 2, "paid");
        assertEq(address(bond).balance, 0, "nothing is stuck");
    }

    function test_aFaultIsProvenWithoutABondToo() public {
        VM.prank(OWNER);
        bond.requestWithdrawal(uint128(BOND_WEI));
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        VM.prank(OWNER);
        bond.withdraw(payable(OWNER));
        _mustSlash(_equivocation());
    }

    // Holds invariant 64.
    function test_aFrozenContractAnchorsNothingAndProofsStay() public {
        _anchorLog(1);
        _mustSlash(_equivocation());
        Checkpoint memory next = _trueCheckpoint(2);
        bytes memory signature = _sign(SEQUENCER_SECRET, next);
        bytes memory refusal = abi.encodeWithSelector(IKedgeAnchor.NotOpen.selector, IKedgeAnchor.Status.Frozen);
        VM.expectRevert(refusal);
        anchorContract.anchor(next, signature, new bytes32[](1));
        VM.expectRevert(refusal);
        VM.prank(OWNER);
        anchorContract.retire(address(this));
        assertEq(
            anchorContract.verifyBatch(1, headers[0], new bytes32[](0)), _batchHash(headers[0]), "proofs stay readable"
        );
        VM.expectRevert(IKedgeBond.AlreadyFrozen.selector);
        bond.deposit{value: 1}();
        VM.expectRevert(IKedgeBond.AlreadyFrozen.selector);
        VM.prank(OWNER);
        bond.requestWithdrawal(0);
    }

    function testFuzz_onlyTheBondFreezes(address caller) public {
        VM.assume(caller != address(bond));
        VM.expectRevert(abi.encodeWithSelector(IKedgeAnchor.NotTheBond.selector, caller));
        VM.prank(caller);
        anchorContract.freeze();
    }

    function test_evidenceCountsOnce() public {
        bytes memory evidence = _equivocation();
        _mustSlash(evidence);
        _commit(REPORTER, keccak256(evidence));
        VM.expectRevert(IKedgeBond.AlreadyFrozen.selector);
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
    }

    function testFuzz_aReportNeedsAnOldEnoughCommitment(uint64 age) public {
        bytes memory evidence = _equivocation();
        age = uint64(within(age, 0, REVEAL_S - 1));
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotCommitted.selector, 0));
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        bytes32 commitment = bond.commitmentOf(REPORTER, keccak256(evidence), SALT);
        bond.commit(commitment);
        VM.warp(START_S + age);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotCommitted.selector, START_S + REVEAL_S));
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        VM.warp(START_S + REVEAL_S);
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        assertEq(bond.owed(REPORTER), BOND_WEI / 2, "rewarded");
        assertEq(bond.committedAt(commitment), 0, "and used up");
    }

    // Holds invariant 63.
    /// @dev Who sees the report waiting has its evidence and salt, but no commitment of its own that is old enough; and
    /// committing the reporter's words again does not renew them.
    function test_aCopiedReportComesTooLate() public {
        bytes memory evidence = _equivocation();
        _commit(REPORTER, keccak256(evidence));
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotCommitted.selector, 0));
        VM.prank(COPIER);
        bond.report(evidence, SALT);
        bytes32 own = bond.commitmentOf(COPIER, keccak256(evidence), SALT);
        bytes32 reporters = bond.commitmentOf(REPORTER, keccak256(evidence), SALT);
        VM.startPrank(COPIER);
        bond.commit(own);
        bond.commit(reporters);
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotCommitted.selector, block.timestamp + REVEAL_S));
        bond.report(evidence, SALT);
        VM.stopPrank();
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        assertEq(bond.owed(REPORTER), BOND_WEI / 2, "the reporter's");
        assertEq(bond.owed(COPIER), 0, "not the copier's");
    }

    /// @dev A commitment holds chain, contract and reporter, so none serves elsewhere.
    function test_aCommitmentHoldsForOneBondOfOneChain() public {
        bytes32 subject = keccak256("evidence");
        bytes32 here = bond.commitmentOf(REPORTER, subject, SALT);
        KedgeBond other = new KedgeBond(anchorContract, _judges(anchorContract, judge), _terms());
        assertTrue(other.commitmentOf(REPORTER, subject, SALT) != here, "another bond");
        assertTrue(bond.commitmentOf(COPIER, subject, SALT) != here, "another reporter");
        VM.chainId(1);
        assertTrue(bond.commitmentOf(REPORTER, subject, SALT) != here, "another chain");
    }

    /// @dev Calls of the judge that answer, but prove nothing.
    function test_onlyAProofCounts() public {
        bytes[3] memory calls = [
            abi.encodeCall(judge.anchorContract, ()),
            abi.encodeCall(judge.evidenceAgeS, ()),
            abi.encodeCall(judge.requireSigned, (_signed(headers[0])))
        ];
        for (uint256 i = 0; i < calls.length; ++i) {
            _commit(REPORTER, keccak256(calls[i]));
            VM.expectRevert(IKedgeBond.NotProven.selector);
            VM.prank(REPORTER);
            bond.report(calls[i], SALT);
        }
        assertEq(bond.bond(), BOND_WEI, "untouched");
    }

    function test_aRefusalSaysTheJudgesReason() public {
        bytes memory evidence = abi.encodeCall(judge.brokenHeader, (_signed(headers[0])));
        _commit(REPORTER, keccak256(evidence));
        VM.expectRevert(IKedgeJudge.NoFault.selector);
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        assertEq(bond.bond(), BOND_WEI, "untouched");
    }

    function test_anOwnerThatCallsBackIsPaidOnce() public {
        Reentrant owner = new Reentrant(bond);
        VM.prank(OWNER);
        anchorContract.transferOwnership(address(owner));
        owner.acceptOwnership(anchorContract);
        owner.requestWithdrawal(4 ether);
        VM.warp(START_S + WITHDRAWAL_DELAY_S);
        owner.withdraw();
        assertEq(owner.entered(), 1, "paid once");
        assertEq(address(owner).balance, 4 ether, "and what was asked for");
    }

    function test_aReporterThatCallsBackIsPaidOnce() public {
        Reentrant reporter = new Reentrant(bond);
        bytes memory evidence = _equivocation();
        reporter.commit(bond.commitmentOf(address(reporter), keccak256(evidence), SALT));
        VM.warp(START_S + REVEAL_S);
        reporter.report(evidence, SALT);
        // Others' money is there to be taken.
        VM.deal(address(bond), 100 ether);
        reporter.collect();
        assertEq(reporter.entered(), 1, "paid once");
        assertEq(address(reporter).balance, BOND_WEI / 2, "and what is owed");
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotEnough.selector, 0, 0));
        reporter.collect();
    }

    function test_nothingOwedIsNotPaid() public {
        VM.expectRevert(abi.encodeWithSelector(IKedgeBond.NotEnough.selector, 0, 0));
        VM.prank(COPIER);
        bond.collect(payable(COPIER));
    }

    function _equivocation() private view returns (bytes memory) {
        Batch memory other = headers[0];
        other.head = keccak256("another head");
        return abi.encodeCall(judge.conflictingBatches, (_signed(headers[0]), _signed(other)));
    }
}
