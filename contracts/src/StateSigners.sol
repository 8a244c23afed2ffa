// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionKinds} from "./ActionKinds.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {EntryFields, KindRule} from "./StateEntry.sol";
import {ShownEntry, StateFaults} from "./StateFaults.sol";
import {LeafFacts, StateHistory} from "./StateHistory.sol";

/// @title Faults of actions whose signer had no right to them
/// @notice Each function tells whether its evidence shows the fault. No log that keeps to the protocol leaves such evidence.
/// @dev An address belongs to one wallet, and a wallet to one organization, for ever: so a wallet that has a key shows whose
/// the key is at any checkpoint.
library StateSigners {
    using StateFaults for ShownEntry;

    uint64 private constant OWNER = 0;
    uint64 private constant ISSUER = 1;
    uint64 private constant UNKNOWN = type(uint64).max;
    bytes32 private constant EMPTY_PAYLOAD = keccak256("{}");

    /// @notice Trespass: an action on an object by a key that its rule does not admit.
    /// @param object The object's entry.
    /// @param template Its template's entry, at the same checkpoint.
    /// @param leaves Opened leaves without a transfer that lead from the entry to what `leaf` extends.
    /// @param leaf The action, after the checkpoint.
    /// @param wallet Another wallet that has the signer among its keys, for a kind left to the owner; or the owner's, which has
    /// not, or has none; a wallet of another organization that has it, for a kind left to the issuer.
    function isTrespass(
        ShownEntry memory object,
        ShownEntry memory template,
        LeafFacts[] memory leaves,
        LeafFacts memory leaf,
        ShownEntry memory wallet
    ) internal pure returns (bool) {
        if (!wallet.isOf(ResourceIds.WALLET) || !_isLaterAction(object, template, leaves, leaf)) return false;
        uint64 who = _ruleOf(template.fields, leaf.kindHash);
        EntryFields memory fields = wallet.fields;
        bool isSigners = StateFaults.hasKey(fields, leaf.signer);
        if (who == ISSUER) return isSigners && fields.organization != template.fields.organization;
        if (who != OWNER) return false;
        if (wallet.id != object.fields.wallet) return isSigners;
        if (fields.keys.length == 0) return wallet.sequence < leaf.sequence;
        return wallet.sequence >= leaf.sequence && fields.sequence < leaf.sequence && !isSigners;
    }

    /// @notice Trespass: an action of a kind that the template does not know.
    /// @param kind The kind's plain text.
    function isKindUnruled(
        ShownEntry memory object,
        ShownEntry memory template,
        LeafFacts[] memory leaves,
        LeafFacts memory leaf,
        string memory kind
    ) internal pure returns (bool) {
        return _isLaterAction(object, template, leaves, leaf) && _ruleOf(template.fields, leaf.kindHash) == UNKNOWN
            && keccak256(bytes(kind)) == leaf.kindHash && ActionKinds.isCustom(kind);
    }

    /// @notice Foreign hand: a leaf that extends the entry is signed by a key of another organization; a wallet's, by a key
    /// of another wallet.
    function isHandForeign(ShownEntry memory entry, LeafFacts memory leaf, ShownEntry memory wallet)
        internal
        pure
        returns (bool)
    {
        if (!_isUsersHand(entry, leaf) || !wallet.isOf(ResourceIds.WALLET)) return false;
        if (!StateFaults.hasKey(wallet.fields, leaf.signer)) return false;
        bytes3 prefix = ResourceIds.prefixOf(entry.id);
        if (prefix == ResourceIds.WALLET) return wallet.id != entry.id;
        bytes32 organization = wallet.fields.organization;
        if (prefix == ResourceIds.ORGANIZATION) return organization != entry.id;
        return (prefix == ResourceIds.TEMPLATE || prefix == ResourceIds.API_KEY || prefix == ResourceIds.WEBHOOK)
            && organization != entry.fields.organization;
    }

    /// @notice Foreign hand: a leaf that extends a wallet's entry is signed by none of its keys.
    function isHandUnknown(ShownEntry memory wallet, LeafFacts memory leaf) internal pure returns (bool) {
        return wallet.isOf(ResourceIds.WALLET) && _isUsersHand(wallet, leaf)
            && !StateFaults.hasKey(wallet.fields, leaf.signer);
    }

    /// @notice Foreign maker: what an action made is another organization's than its signer's; a file, another wallet's.
    function isMakerForeign(ShownEntry memory entry, LeafFacts memory leaf, ShownEntry memory wallet)
        internal
        pure
        returns (bool)
    {
        if (!entry.isPresent() || !leaf.isOpened || !wallet.isOf(ResourceIds.WALLET)) return false;
        bytes3 prefix = ResourceIds.prefixOf(entry.id);
        bool isFile = prefix == ResourceIds.FILE;
        if (!isFile && prefix != ResourceIds.TEMPLATE && prefix != ResourceIds.API_KEY && prefix != ResourceIds.WEBHOOK)
        {
            return false;
        }
        return leaf.kindHash == ActionKinds.maker(prefix) && entry.id == ResourceIds.madeBy(leaf.content, prefix, 0)
            && StateFaults.hasKey(wallet.fields, leaf.signer)
            && (wallet.fields.organization != entry.fields.organization || (isFile && entry.fields.wallet != wallet.id));
    }

    /// @notice Foreign mint: a mint that the template leaves to the issuer, by a key of another organization.
    /// @param template The template's entry at a checkpoint at or after the mint, unchanged since before it.
    function isMintForeign(ShownEntry memory template, LeafFacts memory leaf, ShownEntry memory wallet)
        internal
        pure
        returns (bool)
    {
        if (!template.isOf(ResourceIds.TEMPLATE) || !wallet.isOf(ResourceIds.WALLET) || !leaf.isOpened) {
            return false;
        }
        uint64 who = _ruleOf(template.fields, ActionKinds.MINT);
        return leaf.kindHash == ActionKinds.MINT && leaf.targetHash == keccak256(ResourceIds.text(template.id))
            && template.fields.sequence < leaf.sequence && leaf.sequence <= template.sequence
            && (who == ISSUER || who == UNKNOWN) && StateFaults.hasKey(wallet.fields, leaf.signer)
            && wallet.fields.organization != template.fields.organization;
    }

    /// @notice Live update: a template was changed while an object of it lived.
    /// @param object The object's entry at a checkpoint at or after the update, unchanged since before it.
    function isUpdateLive(ShownEntry memory object, LeafFacts memory leaf) internal pure returns (bool) {
        return object.isOf(ResourceIds.OBJECT) && object.fields.status != StateFaults.BURNED && leaf.isOpened
            && leaf.kindHash == ActionKinds.TEMPLATE_UPDATE
            && leaf.targetHash == keccak256(ResourceIds.text(object.fields.template))
            && object.fields.sequence < leaf.sequence && leaf.sequence <= object.sequence;
    }

    /// @notice Ghost member: a wallet has keys after the action that removed it.
    function isMemberGhost(LeafFacts memory leaf, ShownEntry memory wallet) internal pure returns (bool) {
        return wallet.isOf(ResourceIds.WALLET) && leaf.isOpened && leaf.kindHash == ActionKinds.ORG_MEMBER_REMOVE
            && leaf.payloadHash == StateHistory.namingPayload("wallet_id", wallet.id) && wallet.fields.keys.length != 0
            && wallet.sequence >= leaf.sequence;
    }

    /// @notice Dead hand: a leaf extends what was burned, deleted or removed; or what is locked, and is no unlocking, and the
    /// reverse.
    function isHandDead(ShownEntry memory entry, LeafFacts memory leaf) internal pure returns (bool) {
        EntryFields memory fields = entry.fields;
        if (!entry.isPresent() || !StateHistory.extends(leaf, fields.integrity)) return false;
        bytes3 prefix = ResourceIds.prefixOf(entry.id);
        if (prefix == ResourceIds.OBJECT) {
            if (fields.status == StateFaults.BURNED) return true;
            return leaf.isOpened && (fields.status == StateFaults.LOCKED) != (leaf.kindHash == ActionKinds.UNLOCK);
        }
        if (prefix == ResourceIds.WALLET) return fields.keys.length == 0;
        // Only API keys and webhooks are deleted.
        return fields.isDeleted;
    }

    /// @notice False entry: after a mint with the payload `{}` the owner is not the wallet that signed it.
    /// @param wallet The wallet that has the signer among its keys, at any checkpoint.
    function isMinterFalse(ShownEntry memory object, LeafFacts memory leaf, ShownEntry memory wallet)
        internal
        pure
        returns (bool)
    {
        return object.isOf(ResourceIds.OBJECT) && wallet.isOf(ResourceIds.WALLET) && leaf.isOpened
            && leaf.kindHash == ActionKinds.MINT && leaf.sequence == object.fields.sequence
            && leaf.integrity == object.fields.integrity && leaf.payloadHash == EMPTY_PAYLOAD
            && StateFaults.hasKey(wallet.fields, leaf.signer) && object.fields.wallet != wallet.id;
    }

    /// @notice False entry: a wallet's address is not the one that registered it.
    function isRegistrationFalse(ShownEntry memory wallet, LeafFacts memory leaf) internal pure returns (bool) {
        return wallet.isOf(ResourceIds.WALLET) && leaf.isOpened && leaf.kindHash == ActionKinds.WALLET_REGISTER
            && wallet.id == ResourceIds.madeBy(leaf.content, ResourceIds.WALLET, 0)
            && wallet.fields.account != leaf.signer;
    }

    /// @dev An opened leaf after the checkpoint that extends what the leaves lead to.
    function _isLaterAction(
        ShownEntry memory object,
        ShownEntry memory template,
        LeafFacts[] memory leaves,
        LeafFacts memory leaf
    ) private pure returns (bool) {
        if (!object.isTemplateOf(template) || !leaf.isOpened || leaf.sequence <= object.sequence) return false;
        if (!StateHistory.isOpenedWithout(leaves, ActionKinds.TRANSFER)) return false;
        (bool isLed, bytes32 end) = StateHistory.lead(object.fields.integrity, leaves);
        return isLed && StateHistory.extends(leaf, end);
    }

    function _isUsersHand(ShownEntry memory entry, LeafFacts memory leaf) private pure returns (bool) {
        return entry.isPresent() && leaf.isOpened && StateHistory.extends(leaf, entry.fields.integrity)
            && !ActionKinds.isOperators(leaf.kindHash);
    }

    /// @dev Who may do actions of a kind: by the template's rule, the last one if there are more; without one the owner does
    /// what changes an object.
    function _ruleOf(EntryFields memory template, bytes32 kind) private pure returns (uint64) {
        KindRule[] memory rules = template.rules;
        for (uint256 i = rules.length; i > 0; --i) {
            if (rules[i - 1].kindHash == kind) return rules[i - 1].who;
        }
        return ActionKinds.isOwnersByDefault(kind) ? OWNER : UNKNOWN;
    }
}
