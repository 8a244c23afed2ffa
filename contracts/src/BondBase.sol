// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeBond} from "./IKedgeBond.sol";
import {IKedgeFaultJudge} from "./IKedgeFaultJudge.sol";
import {IKedgeJudge} from "./IKedgeJudge.sol";
import {IKedgeStateJudge} from "./IKedgeStateJudge.sol";

/// @title What a bond keeps, how a commitment is used up, and how the bond is taken
/// @dev Every path that takes the bond goes through `_slash`. Money leaves by `withdraw`, `collect` and the burning alone:
/// all else is owed and taken out by its owner, so nobody's refusal to be paid stops anything.
abstract contract BondBase is IKedgeBond {
    /// @notice What a proof of a fault returns.
    bytes32 internal constant PROVEN = keccak256("Kedge fault proven");
    /// @notice Nobody has this address's key.
    address payable internal constant BURN_ADDRESS = payable(0x000000000000000000000000000000000000dEaD);

    IKedgeAnchor internal immutable ANCHOR;
    IKedgeJudge internal immutable JUDGE;
    IKedgeStateJudge internal immutable STATE_JUDGE;
    address internal immutable HISTORY_JUDGE;
    address internal immutable SIGNER_JUDGE;
    uint64 internal immutable WITHDRAWAL_DELAY_S;
    uint64 internal immutable CHALLENGE_WINDOW_S;
    uint64 internal immutable RESPONSE_TIME_S;
    uint64 internal immutable REVEAL_DELAY_S;
    uint128 internal immutable CASE_DEPOSIT_WEI;
    uint32 internal immutable OPEN_CASES_MAX;

    uint256 internal _bond;
    Withdrawal internal _withdrawal;
    mapping(address account => uint256 amount) internal _owed;
    mapping(bytes32 commitment => uint64 time) internal _committedAt;

    /// @dev Delays beyond this are slips of the pen: a bond that nobody could ever take out.
    uint64 private constant DELAY_S_MAX = 3650 days;

    constructor(IKedgeAnchor anchor, FaultJudges memory faultJudges, Terms memory bondTerms) {
        if (
            bondTerms.withdrawalDelayS > DELAY_S_MAX || bondTerms.challengeWindowS == 0 || bondTerms.responseTimeS == 0
                || bondTerms.revealDelayS == 0 || bondTerms.openCasesMax == 0
                || bondTerms.withdrawalDelayS
                    <= uint256(bondTerms.challengeWindowS) + bondTerms.responseTimeS + bondTerms.revealDelayS
        ) revert UnfitTerms();
        _requireFit(faultJudges.log, anchor, bondTerms.withdrawalDelayS);
        _requireFit(faultJudges.state, anchor, bondTerms.withdrawalDelayS);
        _requireFit(faultJudges.history, anchor, bondTerms.withdrawalDelayS);
        _requireFit(faultJudges.signer, anchor, bondTerms.withdrawalDelayS);
        ANCHOR = anchor;
        JUDGE = IKedgeJudge(faultJudges.log);
        STATE_JUDGE = IKedgeStateJudge(faultJudges.state);
        HISTORY_JUDGE = faultJudges.history;
        SIGNER_JUDGE = faultJudges.signer;
        WITHDRAWAL_DELAY_S = bondTerms.withdrawalDelayS;
        CHALLENGE_WINDOW_S = bondTerms.challengeWindowS;
        RESPONSE_TIME_S = bondTerms.responseTimeS;
        REVEAL_DELAY_S = bondTerms.revealDelayS;
        CASE_DEPOSIT_WEI = bondTerms.caseDepositWei;
        OPEN_CASES_MAX = bondTerms.openCasesMax;
    }

    /// @dev Before a fault is proven.
    modifier whileNotFrozen() {
        if (_isFrozen()) revert AlreadyFrozen();
        _;
    }

    /// @inheritdoc IKedgeBond
    function bond() external view override returns (uint256) {
        return _bond;
    }

    /// @inheritdoc IKedgeBond
    function owed(address account) external view override returns (uint256) {
        return _owed[account];
    }

    /// @inheritdoc IKedgeBond
    function committedAt(bytes32 commitment) external view override returns (uint64) {
        return _committedAt[commitment];
    }

    /// @inheritdoc IKedgeBond
    function anchorContract() external view override returns (address) {
        return address(ANCHOR);
    }

    /// @inheritdoc IKedgeBond
    function judge() external view override returns (address) {
        return address(JUDGE);
    }

    /// @inheritdoc IKedgeBond
    function judges() public view override returns (FaultJudges memory) {
        return
            FaultJudges({
                log: address(JUDGE), state: address(STATE_JUDGE), history: HISTORY_JUDGE, signer: SIGNER_JUDGE
            });
    }

    /// @inheritdoc IKedgeBond
    function terms() external view override returns (Terms memory) {
        return Terms({
            withdrawalDelayS: WITHDRAWAL_DELAY_S,
            challengeWindowS: CHALLENGE_WINDOW_S,
            responseTimeS: RESPONSE_TIME_S,
            revealDelayS: REVEAL_DELAY_S,
            caseDepositWei: CASE_DEPOSIT_WEI,
            openCasesMax: OPEN_CASES_MAX
        });
    }

    /// @inheritdoc IKedgeBond
    function commitmentOf(address reporter, bytes32 subject, bytes32 salt) public view override returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), reporter, subject, salt));
    }

    /// @dev Freezes the anchor contract, burns half of the bond (the larger one) and owes the rest to the reporter.
    function _slash(address reporter) internal {
        uint256 reward = _bond / 2;
        uint256 burnt = _bond - reward;
        _bond = 0;
        delete _withdrawal;
        _owed[reporter] += reward;
        emit Slashed(reporter, burnt, reward);
        ANCHOR.freeze();
        _burn(burnt);
    }

    function _burn(uint256 amount) internal {
        if (amount != 0) Address.sendValue(BURN_ADDRESS, amount);
    }

    /// @dev Who copies evidence from a transaction that waits has no commitment of its own that is old enough.
    function _useCommitment(bytes32 subject, bytes32 salt) internal {
        bytes32 commitment = commitmentOf(msg.sender, subject, salt);
        uint256 time = _committedAt[commitment];
        if (time == 0) revert NotCommitted(0);
        // Minutes: a builder can't shift a block so far.
        // slither-disable-next-line timestamp
        if (block.timestamp < time + REVEAL_DELAY_S) revert NotCommitted(time + REVEAL_DELAY_S);
        delete _committedAt[commitment];
    }

    function _requireFit(address faultJudge, IKedgeAnchor anchor, uint64 withdrawalDelayS) private view {
        IKedgeFaultJudge asked = IKedgeFaultJudge(faultJudge);
        if (asked.anchorContract() != address(anchor) || asked.evidenceAgeS() != withdrawalDelayS) {
            revert UnfitJudge(faultJudge);
        }
    }

    function _isFrozen() internal view returns (bool) {
        return ANCHOR.status() == IKedgeAnchor.Status.Frozen;
    }

    function _after(uint64 delayS) internal view returns (uint64) {
        return uint64(block.timestamp) + delayS;
    }
}
