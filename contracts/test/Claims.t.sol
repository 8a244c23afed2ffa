// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction} from "../src/Evidence.sol";
import {Groth16Verifier} from "../src/Groth16Verifier.sol";
import {IGroth16Verifier} from "../src/IGroth16Verifier.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeClaims} from "../src/IKedgeClaims.sol";
import {KedgeClaims} from "../src/KedgeClaims.sol";
import {ActionLeaf} from "../src/LogRecords.sol";
import {ClaimVectors} from "./support/ClaimVectors.sol";
import {SpecLog} from "./support/SpecLog.sol";

/// @dev Has the right number of inputs and believes everything.
contract CredulousVerifier {
    uint256 public immutable inputCount;
    bytes32 public constant keyHash = keccak256("no key");

    constructor(uint256 count) {
        inputCount = count;
    }

    function verify(IGroth16Verifier.Proof calldata, uint256[] calldata) external pure returns (bool) {
        return true;
    }
}

/// @dev Claims about the protocol's own vectors, with proofs by snarkjs.
contract ClaimsTest is SpecLog, ClaimVectors {
    KedgeClaims private claims;

    function setUp() public {
        _readVectors();
        _readSpec();
        _anchorSpec();
        VM.prank(CLAIMS_DEPLOYER);
        claims = new KedgeClaims(anchorContract);
        assertEq(address(claims), _resolver(), "the vectors' address");
        IGroth16Verifier verifier = new Groth16Verifier(_key());
        VM.prank(OWNER);
        assertEq(claims.addVerifier(verifier), 1, "the first version");
    }

    // Holds invariant 66.
    function test_everyClaimIsResolvedOnce() public {
        for (uint256 i = 0; i < CLAIMS; ++i) {
            IKedgeClaims.Claim memory claim = _claim(i);
            AnchoredAction memory action = _specAction(_recordOfClaim(i));
            ActionLeaf memory leaf = action.leaf;
            IGroth16Verifier.Proof memory proof = _proof(i);
            bytes32 context = claims.contextOf(_claimant(), claim.purpose);
            assertEq(context, _contextOfClaim(i), "context");
            VM.expectEmit(address(claims));
            emit IKedgeClaims.ClaimResolved(
                context, _claimant(), leaf.content, leaf.sequence, leaf.timestampMs, leaf.integrity, claim
            );
            VM.prank(_claimant());
            assertEq(claims.resolveClaim(claim, action, proof), context, "returned");
            assertTrue(claims.isResolved(context), "marked");
            VM.expectRevert(abi.encodeWithSelector(IKedgeClaims.AlreadyResolved.selector, context));
            VM.prank(_claimant());
            claims.resolveClaim(claim, action, proof);
        }
    }

    function test_inputsAreThoseOfTheVectors() public view {
        for (uint256 i = 0; i < CLAIMS; ++i) {
            IKedgeClaims.Claim memory claim = _claim(i);
            bytes32 content = _specAction(_recordOfClaim(i)).leaf.content;
            uint256[] memory inputs = claims.inputsOf(content, claim.mask, claim.words, _contextOfClaim(i));
            assertEq(keccak256(abi.encode(inputs)), keccak256(abi.encode(_inputs(i))), "inputs");
        }
    }

    // Holds invariant 66.
    /// @dev Who copies a claim from a transaction that waits gets nothing: the proof holds its claimant.
    /// forge-config: default.fuzz.runs = 48
    function testFuzz_anothersClaimIsRefused(address thief) public {
        VM.assume(thief != _claimant());
        IKedgeClaims.Claim memory claim = _claim(1);
        AnchoredAction memory action = _specAction(_recordOfClaim(1));
        IGroth16Verifier.Proof memory proof = _proof(1);
        VM.expectRevert(IKedgeClaims.ProofRefused.selector);
        VM.prank(thief);
        claims.resolveClaim(claim, action, proof);
    }

    // Holds invariant 66.
    /// @dev The same claim at another resolver, or for another purpose.
    function test_aProofHoldsForOneResolverAndPurpose() public {
        KedgeClaims other = new KedgeClaims(anchorContract);
        IGroth16Verifier verifier = claims.verifierOf(1);
        VM.prank(OWNER);
        other.addVerifier(verifier);
        IKedgeClaims.Claim memory claim = _claim(1);
        AnchoredAction memory action = _specAction(_recordOfClaim(1));
        IGroth16Verifier.Proof memory proof = _proof(1);
        VM.expectRevert(IKedgeClaims.ProofRefused.selector);
        VM.prank(_claimant());
        other.resolveClaim(claim, action, proof);
        claim.purpose = keccak256("another purpose");
        VM.expectRevert(IKedgeClaims.ProofRefused.selector);
        VM.prank(_claimant());
        claims.resolveClaim(claim, action, proof);
    }

    /// forge-config: default.fuzz.runs = 48
    function testFuzz_anotherDisclosureIsRefused(uint256 word, bytes32 value) public {
        IKedgeClaims.Claim memory claim = _claim(3);
        word = word % 4;
        if (claim.words[word] == value) value = ~value;
        claim.words[word] = value;
        _mustRefuse(claim, 3, IKedgeClaims.ProofRefused.selector);
    }

    function test_moreOrLessDisclosedIsRefused() public {
        IKedgeClaims.Claim memory claim = _claim(1);
        assertEq(claim.mask, 9, "kind and signer");
        claim.mask = 11;
        _mustRefuse(claim, 1, IKedgeClaims.ProofRefused.selector);
        claim.mask = 8;
        _mustRefuse(claim, 1, IKedgeClaims.HiddenWordNotZero.selector);
        claim.words[0] = 0;
        _mustRefuse(claim, 1, IKedgeClaims.ProofRefused.selector);
        claim.mask = 16;
        _mustRefuse(claim, 1, IKedgeClaims.UnknownMask.selector);
    }

    /// forge-config: default.fuzz.runs = 48
    function testFuzz_hiddenWordsAreZero(uint8 mask, uint256 word, bytes32 value) public {
        mask = mask % 16;
        word = word % 4;
        VM.assume(value != 0 && (mask >> word) & 1 == 0);
        IKedgeClaims.Claim memory claim = _claim(0);
        claim.mask = mask;
        claim.words[word] = value;
        _mustRefuse(claim, 0, IKedgeClaims.HiddenWordNotZero.selector);
    }

    function test_anotherActionIsRefused() public {
        IKedgeClaims.Claim memory claim = _claim(1);
        IGroth16Verifier.Proof memory proof = _proof(1);
        AnchoredAction memory other = _specAction(_recordOfClaim(1) + 1);
        VM.expectRevert(IKedgeClaims.ProofRefused.selector);
        VM.prank(_claimant());
        claims.resolveClaim(claim, other, proof);
        AnchoredAction memory made = _specAction(_recordOfClaim(1));
        made.leaf.sequence += 1;
        VM.expectPartialRevert(IKedgeAnchor.ActionNotInBatch.selector);
        VM.prank(_claimant());
        claims.resolveClaim(claim, made, proof);
    }

    function test_anUnknownVersionIsRefused() public {
        IKedgeClaims.Claim memory claim = _claim(1);
        claim.version = 0;
        _mustRefuse(claim, 1, IKedgeClaims.UnknownVersion.selector);
        claim.version = 2;
        _mustRefuse(claim, 1, IKedgeClaims.UnknownVersion.selector);
    }

    function test_versionsAreAddedByTheOwnerAndStay() public {
        IGroth16Verifier first = claims.verifierOf(1);
        IGroth16Verifier second = IGroth16Verifier(address(new CredulousVerifier(13)));
        VM.expectRevert(abi.encodeWithSelector(IKedgeClaims.NotTheOwner.selector, address(this)));
        claims.addVerifier(second);
        VM.expectEmit(address(claims));
        emit IKedgeClaims.VerifierAdded(2, address(second), keccak256("no key"));
        VM.prank(OWNER);
        claims.addVerifier(second);
        assertEq(claims.versionCount(), 2, "versions");
        assertEq(address(claims.verifierOf(1)), address(first), "the first stays");
        assertEq(address(claims.verifierOf(2)), address(second), "beside the second");
        IGroth16Verifier wrong = IGroth16Verifier(address(new CredulousVerifier(12)));
        VM.expectRevert(abi.encodeWithSelector(IKedgeClaims.WrongInputCount.selector, 12));
        VM.prank(OWNER);
        claims.addVerifier(wrong);
    }

    /// @dev A refused claim leaves nothing behind: the right proof is taken afterwards.
    function test_aRefusalUsesNothingUp() public {
        IKedgeClaims.Claim memory claim = _claim(2);
        IGroth16Verifier.Proof memory proof = _proof(1);
        AnchoredAction memory action = _specAction(_recordOfClaim(2));
        VM.expectRevert(IKedgeClaims.ProofRefused.selector);
        VM.prank(_claimant());
        claims.resolveClaim(claim, action, proof);
        proof = _proof(2);
        VM.prank(_claimant());
        claims.resolveClaim(claim, action, proof);
    }

    function _mustRefuse(IKedgeClaims.Claim memory claim, uint256 which, bytes4 reason) private {
        AnchoredAction memory action = _specAction(_recordOfClaim(which));
        IGroth16Verifier.Proof memory proof = _proof(which);
        VM.expectPartialRevert(reason);
        VM.prank(_claimant());
        claims.resolveClaim(claim, action, proof);
    }
}
