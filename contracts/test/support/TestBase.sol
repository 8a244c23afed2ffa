// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev The few cheats of forge that these tests use.
interface Vm {
    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function warp(uint256 timestamp) external;
    function chainId(uint256 id) external;
    function prank(address sender) external;
    function startPrank(address sender) external;
    function stopPrank() external;
    function deal(address account, uint256 balance) external;
    function etch(address account, bytes calldata code) external;
    function setNonceUnsafe(address account, uint64 nonce) external;
    function assume(bool condition) external pure;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit(address emitter) external;
    function lastCallGas() external view returns (Gas memory);
    function snapshotValue(string calldata group, string calldata name, uint256 value) external;
    function readFile(string calldata path) external view returns (string memory);
    function readLine(string calldata path) external view returns (string memory);
    function snapshotState() external returns (uint256);
    function revertToState(uint256 id) external returns (bool);
    function toString(uint256 value) external pure returns (string memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function parseJsonKeys(string calldata json, string calldata key) external pure returns (string[] memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonBool(string calldata json, string calldata key) external pure returns (bool);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonBytesArray(string calldata json, string calldata key) external pure returns (bytes[] memory);
    function parseJsonBytes32Array(string calldata json, string calldata key) external pure returns (bytes32[] memory);
    function parseJsonTypeArray(string calldata json, string calldata key, string calldata typeDescription)
        external
        pure
        returns (bytes memory);
    function parseUint(string calldata text) external pure returns (uint256);
}

abstract contract TestBase {
    Vm internal constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    error Unequal(bytes32 left, bytes32 right, string what);
    error Untrue(string what);

    function assertEq(bytes32 left, bytes32 right, string memory what) internal pure {
        if (left != right) revert Unequal(left, right, what);
    }

    function assertEq(uint256 left, uint256 right, string memory what) internal pure {
        assertEq(bytes32(left), bytes32(right), what);
    }

    function assertEq(address left, address right, string memory what) internal pure {
        assertEq(uint160(left), uint160(right), what);
    }

    function assertTrue(bool condition, string memory what) internal pure {
        if (!condition) revert Untrue(what);
    }

    /// @dev Folds `value` into [low, high].
    function within(uint256 value, uint256 low, uint256 high) internal pure returns (uint256) {
        return low + value % (high - low + 1);
    }
}
