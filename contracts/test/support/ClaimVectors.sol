// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IGroth16Verifier} from "../../src/IGroth16Verifier.sol";
import {IKedgeClaims} from "../../src/IKedgeClaims.sol";
import {TestBase} from "./TestBase.sol";

/// @dev A key and claims that there are proofs for.
abstract contract ClaimVectors is TestBase {
    uint256 internal constant CLAIMS = 4;
    /// @dev The first contract of this account is the vectors' resolver.
    address internal constant CLAIMS_DEPLOYER = 0x70997970C51812dc3A010C7d01b50e0d17dc79C8;

    string private json;

    /// @dev By snarkjs, for a circuit that stands for the claim circuit.
    function _readVectors() internal {
        _readVectors("test/vectors/groth16.json");
    }

    function _readVectors(string memory path) internal {
        json = VM.readFile(path);
        assertTrue(VM.keyExistsJson(json, _at(CLAIMS - 1)) && !VM.keyExistsJson(json, _at(CLAIMS)), "all claims");
    }

    function _key() internal view returns (uint256[] memory) {
        return _numbers(".key");
    }

    function _inputs(uint256 i) internal view returns (uint256[] memory) {
        return _numbers(string.concat(_at(i), ".inputs"));
    }

    function _proof(uint256 i) internal view returns (IGroth16Verifier.Proof memory) {
        return _proofAt(_numbers(string.concat(_at(i), ".proof")), 0);
    }

    /// @dev The proof whose eight numbers begin at `start`.
    function _proofAt(uint256[] memory words, uint256 start)
        internal
        pure
        returns (IGroth16Verifier.Proof memory proof)
    {
        proof.a = [words[start], words[start + 1]];
        proof.b = [words[start + 2], words[start + 3], words[start + 4], words[start + 5]];
        proof.c = [words[start + 6], words[start + 7]];
    }

    function _claim(uint256 i) internal view returns (IKedgeClaims.Claim memory claim) {
        bytes32[] memory words = VM.parseJsonBytes32Array(json, string.concat(_at(i), ".words"));
        claim.version = 1;
        claim.mask = uint8(VM.parseJsonUint(json, string.concat(_at(i), ".mask")));
        claim.words = [words[0], words[1], words[2], words[3]];
        claim.purpose = VM.parseJsonBytes32(json, string.concat(_at(i), ".purpose"));
    }

    /// @dev Which of the protocol's records the claim is about.
    function _recordOfClaim(uint256 i) internal view returns (uint256) {
        return VM.parseJsonUint(json, string.concat(_at(i), ".record"));
    }

    function _contextOfClaim(uint256 i) internal view returns (bytes32) {
        return VM.parseJsonBytes32(json, string.concat(_at(i), ".context"));
    }

    /// @dev The whole call that resolves the claim.
    function _call(uint256 i) internal view returns (bytes memory) {
        return VM.parseJsonBytes(json, string.concat(_at(i), ".call"));
    }

    /// @dev Inputs and proofs that must be refused, each kind one behind the other.
    function _refused() internal view returns (uint256[] memory inputs, uint256[] memory proofs) {
        return (_numbers(".refused.inputs"), _numbers(".refused.proofs"));
    }

    function _whyRefused(uint256 i) internal view returns (string memory) {
        return VM.parseJsonString(json, string.concat(".refused.why[", VM.toString(i), "]"));
    }

    function _resolver() internal view returns (address) {
        return VM.parseJsonAddress(json, ".resolver");
    }

    function _claimant() internal view returns (address) {
        return VM.parseJsonAddress(json, ".claimant");
    }

    function _numbers(string memory key) private view returns (uint256[] memory numbers) {
        bytes32[] memory words = VM.parseJsonBytes32Array(json, key);
        numbers = new uint256[](words.length);
        for (uint256 i = 0; i < words.length; ++i) {
            numbers[i] = uint256(words[i]);
        }
    }

    function _at(uint256 i) private pure returns (string memory) {
        return string.concat(".claims[", VM.toString(i), "]");
    }
}
