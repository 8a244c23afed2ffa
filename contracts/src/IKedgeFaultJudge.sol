// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A contract that tells faults of one log
/// @notice The bond takes verdicts of such contracts alone, and asks them at deployment whose faults they tell.
interface IKedgeFaultJudge {
    /// @notice The log's anchor contract.
    function anchorContract() external view returns (address);

    /// @notice How long evidence counts after its key was replaced, in seconds.
    function evidenceAgeS() external view returns (uint64);
}
