// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, StateEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeStateSignerJudge} from "./IKedgeStateSignerJudge.sol";
import {StateJudgeBase} from "./StateJudgeBase.sol";
import {StateSigners} from "./StateSigners.sol";

/// @title The judge of actions whose signer had no right to them
/// @notice See `IKedgeStateSignerJudge`. It keeps nothing and changes nothing.
contract KedgeStateSignerJudge is IKedgeStateSignerJudge, StateJudgeBase {
    /// @param anchor The log's anchor contract.
    /// @param ageS How long evidence counts after its key was replaced, in seconds: the bond's withdrawal delay.
    constructor(IKedgeAnchor anchor, uint64 ageS) StateJudgeBase(anchor, ageS) {}

    /// @inheritdoc IKedgeStateSignerJudge
    function trespass(
        StateEvidence calldata object,
        StateEvidence calldata template,
        ActionEvidence[] calldata leaves,
        ActionEvidence calldata leaf,
        StateEvidence calldata wallet
    ) external view override returns (bytes32) {
        return _provenIf(
            StateSigners.isTrespass(_show(object), _show(template), _openAll(leaves), _open(leaf), _show(wallet))
        );
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function unruledKind(
        StateEvidence calldata object,
        StateEvidence calldata template,
        ActionEvidence[] calldata leaves,
        ActionEvidence calldata leaf,
        string calldata kind
    ) external view override returns (bytes32) {
        return _provenIf(
            StateSigners.isKindUnruled(_show(object), _show(template), _openAll(leaves), _open(leaf), kind)
        );
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function foreignHand(StateEvidence calldata entry, ActionEvidence calldata leaf, StateEvidence calldata wallet)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isHandForeign(_show(entry), _open(leaf), _show(wallet)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function unknownHand(StateEvidence calldata wallet, ActionEvidence calldata leaf)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isHandUnknown(_show(wallet), _open(leaf)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function foreignMaker(StateEvidence calldata entry, ActionEvidence calldata leaf, StateEvidence calldata wallet)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isMakerForeign(_show(entry), _open(leaf), _show(wallet)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function foreignMint(StateEvidence calldata template, ActionEvidence calldata mint, StateEvidence calldata wallet)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isMintForeign(_show(template), _open(mint), _show(wallet)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function liveUpdate(StateEvidence calldata object, ActionEvidence calldata leaf)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isUpdateLive(_show(object), _open(leaf)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function ghostMember(ActionEvidence calldata leaf, StateEvidence calldata wallet)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isMemberGhost(_open(leaf), _show(wallet)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function deadHand(StateEvidence calldata entry, ActionEvidence calldata leaf)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isHandDead(_show(entry), _open(leaf)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function falseMinter(StateEvidence calldata object, ActionEvidence calldata mint, StateEvidence calldata wallet)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isMinterFalse(_show(object), _open(mint), _show(wallet)));
    }

    /// @inheritdoc IKedgeStateSignerJudge
    function falseRegistration(StateEvidence calldata wallet, ActionEvidence calldata leaf)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateSigners.isRegistrationFalse(_show(wallet), _open(leaf)));
    }
}
