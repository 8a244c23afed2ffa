// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev Ethereum's Merkle-Patricia trie over paths and values of 32 bytes, straight from the yellow paper's recursive
/// definition (appendix D), with nothing taken from the library under test: it makes roots and proofs.
library ReferenceTrie {
    bytes1 private constant EMPTY = 0x80;

    /// @dev The root over `values` at the ascending `paths`.
    function root(bytes32[] memory paths, bytes32[] memory values) internal pure returns (bytes32) {
        if (paths.length == 0) return keccak256(abi.encodePacked(EMPTY));
        return keccak256(_node(paths, values, 0, paths.length, 0));
    }

    /// @dev The nodes from the root to where `path` ends.
    function proof(bytes32[] memory paths, bytes32[] memory values, bytes32 path)
        internal
        pure
        returns (bytes[] memory nodes)
    {
        nodes = new bytes[](65);
        uint256 count = 0;
        uint256 from = 0;
        uint256 to = paths.length;
        uint256 depth = 0;
        while (from < to) {
            nodes[count++] = _node(paths, values, from, to, depth);
            uint256 shared = _shared(paths, from, to, depth);
            if (to - from == 1 || !_agree(paths[from], path, depth, depth + shared)) break;
            depth += shared;
            if (shared != 0) nodes[count++] = _branch(paths, values, from, to, depth);
            (from, to) = _range(paths, from, to, depth, nibble(path, depth));
            ++depth;
        }
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            mstore(nodes, count)
        }
    }

    function nibble(bytes32 path, uint256 depth) internal pure returns (uint256) {
        return (uint256(path) >> (252 - 4 * depth)) & 15;
    }

    function list(bytes memory payload) internal pure returns (bytes memory) {
        uint256 length = payload.length;
        if (length < 56) return abi.encodePacked(bytes1(uint8(0xc0 + length)), payload);
        if (length < 256) return abi.encodePacked(hex"f8", uint8(length), payload);
        return abi.encodePacked(hex"f9", uint16(length), payload);
    }

    function text(bytes memory data) internal pure returns (bytes memory) {
        if (data.length == 1 && data[0] < EMPTY) return data;
        if (data.length < 56) return abi.encodePacked(uint8(0x80 + data.length), data);
        return abi.encodePacked(hex"b8", uint8(data.length), data);
    }

    function number(uint256 value) internal pure returns (bytes memory) {
        uint256 size = 0;
        while (value >> (8 * size) != 0) ++size;
        bytes memory data = new bytes(size);
        for (uint256 i = 0; i < size; ++i) {
            data[i] = bytes1(uint8(value >> (8 * (size - 1 - i))));
        }
        return text(data);
    }

    /// @dev A path's nibbles from `from` below `to`, with the flag of a leaf or an extension in front.
    function compact(bytes32 path, uint256 from, uint256 to, bool isLeaf) internal pure returns (bytes memory data) {
        uint256 count = to - from;
        uint256 odd = count % 2;
        data = new bytes(count / 2 + 1);
        data[0] = bytes1(uint8((isLeaf ? 0x20 : 0) + (odd == 1 ? 0x10 + nibble(path, from) : 0)));
        for (uint256 i = 1; i < data.length; ++i) {
            uint256 digit = from + odd + 2 * (i - 1);
            data[i] = bytes1(uint8(16 * nibble(path, digit) + nibble(path, digit + 1)));
        }
    }

    function pair(bytes memory path, bytes32 next) internal pure returns (bytes memory) {
        return list(abi.encodePacked(text(path), hex"a0", next));
    }

    /// @dev A leaf below `depth` branches, all of them full but the last one, which has two children.
    function deepProof(bytes32 path, bytes32 value, uint256 depth)
        internal
        pure
        returns (bytes32 root, bytes[] memory nodes)
    {
        nodes = new bytes[](depth + 1);
        nodes[depth] = pair(compact(path, depth, 64, true), value);
        root = keccak256(nodes[depth]);
        for (uint256 i = depth; i > 0; --i) {
            bytes memory payload = "";
            uint256 own = nibble(path, i - 1);
            for (uint256 j = 0; j < 16; ++j) {
                bytes32 child = j == own ? root : keccak256(abi.encode(i, j));
                bool isThere = i < depth || j == own || j == (own + 1) % 16;
                payload = isThere ? abi.encodePacked(payload, hex"a0", child) : abi.encodePacked(payload, hex"80");
            }
            nodes[i - 1] = list(abi.encodePacked(payload, hex"80"));
            root = keccak256(nodes[i - 1]);
        }
    }

    function _node(bytes32[] memory paths, bytes32[] memory values, uint256 from, uint256 to, uint256 depth)
        private
        pure
        returns (bytes memory)
    {
        if (to - from == 1) return pair(compact(paths[from], depth, 64, true), values[from]);
        uint256 shared = _shared(paths, from, to, depth);
        bytes memory branch = _branch(paths, values, from, to, depth + shared);
        if (shared == 0) return branch;
        return pair(compact(paths[from], depth, depth + shared, false), keccak256(branch));
    }

    function _branch(bytes32[] memory paths, bytes32[] memory values, uint256 from, uint256 to, uint256 depth)
        private
        pure
        returns (bytes memory)
    {
        bytes memory payload = "";
        for (uint256 i = 0; i < 16; ++i) {
            (uint256 start, uint256 end) = _range(paths, from, to, depth, i);
            payload = start == end
                ? abi.encodePacked(payload, EMPTY)
                : abi.encodePacked(payload, hex"a0", keccak256(_node(paths, values, start, end, depth + 1)));
        }
        return list(abi.encodePacked(payload, EMPTY));
    }

    function _range(bytes32[] memory paths, uint256 from, uint256 to, uint256 depth, uint256 digit)
        private
        pure
        returns (uint256 start, uint256 end)
    {
        start = from;
        while (start < to && nibble(paths[start], depth) < digit) ++start;
        end = start;
        while (end < to && nibble(paths[end], depth) == digit) ++end;
    }

    function _shared(bytes32[] memory paths, uint256 from, uint256 to, uint256 depth)
        private
        pure
        returns (uint256 count)
    {
        if (to - from == 1) return 64 - depth;
        while (nibble(paths[from], depth + count) == nibble(paths[to - 1], depth + count)) ++count;
    }

    function _agree(bytes32 one, bytes32 other, uint256 from, uint256 to) private pure returns (bool) {
        for (uint256 i = from; i < to; ++i) {
            if (nibble(one, i) != nibble(other, i)) return false;
        }
        return true;
    }
}
