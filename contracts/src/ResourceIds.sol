// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Ids of resources
/// @notice An id is a prefix of three letters, an underscore and 26 digits of lower-case Crockford base32: one number of 128
/// bits. In memory it is a word: its 30 characters, then two zero bytes.
library ResourceIds {
    bytes3 internal constant OBJECT = "obj";
    bytes3 internal constant WALLET = "wal";
    bytes3 internal constant ORGANIZATION = "org";
    bytes3 internal constant TEMPLATE = "tpl";
    bytes3 internal constant VARIATION = "var";
    bytes3 internal constant API_KEY = "key";
    bytes3 internal constant WEBHOOK = "whk";
    bytes3 internal constant FILE = "fil";
    bytes3 internal constant DISPUTE = "dsp";
    bytes3 internal constant ACTION = "act";

    /// @notice The characters of an id.
    uint256 internal constant LENGTH = 30;

    /// @dev The digits, in the order of their values.
    bytes32 private constant DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
    uint256 private constant DIGIT_COUNT = 26;
    /// @dev Bit c is set where the character with code c is a digit: 0 to 9, a to z without i, l, o, u.
    // slither-disable-next-line too-many-digits
    uint256 private constant DIGIT_MASK = 0x07df6dfe0000000003ff000000000000;
    /// @dev 26 digits hold 130 bits, so the first is at most this one.
    bytes1 private constant FIRST_DIGIT_MAX = "7";
    /// @dev All prefixes that ids have, four characters each.
    bytes private constant PREFIXES = "obj_wal_org_key_tpl_var_act_bat_anc_evt_fil_whk_dlv_dsp_";

    /// @notice Reads an id of any prefix from `length` bytes of the call's data at `start`; zero if they are no id.
    function parse(uint256 start, uint256 length) internal pure returns (bytes32 id) {
        if (length != LENGTH) return 0;
        bytes32 word;
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            word := and(calldataload(start), not(0xffff))
        }
        if (word[4] > FIRST_DIGIT_MAX) return 0;
        for (uint256 i = LENGTH - DIGIT_COUNT; i < LENGTH; ++i) {
            if ((DIGIT_MASK >> uint8(word[i])) & 1 == 0) return 0;
        }
        return _isPrefix(bytes4(word)) ? word : bytes32(0);
    }

    /// @notice As `parse`, for a text of the call's data.
    function parse(string calldata key) internal pure returns (bytes32 id) {
        uint256 start;
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            start := key.offset
        }
        return parse(start, bytes(key).length);
    }

    /// @notice The id's prefix, without the underscore.
    function prefixOf(bytes32 id) internal pure returns (bytes3) {
        return bytes3(id);
    }

    /// @notice Whether a proof of presence may be shown for an id with this prefix: those that have entries.
    function mayBePresent(bytes3 prefix) internal pure returns (bool) {
        return mayBeAbsent(prefix) || prefix == ACTION;
    }

    /// @notice Whether a proof of absence may be shown for an id with this prefix. An action's id is none of them: most
    /// actions have no entry, so its absence says nothing; as evidence alone it is taken.
    function mayBeAbsent(bytes3 prefix) internal pure returns (bool) {
        return prefix == OBJECT || prefix == WALLET || prefix == ORGANIZATION || prefix == TEMPLATE
            || prefix == VARIATION || prefix == API_KEY || prefix == WEBHOOK || prefix == FILE || prefix == DISPUTE;
    }

    /// @notice The id of the `index`-th resource with this prefix that an action makes.
    /// @param content The action's content.
    function madeBy(bytes32 content, bytes3 prefix, uint32 index) internal pure returns (bytes32) {
        bytes32 source = prefix == ACTION ? content : keccak256(abi.encodePacked(content, index));
        uint256 number = uint256(source) >> 128;
        uint256 digits = 0;
        for (uint256 i = 0; i < DIGIT_COUNT; ++i) {
            digits |= uint256(uint8(DIGITS[number & 31])) << (8 * i);
            number >>= 5;
        }
        return bytes32(prefix) | (bytes32(bytes1("_")) >> 24) | bytes32(digits << 16);
    }

    /// @notice The id's 30 characters.
    function text(bytes32 id) internal pure returns (bytes memory) {
        return abi.encodePacked(bytes30(id));
    }

    function _isPrefix(bytes4 start) private pure returns (bool) {
        bytes memory prefixes = PREFIXES;
        for (uint256 i = 0; i < prefixes.length; i += 4) {
            bytes4 prefix;
            // Reads four of the bytes above.
            // solhint-disable-next-line no-inline-assembly
            assembly ("memory-safe") {
                prefix := and(mload(add(add(prefixes, 0x20), i)), shl(224, 0xffffffff))
            }
            if (prefix == start) return true;
        }
        return false;
    }
}
