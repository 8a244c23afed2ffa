// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction} from "../src/Evidence.sol";
import {Groth16Verifier} from "../src/Groth16Verifier.sol";
import {KedgeClaims} from "../src/KedgeClaims.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {ClaimVectors} from "./support/ClaimVectors.sol";
import {GasMeter} from "./support/GasMeter.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";
import {SpecLog} from "./support/SpecLog.sol";

/// @dev What resolving a claim costs for an action in a batch of 500 of a log of 2^32 batches.
contract ClaimGasTest is SpecLog, ClaimVectors, GasMeter {
    uint256 private constant RESOLVE_GAS_MAX = 400_000;
    uint64 private constant SIZE = 1 << 32;
    uint32 private constant COUNT = 500;

    KedgeClaims private claims;

    function setUp() public {
        _readVectors();
        _readSpec();
        VM.prank(CLAIMS_DEPLOYER);
        claims = new KedgeClaims(anchorContract);
        Groth16Verifier verifier = new Groth16Verifier(_key());
        VM.prank(OWNER);
        claims.addVerifier(verifier);
    }

    /// @dev Every input's point is multiplied.
    /// forge-config: default.isolate = true
    function test_aClaimThatDisclosesEveryWord() public {
        _measure("claim, all words disclosed", 3);
    }

    /// forge-config: default.isolate = true
    function test_aClaimThatDisclosesNothing() public {
        _measure("claim, no word disclosed", 0);
    }

    function _measure(string memory name, uint256 which) private {
        AnchoredAction memory action = _anchorAmongMany(_recordOfClaim(which));
        bytes memory call = abi.encodeCall(claims.resolveClaim, (_claim(which), action, _proof(which)));
        _recordAs(_claimant(), name, address(claims), call, 0, RESOLVE_GAS_MAX);
        assertTrue(claims.isResolved(_contextOfClaim(which)), "resolved");
    }

    /// @dev The record with made-up neighbours: the first of its batch, which is the first of the log.
    function _anchorAmongMany(uint256 record) private returns (AnchoredAction memory action) {
        action.leaf = _specLeaf(record);
        action.leafPath = _madeUp(ReferenceTree.pathLength(0, COUNT));
        action.batchPath = _madeUp(ReferenceTree.pathLength(0, SIZE));
        action.anchoredBatches = SIZE;
        action.header = _specBatch(0);
        action.header.firstSequence = action.leaf.sequence;
        action.header.count = COUNT;
        bytes32 leaf = _word(_join(_at(".records", record), ".leaf"));
        (, action.header.root) = ReferenceTree.rootByPath(leaf, 0, COUNT, action.leafPath);
        bytes32 batchHash = keccak256(
            abi.encode(
                keccak256(
                    "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)"
                ),
                action.header
            )
        );
        Checkpoint memory checkpoint = _specCheckpoint();
        checkpoint.batches = SIZE;
        checkpoint.sequence = SIZE * COUNT;
        (, checkpoint.history) =
            ReferenceTree.rootByPath(keccak256(abi.encodePacked(bytes1(0x00), batchHash)), 0, SIZE, action.batchPath);
        anchorContract.anchor(checkpoint, _sign(SEQUENCER_SECRET, checkpoint), new bytes32[](0));
    }

    function _group() internal pure override returns (string memory) {
        return "KedgeClaims";
    }

    function _madeUp(uint256 length) private pure returns (bytes32[] memory hashes) {
        hashes = new bytes32[](length);
        for (uint256 i = 0; i < length; ++i) {
            hashes[i] = keccak256(abi.encode("beside", i));
        }
    }
}
