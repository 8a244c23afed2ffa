// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {KedgeBond} from "../src/KedgeBond.sol";
import {Batch} from "../src/LogRecords.sol";
import {BondHandler} from "./support/BondHandler.sol";
import {TestBase} from "./support/TestBase.sol";

/// @dev What holds of money and proofs whatever is done, by whomever, in whatever order.
abstract contract BondInvariants is TestBase {
    address private constant BURN_ADDRESS = 0x000000000000000000000000000000000000dEaD;

    BondHandler internal handler;
    KedgeAnchor internal anchorContract;
    KedgeBond internal bond;

    function setUp() public {
        handler = new BondHandler{value: 1000 ether}(_mayFail());
        (anchorContract, bond) = handler.target();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @dev What the handler calls on itself is no call of anybody else.
    function excludeSenders() external view returns (address[] memory senders) {
        senders = new address[](1);
        senders[0] = address(handler);
    }

    // Holds invariant 62.
    /// forge-config: default.invariant.runs = 16
    function invariant_everyWeiIsSomebodys() external view {
        assertEq(bond.bond(), handler.expectedBond(), "the bond is what was put in, but for what was taken out");
        uint256 held = bond.bond() + handler.openDeposits() + handler.owedInAll();
        assertEq(address(bond).balance, held, "bond, open deposits and what is owed");
        assertEq(BURN_ADDRESS.balance, handler.burnt(), "and the rest was burnt");
        assertEq(bond.openCases(), handler.openCount(), "open cases");
    }

    // Holds invariant 62.
    /// forge-config: default.invariant.runs = 16
    function invariant_aFaultAloneFreezes() external view {
        bool isFrozen = anchorContract.status() == IKedgeAnchor.Status.Frozen;
        assertTrue(isFrozen == handler.isFrozen(), "frozen after a fault, and only then");
        (uint64 batches,,) = anchorContract.latest();
        assertEq(batches, handler.anchored(), "nothing is anchored behind the handler's back");
    }

    /// forge-config: default.invariant.runs = 16
    function invariant_proofsStayReadable() external view {
        uint64 anchored = handler.anchored();
        for (uint64 number = 0; number < anchored; number += 1 + anchored / 4) {
            (Batch memory header, bytes32[] memory path, bytes32 batchHash) = handler.batchAt(number);
            assertEq(anchorContract.verifyBatch(anchored, header, path), batchHash, "a batch is proven");
        }
    }

    function _mayFail() internal pure virtual returns (bool);
}

/// @dev Whoever accuses an honest operator, its bond never shrinks but by its own withdrawals.
contract HonestOperatorInvariants is BondInvariants {
    // Holds invariant 62.
    /// forge-config: default.invariant.runs = 16
    function invariant_anHonestOperatorIsNeverFrozen() external view {
        assertTrue(anchorContract.status() == IKedgeAnchor.Status.Open, "open");
    }

    function _mayFail() internal pure override returns (bool) {
        return false;
    }
}

/// @dev The same with an operator that commits a fault at some time.
contract FaultyOperatorInvariants is BondInvariants {
    function _mayFail() internal pure override returns (bool) {
        return true;
    }
}
