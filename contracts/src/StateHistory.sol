// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

import {ActionKinds} from "./ActionKinds.sol";
import {EntryClaim} from "./Evidence.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {EntryFields} from "./StateEntry.sol";
import {EntryForm, ShownEntry, StateFaults} from "./StateFaults.sol";

/// @notice A leaf of the log, and its content's words where they are shown.
/// @param sequence The action's sequence.
/// @param content The action's content.
/// @param integrity The integrity that it led to.
/// @param isOpened Whether the words are shown; they are zero if not.
/// @param kindHash keccak256 of its kind.
/// @param targetHash keccak256 of its target.
/// @param payloadHash keccak256 of its payload's exact text.
/// @param signer Whose action it is.
struct LeafFacts {
    uint64 sequence;
    bytes32 content;
    bytes32 integrity;
    bool isOpened;
    bytes32 kindHash;
    bytes32 targetHash;
    bytes32 payloadHash;
    address signer;
}

/// @title Faults that entries show next to the log's leaves
/// @notice Each function tells whether its evidence shows the fault. No log that keeps to the protocol leaves such evidence.
library StateHistory {
    using StateFaults for ShownEntry;

    /// @notice The most variations that an action makes.
    uint32 internal constant VARIATIONS_MAX = 500;

    /// @notice Stale state: a leaf at or before the checkpoint extends the entry's integrity.
    function isStale(ShownEntry memory entry, LeafFacts memory leaf) internal pure returns (bool) {
        return entry.isPresent() && leaf.sequence <= entry.sequence && extends(leaf, entry.fields.integrity);
    }

    /// @notice False entry: the leaf at the entry's sequence does not lead to it.
    /// @param kind The plain text of an opened leaf's kind.
    /// @param to The wallet that a mint or transfer names, as its whole payload; zero if it names none so.
    function isEntryFalse(ShownEntry memory entry, LeafFacts memory leaf, string memory kind, bytes32 to)
        internal
        pure
        returns (bool)
    {
        EntryFields memory fields = entry.fields;
        if (!entry.isPresent() || leaf.sequence != fields.sequence) return false;
        bytes3 prefix = ResourceIds.prefixOf(entry.id);
        if (prefix == ResourceIds.VARIATION) return leaf.isOpened && _isVariationFalse(entry, leaf);
        // The integrity of an organization's first version is not its leaf's.
        if (leaf.integrity != fields.integrity) return prefix != ResourceIds.ORGANIZATION || fields.version > 1;
        if (!leaf.isOpened || keccak256(bytes(kind)) != leaf.kindHash) return false;
        bool isKnown = ActionKinds.isKindOf(leaf.kindHash, prefix);
        if (!isKnown && (prefix != ResourceIds.OBJECT || !ActionKinds.isCustom(kind))) return true;
        bool isFirst = fields.version == 1;
        if (isFirst != (leaf.kindHash == ActionKinds.maker(prefix))) return true;
        if (isFirst && entry.id != ResourceIds.madeBy(leaf.content, prefix, 0)) return true;
        if (prefix == ResourceIds.OBJECT) return _isObjectFalse(fields, leaf, to);
        return _isOtherFalse(prefix, fields, leaf);
    }

    /// @notice Missing state: nothing stands under the id of what an action at or before the checkpoint made.
    /// @param kind The plain text of the leaf's kind.
    function isMissing(ShownEntry memory absent, LeafFacts memory leaf, string memory kind)
        internal
        pure
        returns (bool)
    {
        if (
            absent.form != EntryForm.Absent || !leaf.isOpened || leaf.sequence > absent.sequence
                || keccak256(bytes(kind)) != leaf.kindHash
        ) return false;
        bytes3 prefix = ResourceIds.prefixOf(absent.id);
        bytes32 maker = prefix == ResourceIds.VARIATION ? ActionKinds.TEMPLATE_VARIATIONS : ActionKinds.maker(prefix);
        return leaf.kindHash == maker && absent.id == ResourceIds.madeBy(leaf.content, prefix, 0);
    }

    /// @notice False owner: what only a transfer changes, or what nothing changes, is another after actions that are none.
    function isOwnerFalse(ShownEntry memory first, ShownEntry memory second, LeafFacts[] memory leaves)
        internal
        pure
        returns (bool)
    {
        if (!first.isOf(ResourceIds.OBJECT) || !_isLed(first, second, leaves)) return false;
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        if (b.version != uint256(a.version) + leaves.length) return true;
        if (a.organization != b.organization || a.template != b.template || a.variation != b.variation) return true;
        return a.wallet != b.wallet && isOpenedWithout(leaves, ActionKinds.TRANSFER);
    }

    /// @notice The version grew by another number than there are leaves, for a resource of any type.
    function isVersionFalse(ShownEntry memory first, ShownEntry memory second, LeafFacts[] memory leaves)
        internal
        pure
        returns (bool)
    {
        return _isLed(first, second, leaves) && second.fields.version != uint256(first.fields.version) + leaves.length;
    }

    /// @notice Hidden change: an object's properties or a template's own members are others after actions that change none.
    function isChangeHidden(ShownEntry memory first, ShownEntry memory second, LeafFacts[] memory leaves)
        internal
        pure
        returns (bool)
    {
        if (!_isLed(first, second, leaves)) return false;
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        if (first.isOf(ResourceIds.OBJECT)) {
            for (uint256 i = 0; i < leaves.length; ++i) {
                if (!leaves[i].isOpened || ActionKinds.isChange(leaves[i].kindHash)) return false;
            }
            return a.propertiesHash != b.propertiesHash;
        }
        return first.isOf(ResourceIds.TEMPLATE) && isOpenedWithout(leaves, ActionKinds.TEMPLATE_UPDATE)
            && (a.publicAccess != b.publicAccess
                || a.propertiesHash != b.propertiesHash
                || a.schemaHash != b.schemaHash
                || a.rulesHash != b.rulesHash);
    }

    /// @notice False keys: a wallet's keys grew by other than those added less those removed, or more are new than were added.
    function areKeysFalse(ShownEntry memory first, ShownEntry memory second, LeafFacts[] memory leaves)
        internal
        pure
        returns (bool)
    {
        if (!first.isOf(ResourceIds.WALLET) || !_isLed(first, second, leaves)) return false;
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        if (a.keys.length == 0 || b.keys.length == 0) return false;
        uint256 added = 0;
        uint256 removed = 0;
        for (uint256 i = 0; i < leaves.length; ++i) {
            if (!leaves[i].isOpened) return false;
            if (leaves[i].kindHash == ActionKinds.WALLET_KEY_ADD) ++added;
            if (leaves[i].kindHash == ActionKinds.WALLET_KEY_REMOVE) ++removed;
        }
        if (b.keys.length + removed != a.keys.length + added) return true;
        uint256 fresh = 0;
        for (uint256 i = 0; i < b.keys.length; ++i) {
            if (!StateFaults.hasKey(a, b.keys[i])) ++fresh;
        }
        return fresh > added;
    }

    /// @notice Whether a leaf is what an operator is asked for by a challenge of an entry.
    /// @param index var: which of the action's variations the entry is, from 0.
    function isAnswer(EntryClaim memory claim, bytes3 prefix, LeafFacts memory leaf, uint32 index)
        internal
        pure
        returns (bool)
    {
        if (leaf.sequence != claim.sequence) return false;
        if (prefix == ResourceIds.VARIATION) {
            return index < VARIATIONS_MAX && laterIntegrity(leaf.content, index + 1) == claim.integrity;
        }
        if (claim.isFirst) return laterIntegrity(leaf.content, 1) == claim.integrity;
        return leaf.integrity == claim.integrity;
    }

    /// @notice Whether a leaf extends an integrity; nothing extends zero.
    function extends(LeafFacts memory leaf, bytes32 integrity) internal pure returns (bool) {
        return integrity != 0 && Hashes.efficientKeccak256(integrity, leaf.content) == leaf.integrity;
    }

    /// @notice Where leaves lead that each extend the integrity before them, from `integrity` on.
    /// @return isLed Whether each does.
    /// @return end The last one's integrity.
    function lead(bytes32 integrity, LeafFacts[] memory leaves) internal pure returns (bool isLed, bytes32 end) {
        end = integrity;
        for (uint256 i = 0; i < leaves.length; ++i) {
            if (!extends(leaves[i], end)) return (false, 0);
            end = leaves[i].integrity;
        }
        return (true, end);
    }

    /// @notice Whether all leaves are opened and none is of that kind.
    function isOpenedWithout(LeafFacts[] memory leaves, bytes32 kind) internal pure returns (bool) {
        for (uint256 i = 0; i < leaves.length; ++i) {
            if (!leaves[i].isOpened || leaves[i].kindHash == kind) return false;
        }
        return true;
    }

    /// @notice The first integrity of an action's `place`-th resource, from 1: those that are made with resource 0.
    function laterIntegrity(bytes32 content, uint32 place) internal pure returns (bytes32) {
        return Hashes.efficientKeccak256(0, keccak256(abi.encodePacked(content, place)));
    }

    /// @notice keccak256 of the payload that names one wallet by one member and nothing else.
    function namingPayload(string memory member, bytes32 wallet) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked("{\"", member, "\":\"", ResourceIds.text(wallet), "\"}"));
    }

    function _isLed(ShownEntry memory first, ShownEntry memory second, LeafFacts[] memory leaves)
        private
        pure
        returns (bool)
    {
        if (!first.isPresent() || !second.isPresent() || first.id != second.id) return false;
        (bool isLed, bytes32 end) = lead(first.fields.integrity, leaves);
        return isLed && end == second.fields.integrity;
    }

    function _isObjectFalse(EntryFields memory fields, LeafFacts memory leaf, bytes32 to) private pure returns (bool) {
        bytes32 kind = leaf.kindHash;
        uint64 status =
            kind == ActionKinds.LOCK ? StateFaults.LOCKED : kind == ActionKinds.BURN ? StateFaults.BURNED : 0;
        if (fields.status != status) return true;
        if (kind != ActionKinds.MINT && kind != ActionKinds.TRANSFER) return false;
        if (to != 0 && to != fields.wallet && leaf.payloadHash == namingPayload("to", to)) return true;
        return kind == ActionKinds.MINT && leaf.targetHash != keccak256(ResourceIds.text(fields.template));
    }

    function _isOtherFalse(bytes3 prefix, EntryFields memory fields, LeafFacts memory leaf)
        private
        pure
        returns (bool)
    {
        bytes32 kind = leaf.kindHash;
        if (prefix == ResourceIds.WALLET) {
            return kind == ActionKinds.WALLET_REGISTER && fields.keys.length != 0
                && (fields.keys.length != 1 || fields.keys[0] != leaf.signer);
        }
        if (prefix == ResourceIds.API_KEY) return (kind == ActionKinds.KEY_DELETE) != fields.isDeleted;
        if (prefix == ResourceIds.WEBHOOK) {
            bool isEnd = kind == ActionKinds.WEBHOOK_DELETE;
            return isEnd != fields.isDeleted || ((isEnd || kind == ActionKinds.SYSTEM_WEBHOOK_OFF) && fields.isActive);
        }
        if (prefix == ResourceIds.FILE) {
            string memory digest = Base64.encode(abi.encodePacked(fields.fileHash));
            return leaf.payloadHash != keccak256(abi.encodePacked("sha-256=:", digest, ":"));
        }
        if (prefix == ResourceIds.DISPUTE) return leaf.targetHash != keccak256(ResourceIds.text(fields.subject));
        return prefix == ResourceIds.ACTION
            && leaf.targetHash != keccak256(bytes(Strings.toChecksumHexString(fields.account)));
    }

    function _isVariationFalse(ShownEntry memory entry, LeafFacts memory leaf) private pure returns (bool) {
        if (
            leaf.kindHash != ActionKinds.TEMPLATE_VARIATIONS
                || leaf.targetHash != keccak256(ResourceIds.text(entry.fields.template))
        ) return true;
        for (uint32 i = 0; i < VARIATIONS_MAX; ++i) {
            if (
                laterIntegrity(leaf.content, i + 1) == entry.fields.integrity
                    && ResourceIds.madeBy(leaf.content, ResourceIds.VARIATION, i) == entry.id
            ) return false;
        }
        return true;
    }
}
