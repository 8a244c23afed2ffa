// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice Where the reading of a list stands, in the call's data.
/// @param next The next item.
/// @param end Where the last item ends.
/// @param isBroken Whether an item was not what the reader asked for, or not canonical; it stays so.
struct RlpCursor {
    uint256 next;
    uint256 end;
    bool isBroken;
}

/// @title A reader of canonical RLP
/// @notice Reads the items of a list in their order, from the call's data. Only the shortest form of a length is taken, a
/// single byte below 0x80 stands for itself, and lists are filled exactly.
/// @dev It never reverts: malformed data marks the cursor, and every later reading gives zeros. So a caller reads on to the
/// end and asks once.
library RlpReader {
    uint256 private constant SHORT_STRING = 0x80;
    uint256 private constant SHORT_LIST = 0xc0;
    /// @dev The longest payload whose length stands in the first byte.
    uint256 private constant SHORT_MAX = 55;

    /// @notice A cursor over the list that fills `data`.
    function open(bytes calldata data) internal pure returns (RlpCursor memory cursor) {
        uint256 start;
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            start := data.offset
        }
        RlpCursor memory whole = RlpCursor({next: start, end: start + data.length, isBroken: false});
        cursor = list(whole);
        if (!isDone(whole)) cursor.isBroken = true;
    }

    /// @notice Whether the list ended where the reading ended, and all was well.
    function isDone(RlpCursor memory cursor) internal pure returns (bool) {
        return !cursor.isBroken && cursor.next == cursor.end;
    }

    /// @notice A list, as another cursor.
    function list(RlpCursor memory cursor) internal pure returns (RlpCursor memory inner) {
        (bool isList, uint256 start, uint256 length) = _item(cursor);
        if (!isList) cursor.isBroken = true;
        return RlpCursor({next: start, end: start + length, isBroken: cursor.isBroken});
    }

    /// @notice A string: where it starts in the call's data, and its length.
    function text(RlpCursor memory cursor) internal pure returns (uint256 start, uint256 length) {
        bool isList;
        (isList, start, length) = _item(cursor);
        if (isList) {
            cursor.isBroken = true;
            length = 0;
        }
    }

    /// @notice A number below 2^64, without leading zero bytes; zero is the empty string.
    function number(RlpCursor memory cursor) internal pure returns (uint64) {
        (uint256 start, uint256 length) = text(cursor);
        if (length > 8) cursor.isBroken = true;
        if (cursor.isBroken || length == 0) return 0;
        uint256 value = _load(start) >> (256 - 8 * length);
        if (value >> (8 * (length - 1)) == 0) cursor.isBroken = true;
        // At most eight bytes.
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint64(value);
    }

    /// @notice A number up to `max`.
    function number(RlpCursor memory cursor, uint64 max) internal pure returns (uint64 value) {
        value = number(cursor);
        if (value > max) cursor.isBroken = true;
    }

    /// @notice A string of 32 bytes.
    function word(RlpCursor memory cursor) internal pure returns (bytes32) {
        return bytes32(_load(_exact(cursor, 32)));
    }

    /// @notice A string of 20 bytes.
    function account(RlpCursor memory cursor) internal pure returns (address) {
        return address(uint160(_load(_exact(cursor, 20)) >> 96));
    }

    /// @dev A string of `length` bytes; where there is none, the position of an empty place after all data.
    function _exact(RlpCursor memory cursor, uint256 length) private pure returns (uint256) {
        (uint256 start, uint256 found) = text(cursor);
        if (found != length) cursor.isBroken = true;
        return cursor.isBroken ? type(uint256).max - 32 : start;
    }

    /// @dev The next item's payload; the cursor moves past it.
    function _item(RlpCursor memory cursor) private pure returns (bool isList, uint256 start, uint256 length) {
        uint256 place = cursor.next;
        uint256 end = cursor.end;
        if (cursor.isBroken || place >= end) return _fail(cursor);
        uint256 head = _load(place) >> 248;
        if (head < SHORT_STRING) {
            cursor.next = place + 1;
            return (false, place, 1);
        }
        isList = head >= SHORT_LIST;
        length = head - (isList ? SHORT_LIST : SHORT_STRING);
        start = place + 1;
        if (length > SHORT_MAX) {
            uint256 size = length - SHORT_MAX;
            if (size > end - start) return _fail(cursor);
            length = _load(start) >> (256 - 8 * size);
            if (length <= SHORT_MAX || length >> (8 * (size - 1)) == 0) return _fail(cursor);
            start += size;
        }
        if (length > end - start) return _fail(cursor);
        // One byte below 0x80 has a shorter form.
        if (!isList && length == 1 && _load(start) >> 248 < SHORT_STRING) return _fail(cursor);
        cursor.next = start + length;
    }

    function _fail(RlpCursor memory cursor) private pure returns (bool, uint256, uint256) {
        cursor.isBroken = true;
        return (false, 0, 0);
    }

    function _load(uint256 place) private pure returns (uint256 loaded) {
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            loaded := calldataload(place)
        }
    }
}
