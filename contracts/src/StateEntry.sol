// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ResourceIds} from "./ResourceIds.sol";
import {RlpCursor, RlpReader} from "./RlpReader.sol";

/// @notice Who may do actions of a kind to a template's objects.
/// @param kindHash keccak256 of the kind.
/// @param who 0: the owner, 1: the issuer, 2: anyone.
struct KindRule {
    bytes32 kindHash;
    uint64 who;
}

/// @notice An entry's fields. Those that its type has not are zero.
/// @param hash keccak256 of the entry: what the trie holds.
/// @param version The resource's version, from 1.
/// @param sequence The sequence of the last action on it.
/// @param integrity The hash over its history.
/// @param organization The id of its organization.
/// @param template obj, var: the id of its template.
/// @param variation obj: the id of its variation, or zero.
/// @param serial obj: its number among its template's objects, from 1.
/// @param wallet obj: the owner's id; fil: the id of the wallet that has it.
/// @param account obj: the owner's address; wal: the address that registered it; act: the sequencer's key.
/// @param status obj: 0 active, 1 locked, 2 burned.
/// @param keys wal: the addresses that sign for it, ascending; none once it is removed.
/// @param publicAccess tpl: 0 or 1.
/// @param isBounded tpl: whether there is a maxSupply.
/// @param maxSupply tpl: how many objects there may be.
/// @param mintedCount tpl: how many objects were made.
/// @param burnedCount tpl: how many objects were burned.
/// @param variationCount tpl: how many variations it has.
/// @param propertiesHash obj, tpl, var: keccak256 of the properties' text.
/// @param schemaHash tpl: keccak256 of the schema's text.
/// @param rulesHash tpl: keccak256 of the list of rules.
/// @param rules tpl: who may do what, in the template's order.
/// @param isDeleted key, whk: whether it was deleted.
/// @param isActive whk: whether it is sent to.
/// @param fileHash fil: SHA-256 of the file.
/// @param subject dsp: the id that it is about.
struct EntryFields {
    bytes32 hash;
    uint64 version;
    uint64 sequence;
    bytes32 integrity;
    bytes32 organization;
    bytes32 template;
    bytes32 variation;
    uint64 serial;
    bytes32 wallet;
    address account;
    uint64 status;
    address[] keys;
    uint64 publicAccess;
    bool isBounded;
    uint64 maxSupply;
    uint64 mintedCount;
    uint64 burnedCount;
    uint64 variationCount;
    bytes32 propertiesHash;
    bytes32 schemaHash;
    bytes32 rulesHash;
    KindRule[] rules;
    bool isDeleted;
    bool isActive;
    bytes32 fileHash;
    bytes32 subject;
}

/// @title Entries of the state
/// @notice An entry is the canonical RLP list of its type: format 1, version, sequence, integrity, then the type's members.
library StateEntry {
    using RlpReader for RlpCursor;

    uint64 private constant FORMAT = 1;
    uint64 private constant STATUS_MAX = 2;
    uint64 private constant ROLE_MAX = 2;
    uint64 private constant WHO_MAX = 2;
    /// @dev An address as an item: a byte in front, and 20.
    uint256 private constant KEY_SIZE = 21;
    /// @dev A rule is at least its list's byte, an empty kind, a number of one byte and a hash.
    uint256 private constant RULE_SIZE_MIN = 36;

    /// @notice Reads an entry.
    /// @param id The id that it stands under.
    /// @param entry The entry, in the call's data.
    /// @param sequence The checkpoint's sequence, which the entry's own can't be above.
    /// @return fields What it says.
    /// @return isWellFormed Whether it is its type's list, with every member in its range. If not, the fields say nothing.
    function read(bytes32 id, bytes calldata entry, uint64 sequence)
        internal
        pure
        returns (EntryFields memory fields, bool isWellFormed)
    {
        RlpCursor memory cursor = RlpReader.open(entry);
        if (cursor.number() != FORMAT) return (fields, false);
        fields.version = cursor.number();
        fields.sequence = cursor.number();
        fields.integrity = cursor.word();
        if (
            fields.version == 0 || fields.version > fields.sequence || fields.sequence > sequence
                || fields.integrity == 0
        ) return (fields, false);
        isWellFormed = _readMembers(ResourceIds.prefixOf(id), cursor, fields) && cursor.isDone();
        fields.hash = keccak256(entry);
    }

    function _readMembers(bytes3 prefix, RlpCursor memory cursor, EntryFields memory fields)
        private
        pure
        returns (bool)
    {
        if (prefix == ResourceIds.ACTION) {
            fields.account = cursor.account();
            // slither-disable-next-line unused-return
            cursor.number();
            return true;
        }
        if (prefix == ResourceIds.ORGANIZATION) return true;
        fields.organization = _id(cursor, ResourceIds.ORGANIZATION);
        if (prefix == ResourceIds.OBJECT) return _readObject(cursor, fields);
        if (prefix == ResourceIds.WALLET) return _readWallet(cursor, fields);
        if (prefix == ResourceIds.TEMPLATE) return _readTemplate(cursor, fields);
        if (prefix == ResourceIds.VARIATION) return _readVariation(cursor, fields);
        if (prefix == ResourceIds.API_KEY) {
            fields.isDeleted = cursor.number(1) == 1;
            return true;
        }
        if (prefix == ResourceIds.WEBHOOK) {
            fields.isActive = cursor.number(1) == 1;
            fields.isDeleted = cursor.number(1) == 1;
            return true;
        }
        if (prefix == ResourceIds.FILE) {
            fields.wallet = _id(cursor, ResourceIds.WALLET);
            fields.fileHash = cursor.word();
            // slither-disable-next-line unused-return
            cursor.number();
            return true;
        }
        if (prefix == ResourceIds.DISPUTE) {
            (uint256 start, uint256 length) = cursor.text();
            fields.subject = ResourceIds.parse(start, length);
            return fields.subject != 0;
        }
        return false;
    }

    function _readObject(RlpCursor memory cursor, EntryFields memory fields) private pure returns (bool) {
        fields.template = _id(cursor, ResourceIds.TEMPLATE);
        (uint256 start, uint256 length) = cursor.text();
        if (length != 0) {
            fields.variation = ResourceIds.parse(start, length);
            if (ResourceIds.prefixOf(fields.variation) != ResourceIds.VARIATION) return false;
        }
        fields.serial = cursor.number();
        fields.wallet = _id(cursor, ResourceIds.WALLET);
        fields.account = cursor.account();
        fields.status = cursor.number(STATUS_MAX);
        fields.propertiesHash = cursor.word();
        return fields.serial != 0;
    }

    function _readWallet(RlpCursor memory cursor, EntryFields memory fields) private pure returns (bool) {
        fields.account = cursor.account();
        // slither-disable-next-line unused-return
        cursor.number(ROLE_MAX);
        RlpCursor memory list = cursor.list();
        uint256 count = (list.end - list.next) / KEY_SIZE;
        fields.keys = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            address key = list.account();
            if (i != 0 && key <= fields.keys[i - 1]) return false;
            fields.keys[i] = key;
        }
        return list.isDone();
    }

    function _readTemplate(RlpCursor memory cursor, EntryFields memory fields) private pure returns (bool) {
        fields.publicAccess = cursor.number(1);
        RlpCursor memory list = cursor.list();
        fields.isBounded = list.next != list.end;
        if (fields.isBounded) fields.maxSupply = list.number();
        if (!list.isDone()) return false;
        fields.mintedCount = cursor.number();
        fields.burnedCount = cursor.number();
        fields.variationCount = cursor.number();
        fields.propertiesHash = cursor.word();
        fields.schemaHash = cursor.word();
        if (fields.burnedCount > fields.mintedCount || (fields.isBounded && fields.mintedCount > fields.maxSupply)) {
            return false;
        }
        return _readRules(cursor.list(), fields);
    }

    function _readRules(RlpCursor memory list, EntryFields memory fields) private pure returns (bool) {
        fields.rulesHash = _hash(list.next, list.end - list.next);
        KindRule[] memory rules = new KindRule[]((list.end - list.next) / RULE_SIZE_MIN);
        uint256 count = 0;
        while (!list.isBroken && list.next != list.end) {
            RlpCursor memory rule = list.list();
            (uint256 start, uint256 length) = rule.text();
            uint64 who = rule.number(WHO_MAX);
            // slither-disable-next-line unused-return
            rule.word();
            if (!rule.isDone()) return false;
            rules[count] = KindRule({kindHash: _hash(start, length), who: who});
            ++count;
        }
        // Fewer than there is room for.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            mstore(rules, count)
        }
        fields.rules = rules;
        return list.isDone();
    }

    function _readVariation(RlpCursor memory cursor, EntryFields memory fields) private pure returns (bool) {
        fields.template = _id(cursor, ResourceIds.TEMPLATE);
        // slither-disable-next-line unused-return
        cursor.number();
        // slither-disable-next-line unused-return
        cursor.word();
        fields.propertiesHash = cursor.word();
        return fields.version == 1;
    }

    /// @dev An id with that prefix.
    function _id(RlpCursor memory cursor, bytes3 prefix) private pure returns (bytes32 id) {
        (uint256 start, uint256 length) = cursor.text();
        id = ResourceIds.parse(start, length);
        if (ResourceIds.prefixOf(id) != prefix) cursor.isBroken = true;
    }

    /// @dev Of a piece of the call's data.
    function _hash(uint256 start, uint256 length) private pure returns (bytes32 hash) {
        // After the free memory pointer, where nothing is kept.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let free := mload(0x40)
            calldatacopy(free, start, length)
            hash := keccak256(free, length)
        }
    }
}
