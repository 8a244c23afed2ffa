// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev The few cheats of halmos that the proofs use.
interface Svm {
    function createBytes(uint256 length, string calldata name) external pure returns (bytes memory);
    function createBytes32(string calldata name) external pure returns (bytes32);
    function createUint(uint256 bits, string calldata name) external pure returns (uint256);
}
