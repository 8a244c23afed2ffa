// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Groth16Verifier} from "../src/Groth16Verifier.sol";
import {IGroth16Verifier} from "../src/IGroth16Verifier.sol";
import {KedgeClaims} from "../src/KedgeClaims.sol";
import {ClaimVectors} from "./support/ClaimVectors.sol";
import {SpecLog} from "./support/SpecLog.sol";

/// @dev The claim circuit itself: its development key, and claims by the prover. The same file is judged by arkworks.
contract CircuitTest is SpecLog, ClaimVectors {
    uint256 private constant INPUTS = 13;
    uint256 private constant PROOF_WORDS = 8;
    uint256 private constant REFUSED = 67;

    KedgeClaims private claims;
    IGroth16Verifier private verifier;

    function setUp() public {
        _readVectors("test/vectors/claims.json");
        _readSpec();
        _anchorSpec();
        VM.prank(CLAIMS_DEPLOYER);
        claims = new KedgeClaims(anchorContract);
        assertEq(address(claims), _resolver(), "the vectors' address");
        verifier = new Groth16Verifier(_key());
        VM.prank(OWNER);
        claims.addVerifier(verifier);
    }

    function test_everyProofIsAccepted() public view {
        assertEq(verifier.inputCount(), INPUTS, "inputs");
        for (uint256 i = 0; i < CLAIMS; ++i) {
            assertTrue(verifier.verify(_proof(i), _inputs(i)), "accepted");
        }
    }

    // Holds invariant 73.
    function test_everySpoiltProofIsRefused() public view {
        (uint256[] memory inputs, uint256[] memory proofs) = _refused();
        assertEq(inputs.length, INPUTS * REFUSED, "inputs of all");
        assertEq(proofs.length, PROOF_WORDS * REFUSED, "proofs of all");
        uint256[] memory some = new uint256[](INPUTS);
        for (uint256 i = 0; i < REFUSED; ++i) {
            for (uint256 place = 0; place < INPUTS; ++place) {
                some[place] = inputs[INPUTS * i + place];
            }
            // A precompile that gets no point takes all the gas that it is given.
            bool isAccepted = verifier.verify{gas: 2_000_000}(_proofAt(proofs, PROOF_WORDS * i), some);
            if (isAccepted) assertTrue(false, _whyRefused(i));
        }
    }

    // Holds invariant 73.
    /// @dev The prover writes the data of the call itself: every number of it is where the contract looks.
    function test_everyCallResolvesItsClaim() public {
        for (uint256 i = 0; i < CLAIMS; ++i) {
            bytes memory expected =
                abi.encodeCall(claims.resolveClaim, (_claim(i), _specAction(_recordOfClaim(i)), _proof(i)));
            assertEq(keccak256(_call(i)), keccak256(expected), "the call");
            VM.prank(_claimant());
            (bool done, bytes memory result) = address(claims).call(_call(i));
            assertTrue(done, "resolved");
            assertEq(abi.decode(result, (bytes32)), _contextOfClaim(i), "context");
            assertTrue(claims.isResolved(_contextOfClaim(i)), "marked");
        }
    }
}
