// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LogTree} from "../../src/LogTree.sol";

/// @dev Gives the library's functions calldata to work on.
contract LogTreeHarness {
    function leaf(bytes32 data) external pure returns (bytes32) {
        return LogTree.leaf(data);
    }

    function node(bytes32 left, bytes32 right) external pure returns (bytes32) {
        return LogTree.node(left, right);
    }

    function verifyInclusion(bytes32 root, bytes32 leafHash, uint64 index, uint64 size, bytes32[] calldata path)
        external
        pure
        returns (bool)
    {
        return LogTree.verifyInclusion(root, leafHash, index, size, path);
    }

    function verifyConsistency(
        uint64 oldSize,
        bytes32 oldRoot,
        uint64 newSize,
        bytes32 newRoot,
        bytes32[] calldata proof
    ) external pure returns (bool) {
        return LogTree.verifyConsistency(oldSize, oldRoot, newSize, newRoot, proof);
    }
}
