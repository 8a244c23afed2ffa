// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, AnchoredAction, AnchoredEntry, AnchoredHeader, EntryClaim, StateEvidence} from "./Evidence.sol";
import {IKedgeBond} from "./IKedgeBond.sol";

/// @title Challenges of entries and demands of the state
/// @notice Cases of the bond, under its terms: with a deposit, within the window of the checkpoint that is named, and with the
/// bond at stake if the operator does not answer in time. `IKedgeBond` settles and lists them.
interface IKedgeStateCases {
    /// @notice The operator has until `deadline` for an answer. Sequence and integrity are a challenged entry's, else zero.
    event StateCaseOpened(
        bytes32 indexed id,
        IKedgeBond.CaseKind indexed kind,
        address indexed opener,
        uint64 anchoredBatches,
        string key,
        uint64 sequence,
        bytes32 integrity,
        uint64 deadline
    );

    /// @notice The batch does not hold that sequence.
    error SequenceOutOfBatch(uint64 number, uint64 sequence);

    /// @notice A demand needs an entry at another checkpoint than the one that it asks about.
    error CheckpointKnown(uint64 batches);

    /// @notice Challenges an entry of an anchored checkpoint: the operator shows the leaf at its sequence, or loses.
    /// @param shown The entry.
    /// @param batch The batch that holds the entry's sequence, by a checkpoint that was taken within the window.
    /// @param salt The salt of the sender's commitment to the case's id.
    function challengeEntry(AnchoredEntry calldata shown, AnchoredHeader calldata batch, bytes32 salt) external payable;

    /// @notice Demands what an anchored checkpoint's state holds under an id.
    /// @param anchoredBatches Names a checkpoint that this log's present contract took, within the window.
    /// @param known An entry of the id at another signed checkpoint.
    /// @param salt The salt of the sender's commitment to the case's id.
    function demandState(uint64 anchoredBatches, StateEvidence calldata known, bytes32 salt) external payable;

    /// @notice Demands what an anchored checkpoint's state holds under the id that an action made.
    /// @param anchoredBatches Names a checkpoint that this log's present contract took, within the window.
    /// @param key The id.
    /// @param leaf The action, opened.
    /// @param index Which of the action's resources with its prefix it is, from 0.
    /// @param salt The salt of the sender's commitment to the case's id.
    function demandMadeState(
        uint64 anchoredBatches,
        string calldata key,
        ActionEvidence calldata leaf,
        uint32 index,
        bytes32 salt
    ) external payable;

    /// @notice Answers a challenge of an entry: this is the leaf.
    /// @param claim What the entry says of its last action.
    /// @param action The leaf, in an anchored batch.
    /// @param index A variation's: which of the action's variations it is, from 0.
    function answerEntry(EntryClaim calldata claim, AnchoredAction calldata action, uint32 index) external;

    /// @notice Answers a challenge of an entry: the window had closed, because an earlier checkpoint holds the batch too.
    /// @param claim What the entry says of its last action.
    /// @param batch The batch, by the earlier checkpoint.
    function answerStaleEntry(EntryClaim calldata claim, AnchoredHeader calldata batch) external;

    /// @notice Answers a demand: this is the entry.
    function answerState(uint64 anchoredBatches, string calldata key, bytes calldata entry, bytes[] calldata nodes)
        external;

    /// @notice Answers a demand: there is none.
    function answerAbsence(uint64 anchoredBatches, string calldata key, bytes[] calldata nodes) external;

    /// @notice The id of a challenge of an entry.
    function entryCaseId(EntryClaim calldata claim) external pure returns (bytes32);

    /// @notice The id of a demand of the state.
    function stateCaseId(uint64 anchoredBatches, string calldata key) external pure returns (bytes32);
}
