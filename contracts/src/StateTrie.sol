// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice What a list of nodes shows of a path.
/// @dev Unproven: the nodes are not linked by hash from the root, end too early, or are more than the path uses. Broken: they
/// are linked, and the last one has not the form of a node.
enum TrieOutcome {
    Unproven,
    Absent,
    Present,
    Broken
}

/// @title The trie of all resources: Ethereum's Merkle-Patricia trie over paths and values of 32 bytes
/// @notice A proof has one form: the nodes from the root to where the path ends, each used and none more, in this order. Every
/// node is canonical RLP of at least 32 bytes with nothing after it; path flags are 0 to 3 and pad nibbles 0; paths fill
/// 64 nibbles exactly; a branch has at least two children and no value; an extension has a path and leads to a branch.
/// @dev Nodes are read where they are, in the call's data, and copied once to be hashed. It never reverts.
library StateTrie {
    /// @notice The root of a trie without entries: keccak256 of the empty string's RLP. It has no nodes.
    bytes32 internal constant EMPTY_ROOT = 0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421;

    /// @dev How a path continues at a node.
    enum NodeStep {
        Malformed,
        Child,
        Leaf,
        End
    }

    /// @notice The nibbles of a path.
    uint256 private constant NIBBLES = 64;
    /// @dev A leaf's or extension's longest payload: a path of 33 bytes and a hash, each with a byte in front. The payload of a
    /// branch with two children is longer.
    uint256 private constant PAIR_PAYLOAD_MAX = 67;
    uint256 private constant NODE_MIN = 32;
    uint256 private constant EMPTY_STRING = 0x80;
    uint256 private constant WORD_STRING = 0xa0;

    /// @notice Follows `path` from `root` through `nodes`.
    /// @return outcome What they show.
    /// @return value What the trie holds at the path, if it is present.
    function follow(bytes32 root, bytes32 path, bytes[] calldata nodes)
        internal
        pure
        returns (TrieOutcome outcome, bytes32 value)
    {
        if (root == EMPTY_ROOT) return (nodes.length == 0 ? TrieOutcome.Absent : TrieOutcome.Unproven, 0);
        bytes32 expected = root;
        uint256 depth = 0;
        uint256 nibbles = 0;
        bool isBranchDue = false;
        for (uint256 i = 0; i < nodes.length; ++i) {
            bytes calldata node = nodes[i];
            if (_hash(node) != expected) return (TrieOutcome.Unproven, 0);
            NodeStep step;
            (step, expected, nibbles, isBranchDue) = _step(node, path, depth, isBranchDue);
            if (step == NodeStep.Child) {
                depth += nibbles;
                continue;
            }
            if (i + 1 != nodes.length) return (TrieOutcome.Unproven, 0);
            if (step == NodeStep.Leaf) return (TrieOutcome.Present, expected);
            return (step == NodeStep.End ? TrieOutcome.Absent : TrieOutcome.Broken, 0);
        }
        return (TrieOutcome.Unproven, 0);
    }

    /// @dev One node. `next` is the child's hash or the leaf's value, `nibbles` how much of the path leads to the child,
    /// `isExtension` whether that child has to be a branch.
    function _step(bytes calldata node, bytes32 path, uint256 depth, bool isBranchDue)
        private
        pure
        returns (NodeStep step, bytes32 next, uint256 nibbles, bool isExtension)
    {
        (uint256 place, uint256 payload) = _payload(node);
        if (payload > PAIR_PAYLOAD_MAX) {
            if (depth < NIBBLES) {
                (step, next) = _branch(place, place + payload, uint8(uint256(path << (4 * depth)) >> 252));
            }
            return (step, next, 1, false);
        }
        if (payload == 0 || isBranchDue) return (NodeStep.Malformed, 0, 0, false);
        return _pair(place, place + payload, path, depth);
    }

    /// @dev Where a list that fills the node has its items; zero if the node is no such list, or is too short.
    function _payload(bytes calldata node) private pure returns (uint256 place, uint256 length) {
        if (node.length < NODE_MIN) return (0, 0);
        uint256 word;
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            place := node.offset
            word := calldataload(place)
        }
        uint256 head = word >> 248;
        uint256 size = 1;
        if (head >= 0xc0 && head <= 0xf7) {
            length = head - 0xc0;
        } else if (head == 0xf8) {
            size = 2;
            length = (word >> 240) & 0xff;
            if (length < 56) return (0, 0);
        } else if (head == 0xf9) {
            size = 3;
            length = (word >> 232) & 0xffff;
            if (length < 256) return (0, 0);
        }
        if (size + length != node.length) return (0, 0);
        place += size;
    }

    /// @dev A branch: 16 children, each empty or a hash, and an empty value.
    function _branch(uint256 place, uint256 end, uint256 nibble) private pure returns (NodeStep step, bytes32 child) {
        uint256 count = 0;
        bool isThere = false;
        // The items' sizes are added up and their sum is compared with the end, so a reading beyond it is refused.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let i := 0
            for {} lt(i, 16) { i := add(i, 1) } {
                switch byte(0, calldataload(place))
                case 0x80 { place := add(place, 1) }
                case 0xa0 {
                    if eq(i, nibble) {
                        isThere := 1
                        child := calldataload(add(place, 1))
                    }
                    count := add(count, 1)
                    place := add(place, 33)
                }
                default { break }
            }
            if or(lt(i, 16), iszero(eq(byte(0, calldataload(place)), 0x80))) { count := 0 }
            place := add(place, 1)
        }
        if (count < 2 || place != end) return (NodeStep.Malformed, 0);
        return (isThere ? NodeStep.Child : NodeStep.End, child);
    }

    /// @dev A leaf or an extension: its part of the path, then a hash.
    function _pair(uint256 place, uint256 end, bytes32 path, uint256 depth)
        private
        pure
        returns (NodeStep step, bytes32 next, uint256 nibbles, bool isExtension)
    {
        uint256 flag = _byteAt(place);
        uint256 length = 1;
        if (flag >= EMPTY_STRING) {
            length = flag - EMPTY_STRING;
            // A path of one byte above 0x7f would have a flag above 3; the empty one has none.
            if (length < 2 || length > 33) return (NodeStep.Malformed, 0, 0, false);
            flag = _byteAt(++place);
        }
        isExtension = flag < 0x20;
        bool isOdd = flag & 0x10 != 0;
        nibbles = 2 * (length - 1) + (isOdd ? 1 : 0);
        uint256 reached = depth + nibbles;
        if (
            flag > 0x3f || (!isOdd && flag & 0x0f != 0) || place + length + 33 != end
                || _byteAt(place + length) != WORD_STRING
                || (isExtension ? nibbles == 0 || reached >= NIBBLES : reached != NIBBLES)
        ) return (NodeStep.Malformed, 0, 0, false);
        bool isOnPath;
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            next := calldataload(add(add(place, length), 1))
            // The nibbles after the flag, and those of the path from here on; of both as many as the node has.
            let own := calldataload(add(place, 1))
            if isOdd { own := shl(4, calldataload(place)) }
            let rest := sub(256, shl(2, nibbles))
            isOnPath := eq(shr(rest, own), shr(rest, shl(shl(2, depth), path)))
        }
        if (!isOnPath) return (NodeStep.End, 0, 0, false);
        step = isExtension ? NodeStep.Child : NodeStep.Leaf;
    }

    function _byteAt(uint256 place) private pure returns (uint256 loaded) {
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            loaded := byte(0, calldataload(place))
        }
    }

    function _hash(bytes calldata node) private pure returns (bytes32 hash) {
        // After the free memory pointer, where nothing is kept.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let free := mload(0x40)
            calldatacopy(free, node.offset, node.length)
            hash := keccak256(free, node.length)
        }
    }
}
