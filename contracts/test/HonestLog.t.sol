// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {CheckpointEvidence, HeaderEvidence, LeafEvidence} from "../src/Evidence.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {Batch, Checkpoint} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev Nothing that an honest sequencer signed or anchored proves a fault, however it is put together.
contract HonestLogTest is BondFixture {
    struct Pick {
        uint64 size;
        uint64 anchored;
        uint64 first;
        uint64 second;
        uint32 firstIndex;
        uint32 secondIndex;
        bool isFirstAnchored;
        bool isSecondAnchored;
    }

    function setUp() public {
        _deployBonded();
    }

    /// forge-config: default.fuzz.runs = 192
    function testFuzz_honestHeadersProveNothing(Pick memory pick, uint256 seed) public {
        _prepare(pick, seed);
        HeaderEvidence memory first = _either(pick.first, pick.anchored, pick.isFirstAnchored);
        HeaderEvidence memory second = _either(pick.second, pick.anchored, pick.isSecondAnchored);
        _mustRefuse(abi.encodeCall(judge.conflictingBatches, (first, second)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.brokenLink, (first, second)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.brokenHeader, (first)), IKedgeJudge.NoFault.selector);
        bytes32[] memory hashes = actionHashes[pick.first];
        _mustRefuse(abi.encodeCall(judge.brokenChain, (first, hashes)), IKedgeJudge.NoFault.selector);
    }

    /// forge-config: default.fuzz.runs = 192
    function testFuzz_honestHistoriesProveNothing(Pick memory pick, uint256 seed) public {
        _prepare(pick, seed);
        uint64 anchored = pick.anchored;
        uint64 number = pick.first % anchored;
        HeaderEvidence memory evidence = _either(number, anchored, pick.isFirstAnchored);
        bytes32[] memory path = ReferenceTree.path(leaves, number, anchored);
        _mustRefuse(
            abi.encodeCall(judge.omittedBatch, (evidence, anchored, _batchHash(headers[number]), path)),
            IKedgeJudge.NoFault.selector
        );
        bytes32 beginning = ReferenceTree.root(leaves, number);
        bytes32[] memory proof = ReferenceTree.consistency(leaves, number, anchored);
        _mustRefuse(
            abi.encodeCall(judge.falseHistory, (evidence, anchored, beginning, proof)), IKedgeJudge.NoFault.selector
        );
        _mustRefuse(
            abi.encodeCall(judge.falseHistory, (evidence, anchored, bytes32(seed), proof)),
            IKedgeJudge.PathLeadsElsewhere.selector
        );
    }

    /// forge-config: default.fuzz.runs = 192
    function testFuzz_honestCheckpointsProveNothing(Pick memory pick, uint256 seed) public {
        _prepare(pick, seed);
        Checkpoint memory checkpoint = _trueCheckpoint(pick.first + 1);
        CheckpointEvidence memory first = _signedCheckpoint(checkpoint);
        checkpoint = _trueCheckpoint(pick.first + 1);
        checkpoint.issuedAt += uint64(seed % 1000);
        CheckpointEvidence memory later = _signedCheckpoint(checkpoint);
        CheckpointEvidence memory other = _signedCheckpoint(_trueCheckpoint(pick.second + 1));
        _mustRefuse(abi.encodeCall(judge.conflictingCheckpoints, (first, later)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.conflictingCheckpoints, (first, other)), IKedgeJudge.NoFault.selector);
        bytes32[] memory path = ReferenceTree.path(leaves, pick.first, pick.first + 1);
        _mustRefuse(
            abi.encodeCall(judge.falseCheckpoint, (first, headers[pick.first], path)), IKedgeJudge.NoFault.selector
        );
        uint64 size = uint64(within(pick.second, 1, pick.anchored));
        bytes32[] memory proof = ReferenceTree.consistency(leaves, size, pick.anchored);
        _mustRefuse(
            abi.encodeCall(
                judge.falseCheckpointHistory,
                (_signedCheckpoint(_trueCheckpoint(size)), pick.anchored, ReferenceTree.root(leaves, size), proof)
            ),
            IKedgeJudge.NoFault.selector
        );
    }

    /// forge-config: default.fuzz.runs = 192
    function testFuzz_honestActionsProveNothing(Pick memory pick, uint256 seed) public {
        _prepare(pick, seed);
        LeafEvidence memory first = _leafOf(headers[pick.first], pick.firstIndex);
        LeafEvidence memory second = _leafOf(headers[pick.second], pick.secondIndex);
        first.batch = _either(pick.first, pick.anchored, pick.isFirstAnchored);
        second.batch = _either(pick.second, pick.anchored, pick.isSecondAnchored);
        bytes32 previous = previousIntegrities[pick.first][pick.firstIndex];
        _mustRefuse(abi.encodeCall(judge.replayedContent, (first, second)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.forkedIntegrity, (first, second, previous)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.fallingTime, (first, second)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.fallingTime, (second, first)), IKedgeJudge.NoFault.selector);
        _mustRefuse(abi.encodeCall(judge.brokenLeaf, (first)), IKedgeJudge.NoFault.selector);
    }

    // Holds invariant 62.
    /// @dev Evidence that anybody can make up: one word of it changed, and all that is the sequencer's left as it was.
    /// forge-config: default.fuzz.runs = 192
    function testFuzz_spoiltEvidenceProvesNothing(Pick memory pick, uint256 seed, uint256 place, uint8 flip) public {
        _prepare(pick, seed);
        HeaderEvidence memory first = _either(pick.first, pick.anchored, pick.isFirstAnchored);
        HeaderEvidence memory second = _either(pick.second, pick.anchored, pick.isSecondAnchored);
        LeafEvidence memory leaf = _leafOf(headers[pick.first], pick.firstIndex);
        leaf.batch = first;
        bytes[5] memory calls = [
            abi.encodeCall(judge.conflictingBatches, (first, second)),
            abi.encodeCall(judge.brokenLink, (first, second)),
            abi.encodeCall(judge.brokenHeader, (first)),
            abi.encodeCall(judge.brokenChain, (first, actionHashes[pick.first])),
            abi.encodeCall(judge.brokenLeaf, (leaf))
        ];
        bytes memory evidence = calls[seed % 5];
        // Behind the selector: another function would be another test.
        place = within(place, 4, evidence.length - 1);
        evidence[place] = bytes1(uint8(evidence[place]) ^ uint8(within(flip, 1, 255)));
        (bool isProven,) = address(judge).staticcall(evidence);
        assertTrue(!isProven, "no fault is proven");
    }

    /// @dev As many leaves as the batch has, but not its own: they give another head, and another root.
    /// forge-config: default.fuzz.runs = 192
    function testFuzz_madeUpLeavesProveNothing(Pick memory pick, uint256 seed, uint256 place) public {
        _prepare(pick, seed);
        bytes32[] memory hashes = actionHashes[pick.first];
        hashes[place % hashes.length] = keccak256(abi.encode(seed));
        HeaderEvidence memory evidence = _either(pick.first, pick.anchored, pick.isFirstAnchored);
        _mustRefuse(abi.encodeCall(judge.brokenChain, (evidence, hashes)), IKedgeJudge.PathLeadsElsewhere.selector);
    }

    /// @dev The same operator, key and numbers, but another log's domain.
    function test_evidenceOfAnotherLogProvesNothing() public {
        _seal(2);
        bytes32 ours = anchorContract.domainSeparator();
        Batch memory header = headers[0];
        header.head = keccak256("another log's");
        bytes32 otherDomain = keccak256("another log");
        assertTrue(ours != otherDomain, "domains differ");
        (uint8 v, bytes32 r, bytes32 s) =
            VM.sign(SEQUENCER_SECRET, keccak256(abi.encodePacked("\x19\x01", otherDomain, _batchHash(header))));
        HeaderEvidence memory foreign = _signed(header);
        foreign.signature = abi.encodePacked(r, s, v);
        _mustRefuse(
            abi.encodeCall(judge.conflictingBatches, (_signed(headers[0]), foreign)), IKedgeJudge.NotSigned.selector
        );
    }

    /// @dev A high-s twin of a signature is no second signature: it is refused, and so is every other length.
    function test_signaturesHaveOneForm() public {
        _seal(2);
        HeaderEvidence memory short = _signed(headers[0]);
        short.signature = new bytes(64);
        _mustRefuse(abi.encodeCall(judge.brokenHeader, (short)));
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(
            SEQUENCER_SECRET,
            keccak256(abi.encodePacked("\x19\x01", anchorContract.domainSeparator(), _batchHash(headers[0])))
        );
        uint256 order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
        HeaderEvidence memory high = _signed(headers[0]);
        high.signature = abi.encodePacked(r, order - uint256(s), v == 27 ? uint8(28) : uint8(27));
        _mustRefuse(abi.encodeCall(judge.brokenHeader, (high)));
    }

    function _prepare(Pick memory pick, uint256 seed) private {
        pick.size = uint64(within(pick.size, 2, 9));
        for (uint64 i = 0; i < pick.size; ++i) {
            _seal(uint32(1 + uint256(keccak256(abi.encode(seed, i))) % 5));
        }
        pick.anchored = uint64(within(pick.anchored, 1, pick.size));
        pick.first = pick.first % pick.size;
        pick.second = pick.second % pick.size;
        pick.firstIndex = pick.firstIndex % headers[pick.first].count;
        pick.secondIndex = pick.secondIndex % headers[pick.second].count;
        _anchorLog(pick.anchored);
    }

    function _either(uint64 number, uint64 anchored, bool isAnchored) private view returns (HeaderEvidence memory) {
        return isAnchored && number < anchored ? _anchored(number, anchored) : _signed(headers[number]);
    }
}
