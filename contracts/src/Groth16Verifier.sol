// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IGroth16Verifier} from "./IGroth16Verifier.sol";

/// @title A verifier of Groth16 proofs over BN254, for the circuit whose key it is made with
/// @notice Checks e(a, b) = e(alpha, beta) · e(inputs, gamma) · e(c, delta) with the precompiles of EIP-196 and EIP-197.
/// @dev The key is the code of a contract of its own: reading it costs a twentieth of what storage would.
contract Groth16Verifier is IGroth16Verifier {
    uint256 private constant BASE_FIELD = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    // A prime is what it is.
    // slither-disable-next-line too-many-digits
    uint256 private constant SCALAR_FIELD = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant WORD = 32;
    /// @dev Where the parts of the key begin, in words.
    uint256 private constant BETA = 2;
    uint256 private constant GAMMA = 6;
    uint256 private constant DELTA = 10;
    uint256 private constant INPUTS = 14;

    address private immutable KEY_DATA;
    uint256 private immutable KEY_WORDS;
    bytes32 private immutable KEY_HASH;

    /// @param key alpha (2 words), beta, gamma, delta (4 each, imaginary parts first), then a point of G1 for the
    /// constant and one for each public input (2 words each).
    constructor(uint256[] memory key) {
        if (key.length < INPUTS + 2 || key.length % 2 != 0) revert UnfitKey();
        _requirePoints(key);
        bytes memory words = abi.encodePacked(key);
        KEY_WORDS = key.length;
        KEY_HASH = keccak256(words);
        KEY_DATA = _store(words);
    }

    /// @inheritdoc IGroth16Verifier
    function verify(Proof calldata proof, uint256[] calldata inputs) external view override returns (bool isProven) {
        if (inputs.length != _inputCount()) return false;
        address data = KEY_DATA;
        uint256 size = KEY_WORDS * WORD;
        // Everything is written behind the free memory pointer, where nothing is kept: the key, then the sum with the
        // next product behind it and room for a point and its factor, then the four pairs. A call that fails, or an
        // input that is no number of the field, clears the flag; the last call's result is in scratch space.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let key := mload(0x40)
            // Behind the first byte, which stops whoever calls that contract.
            extcodecopy(data, key, 1, size)
            let sum := add(key, size)
            let product := add(sum, 0x40)
            let factors := add(sum, 0x80)
            let pairs := add(sum, 0xe0)

            // The point of the constant, and each input's point times the input.
            let point := add(key, 0x1c0)
            mcopy(sum, point, 0x40)
            let end := add(inputs.offset, shl(5, inputs.length))
            isProven := 1
            for { let cursor := inputs.offset } lt(cursor, end) { cursor := add(cursor, 0x20) } {
                point := add(point, 0x40)
                let input := calldataload(cursor)
                isProven := and(isProven, lt(input, SCALAR_FIELD))
                // Hidden words are zero, and add nothing.
                if iszero(input) { continue }
                mcopy(factors, point, 0x40)
                mstore(add(factors, 0x40), input)
                isProven := and(isProven, staticcall(gas(), 0x07, factors, 0x60, product, 0x40))
                isProven := and(isProven, staticcall(gas(), 0x06, sum, 0x80, sum, 0x40))
            }

            // e(-a, b) · e(alpha, beta) · e(sum, gamma) · e(c, delta) = 1. The negated coordinate is computed, so a second
            // text of the same number has to be refused here.
            let y := calldataload(add(proof, 0x20))
            isProven := and(isProven, lt(y, BASE_FIELD))
            mstore(pairs, calldataload(proof))
            mstore(add(pairs, 0x20), mod(sub(BASE_FIELD, y), BASE_FIELD))
            calldatacopy(add(pairs, 0x40), add(proof, 0x40), 0x80)
            mcopy(add(pairs, 0xc0), key, 0xc0)
            mcopy(add(pairs, 0x180), sum, 0x40)
            mcopy(add(pairs, 0x1c0), add(key, 0xc0), 0x80)
            calldatacopy(add(pairs, 0x240), add(proof, 0xc0), 0x40)
            mcopy(add(pairs, 0x280), add(key, 0x140), 0x80)
            if isProven { isProven := staticcall(gas(), 0x08, pairs, 0x300, 0x00, 0x20) }
            isProven := and(isProven, eq(mload(0x00), 1))
        }
    }

    /// @inheritdoc IGroth16Verifier
    function inputCount() external view override returns (uint256) {
        return _inputCount();
    }

    /// @inheritdoc IGroth16Verifier
    function keyHash() external view override returns (bytes32) {
        return KEY_HASH;
    }

    function _inputCount() private view returns (uint256) {
        return (KEY_WORDS - INPUTS) / 2 - 1;
    }

    /// @dev A contract whose code is a STOP and the words.
    function _store(bytes memory words) private returns (address data) {
        // PUSH2 size, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN: the code that follows these ten bytes is kept.
        bytes memory code = abi.encodePacked(hex"61", uint16(words.length + 1), hex"80600a5f395ff300", words);
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            data := create(0, add(code, 0x20), mload(code))
        }
        if (data == address(0)) revert KeyNotStored();
    }

    /// @dev A slip in the key's order or encoding gives no points, but for luck; the precompiles tell.
    function _requirePoints(uint256[] memory key) private view {
        // Each point of G2 paired with the zero of G1: one, if it is of the curve and of the right group.
        // Zeros, the fourth pair with them.
        // slither-disable-next-line uninitialized-local
        uint256[24] memory pairs;
        _setPair(pairs, 0, 0, 0, _pointOf(key, BETA));
        _setPair(pairs, 6, 0, 0, _pointOf(key, GAMMA));
        _setPair(pairs, 12, 0, 0, _pointOf(key, DELTA));
        bool isFit = _isPairing(pairs) && _isPoint(key[0], key[1]);
        for (uint256 i = INPUTS; i < key.length && isFit; i += 2) {
            isFit = _isPoint(key[i], key[i + 1]);
        }
        if (!isFit) revert UnfitKey();
    }

    /// @dev Adds zero: that fails unless it is a point of G1.
    function _isPoint(uint256 x, uint256 y) private view returns (bool isPoint) {
        uint256[4] memory sum = [x, y, 0, 0];
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            isPoint := staticcall(gas(), 0x06, sum, 0x80, sum, 0x40)
        }
    }

    /// @dev Whether the product of the four pairings is one; false too if there is something that is no point.
    function _isPairing(uint256[24] memory pairs) private view returns (bool isOne) {
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            // The result goes to scratch space.
            isOne := staticcall(gas(), 0x08, pairs, 0x300, 0x00, 0x20)
            isOne := and(isOne, eq(mload(0x00), 1))
        }
    }

    function _setPair(uint256[24] memory pairs, uint256 place, uint256 x, uint256 y, uint256[4] memory point)
        private
        pure
    {
        pairs[place] = x;
        pairs[place + 1] = y;
        for (uint256 i = 0; i < 4; ++i) {
            pairs[place + 2 + i] = point[i];
        }
    }

    function _pointOf(uint256[] memory key, uint256 place) private pure returns (uint256[4] memory) {
        return [key[place], key[place + 1], key[place + 2], key[place + 3]];
    }
}
