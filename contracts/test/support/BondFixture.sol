// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../../src/IKedgeAnchor.sol";
import {IKedgeBond} from "../../src/IKedgeBond.sol";
import {KedgeAnchor} from "../../src/KedgeAnchor.sol";
import {KedgeBond} from "../../src/KedgeBond.sol";
import {KedgeJudge} from "../../src/KedgeJudge.sol";
import {KedgeStateHistoryJudge} from "../../src/KedgeStateHistoryJudge.sol";
import {KedgeStateJudge} from "../../src/KedgeStateJudge.sol";
import {KedgeStateSignerJudge} from "../../src/KedgeStateSignerJudge.sol";
import {LogFixture} from "./LogFixture.sol";

/// @dev An anchor contract with a judge and a bond of ten ether, and how evidence is reported.
abstract contract BondFixture is LogFixture {
    address internal constant REPORTER = address(0x4E904);
    address internal constant BURN_ADDRESS = 0x000000000000000000000000000000000000dEaD;
    bytes32 internal constant SALT = keccak256("the reporter's secret");
    uint256 internal constant BOND_WEI = 10 ether;
    uint64 internal constant WITHDRAWAL_DELAY_S = 21 days;
    uint64 internal constant WINDOW_S = 14 days;
    uint64 internal constant RESPONSE_S = 3 days;
    uint64 internal constant REVEAL_S = 10 minutes;
    uint128 internal constant DEPOSIT_WEI = 0.05 ether;
    uint32 internal constant OPEN_CASES_MAX = 8;

    KedgeJudge internal judge;
    KedgeStateJudge internal stateJudge;
    KedgeStateHistoryJudge internal historyJudge;
    KedgeStateSignerJudge internal signerJudge;
    KedgeBond internal bond;

    function _deployBonded() internal {
        _deploy();
        _renewBond();
        VM.deal(REPORTER, 100 ether);
    }

    /// @dev Judges and a bond over the anchor contract.
    function _renewBond() internal {
        judge = new KedgeJudge(anchorContract, WITHDRAWAL_DELAY_S);
        stateJudge = new KedgeStateJudge(anchorContract, WITHDRAWAL_DELAY_S);
        historyJudge = new KedgeStateHistoryJudge(anchorContract, WITHDRAWAL_DELAY_S);
        signerJudge = new KedgeStateSignerJudge(anchorContract, WITHDRAWAL_DELAY_S);
        bond = new KedgeBond(anchorContract, _judges(anchorContract, judge), _terms());
        VM.prank(OWNER);
        anchorContract.nameBond(address(bond));
        bond.deposit{value: BOND_WEI}();
    }

    /// @dev In addition to `logJudge`, the judges of the state; for another anchor contract than the fixture's, its own ones.
    function _judges(KedgeAnchor anchor, KedgeJudge logJudge) internal returns (IKedgeBond.FaultJudges memory list) {
        list.log = address(logJudge);
        list.state = address(stateJudge);
        list.history = address(historyJudge);
        list.signer = address(signerJudge);
        if (anchor == anchorContract) return list;
        list.state = address(new KedgeStateJudge(anchor, WITHDRAWAL_DELAY_S));
        list.history = address(new KedgeStateHistoryJudge(anchor, WITHDRAWAL_DELAY_S));
        list.signer = address(new KedgeStateSignerJudge(anchor, WITHDRAWAL_DELAY_S));
    }

    function _terms() internal pure returns (IKedgeBond.Terms memory) {
        return IKedgeBond.Terms({
            withdrawalDelayS: WITHDRAWAL_DELAY_S,
            challengeWindowS: WINDOW_S,
            responseTimeS: RESPONSE_S,
            revealDelayS: REVEAL_S,
            caseDepositWei: DEPOSIT_WEI,
            openCasesMax: OPEN_CASES_MAX
        });
    }

    function _commit(address reporter, bytes32 subject) internal {
        bytes32 commitment = bond.commitmentOf(reporter, subject, SALT);
        VM.prank(reporter);
        bond.commit(commitment);
        VM.warp(block.timestamp + REVEAL_S);
    }

    /// @dev A fault is reported and must be proven: the contract freezes, half is burnt, half is the reporter's.
    function _mustSlash(bytes memory evidence) internal {
        _commit(REPORTER, keccak256(evidence));
        uint256 burntBefore = BURN_ADDRESS.balance;
        uint256 owedBefore = bond.owed(REPORTER);
        uint256 before = bond.bond();
        VM.expectEmit(address(bond));
        emit IKedgeBond.FaultProven(REPORTER, bytes4(evidence), keccak256(evidence));
        VM.prank(REPORTER);
        bond.report(evidence, SALT);
        assertTrue(anchorContract.status() == IKedgeAnchor.Status.Frozen, "frozen");
        assertEq(bond.bond(), 0, "the bond is taken");
        assertEq(BURN_ADDRESS.balance - burntBefore, before - before / 2, "half is burnt");
        assertEq(bond.owed(REPORTER) - owedBefore, before / 2, "half is the reporter's");
    }

    /// @dev The judge refuses, for that reason.
    function _mustRefuse(bytes memory evidence, bytes4 reason) internal view {
        (bool isProven, bytes memory data) = address(judge).staticcall(evidence);
        assertTrue(!isProven, "no fault is proven");
        assertEq(bytes32(bytes4(data)), bytes32(reason), "the reason");
    }

    /// @dev The judge refuses, for any reason but a call that it can't read.
    function _mustRefuse(bytes memory evidence) internal view {
        (bool isProven, bytes memory data) = address(judge).staticcall(evidence);
        assertTrue(!isProven, "no fault is proven");
        assertTrue(data.length >= 4, "with a reason");
    }
}
