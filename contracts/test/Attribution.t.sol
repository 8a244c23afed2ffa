// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {CheckpointEvidence, HeaderEvidence, LeafEvidence} from "../src/Evidence.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {ActionLeaf, Batch, Checkpoint} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev Every fault there is, once with the sequencer's signatures and once with a stranger's: who did not sign it did
/// not do it.
contract AttributionTest is BondFixture {
    uint64 private constant SIZE = 5;
    bytes32 private constant FORGED = keccak256("forged");

    uint256 private secret;

    function setUp() public {
        _deployBonded();
        for (uint32 i = 0; i < SIZE; ++i) {
            _seal(4);
        }
        _anchorLog(SIZE);
    }

    function test_headersThatTheSequencerSigned() public {
        _check(SEQUENCER_SECRET);
    }

    function test_headersThatAStrangerSigned() public {
        _check(STRANGER_SECRET);
    }

    function _check(uint256 signer) private {
        secret = signer;
        Batch memory other = headers[2];
        other.head = FORGED;
        _judge(abi.encodeCall(judge.conflictingBatches, (_anchored(2, SIZE), _by(other))));
        _judge(abi.encodeCall(judge.conflictingBatches, (_by(other), _anchored(2, SIZE))));
        _judge(abi.encodeCall(judge.omittedBatch, (_by(other), SIZE, _batchHash(headers[2]), _path(2))));
        _judge(abi.encodeCall(judge.brokenLink, (_by(other), _anchored(3, SIZE))));
        bytes32[] memory hashes = actionHashes[2];
        _judge(abi.encodeCall(judge.brokenChain, (_by(other), hashes)));
        other = headers[2];
        other.previousHead = FORGED;
        _judge(abi.encodeCall(judge.brokenLink, (_anchored(1, SIZE), _by(other))));
        other = headers[2];
        other.count = 0;
        _judge(abi.encodeCall(judge.brokenHeader, (_by(other))));
        other = headers[2];
        other.history = FORGED;
        bytes32[] memory proof = ReferenceTree.consistency(leaves, 2, SIZE);
        _judge(abi.encodeCall(judge.falseHistory, (_by(other), SIZE, ReferenceTree.root(leaves, 2), proof)));
        _checkCheckpoints();
        _checkLeaves();
    }

    function _checkCheckpoints() private view {
        CheckpointEvidence memory honest = _signedCheckpoint(_trueCheckpoint(3));
        Checkpoint memory other = _trueCheckpoint(3);
        other.head = FORGED;
        _judge(abi.encodeCall(judge.conflictingCheckpoints, (honest, _by(other))));
        _judge(abi.encodeCall(judge.conflictingCheckpoints, (_by(other), honest)));
        bytes32[] memory path = ReferenceTree.path(leaves, 2, 3);
        _judge(abi.encodeCall(judge.falseCheckpoint, (_by(other), headers[2], path)));
        other = _trueCheckpoint(3);
        other.history = FORGED;
        bytes32[] memory proof = ReferenceTree.consistency(leaves, 3, SIZE);
        _judge(abi.encodeCall(judge.falseCheckpointHistory, (_by(other), SIZE, ReferenceTree.root(leaves, 3), proof)));
    }

    function _checkLeaves() private {
        LeafEvidence memory honest = _leafOf(headers[1], 0);
        Batch memory next = _next(4);
        ActionLeaf memory leaf = actions[SIZE][0];
        leaf.content = honest.leaf.content;
        leaf.integrity = keccak256(abi.encodePacked(previousIntegrities[1][0], leaf.content));
        leaf.timestampMs = 1;
        leaf.sequence = next.firstSequence + 1;
        _replaceLeaf(next, 0, leaf);
        LeafEvidence memory forged = _leafOf(next, 0);
        forged.batch = _by(next);
        _judge(abi.encodeCall(judge.replayedContent, (honest, forged)));
        _judge(abi.encodeCall(judge.replayedContent, (forged, honest)));
        _judge(abi.encodeCall(judge.forkedIntegrity, (honest, forged, previousIntegrities[1][0])));
        _judge(abi.encodeCall(judge.forkedIntegrity, (forged, honest, previousIntegrities[1][0])));
        _judge(abi.encodeCall(judge.fallingTime, (honest, forged)));
        _judge(abi.encodeCall(judge.brokenLeaf, (forged)));
        LeafEvidence memory later = _leafOf(headers[0], 0);
        leaf.timestampMs = type(uint64).max;
        leaf.sequence = 0;
        _replaceLeaf(next, 0, leaf);
        forged = _leafOf(next, 0);
        forged.batch = _by(next);
        _judge(abi.encodeCall(judge.fallingTime, (forged, later)));
    }

    function _judge(bytes memory evidence) private view {
        if (secret == STRANGER_SECRET) return _mustRefuse(evidence, IKedgeJudge.NotSigned.selector);
        (bool isProven,) = address(judge).staticcall(evidence);
        assertTrue(isProven, "a fault of the sequencer's");
    }

    function _by(Batch memory header) private view returns (HeaderEvidence memory evidence) {
        evidence = _signed(header);
        evidence.signature = _signHeader(secret, header);
    }

    function _by(Checkpoint memory checkpoint) private view returns (CheckpointEvidence memory evidence) {
        evidence = _signedCheckpoint(checkpoint);
        evidence.signature = _sign(secret, checkpoint);
    }

    function _path(uint64 number) private view returns (bytes32[] memory) {
        return ReferenceTree.path(leaves, number, SIZE);
    }
}
