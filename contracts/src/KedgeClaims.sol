// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

import {AnchoredAction} from "./Evidence.sol";
import {IGroth16Verifier} from "./IGroth16Verifier.sol";
import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeClaims} from "./IKedgeClaims.sol";

/// @title The resolver of claims
/// @notice See `IKedgeClaims`. It holds no funds, and no verdict changes another one.
contract KedgeClaims is IKedgeClaims {
    uint256 private constant INPUTS = 13;
    uint256 private constant WORDS = 4;

    IKedgeAnchor private immutable ANCHOR;
    bytes32 private immutable DOMAIN_SEPARATOR;

    IGroth16Verifier[] private _verifiers;
    mapping(bytes32 context => bool isResolved) private _resolved;

    /// @param anchor The log's anchor contract.
    constructor(IKedgeAnchor anchor) {
        ANCHOR = anchor;
        DOMAIN_SEPARATOR = anchor.domainSeparator();
    }

    /// @inheritdoc IKedgeClaims
    function addVerifier(IGroth16Verifier verifier) external override returns (uint32 version) {
        if (msg.sender != Ownable(address(ANCHOR)).owner()) revert NotTheOwner(msg.sender);
        uint256 count = verifier.inputCount();
        if (count != INPUTS) revert WrongInputCount(count);
        bytes32 keyHash = verifier.keyHash();
        _verifiers.push(verifier);
        version = _versionCount();
        emit VerifierAdded(version, address(verifier), keyHash);
    }

    /// @inheritdoc IKedgeClaims
    function resolveClaim(Claim calldata claim, AnchoredAction calldata action, IGroth16Verifier.Proof calldata proof)
        external
        override
        returns (bytes32 context)
    {
        _requireHiddenWordsZero(claim);
        context = contextOf(msg.sender, claim.purpose);
        if (_resolved[context]) revert AlreadyResolved(context);
        _resolved[context] = true;
        emit ClaimResolved(
            context,
            msg.sender,
            action.leaf.content,
            action.leaf.sequence,
            action.leaf.timestampMs,
            action.leaf.integrity,
            claim
        );
        // It reverts if the log does not hold the action; the leaf's hash is of no use here.
        // slither-disable-next-line unused-return
        ANCHOR.verifyAction(action.anchoredBatches, action.header, action.leaf, action.leafPath, action.batchPath);
        uint256[] memory inputs = inputsOf(action.leaf.content, claim.mask, claim.words, context);
        if (!verifierOf(claim.version).verify(proof, inputs)) revert ProofRefused();
    }

    /// @inheritdoc IKedgeClaims
    function isResolved(bytes32 context) external view override returns (bool) {
        return _resolved[context];
    }

    /// @inheritdoc IKedgeClaims
    function versionCount() external view override returns (uint32) {
        return _versionCount();
    }

    /// @inheritdoc IKedgeClaims
    function anchorContract() external view override returns (address) {
        return address(ANCHOR);
    }

    /// @inheritdoc IKedgeClaims
    function verifierOf(uint32 version) public view override returns (IGroth16Verifier) {
        if (version == 0 || version > _verifiers.length) revert UnknownVersion(version);
        return _verifiers[version - 1];
    }

    /// @inheritdoc IKedgeClaims
    function contextOf(address claimant, bytes32 purpose) public view override returns (bytes32) {
        return keccak256(abi.encodePacked(DOMAIN_SEPARATOR, address(this), claimant, purpose));
    }

    /// @inheritdoc IKedgeClaims
    function inputsOf(bytes32 content, uint8 mask, bytes32[4] calldata words, bytes32 context)
        public
        pure
        override
        returns (uint256[] memory inputs)
    {
        inputs = new uint256[](INPUTS);
        _setHalves(inputs, 0, content);
        inputs[2] = mask;
        for (uint256 i = 0; i < WORDS; ++i) {
            _setHalves(inputs, 3 + 2 * i, words[i]);
        }
        _setHalves(inputs, 11, context);
    }

    function _versionCount() private view returns (uint32) {
        // An owner adds them one by one.
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint32(_verifiers.length);
    }

    function _requireHiddenWordsZero(Claim calldata claim) private pure {
        if (claim.mask >> WORDS != 0) revert UnknownMask(claim.mask);
        for (uint256 i = 0; i < WORDS; ++i) {
            if ((claim.mask >> i) & 1 == 0 && claim.words[i] != 0) revert HiddenWordNotZero(i);
        }
    }

    function _setHalves(uint256[] memory inputs, uint256 place, bytes32 word) private pure {
        inputs[place] = uint256(word) >> 128;
        inputs[place + 1] = uint256(word) & type(uint128).max;
    }
}
