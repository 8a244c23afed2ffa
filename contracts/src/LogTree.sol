// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The log's Merkle tree: RFC 9162 trees with keccak256
/// @notice A leaf is H(0x00 || data), an inner node H(0x01 || left || right), the root of no leaves H("").
/// @dev Both verifiers are driven by index and size, so a proof is bound to its place in the tree. They use the whole
/// proof or refuse it, and never revert. Sizes are uint64: a proof has 64 levels at most.
library LogTree {
    /// @notice The root of a tree without leaves: keccak256 of nothing.
    bytes32 internal constant EMPTY_ROOT = keccak256("");

    /// @notice The most hashes that a path can hold: one a level.
    uint256 internal constant MAX_LEVELS = 64;

    /// @notice The hash of a leaf that carries one word.
    function leaf(bytes32 data) internal pure returns (bytes32 hash) {
        // Scratch space is enough for 33 bytes.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            mstore8(0x00, 0x00)
            mstore(0x01, data)
            hash := keccak256(0x00, 0x21)
        }
    }

    /// @notice The hash of an inner node.
    function node(bytes32 left, bytes32 right) internal pure returns (bytes32 hash) {
        // 65 bytes would reach into the free memory pointer, so they go behind it, where nothing is kept.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0x01)
            mstore(add(free, 0x01), left)
            mstore(add(free, 0x21), right)
            hash := keccak256(free, 0x41)
        }
    }

    /// @notice The root of the tree over `leaves`, of which there is at least one.
    function rootOf(bytes32[] calldata leaves) internal pure returns (bytes32 hash) {
        // One layer after the other over the same words, behind the free memory pointer where nothing is kept: the
        // node's preimage first, then the layer. A lone last node moves up unchanged.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let preimage := mload(0x40)
            let layer := add(preimage, 0x60)
            let width := leaves.length
            calldatacopy(layer, leaves.offset, shl(5, width))
            mstore8(preimage, 0x01)
            for {} gt(width, 1) {} {
                let to := layer
                let end := add(layer, shl(6, shr(1, width)))
                for { let from := layer } lt(from, end) { from := add(from, 0x40) } {
                    mcopy(add(preimage, 0x01), from, 0x40)
                    mstore(to, keccak256(preimage, 0x41))
                    to := add(to, 0x20)
                }
                if and(width, 1) { mstore(to, mload(end)) }
                width := shr(1, add(width, 1))
            }
            hash := mload(layer)
        }
    }

    /// @notice Whether `leafHash` is leaf `index` of the tree of `size` leaves under `root` (RFC 9162, 2.1.3.2).
    function verifyInclusion(bytes32 root, bytes32 leafHash, uint64 index, uint64 size, bytes32[] calldata path)
        internal
        pure
        returns (bool)
    {
        if (index >= size || path.length > MAX_LEVELS) return false;
        uint256 position = index;
        uint256 last = uint256(size) - 1;
        bytes32 hash = leafHash;
        for (uint256 i = 0; i < path.length; ++i) {
            if (last == 0) return false;
            if (position & 1 == 1 || position == last) {
                hash = node(path[i], hash);
                (position, last) = _skipToRightChild(position, last);
            } else {
                hash = node(hash, path[i]);
            }
            position >>= 1;
            last >>= 1;
        }
        return last == 0 && hash == root;
    }

    /// @notice Whether the tree of `newSize` leaves under `newRoot` begins with the `oldSize` leaves under `oldRoot`
    /// (RFC 9162, 2.1.4.2).
    /// @dev Every tree extends the empty one, and each extends itself; both are shown by an empty proof.
    function verifyConsistency(
        uint64 oldSize,
        bytes32 oldRoot,
        uint64 newSize,
        bytes32 newRoot,
        bytes32[] calldata proof
    ) internal pure returns (bool) {
        if (oldSize == 0) return proof.length == 0 && oldRoot == EMPTY_ROOT;
        if (oldSize == newSize) return proof.length == 0 && oldRoot == newRoot;
        // One hash more than levels: the node that both trees share comes first.
        if (oldSize > newSize || proof.length == 0 || proof.length > MAX_LEVELS + 1) return false;
        uint256 position = oldSize - 1;
        uint256 last = newSize - 1;
        while (position & 1 == 1) {
            position >>= 1;
            last >>= 1;
        }
        // A full old tree is itself the shared node, which the proof then leaves out.
        bytes32 oldHash;
        bytes32 newHash;
        (last, oldHash, newHash) =
            position == 0 ? _climb(position, last, oldRoot, proof) : _climb(position, last, proof[0], proof[1:]);
        return last == 0 && oldHash == oldRoot && newHash == newRoot;
    }

    /// @dev Climbs both trees at once, from the node `shared` to the roots. `position` is the old tree's last node on
    /// the level of `shared`, `last` the new tree's. `lastAbove` is zero where the proof led to the roots' level exactly.
    function _climb(uint256 position, uint256 last, bytes32 shared, bytes32[] calldata proof)
        private
        pure
        returns (uint256 lastAbove, bytes32 oldHash, bytes32 newHash)
    {
        oldHash = shared;
        newHash = shared;
        // Every anchoring pays for this loop, and Solidity would cost twice as much. It writes only behind the free
        // memory pointer, where nothing is kept, and reads only the proof.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let free := mload(0x40)
            let left := add(free, 0x01)
            let right := add(free, 0x21)
            mstore8(free, 0x01)
            let end := add(proof.offset, shl(5, proof.length))
            for { let cursor := proof.offset } lt(cursor, end) { cursor := add(cursor, 0x20) } {
                switch or(and(position, 1), eq(position, last))
                case 0 {
                    mstore(left, newHash)
                    mstore(right, calldataload(cursor))
                    newHash := keccak256(free, 0x41)
                }
                default {
                    if iszero(and(position, 1)) {
                        // At the root already: this hash belongs to no level.
                        if iszero(last) {
                            last := not(0)
                            break
                        }
                        // As in `_skipToRightChild`; here position and last are one, and not zero.
                        for {} iszero(and(position, 1)) {} { position := shr(1, position) }
                        last := position
                    }
                    mstore(left, calldataload(cursor))
                    mstore(right, oldHash)
                    oldHash := keccak256(free, 0x41)
                    mstore(right, newHash)
                    newHash := keccak256(free, 0x41)
                }
                position := shr(1, position)
                last := shr(1, last)
            }
            lastAbove := last
        }
    }

    /// @dev A node at the right edge of an unfilled tree stands in for its parent on the levels where it has no
    /// sibling; those levels add no hash.
    function _skipToRightChild(uint256 position, uint256 last) private pure returns (uint256, uint256) {
        while (position & 1 == 0 && position != 0) {
            position >>= 1;
            last >>= 1;
        }
        return (position, last);
    }
}
