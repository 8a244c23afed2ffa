// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionKinds} from "./ActionKinds.sol";
import {ActionEvidence, CheckpointEvidence, EntryClaim, StateEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeJudge} from "./IKedgeJudge.sol";
import {IKedgeStateJudge} from "./IKedgeStateJudge.sol";
import {ActionLeaf} from "./LogRecords.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {EntryFields, StateEntry} from "./StateEntry.sol";
import {StateFaults} from "./StateFaults.sol";
import {LeafFacts, StateHistory} from "./StateHistory.sol";
import {StateJudgeBase} from "./StateJudgeBase.sol";
import {StateTrie, TrieOutcome} from "./StateTrie.sol";

/// @title The judge of faults that entries of the state show
/// @notice See `IKedgeStateJudge`. It keeps nothing and changes nothing.
contract KedgeStateJudge is IKedgeStateJudge, StateJudgeBase {
    /// @param anchor The log's anchor contract.
    /// @param ageS How long evidence counts after its key was replaced, in seconds: the bond's withdrawal delay.
    constructor(IKedgeAnchor anchor, uint64 ageS) StateJudgeBase(anchor, ageS) {}

    /// @inheritdoc IKedgeStateJudge
    function unrootedCheckpoint(CheckpointEvidence calldata earlier, CheckpointEvidence calldata later)
        external
        view
        override
        returns (bytes32)
    {
        _requireSignedCheckpoint(earlier);
        _requireSignedCheckpoint(later);
        return _provenIf(StateFaults.isUnrooted(earlier.checkpoint, later.checkpoint));
    }

    /// @inheritdoc IKedgeStateJudge
    function malformedState(StateEvidence calldata entry) external view override returns (bytes32) {
        return _provenIf(StateFaults.isMalformed(_show(entry)));
    }

    /// @inheritdoc IKedgeStateJudge
    function brokenTrie(CheckpointEvidence calldata signed, bytes32 path, bytes[] calldata nodes)
        external
        view
        override
        returns (bytes32)
    {
        _requireSignedCheckpoint(signed);
        // slither-disable-next-line unused-return
        (TrieOutcome outcome,) = StateTrie.follow(signed.checkpoint.state, path, nodes);
        return _provenIf(outcome == TrieOutcome.Broken);
    }

    /// @inheritdoc IKedgeStateJudge
    function rewrittenState(StateEvidence calldata earlier, StateEvidence calldata later)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isRewritten(_show(earlier), _show(later)));
    }

    /// @inheritdoc IKedgeStateJudge
    function loneStep(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isLoneStep(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function twoFacedState(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isTwoFaced(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function changedConstant(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isConstantChanged(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function twinState(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isTwin(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function falseAddress(StateEvidence calldata object, StateEvidence calldata wallet)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isAddressFalse(_show(object), _show(wallet)));
    }

    /// @inheritdoc IKedgeStateJudge
    function falseOrganization(StateEvidence calldata object, StateEvidence calldata template)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isOrganizationFalse(_show(object), _show(template)));
    }

    /// @inheritdoc IKedgeStateJudge
    function sharedAddress(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isAddressShared(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function oversuppliedTemplate(StateEvidence calldata object, StateEvidence calldata template)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isOversupplied(_show(object), _show(template)));
    }

    /// @inheritdoc IKedgeStateJudge
    function repeatedSerial(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isSerialRepeated(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function changedMaxSupply(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        override
        returns (bytes32)
    {
        return _provenIf(StateFaults.isMaxSupplyChanged(_show(first), _show(second)));
    }

    /// @inheritdoc IKedgeStateJudge
    function requireEntry(StateEvidence calldata entry) external view override {
        if (!StateFaults.isPresent(_show(entry))) {
            revert IKedgeAnchor.MalformedEntry(entry.signed.checkpoint.batches, entry.key);
        }
    }

    /// @inheritdoc IKedgeStateJudge
    function requireMaker(ActionEvidence calldata leaf, string calldata key, uint32 index) external view override {
        bytes32 id = ResourceIds.parse(key);
        bytes3 prefix = ResourceIds.prefixOf(id);
        LeafFacts memory facts = _open(leaf);
        if (
            !facts.isOpened || !ActionKinds.isMaker(facts.kindHash, prefix)
                || (prefix == ResourceIds.VARIATION ? index >= StateHistory.VARIATIONS_MAX : index != 0)
                || ResourceIds.madeBy(facts.content, prefix, index) != id
        ) revert IKedgeJudge.AnotherAction();
    }

    /// @inheritdoc IKedgeStateJudge
    function requireAnswer(EntryClaim calldata claim, ActionLeaf calldata leaf, uint32 index) external pure override {
        bytes3 prefix = ResourceIds.prefixOf(ResourceIds.parse(claim.key));
        if (!StateHistory.isAnswer(claim, prefix, _factsOf(leaf), index)) revert IKedgeJudge.AnotherAction();
    }

    /// @inheritdoc IKedgeStateJudge
    function requireAbsence(bytes32 state, string calldata key, bytes[] calldata nodes) external pure override {
        // slither-disable-next-line unused-return
        (TrieOutcome outcome,) = StateTrie.follow(state, keccak256(bytes(key)), nodes);
        if (outcome != TrieOutcome.Absent) revert StillPresent(key);
    }

    /// @inheritdoc IKedgeStateJudge
    function claimOf(string calldata key, bytes calldata entry, uint64 sequence)
        external
        pure
        override
        returns (EntryClaim memory)
    {
        bytes32 id = ResourceIds.parse(key);
        (EntryFields memory fields, bool isWellFormed) = StateEntry.read(id, entry, sequence);
        if (!isWellFormed) revert NoClaim(key);
        bool isFirst = ResourceIds.prefixOf(id) == ResourceIds.ORGANIZATION && fields.version == 1;
        return EntryClaim({key: key, isFirst: isFirst, sequence: fields.sequence, integrity: fields.integrity});
    }
}
