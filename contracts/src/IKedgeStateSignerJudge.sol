// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, StateEvidence} from "./Evidence.sol";
import {IKedgeFaultJudge} from "./IKedgeFaultJudge.sol";

/// @title The judge of actions whose signer had no right to them
/// @notice One function a fault, as in `IKedgeJudge`: each returns `PROVEN` if the evidence shows it, and reverts if it does
/// not. Checkpoints are signed ones with a root; a leaf is at or before one by its sequence.
interface IKedgeStateSignerJudge is IKedgeFaultJudge {
    /// @notice Trespass: an action on an object by a key that the template's rule does not admit.
    /// @param object The object's entry.
    /// @param template Its template's entry at the same checkpoint.
    /// @param leaves Opened actions without a transfer from the entry to what the action extends.
    /// @param leaf The action, opened, after the checkpoint.
    /// @param wallet For a kind left to the owner: another wallet with the signer among its keys; or the owner's, changed
    /// before the action and shown at or after it, without the signer; or the owner's without keys, before it. For a kind left to
    /// the issuer: a wallet of another organization with the signer among its keys.
    function trespass(
        StateEvidence calldata object,
        StateEvidence calldata template,
        ActionEvidence[] calldata leaves,
        ActionEvidence calldata leaf,
        StateEvidence calldata wallet
    ) external view returns (bytes32);

    /// @notice Trespass: an action of a template's own kind that the template has no rule for.
    /// @param object The object's entry.
    /// @param template Its template's entry at the same checkpoint.
    /// @param leaves Opened actions without a transfer from the entry to what the action extends.
    /// @param leaf The action, opened, after the checkpoint.
    /// @param kind The plain text of its kind, which begins with `x.`.
    function unruledKind(
        StateEvidence calldata object,
        StateEvidence calldata template,
        ActionEvidence[] calldata leaves,
        ActionEvidence calldata leaf,
        string calldata kind
    ) external view returns (bytes32);

    /// @notice Foreign hand: an opened action extends the entry, and its signer is a key of another organization's wallet; for a
    /// wallet's entry, of another wallet.
    function foreignHand(StateEvidence calldata entry, ActionEvidence calldata leaf, StateEvidence calldata wallet)
        external
        view
        returns (bytes32);

    /// @notice Foreign hand: an opened action extends a wallet's entry, and its signer is none of the wallet's keys.
    function unknownHand(StateEvidence calldata wallet, ActionEvidence calldata leaf) external view returns (bytes32);

    /// @notice Foreign maker: what an opened action made is another organization's than its signer's wallet; a file, another
    /// wallet's.
    function foreignMaker(StateEvidence calldata entry, ActionEvidence calldata leaf, StateEvidence calldata wallet)
        external
        view
        returns (bytes32);

    /// @notice Foreign mint: an opened mint that the template leaves to the issuer, by a key of another organization's wallet.
    /// @param template The template's entry at or after the mint, unchanged since before it.
    /// @param mint The mint, opened.
    /// @param wallet The wallet that has the signer among its keys.
    function foreignMint(StateEvidence calldata template, ActionEvidence calldata mint, StateEvidence calldata wallet)
        external
        view
        returns (bytes32);

    /// @notice Live update: an opened change of a template, while an object of it lived.
    /// @param object The object's entry at or after the change, itself unchanged since before it.
    /// @param leaf The change, opened.
    function liveUpdate(StateEvidence calldata object, ActionEvidence calldata leaf) external view returns (bytes32);

    /// @notice Ghost member: a wallet has keys at or after the opened action that removed it.
    function ghostMember(ActionEvidence calldata leaf, StateEvidence calldata wallet) external view returns (bytes32);

    /// @notice Dead hand: a leaf extends what is burned, deleted or removed; opened, what is locked without unlocking it, or the
    /// reverse.
    function deadHand(StateEvidence calldata entry, ActionEvidence calldata leaf) external view returns (bytes32);

    /// @notice False entry: after a mint with the payload `{}` the owner is not the signer's wallet.
    /// @param object The object's entry in version 1.
    /// @param mint The mint, opened.
    /// @param wallet The wallet that has the signer among its keys, at any checkpoint.
    function falseMinter(StateEvidence calldata object, ActionEvidence calldata mint, StateEvidence calldata wallet)
        external
        view
        returns (bytes32);

    /// @notice False entry: a wallet's address is not the signer of the opened registration that makes it.
    function falseRegistration(StateEvidence calldata wallet, ActionEvidence calldata leaf)
        external
        view
        returns (bytes32);
}
