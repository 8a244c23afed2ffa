// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A verifier of Groth16 proofs over BN254, for one circuit
interface IGroth16Verifier {
    /// @notice A proof. Coordinates are numbers of the base field; those of G2 come imaginary part first (EIP-197).
    /// @param a Point of G1: x, y.
    /// @param b Point of G2: x imaginary, x real, y imaginary, y real.
    /// @param c Point of G1: x, y.
    struct Proof {
        uint256[2] a;
        uint256[4] b;
        uint256[2] c;
    }

    /// @notice The key's words are no points, or too few.
    error UnfitKey();

    /// @notice The key could not be stored.
    error KeyNotStored();

    /// @notice Whether the proof holds for these public inputs. False for what is malformed; it doesn't revert.
    function verify(Proof calldata proof, uint256[] calldata inputs) external view returns (bool);

    /// @notice How many public inputs the circuit has.
    function inputCount() external view returns (uint256);

    /// @notice keccak256 over the words of the verifying key, in the order in which the constructor takes them.
    function keyHash() external view returns (bytes32);
}
