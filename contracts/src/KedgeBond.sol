// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";

import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeBond} from "./IKedgeBond.sol";
import {StateCases} from "./StateCases.sol";

/// @title The bond of a log's operator
/// @notice See `IKedgeBond`. Its owner is the anchor contract's.
contract KedgeBond is StateCases {
    /// @param anchor The log's anchor contract, which then has to name this one.
    /// @param faultJudges The contracts that tell faults: over the same anchor, with the withdrawal delay.
    /// @param bondTerms The terms.
    constructor(IKedgeAnchor anchor, FaultJudges memory faultJudges, Terms memory bondTerms)
        StateCases(anchor, faultJudges, bondTerms)
    {}

    /// @inheritdoc IKedgeBond
    function deposit() external payable override whileNotFrozen {
        // A contract that could not be frozen would make the bond a promise without effect.
        if (ANCHOR.bond() != address(this)) revert NotNamed();
        _bond += msg.value;
        emit Deposited(msg.sender, msg.value, _bond);
    }

    /// @inheritdoc IKedgeBond
    function requestWithdrawal(uint128 amount) external override onlyOwner whileNotFrozen {
        if (amount > _bond) revert NotEnough(amount, _bond);
        uint64 readyAt = _after(WITHDRAWAL_DELAY_S);
        _withdrawal = Withdrawal({amount: amount, requestedAt: uint64(block.timestamp), readyAt: readyAt});
        emit WithdrawalRequested(amount, readyAt);
    }

    /// @inheritdoc IKedgeBond
    function withdraw(address payable to) external override onlyOwner whileNotFrozen {
        Withdrawal memory ready = _withdrawal;
        // Delays are days: the seconds that a block's builder can shift don't matter.
        // slither-disable-next-line timestamp
        if (ready.amount == 0 || block.timestamp < ready.readyAt) revert NotReady(ready.readyAt);
        delete _withdrawal;
        _bond -= ready.amount;
        emit Withdrawn(to, ready.amount);
        Address.sendValue(to, ready.amount);
    }

    /// @inheritdoc IKedgeBond
    function commit(bytes32 commitment) external override {
        // A copied commitment neither renews the first one nor makes it fail. Zero is no block's time.
        // slither-disable-next-line incorrect-equality,timestamp
        if (_committedAt[commitment] == 0) _committedAt[commitment] = uint64(block.timestamp);
        emit Committed(commitment, msg.sender);
    }

    /// @inheritdoc IKedgeBond
    function report(bytes calldata evidence, bytes32 salt) external override whileNotFrozen {
        bytes32 evidenceHash = keccak256(evidence);
        _useCommitment(evidenceHash, salt);
        _requireProven(evidence);
        emit FaultProven(msg.sender, bytes4(evidence[:4]), evidenceHash);
        _slash(msg.sender);
    }

    /// @inheritdoc IKedgeBond
    function collect(address payable to) external override {
        uint256 amount = _owed[msg.sender];
        if (amount == 0) revert NotEnough(0, 0);
        _owed[msg.sender] = 0;
        emit Collected(msg.sender, to, amount);
        Address.sendValue(to, amount);
    }

    /// @inheritdoc IKedgeBond
    function withdrawal() external view override returns (Withdrawal memory) {
        return _withdrawal;
    }

    /// @inheritdoc IKedgeBond
    function secured() external view override returns (uint256) {
        return _bond - _withdrawal.amount;
    }

    /// @dev A judge without the function refuses without a reason, and the next one is asked; a reason is passed on.
    function _requireProven(bytes calldata evidence) private view {
        FaultJudges memory asked = judges();
        address[4] memory list = [asked.log, asked.state, asked.history, asked.signer];
        for (uint256 i = 0; i < list.length; ++i) {
            // Four contracts that were named at deployment.
            // slither-disable-next-line calls-loop,low-level-calls
            (bool isAnswered, bytes memory verdict) = list[i].staticcall(evidence);
            if (isAnswered) {
                if (verdict.length == 32 && abi.decode(verdict, (bytes32)) == PROVEN) return;
                break;
            }
            if (verdict.length != 0) LowLevelCall.bubbleRevert(verdict);
        }
        revert NotProven();
    }

    modifier onlyOwner() {
        if (msg.sender != Ownable(address(ANCHOR)).owner()) revert NotTheOwner(msg.sender);
        _;
    }
}
