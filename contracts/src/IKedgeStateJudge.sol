// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, CheckpointEvidence, EntryClaim, StateEvidence} from "./Evidence.sol";
import {IKedgeFaultJudge} from "./IKedgeFaultJudge.sol";
import {ActionLeaf} from "./LogRecords.sol";

/// @title The judge of faults that entries of the state show
/// @notice One function a fault, as in `IKedgeJudge`: each returns `PROVEN` if the evidence shows it, and reverts if it does
/// not. Checkpoints are signed ones with a root, anchored or not; before and after go by their batches.
interface IKedgeStateJudge is IKedgeFaultJudge {
    /// @notice The nodes don't show that nothing stands under the key.
    error StillPresent(string key);

    /// @notice The entry is malformed, so it names no leaf.
    error NoClaim(string key);

    /// @notice Unrooted checkpoint: `later` has no root, and is above `earlier`, which has one.
    function unrootedCheckpoint(CheckpointEvidence calldata earlier, CheckpointEvidence calldata later)
        external
        view
        returns (bytes32);

    /// @notice Malformed state: the entry is not its type's list, or a member is out of its range.
    function malformedState(StateEvidence calldata entry) external view returns (bytes32);

    /// @notice Broken trie: nodes that are linked by hash from the root, the last of which has not the one form.
    /// @param signed The checkpoint.
    /// @param path The nibbles along which the nodes are linked.
    /// @param nodes The nodes from the root to the broken one.
    function brokenTrie(CheckpointEvidence calldata signed, bytes32 path, bytes[] calldata nodes)
        external
        view
        returns (bytes32);

    /// @notice Rewritten state: the later checkpoint lost the resource, or holds another past of it.
    function rewrittenState(StateEvidence calldata earlier, StateEvidence calldata later)
        external
        view
        returns (bytes32);

    /// @notice Lone step: version, sequence and integrity neither all agree nor all differ, or version grew by more.
    function loneStep(StateEvidence calldata first, StateEvidence calldata second) external view returns (bytes32);

    /// @notice Two-faced state: one integrity, two entries. The second is not of an earlier checkpoint.
    function twoFacedState(StateEvidence calldata first, StateEvidence calldata second) external view returns (bytes32);

    /// @notice Changed constant: what never changes is another. The second is not of an earlier checkpoint.
    function changedConstant(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        returns (bytes32);

    /// @notice Twin state: two ids with one integrity.
    function twinState(StateEvidence calldata first, StateEvidence calldata second) external view returns (bytes32);

    /// @notice False address: the object's owner has another address, at the same checkpoint.
    function falseAddress(StateEvidence calldata object, StateEvidence calldata wallet) external view returns (bytes32);

    /// @notice False address: the object's template is another organization's, at the same checkpoint.
    function falseOrganization(StateEvidence calldata object, StateEvidence calldata template)
        external
        view
        returns (bytes32);

    /// @notice False address: two wallets share an address.
    function sharedAddress(StateEvidence calldata first, StateEvidence calldata second) external view returns (bytes32);

    /// @notice Oversupply: a serial above its template's count or bound, at the same checkpoint.
    function oversuppliedTemplate(StateEvidence calldata object, StateEvidence calldata template)
        external
        view
        returns (bytes32);

    /// @notice Oversupply: two objects of one template with one serial.
    function repeatedSerial(StateEvidence calldata first, StateEvidence calldata second) external view returns (bytes32);

    /// @notice Oversupply: a template with two bounds.
    function changedMaxSupply(StateEvidence calldata first, StateEvidence calldata second)
        external
        view
        returns (bytes32);

    /// @notice Reverts unless a signed checkpoint shows an entry, well-formed.
    function requireEntry(StateEvidence calldata entry) external view;

    /// @notice Reverts unless the opened action made the resource.
    /// @param leaf The action, opened.
    /// @param key The resource's id.
    /// @param index Which of the action's resources with its prefix it is, from 0.
    function requireMaker(ActionEvidence calldata leaf, string calldata key, uint32 index) external view;

    /// @notice Reverts unless a leaf is what the claim asks for.
    /// @param claim What an entry says of its last action.
    /// @param leaf The leaf at its sequence.
    /// @param index A variation's: which of the action's variations it is, from 0.
    function requireAnswer(EntryClaim calldata claim, ActionLeaf calldata leaf, uint32 index) external pure;

    /// @notice Reverts unless nothing stands under the key in a trie; the key may be an action's id.
    /// @param state The trie's root.
    /// @param key The id.
    /// @param nodes The nodes from the root to where the path ends.
    function requireAbsence(bytes32 state, string calldata key, bytes[] calldata nodes) external pure;

    /// @notice What an operator is asked to show a leaf for, by an entry; reverts if it is malformed.
    /// @param key The id that the entry stands under.
    /// @param entry The entry.
    /// @param sequence The checkpoint's sequence.
    function claimOf(string calldata key, bytes calldata entry, uint64 sequence)
        external
        pure
        returns (EntryClaim memory);
}
