// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Checkpoint} from "./LogRecords.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {EntryFields} from "./StateEntry.sol";

/// @notice What a state proof shows: nothing, because the checkpoint has no root; absence; an entry that is malformed; an entry.
enum EntryForm {
    Unproven,
    Absent,
    Malformed,
    Present
}

/// @notice What a signed checkpoint's state shows under an id.
/// @param batches The checkpoint's batches: the order of checkpoints.
/// @param sequence The checkpoint's sequence: a leaf is at or before it by this.
/// @param id The id.
/// @param form What is shown.
/// @param fields The entry's fields, if one is present.
struct ShownEntry {
    uint64 batches;
    uint64 sequence;
    bytes32 id;
    EntryForm form;
    EntryFields fields;
}

/// @title Faults that entries of signed checkpoints show
/// @notice Each function tells whether its evidence shows the fault. No log that keeps to the protocol leaves such evidence.
/// A malformed entry is no entry to any of them but `isMalformed`.
library StateFaults {
    /// @notice The status of an object that is locked.
    uint64 internal constant LOCKED = 1;
    /// @notice The status of an object that was burned.
    uint64 internal constant BURNED = 2;

    /// @notice Unrooted checkpoint: the later one has no root, the earlier one has.
    function isUnrooted(Checkpoint memory earlier, Checkpoint memory later) internal pure returns (bool) {
        return earlier.state != 0 && later.state == 0 && later.batches > earlier.batches;
    }

    /// @notice Malformed state: an entry that is not its type's list.
    function isMalformed(ShownEntry memory entry) internal pure returns (bool) {
        return entry.form == EntryForm.Malformed;
    }

    /// @notice Rewritten state: the later checkpoint, by batches, holds less of the resource than the earlier one, or something
    /// else of what was made by then.
    function isRewritten(ShownEntry memory earlier, ShownEntry memory later) internal pure returns (bool) {
        if (earlier.id != later.id || earlier.batches >= later.batches) return false;
        bool wasThere = isPresent(earlier);
        if (wasThere && later.form == EntryForm.Absent) return true;
        if (!isPresent(later)) return false;
        EntryFields memory last = later.fields;
        bool isOld = last.sequence <= earlier.sequence;
        if (isOld && earlier.form == EntryForm.Absent) return true;
        if (!wasThere) return false;
        EntryFields memory first = earlier.fields;
        if (last.version < first.version || last.sequence < first.sequence) return true;
        return isOld
            && (last.version != first.version || last.sequence != first.sequence || last.integrity != first.integrity);
    }

    /// @notice Lone step: of version, sequence and integrity some changed and some did not, or the version grew by more than
    /// the sequence.
    function isLoneStep(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        if (!_isSame(first, second)) return false;
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        bool isVersion = a.version == b.version;
        bool isSequence = a.sequence == b.sequence;
        bool isIntegrity = a.integrity == b.integrity;
        if (isVersion != isSequence || isVersion != isIntegrity) return true;
        (EntryFields memory low, EntryFields memory high) = a.version < b.version ? (a, b) : (b, a);
        return uint256(high.version) + low.sequence > uint256(low.version) + high.sequence;
    }

    /// @notice Two-faced state: one integrity, and entries that differ in more than what changes without it. The second is not
    /// of an earlier checkpoint.
    function isTwoFaced(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        if (!_isSame(first, second) || first.batches > second.batches) return false;
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        if (a.integrity != b.integrity || a.hash == b.hash) return false;
        if (a.version != b.version || a.sequence != b.sequence || a.organization != b.organization) return true;
        bytes3 prefix = ResourceIds.prefixOf(first.id);
        if (prefix == ResourceIds.WALLET) {
            return a.account != b.account || (b.keys.length != 0 && !_areKeysEqual(a, b));
        }
        if (prefix == ResourceIds.TEMPLATE) {
            return a.publicAccess != b.publicAccess || _isBoundChanged(a, b) || b.mintedCount < a.mintedCount
                || b.burnedCount < a.burnedCount || a.variationCount != b.variationCount
                || a.propertiesHash != b.propertiesHash || a.schemaHash != b.schemaHash || a.rulesHash != b.rulesHash;
        }
        return true;
    }

    /// @notice Changed constant: entries differ in what never changes, counts fell, or something changed after the end. The
    /// second is not of an earlier checkpoint.
    function isConstantChanged(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        if (!_isSame(first, second) || first.batches > second.batches) return false;
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        if (a.organization != b.organization) return true;
        bytes3 prefix = ResourceIds.prefixOf(first.id);
        if (prefix == ResourceIds.ORGANIZATION) return false;
        if (prefix == ResourceIds.OBJECT) {
            return a.template != b.template || a.variation != b.variation || a.serial != b.serial
                || (a.status == BURNED && a.hash != b.hash);
        }
        if (prefix == ResourceIds.WALLET) {
            if (a.account != b.account) return true;
            // The role may still change.
            return a.keys.length == 0
                && (b.keys.length != 0
                    || a.version != b.version
                    || a.sequence != b.sequence
                    || a.integrity != b.integrity);
        }
        if (prefix == ResourceIds.TEMPLATE) {
            return _isBoundChanged(a, b) || b.mintedCount < a.mintedCount || b.burnedCount < a.burnedCount
                || b.variationCount < a.variationCount;
        }
        if (prefix == ResourceIds.API_KEY || prefix == ResourceIds.WEBHOOK) return a.isDeleted && a.hash != b.hash;
        return a.hash != b.hash;
    }

    /// @notice Twin state: two ids with one integrity.
    function isTwin(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        return isPresent(first) && isPresent(second) && first.id != second.id
            && first.fields.integrity == second.fields.integrity;
    }

    /// @notice False address: an object's owner has another address at the same checkpoint.
    function isAddressFalse(ShownEntry memory object, ShownEntry memory wallet) internal pure returns (bool) {
        return isOf(object, ResourceIds.OBJECT) && isOf(wallet, ResourceIds.WALLET) && object.batches == wallet.batches
            && object.fields.wallet == wallet.id && object.fields.account != wallet.fields.account;
    }

    /// @notice False address: an object's template is another organization's at the same checkpoint.
    function isOrganizationFalse(ShownEntry memory object, ShownEntry memory template) internal pure returns (bool) {
        return isTemplateOf(object, template) && object.fields.organization != template.fields.organization;
    }

    /// @notice False address: two wallets have one address among the registering one and the keys.
    function isAddressShared(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        if (!isOf(first, ResourceIds.WALLET) || !isOf(second, ResourceIds.WALLET) || first.id == second.id) {
            return false;
        }
        EntryFields memory a = first.fields;
        EntryFields memory b = second.fields;
        if (a.account == b.account || hasKey(a, b.account)) return true;
        for (uint256 i = 0; i < b.keys.length; ++i) {
            if (b.keys[i] == a.account || hasKey(a, b.keys[i])) return true;
        }
        return false;
    }

    /// @notice Oversupply: a serial above its template's count, or above its bound, at the same checkpoint.
    function isOversupplied(ShownEntry memory object, ShownEntry memory template) internal pure returns (bool) {
        if (!isTemplateOf(object, template)) return false;
        uint64 serial = object.fields.serial;
        return serial > template.fields.mintedCount || (template.fields.isBounded && serial > template.fields.maxSupply);
    }

    /// @notice Oversupply: two objects of one template with one serial.
    function isSerialRepeated(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        return isOf(first, ResourceIds.OBJECT) && isOf(second, ResourceIds.OBJECT) && first.id != second.id
            && first.fields.template == second.fields.template && first.fields.serial == second.fields.serial;
    }

    /// @notice Oversupply: a template with two bounds.
    function isMaxSupplyChanged(ShownEntry memory first, ShownEntry memory second) internal pure returns (bool) {
        return
            _isSame(first, second) && isOf(first, ResourceIds.TEMPLATE) && _isBoundChanged(first.fields, second.fields);
    }

    /// @notice Whether an entry is shown.
    function isPresent(ShownEntry memory entry) internal pure returns (bool) {
        return entry.form == EntryForm.Present;
    }

    /// @notice Whether an entry of this type is shown.
    function isOf(ShownEntry memory entry, bytes3 prefix) internal pure returns (bool) {
        return isPresent(entry) && ResourceIds.prefixOf(entry.id) == prefix;
    }

    /// @notice Whether both are shown at the same checkpoint, and the template is the object's.
    function isTemplateOf(ShownEntry memory object, ShownEntry memory template) internal pure returns (bool) {
        return isOf(object, ResourceIds.OBJECT) && isPresent(template) && object.fields.template == template.id
            && object.batches == template.batches;
    }

    /// @notice Whether the address is among a wallet's keys.
    function hasKey(EntryFields memory wallet, address key) internal pure returns (bool) {
        for (uint256 i = 0; i < wallet.keys.length; ++i) {
            if (wallet.keys[i] == key) return true;
        }
        return false;
    }

    function _isSame(ShownEntry memory first, ShownEntry memory second) private pure returns (bool) {
        return isPresent(first) && isPresent(second) && first.id == second.id;
    }

    function _isBoundChanged(EntryFields memory a, EntryFields memory b) private pure returns (bool) {
        return a.isBounded != b.isBounded || a.maxSupply != b.maxSupply;
    }

    function _areKeysEqual(EntryFields memory a, EntryFields memory b) private pure returns (bool) {
        return keccak256(abi.encodePacked(a.keys)) == keccak256(abi.encodePacked(b.keys));
    }
}
