// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction, CheckpointEvidence, HeaderEvidence, LeafEvidence} from "../src/Evidence.sol";
import {ActionLeaf, Batch, Checkpoint, Opening} from "../src/LogRecords.sol";
import {BondFixture} from "./support/BondFixture.sol";
import {GasMeter} from "./support/GasMeter.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev What each path of a dispute costs, in a log of 2^32 batches with 500 actions in each of those that matter.
contract BondGasTest is BondFixture, GasMeter {
    uint256 private constant PATH_GAS_MAX = 400_000;
    uint256 private constant BATCH_GAS_MAX = 1_000_000;
    uint64 private constant SIZE = 1 << 32;
    uint32 private constant COUNT = 500;

    Batch private first;
    Batch private second;
    bytes32[] private upperPath;

    /// @dev Batches 0 and 1 are real, all that is beside them is made up; both are anchored.
    function setUp() public {
        _deployBonded();
        first = _next(COUNT);
        _append(first);
        second = _next(COUNT);
        _append(second);
        for (uint256 i = 0; i < 31; ++i) {
            upperPath.push(keccak256(abi.encode("beside", i)));
        }
        _anchorAll(second);
    }

    /// forge-config: default.isolate = true
    function test_commit() public {
        _record("commit", address(bond), abi.encodeCall(bond.commit, (keccak256("commitment"))), 0, PATH_GAS_MAX);
    }

    /// forge-config: default.isolate = true
    function test_conflictingBatches() public {
        Batch memory other = first;
        other.head = keccak256("other");
        _report("conflicting batches", abi.encodeCall(judge.conflictingBatches, (_signed(first), _signed(other))));
    }

    /// forge-config: default.isolate = true
    function test_conflictingCheckpoints() public {
        CheckpointEvidence memory one = _signedCheckpoint(_trueCheckpoint(2));
        Checkpoint memory other = _trueCheckpoint(2);
        other.head = keccak256("other");
        _report(
            "conflicting checkpoints", abi.encodeCall(judge.conflictingCheckpoints, (one, _signedCheckpoint(other)))
        );
    }

    /// forge-config: default.isolate = true
    function test_omittedBatch() public {
        Batch memory other = first;
        other.head = keccak256("other");
        bytes memory evidence = abi.encodeCall(judge.omittedBatch, (_signed(other), SIZE, _batchHash(first), _path(0)));
        _report("omitted batch", evidence);
    }

    /// @dev The last batch of a log of 2^32 has the longest path.
    /// forge-config: default.isolate = true
    function test_falseCheckpoint() public {
        Batch memory last = first;
        last.number = SIZE - 1;
        bytes32 leaf = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(last)));
        Checkpoint memory checkpoint = _trueCheckpoint(2);
        checkpoint.batches = SIZE;
        (, checkpoint.history) = ReferenceTree.rootByPath(leaf, SIZE - 1, SIZE, _path(0));
        _report(
            "false checkpoint", abi.encodeCall(judge.falseCheckpoint, (_signedCheckpoint(checkpoint), last, _path(0)))
        );
    }

    /// @dev From one batch: 32 hashes, and the header's own path beside.
    /// forge-config: default.isolate = true
    function test_falseHistory() public {
        second.history = keccak256("other");
        leaves[1] = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(second)));
        _deployBonded();
        _anchorAll(second);
        bytes32[] memory proof = _path(0);
        _report("false history", abi.encodeCall(judge.falseHistory, (_inHistory(second), SIZE, leaves[0], proof)));
    }

    /// forge-config: default.isolate = true
    function test_brokenLink() public {
        second.firstSequence += 1;
        leaves[1] = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(second)));
        _deployBonded();
        _anchorAll(second);
        _report("broken link", abi.encodeCall(judge.brokenLink, (_inHistory(first), _inHistory(second))));
    }

    /// forge-config: default.isolate = true
    function test_brokenHeader() public {
        Batch memory header = first;
        header.count = 501;
        _report("broken header", abi.encodeCall(judge.brokenHeader, (_signed(header))));
    }

    /// forge-config: default.isolate = true
    function test_replayedContent() public {
        ActionLeaf memory again = actions[1][499];
        again.content = actions[0][498].content;
        _forgeLeaf(499, again);
        _report("replayed content", abi.encodeCall(judge.replayedContent, (_opened(first, 498), _opened(second, 499))));
    }

    /// forge-config: default.isolate = true
    function test_forkedIntegrity() public {
        ActionLeaf memory forked = actions[1][0];
        bytes32 previous = previousIntegrities[0][300];
        forked.integrity = keccak256(abi.encodePacked(previous, forked.content));
        _forgeLeaf(0, forked);
        _report(
            "forked integrity",
            abi.encodeCall(judge.forkedIntegrity, (_opened(first, 300), _opened(second, 0), previous))
        );
    }

    /// forge-config: default.isolate = true
    function test_fallingTime() public {
        ActionLeaf memory leaf = actions[1][0];
        leaf.timestampMs = 1;
        _forgeLeaf(0, leaf);
        _report("falling time", abi.encodeCall(judge.fallingTime, (_opened(first, 300), _opened(second, 0))));
    }

    /// forge-config: default.isolate = true
    function test_brokenLeaf() public {
        ActionLeaf memory leaf = actions[1][7];
        leaf.sequence += 1;
        _forgeLeaf(7, leaf);
        _report("broken leaf", abi.encodeCall(judge.brokenLeaf, (_opened(second, 7))));
    }

    /// forge-config: default.isolate = true
    function test_brokenChainOf500Leaves() public {
        second.head = keccak256("other");
        leaves[1] = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(second)));
        _deployBonded();
        _anchorAll(second);
        bytes memory evidence = abi.encodeCall(judge.brokenChain, (_inHistory(second), actionHashes[1]));
        _commit(REPORTER, keccak256(evidence));
        bytes memory call = abi.encodeCall(bond.report, (evidence, SALT));
        _recordAs(REPORTER, "broken chain, 500 leaves", address(bond), call, 0, BATCH_GAS_MAX);
    }

    /// forge-config: default.isolate = true
    function test_aChallengeAndItsAnswers() public {
        AnchoredAction memory action = AnchoredAction({
            anchoredBatches: SIZE,
            header: second,
            leaf: actions[1][300],
            leafPath: ReferenceTree.path(actionHashes[1], 300, COUNT),
            batchPath: _path(1)
        });
        bytes32 id = bond.actionCaseId(_batchHash(second), actionHashes[1][300]);
        _commit(REPORTER, id);
        bytes memory call = abi.encodeCall(bond.challengeAction, (action, SALT));
        _recordAs(REPORTER, "challenge of an action", address(bond), call, DEPOSIT_WEI, PATH_GAS_MAX);
        Opening memory opening = _opening(1, 300, COUNT);
        call = abi.encodeCall(bond.answerAction, (_batchHash(second), actions[1][300], opening));
        _record("answer: an action of a request of 500", address(bond), call, 0, BATCH_GAS_MAX);
    }

    /// forge-config: default.isolate = true
    function test_aDemandToAnchorAndItsAnswer() public {
        _commit(REPORTER, bond.inclusionCaseId(_batchHash(second)));
        bytes memory call = abi.encodeCall(bond.demandInclusion, (_signed(second), SALT));
        _recordAs(REPORTER, "demand to anchor a header", address(bond), call, DEPOSIT_WEI, PATH_GAS_MAX);
        call = abi.encodeCall(bond.answerInclusion, (second, SIZE, _path(1)));
        _record("answer: an anchored header", address(bond), call, 0, PATH_GAS_MAX);
    }

    /// forge-config: default.isolate = true
    function test_aDemandForLeavesAndItsAnswer() public {
        _commit(REPORTER, bond.leavesCaseId(1));
        bytes memory call = abi.encodeCall(bond.demandLeaves, (SIZE, 1, SALT));
        _recordAs(REPORTER, "demand for a batch's leaves", address(bond), call, DEPOSIT_WEI, PATH_GAS_MAX);
        call = abi.encodeCall(bond.answerLeaves, (SIZE, second, _path(1), actionHashes[1]));
        _record("answer: 500 leaves", address(bond), call, 0, BATCH_GAS_MAX);
    }

    /// forge-config: default.isolate = true
    function test_aCaseWithoutAnAnswer() public {
        bytes32 id = bond.leavesCaseId(1);
        _commit(REPORTER, id);
        VM.prank(REPORTER);
        bond.demandLeaves{value: DEPOSIT_WEI}(SIZE, 1, SALT);
        VM.warp(block.timestamp + RESPONSE_S + 1);
        _record("case without an answer", address(bond), abi.encodeCall(bond.settle, (id)), 0, PATH_GAS_MAX);
    }

    function _report(string memory name, bytes memory evidence) private {
        _commit(REPORTER, keccak256(evidence));
        bytes memory call = abi.encodeCall(bond.report, (evidence, SALT));
        _recordAs(REPORTER, name, address(bond), call, 0, PATH_GAS_MAX);
        assertEq(bond.bond(), 0, "the fault was proven");
    }

    function _anchorAll(Batch memory last) private {
        Checkpoint memory checkpoint = Checkpoint({
            batches: SIZE,
            sequence: uint64(SIZE) * COUNT,
            head: last.head,
            history: _history(),
            state: 0,
            issuedAt: START_S * 1000
        });
        anchorContract.anchor(checkpoint, _sign(SEQUENCER_SECRET, checkpoint), new bytes32[](0));
    }

    function _forgeLeaf(uint32 index, ActionLeaf memory leaf) private {
        Batch memory forged = second;
        _replaceLeaf(forged, index, leaf);
        second = forged;
        leaves[1] = keccak256(abi.encodePacked(bytes1(0x00), _batchHash(forged)));
        _deployBonded();
        _anchorAll(forged);
    }

    function _group() internal pure override returns (string memory) {
        return "KedgeBond";
    }

    function _history() private view returns (bytes32 root) {
        bytes32[] memory path = _path(0);
        (, root) = ReferenceTree.rootByPath(leaves[0], 0, SIZE, path);
    }

    /// @dev The path of batch 0 or 1: the other one, and what is beside both.
    function _path(uint64 number) private view returns (bytes32[] memory path) {
        path = new bytes32[](32);
        path[0] = leaves[1 - number];
        for (uint256 i = 1; i < 32; ++i) {
            path[i] = upperPath[i - 1];
        }
    }

    function _inHistory(Batch memory header) private view returns (HeaderEvidence memory) {
        return
            HeaderEvidence({
                header: header, signature: "", keyIndex: 0, anchoredBatches: SIZE, path: _path(header.number)
            });
    }

    function _opened(Batch memory header, uint32 index) private view returns (LeafEvidence memory evidence) {
        evidence = _leafOf(header, index);
        evidence.batch = _inHistory(header);
    }
}
