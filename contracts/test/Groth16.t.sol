// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Groth16Verifier} from "../src/Groth16Verifier.sol";
import {IGroth16Verifier} from "../src/IGroth16Verifier.sol";
import {ClaimVectors} from "./support/ClaimVectors.sol";

/// @dev The verifier against a key and proofs by snarkjs.
contract Groth16Test is ClaimVectors {
    uint256 private constant BASE_FIELD = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    uint256 private constant SCALAR_FIELD = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant KEY_WORDS = 42;

    Groth16Verifier private verifier;

    function setUp() public {
        _readVectors();
        verifier = new Groth16Verifier(_key());
    }

    function test_everyProofIsAccepted() public view {
        assertEq(verifier.inputCount(), 13, "inputs");
        assertEq(verifier.keyHash(), keccak256(abi.encodePacked(_key())), "the key's hash");
        for (uint256 i = 0; i < CLAIMS; ++i) {
            assertTrue(verifier.verify(_proof(i), _inputs(i)), "snarkjs accepts it too");
        }
    }

    /// forge-config: default.fuzz.runs = 128
    function testFuzz_aChangedInputIsRefused(uint256 which, uint256 place, uint256 value) public view {
        which = which % CLAIMS;
        uint256[] memory inputs = _inputs(which);
        place = place % inputs.length;
        value = value % SCALAR_FIELD;
        if (inputs[place] == value) value = addmod(value, 1, SCALAR_FIELD);
        inputs[place] = value;
        assertTrue(!verifier.verify(_proof(which), inputs), "refused");
    }

    /// @dev The field's order added to an input is the same number of the field, but another text.
    /// forge-config: default.fuzz.runs = 128
    function testFuzz_anInputBeyondTheFieldIsRefused(uint256 which, uint256 place) public view {
        which = which % CLAIMS;
        uint256[] memory inputs = _inputs(which);
        inputs[place % inputs.length] += SCALAR_FIELD;
        assertTrue(!verifier.verify(_proof(which), inputs), "refused");
    }

    /// forge-config: default.fuzz.runs = 128
    function testFuzz_aChangedProofIsRefused(uint256 which, uint256 place, uint256 change) public view {
        which = which % CLAIMS;
        IGroth16Verifier.Proof memory proof = _proof(which);
        change = within(change, 1, type(uint256).max - 1);
        place = place % 8;
        if (place < 2) proof.a[place] ^= change;
        else if (place < 6) proof.b[place - 2] ^= change;
        else proof.c[place - 6] ^= change;
        assertTrue(!verifier.verify{gas: 2_000_000}(proof, _inputs(which)), "refused");
    }

    /// @dev A coordinate plus the base field's order is the same point in another text.
    /// forge-config: default.fuzz.runs = 128
    function testFuzz_aCoordinateBeyondTheFieldIsRefused(uint256 which, uint256 place) public view {
        which = which % CLAIMS;
        IGroth16Verifier.Proof memory proof = _proof(which);
        place = place % 8;
        if (place < 2) proof.a[place] += BASE_FIELD;
        else if (place < 6) proof.b[place - 2] += BASE_FIELD;
        else proof.c[place - 6] += BASE_FIELD;
        assertTrue(!verifier.verify{gas: 2_000_000}(proof, _inputs(which)), "refused");
    }

    /// @dev Both signs turned leave the product as it was: that is Groth16's, and no other statement. One alone does not.
    function test_aNegatedPointIsRefused() public view {
        IGroth16Verifier.Proof memory proof = _proof(0);
        proof.a[1] = BASE_FIELD - proof.a[1];
        assertTrue(!verifier.verify(proof, _inputs(0)), "refused");
    }

    /// @dev Negating it wraps around to the right point.
    /// forge-config: default.fuzz.runs = 128
    function testFuzz_aCoordinateWhoseNegationWrapsIsRefused(uint256 which) public view {
        which = which % CLAIMS;
        IGroth16Verifier.Proof memory proof = _proof(which);
        uint256 wrap = addmod(type(uint256).max % BASE_FIELD, 1, BASE_FIELD);
        uint256 wrapped = BASE_FIELD + addmod(proof.a[1], wrap, BASE_FIELD);
        unchecked {
            assertEq((BASE_FIELD - wrapped) % BASE_FIELD, BASE_FIELD - proof.a[1], "the same point, negated");
        }
        proof.a[1] = wrapped;
        assertTrue(!verifier.verify{gas: 2_000_000}(proof, _inputs(which)), "refused");
    }

    function test_anotherNumberOfInputsIsRefused() public view {
        assertTrue(!verifier.verify(_proof(0), new uint256[](12)), "too few");
        assertTrue(!verifier.verify(_proof(0), new uint256[](14)), "too many");
        assertTrue(!verifier.verify(_proof(0), _inputs(1)), "another claim's");
    }

    function test_aProofOfZerosIsRefused() public view {
        IGroth16Verifier.Proof memory zeros;
        assertTrue(!verifier.verify(zeros, _inputs(0)), "refused");
    }

    /// forge-config: default.fuzz.runs = 128
    function testFuzz_aSpoiltKeyIsRefused(uint256 place, uint256 change) public {
        uint256[] memory key = _key();
        key[place % KEY_WORDS] ^= within(change, 1, type(uint256).max - 1);
        VM.expectRevert(IGroth16Verifier.UnfitKey.selector);
        new Groth16Verifier{salt: keccak256("spoilt")}(key);
    }

    /// @dev The imaginary and the real part of a point of G2 swapped, as a reader of another order would have them.
    function test_aKeyInAnotherOrderIsRefused() public {
        uint256[] memory key = _key();
        (key[2], key[3], key[4], key[5]) = (key[3], key[2], key[5], key[4]);
        VM.expectRevert(IGroth16Verifier.UnfitKey.selector);
        new Groth16Verifier(key);
        VM.expectRevert(IGroth16Verifier.UnfitKey.selector);
        new Groth16Verifier(new uint256[](14));
        VM.expectRevert(IGroth16Verifier.UnfitKey.selector);
        new Groth16Verifier(new uint256[](17));
    }
}
