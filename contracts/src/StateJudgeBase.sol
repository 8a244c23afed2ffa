// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, ContentWords, StateEvidence} from "./Evidence.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeJudge} from "./IKedgeJudge.sol";
import {JudgeBase} from "./JudgeBase.sol";
import {ActionLeaf, Checkpoint, LogRecords} from "./LogRecords.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {StateEntry} from "./StateEntry.sol";
import {EntryForm, ShownEntry} from "./StateFaults.sol";
import {LeafFacts} from "./StateHistory.sol";
import {StateTrie, TrieOutcome} from "./StateTrie.sol";

/// @title How evidence of the state is tied to the operator
/// @dev An entry, by a state proof to the root of a checkpoint that the sequencer signed; a leaf, as in every judge.
abstract contract StateJudgeBase is JudgeBase {
    constructor(IKedgeAnchor anchor, uint64 ageS) JudgeBase(anchor, ageS) {}

    /// @dev What a signed checkpoint shows of an id: an entry, a malformed one, or absence.
    function _show(StateEvidence calldata evidence) internal view returns (ShownEntry memory shown) {
        _requireSignedCheckpoint(evidence.signed);
        Checkpoint calldata checkpoint = evidence.signed.checkpoint;
        if (checkpoint.state == 0) revert IKedgeAnchor.UnrootedCheckpoint(checkpoint.batches);
        shown.batches = checkpoint.batches;
        shown.sequence = checkpoint.sequence;
        shown.id = ResourceIds.parse(evidence.key);
        if (!ResourceIds.mayBePresent(ResourceIds.prefixOf(shown.id))) {
            revert IKedgeAnchor.UnfitStateKey(evidence.key);
        }
        (TrieOutcome outcome, bytes32 value) =
            StateTrie.follow(checkpoint.state, keccak256(bytes(evidence.key)), evidence.nodes);
        if (evidence.entry.length == 0) {
            if (outcome != TrieOutcome.Absent) {
                revert IKedgeAnchor.StateNotProven(checkpoint.batches, evidence.key);
            }
            shown.form = EntryForm.Absent;
            return shown;
        }
        if (outcome != TrieOutcome.Present || value != keccak256(evidence.entry)) {
            revert IKedgeAnchor.StateNotProven(checkpoint.batches, evidence.key);
        }
        bool isWellFormed;
        (shown.fields, isWellFormed) = StateEntry.read(shown.id, evidence.entry, shown.sequence);
        shown.form = isWellFormed ? EntryForm.Present : EntryForm.Malformed;
    }

    /// @dev A leaf that stands in a batch of the operator's, with the words that its content commits to.
    function _open(ActionEvidence calldata evidence) internal view returns (LeafFacts memory facts) {
        _requireLeaf(evidence.placed);
        facts = _factsOf(evidence.placed.leaf);
        if (!evidence.isOpened) return facts;
        ContentWords calldata words = evidence.words;
        facts.isOpened = true;
        facts.kindHash = words.kindHash;
        facts.targetHash = words.targetHash;
        facts.payloadHash = words.payloadHash;
        facts.signer = words.signer;
        bytes32 content =
            LogRecords.content(words.kindHash, words.targetHash, words.payloadHash, words.signer, words.authority);
        if (content != facts.content) revert IKedgeJudge.AnotherAction();
    }

    function _openAll(ActionEvidence[] calldata evidence) internal view returns (LeafFacts[] memory facts) {
        facts = new LeafFacts[](evidence.length);
        for (uint256 i = 0; i < evidence.length; ++i) {
            facts[i] = _open(evidence[i]);
        }
    }

    function _factsOf(ActionLeaf calldata leaf) internal pure returns (LeafFacts memory facts) {
        facts.sequence = leaf.sequence;
        facts.content = leaf.content;
        facts.integrity = leaf.integrity;
    }
}
