// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, StateEvidence} from "./Evidence.sol";
import {IKedgeFaultJudge} from "./IKedgeFaultJudge.sol";

/// @title The judge of faults that entries show next to the log's leaves
/// @notice One function a fault, as in `IKedgeJudge`: each returns `PROVEN` if the evidence shows it, and reverts if it does
/// not. Checkpoints are signed ones with a root; a leaf is at or before one by its sequence.
interface IKedgeStateHistoryJudge is IKedgeFaultJudge {
    /// @notice Stale state: a leaf at or before the checkpoint extends the entry's integrity.
    function staleState(StateEvidence calldata entry, ActionEvidence calldata leaf) external view returns (bytes32);

    /// @notice False entry: the leaf at the entry's sequence does not lead to it.
    /// @param entry The entry.
    /// @param leaf The leaf at its sequence; opened unless its integrity is another.
    /// @param kind The plain text of the leaf's kind.
    /// @param to The wallet that a mint or transfer names as its whole payload; empty if it names none so.
    function falseEntry(
        StateEvidence calldata entry,
        ActionEvidence calldata leaf,
        string calldata kind,
        string calldata to
    ) external view returns (bytes32);

    /// @notice Missing state: nothing stands under the id that an action at or before the checkpoint made.
    /// @param absent The absence; of an action's id too.
    /// @param leaf The action, opened.
    /// @param kind The plain text of its kind.
    function missingState(StateEvidence calldata absent, ActionEvidence calldata leaf, string calldata kind)
        external
        view
        returns (bytes32);

    /// @notice False owner: an object's owner is another after actions that are no transfers, all opened; or its organization,
    /// template or variation is, or its version grew by another number.
    /// @param first The earlier entry.
    /// @param second The later entry.
    /// @param leaves The leaves that lead from the earlier integrity to the later one.
    function falseOwner(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        returns (bytes32);

    /// @notice False version: it grew by another number than the leaves that lead from one entry to the other.
    function falseVersion(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        returns (bytes32);

    /// @notice Hidden change: an object's properties, or a template's members, changed by opened actions that change none.
    function hiddenChange(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        returns (bytes32);

    /// @notice False keys: a wallet's keys grew by other than what the opened actions added and removed.
    function falseKeys(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        returns (bytes32);
}
