// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev RFC 9162 trees straight from their recursive definition (2.1.1, 2.1.3.1, 2.1.4.1), without assembly and with
/// nothing taken from the library under test: it makes roots and proofs, and judges proofs by the same recursion.
library ReferenceTree {
    struct Reader {
        bytes32[] hashes;
        uint256 used;
        bool exhausted;
    }

    function node(bytes32 left, bytes32 right) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x01), left, right));
    }

    function root(bytes32[] memory leaves, uint256 size) internal pure returns (bytes32) {
        return _root(leaves, 0, size);
    }

    function path(bytes32[] memory leaves, uint256 index, uint256 size) internal pure returns (bytes32[] memory proof) {
        proof = new bytes32[](pathLength(index, size));
        _path(leaves, index, 0, size, proof, 0);
    }

    function consistency(bytes32[] memory leaves, uint256 oldSize, uint256 newSize)
        internal
        pure
        returns (bytes32[] memory proof)
    {
        proof = new bytes32[](consistencyLength(oldSize, newSize));
        if (oldSize != 0) _subproof(leaves, oldSize, 0, newSize, true, proof, 0);
    }

    function pathLength(uint256 index, uint256 size) internal pure returns (uint256) {
        if (size == 1) return 0;
        uint256 split = splitOf(size);
        return 1 + (index < split ? pathLength(index, split) : pathLength(index - split, size - split));
    }

    function consistencyLength(uint256 oldSize, uint256 newSize) internal pure returns (uint256) {
        return oldSize == 0 ? 0 : _subproofLength(oldSize, newSize, true);
    }

    /// @dev The root that a path leads to; fails if the path has not exactly the hashes it needs.
    function rootByPath(bytes32 leaf, uint256 index, uint256 size, bytes32[] memory proof)
        internal
        pure
        returns (bool, bytes32)
    {
        if (index >= size) return (false, 0);
        Reader memory reader = Reader(proof, 0, false);
        bytes32 result = _rootByPath(leaf, index, size, reader);
        return (!reader.exhausted && reader.used == proof.length, result);
    }

    /// @dev Both roots that a consistency proof leads to, for 0 < oldSize < newSize.
    function rootsByConsistency(uint256 oldSize, bytes32 oldRoot, uint256 newSize, bytes32[] memory proof)
        internal
        pure
        returns (bool, bytes32, bytes32)
    {
        Reader memory reader = Reader(proof, 0, false);
        (bytes32 first, bytes32 second) = _rootsByConsistency(oldSize, oldRoot, newSize, true, reader);
        return (!reader.exhausted && reader.used == proof.length, first, second);
    }

    /// @dev The largest power of two below `size`.
    function splitOf(uint256 size) internal pure returns (uint256 split) {
        split = 1;
        while (split * 2 < size) split *= 2;
    }

    function _root(bytes32[] memory leaves, uint256 from, uint256 to) private pure returns (bytes32) {
        if (to == from) return keccak256("");
        if (to - from == 1) return leaves[from];
        uint256 split = from + splitOf(to - from);
        return node(_root(leaves, from, split), _root(leaves, split, to));
    }

    function _path(
        bytes32[] memory leaves,
        uint256 index,
        uint256 from,
        uint256 to,
        bytes32[] memory proof,
        uint256 filled
    ) private pure returns (uint256) {
        if (to - from == 1) return filled;
        uint256 split = from + splitOf(to - from);
        bool isLeft = index < split;
        filled =
            isLeft ? _path(leaves, index, from, split, proof, filled) : _path(leaves, index, split, to, proof, filled);
        proof[filled] = isLeft ? _root(leaves, split, to) : _root(leaves, from, split);
        return filled + 1;
    }

    /// @dev `oldSize` counts from the left edge of [from, to).
    function _subproof(
        bytes32[] memory leaves,
        uint256 oldSize,
        uint256 from,
        uint256 to,
        bool isWhole,
        bytes32[] memory proof,
        uint256 filled
    ) private pure returns (uint256) {
        if (oldSize == to - from) {
            if (isWhole) return filled;
            proof[filled] = _root(leaves, from, to);
            return filled + 1;
        }
        uint256 size = splitOf(to - from);
        if (oldSize <= size) {
            filled = _subproof(leaves, oldSize, from, from + size, isWhole, proof, filled);
            proof[filled] = _root(leaves, from + size, to);
        } else {
            filled = _subproof(leaves, oldSize - size, from + size, to, false, proof, filled);
            proof[filled] = _root(leaves, from, from + size);
        }
        return filled + 1;
    }

    function _subproofLength(uint256 oldSize, uint256 newSize, bool isWhole) private pure returns (uint256) {
        if (oldSize == newSize) return isWhole ? 0 : 1;
        uint256 split = splitOf(newSize);
        if (oldSize <= split) return 1 + _subproofLength(oldSize, split, isWhole);
        return 1 + _subproofLength(oldSize - split, newSize - split, false);
    }

    function _rootByPath(bytes32 leaf, uint256 index, uint256 size, Reader memory reader)
        private
        pure
        returns (bytes32)
    {
        if (size == 1) return leaf;
        uint256 split = splitOf(size);
        if (index < split) {
            bytes32 left = _rootByPath(leaf, index, split, reader);
            return node(left, _next(reader));
        }
        bytes32 right = _rootByPath(leaf, index - split, size - split, reader);
        return node(_next(reader), right);
    }

    function _rootsByConsistency(uint256 oldSize, bytes32 oldRoot, uint256 newSize, bool isWhole, Reader memory reader)
        private
        pure
        returns (bytes32 first, bytes32 second)
    {
        if (oldSize == newSize) {
            first = isWhole ? oldRoot : _next(reader);
            return (first, first);
        }
        uint256 split = splitOf(newSize);
        if (oldSize <= split) {
            (first, second) = _rootsByConsistency(oldSize, oldRoot, split, isWhole, reader);
            return (first, node(second, _next(reader)));
        }
        (first, second) = _rootsByConsistency(oldSize - split, oldRoot, newSize - split, false, reader);
        bytes32 left = _next(reader);
        return (node(left, first), node(left, second));
    }

    function _next(Reader memory reader) private pure returns (bytes32 hash) {
        if (reader.used == reader.hashes.length) {
            reader.exhausted = true;
            return 0;
        }
        hash = reader.hashes[reader.used];
        reader.used += 1;
    }
}
