// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction} from "./Evidence.sol";
import {IGroth16Verifier} from "./IGroth16Verifier.sol";

/// @title The resolver of claims
/// @notice Takes a zero-knowledge proof about one anchored action and says what it shows: which action, and those of its
/// words that the claimant disclosed. It shows what the log holds, not that the signer signed it.
interface IKedgeClaims {
    /// @notice What is claimed.
    /// @param version The circuit, by its verifier.
    /// @param mask The words that are disclosed: bit 0 kind, 1 target, 2 payload, 3 signer.
    /// @param words Hashes of kind, target and payload, and the signer's word; zero where they are hidden.
    /// @param purpose What the claim is for; the claimant's choice or the arbiter's.
    struct Claim {
        uint32 version;
        uint8 mask;
        bytes32[4] words;
        bytes32 purpose;
    }

    /// @notice The circuit of `version` is checked by `verifier`, for good.
    event VerifierAdded(uint32 indexed version, address indexed verifier, bytes32 keyHash);

    /// @notice The verdict: the log holds this action, and the words that the mask discloses are its.
    event ClaimResolved(
        bytes32 indexed context,
        address indexed claimant,
        bytes32 indexed content,
        uint64 sequence,
        uint64 timestampMs,
        bytes32 integrity,
        Claim claim
    );

    /// @notice Only the anchor contract's owner adds circuits.
    error NotTheOwner(address caller);

    /// @notice The verifier's circuit has another number of public inputs.
    error WrongInputCount(uint256 count);

    /// @notice There is no circuit of that version.
    error UnknownVersion(uint32 version);

    /// @notice The mask has other bits than the four words'.
    error UnknownMask(uint8 mask);

    /// @notice A word that the mask hides is not zero.
    error HiddenWordNotZero(uint256 index);

    /// @notice The claimant resolved a claim for this purpose before.
    error AlreadyResolved(bytes32 context);

    /// @notice The proof does not hold for the claim, the action and this sender.
    error ProofRefused();

    /// @notice Adds a circuit under the next version. The anchor contract's owner alone; none is ever changed.
    function addVerifier(IGroth16Verifier verifier) external returns (uint32 version);

    /// @notice Resolves the sender's claim about an anchored action, once for each purpose.
    /// @param claim What is claimed.
    /// @param action The action's leaf and its paths.
    /// @param proof The proof, made for this contract, this sender and the claim's purpose.
    /// @return context What the proof is bound to.
    function resolveClaim(Claim calldata claim, AnchoredAction calldata action, IGroth16Verifier.Proof calldata proof)
        external
        returns (bytes32 context);

    /// @notice keccak256 over domain separator, this contract, claimant (20 bytes each) and purpose.
    function contextOf(address claimant, bytes32 purpose) external view returns (bytes32);

    /// @notice Whether a claim with that context was resolved.
    function isResolved(bytes32 context) external view returns (bool);

    /// @notice The verifier of a version.
    function verifierOf(uint32 version) external view returns (IGroth16Verifier);

    /// @notice How many versions there are; they count from 1.
    function versionCount() external view returns (uint32);

    /// @notice The log's anchor contract.
    function anchorContract() external view returns (address);

    /// @notice The 13 public inputs: content, mask, the four words, context; words as two halves, the high one first.
    function inputsOf(bytes32 content, uint8 mask, bytes32[4] calldata words, bytes32 context)
        external
        pure
        returns (uint256[] memory);
}
