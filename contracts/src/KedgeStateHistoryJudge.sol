// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, StateEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeStateHistoryJudge} from "./IKedgeStateHistoryJudge.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {StateHistory} from "./StateHistory.sol";
import {StateJudgeBase} from "./StateJudgeBase.sol";

/// @title The judge of faults that entries show next to the log's leaves
/// @notice See `IKedgeStateHistoryJudge`. It keeps nothing and changes nothing.
contract KedgeStateHistoryJudge is IKedgeStateHistoryJudge, StateJudgeBase {
    /// @param anchor The log's anchor contract.
    /// @param ageS How long evidence counts after its key was replaced, in seconds: the bond's withdrawal delay.
    constructor(IKedgeAnchor anchor, uint64 ageS) StateJudgeBase(anchor, ageS) {}

    /// @inheritdoc IKedgeStateHistoryJudge
    function staleState(StateEvidence calldata entry, ActionEvidence calldata leaf)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateHistory.isStale(_show(entry), _open(leaf)));
    }

    /// @inheritdoc IKedgeStateHistoryJudge
    function falseEntry(
        StateEvidence calldata entry,
        ActionEvidence calldata leaf,
        string calldata kind,
        string calldata to
    ) external view override returns (bytes32) {
        return _provenIf(StateHistory.isEntryFalse(_show(entry), _open(leaf), kind, _walletOf(to)));
    }

    /// @inheritdoc IKedgeStateHistoryJudge
    function missingState(StateEvidence calldata absent, ActionEvidence calldata leaf, string calldata kind)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateHistory.isMissing(_show(absent), _open(leaf), kind));
    }

    /// @inheritdoc IKedgeStateHistoryJudge
    function falseOwner(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateHistory.isOwnerFalse(_show(first), _show(second), _openAll(leaves)));
    }

    /// @inheritdoc IKedgeStateHistoryJudge
    function falseVersion(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateHistory.isVersionFalse(_show(first), _show(second), _openAll(leaves)));
    }

    /// @inheritdoc IKedgeStateHistoryJudge
    function hiddenChange(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateHistory.isChangeHidden(_show(first), _show(second), _openAll(leaves)));
    }

    /// @inheritdoc IKedgeStateHistoryJudge
    function falseKeys(StateEvidence calldata first, StateEvidence calldata second, ActionEvidence[] calldata leaves)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateHistory.areKeysFalse(_show(first), _show(second), _openAll(leaves)));
    }

    /// @dev The wallet that a payload names; zero where the text is no wallet's id. A text of another form could be part of a
    /// payload that says more.
    function _walletOf(string calldata text) private pure returns (bytes32 id) {
        id = ResourceIds.parse(text);
        if (ResourceIds.prefixOf(id) != ResourceIds.WALLET) id = 0;
    }
}
