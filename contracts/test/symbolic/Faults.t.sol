// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HeaderEvidence, LeafEvidence} from "../../src/Evidence.sol";
import {IKedgeAnchor} from "../../src/IKedgeAnchor.sol";
import {IKedgeBond} from "../../src/IKedgeBond.sol";
import {KedgeAnchor} from "../../src/KedgeAnchor.sol";
import {KedgeBond} from "../../src/KedgeBond.sol";
import {KedgeJudge} from "../../src/KedgeJudge.sol";
import {ActionLeaf, Batch, Checkpoint} from "../../src/LogRecords.sol";
import {Svm} from "./Svm.sol";

/// @dev The cheats of forge that halmos knows too.
interface Clock {
    function warp(uint256 timestamp) external;
}

/// @dev Proofs for halmos over all values. keccak256 is taken as free of collisions, and signature recovery as any
/// function: whoever signed, and whatever the signatures are.
contract FaultProof {
    Svm private constant SVM = Svm(address(uint160(uint256(keccak256("svm cheat code")))));
    Clock private constant CLOCK = Clock(address(uint160(uint256(keccak256("hevm cheat code")))));
    uint64 private constant DELAY_S = 21 days;
    uint64 private constant START_S = 1_790_000_000;

    KedgeAnchor private bonded;
    KedgeAnchor private frozen;
    KedgeJudge private judge;
    KedgeBond private bond;
    /// @dev What `nameBond` asks the bond for: this contract stands in for the bond of `frozen`.
    address public anchorContract;

    function setUp() public {
        CLOCK.warp(START_S);
        bonded = new KedgeAnchor(address(this), address(0x5E9), address(0));
        judge = new KedgeJudge(bonded, DELAY_S);
        IKedgeBond.Terms memory terms = IKedgeBond.Terms({
            withdrawalDelayS: DELAY_S,
            challengeWindowS: 14 days,
            responseTimeS: 3 days,
            revealDelayS: 10 minutes,
            caseDepositWei: 1,
            openCasesMax: 8
        });
        IKedgeBond.FaultJudges memory judges = IKedgeBond.FaultJudges({
            log: address(judge), state: address(judge), history: address(judge), signer: address(judge)
        });
        bond = new KedgeBond(bonded, judges, terms);
        bonded.nameBond(address(bond));
        frozen = new KedgeAnchor(address(this), address(0x5E9), address(0));
        anchorContract = address(frozen);
        frozen.nameBond(address(this));
        frozen.freeze();
    }

    /// @dev One header shown twice, under any signatures, is no equivocation.
    function check_oneHeaderIsNoEquivocation() public view {
        Batch memory header = _header();
        _mustRefuse(abi.encodeCall(judge.conflictingBatches, (_evidence(header), _evidence(header))));
    }

    // Holds invariant 62.
    /// @dev Headers that join are no broken link.
    function check_headersThatJoinAreNoFault() public view {
        Batch memory one = _header();
        Batch memory two = _header();
        unchecked {
            if (two.number != one.number + 1 || one.number == type(uint64).max) return;
        }
        if (uint256(two.firstSequence) != uint256(one.firstSequence) + one.count) return;
        if (two.previousHead != one.head || two.sealedAt < one.sealedAt) return;
        _mustRefuse(abi.encodeCall(judge.brokenLink, (_evidence(one), _evidence(two))));
    }

    /// @dev Headers that are not neighbours are no broken link either, whatever is in them.
    function check_headersThatAreNotNeighboursAreNoFault() public view {
        Batch memory one = _header();
        Batch memory two = _header();
        if (uint256(two.number) == uint256(one.number) + 1) return;
        _mustRefuse(abi.encodeCall(judge.brokenLink, (_evidence(one), _evidence(two))));
    }

    /// @dev Two contents, or one sequence, are no replay.
    function check_otherContentsAreNoReplay() public view {
        LeafEvidence memory one = _leaf();
        LeafEvidence memory two = _leaf();
        if (one.leaf.content == two.leaf.content && one.leaf.sequence != two.leaf.sequence) return;
        _mustRefuse(abi.encodeCall(judge.replayedContent, (one, two)));
    }

    /// @dev An integrity that only one of two actions extends is not forked.
    function check_anIntegrityExtendedOnceIsNoFork(bytes32 other) public view {
        LeafEvidence memory one = _leaf();
        LeafEvidence memory two = _leaf();
        bytes32 previous = SVM.createBytes32("previous");
        if (other == previous) return;
        two.leaf.integrity = keccak256(abi.encode(other, two.leaf.content));
        _mustRefuse(abi.encodeCall(judge.forkedIntegrity, (one, two, previous)));
    }

    // Holds invariant 64.
    /// @dev No checkpoint, signature or proof gets into a frozen contract.
    function check_aFrozenContractAnchorsNothing(uint256 length) public {
        bytes32[] memory proof = new bytes32[](length == 0 ? 0 : 1);
        if (proof.length == 1) proof[0] = SVM.createBytes32("proof");
        Checkpoint memory checkpoint = Checkpoint({
            batches: uint64(SVM.createUint(64, "batches")),
            sequence: uint64(SVM.createUint(64, "sequence")),
            head: SVM.createBytes32("head"),
            history: SVM.createBytes32("history"),
            state: SVM.createBytes32("state"),
            issuedAt: uint64(SVM.createUint(64, "issuedAt"))
        });
        bytes memory signature = SVM.createBytes(65, "signature");
        (bool isTaken,) = address(frozen).call(abi.encodeCall(frozen.anchor, (checkpoint, signature, proof)));
        assert(!isTaken);
        (uint64 batches,,) = frozen.latest();
        assert(batches == 0 && frozen.status() == IKedgeAnchor.Status.Frozen);
    }

    /// @dev Whatever is asked for and however long one waits: what is paid was asked for, and the delay is over.
    function check_aWithdrawalWaitsOutItsDelay(uint128 amount, uint64 waitS) public {
        bond.deposit{value: 10 ether}();
        (bool isAsked,) = address(bond).call(abi.encodeCall(bond.requestWithdrawal, (amount)));
        assert(isAsked == (amount <= 10 ether));
        CLOCK.warp(uint256(START_S) + waitS);
        (bool isPaid,) = address(bond).call(abi.encodeCall(bond.withdraw, (payable(address(0xCAFE)))));
        assert(isPaid == (isAsked && amount != 0 && waitS >= DELAY_S));
        assert(bond.bond() == (isPaid ? 10 ether - amount : 10 ether));
    }

    function _mustRefuse(bytes memory evidence) private view {
        (bool isProven,) = address(judge).staticcall(evidence);
        assert(!isProven);
    }

    function _evidence(Batch memory header) private pure returns (HeaderEvidence memory) {
        return HeaderEvidence({
            header: header,
            signature: SVM.createBytes(65, "signature"),
            keyIndex: 0,
            anchoredBatches: 0,
            path: new bytes32[](0)
        });
    }

    /// @dev The only leaf of its batch.
    function _leaf() private pure returns (LeafEvidence memory) {
        ActionLeaf memory leaf = ActionLeaf({
            sequence: uint64(SVM.createUint(64, "sequence")),
            timestampMs: uint64(SVM.createUint(64, "timestampMs")),
            content: SVM.createBytes32("content"),
            integrity: SVM.createBytes32("integrity")
        });
        Batch memory header = _header();
        header.count = 1;
        header.root =
            keccak256(abi.encodePacked(bytes1(0x00), leaf.sequence, leaf.timestampMs, leaf.content, leaf.integrity));
        return LeafEvidence({leaf: leaf, index: 0, path: new bytes32[](0), batch: _evidence(header)});
    }

    function _header() private pure returns (Batch memory) {
        return Batch({
            number: uint64(SVM.createUint(64, "number")),
            firstSequence: uint64(SVM.createUint(64, "firstSequence")),
            count: uint32(SVM.createUint(32, "count")),
            previousHead: SVM.createBytes32("previousHead"),
            head: SVM.createBytes32("head"),
            root: SVM.createBytes32("root"),
            history: SVM.createBytes32("history"),
            state: SVM.createBytes32("state"),
            sealedAt: uint64(SVM.createUint(64, "sealedAt"))
        });
    }
}
