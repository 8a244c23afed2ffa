// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Batch, Checkpoint} from "../src/LogRecords.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {LogTreeHarness} from "./support/LogTreeHarness.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";
import {SpecLog} from "./support/SpecLog.sol";

/// @dev The protocol's own vectors, made by an independent implementation.
contract VectorsTest is SpecLog {
    LogTreeHarness private harness;

    function setUp() public {
        _readSpec();
        harness = new LogTreeHarness();
    }

    function test_domainIsTheVectors() public view {
        assertEq(address(anchorContract), VM.parseJsonAddress(json, ".domain.verifyingContract"), "address");
        assertEq(anchorContract.domainSeparator(), _word(".domain_separator"), "separator");
        (bytes1 fields, string memory name, string memory version, uint256 chainId, address contractOf, bytes32 salt,) =
            anchorContract.eip712Domain();
        assertTrue(fields == 0x0f, "fields");
        assertEq(keccak256(bytes(name)), keccak256(bytes(VM.parseJsonString(json, ".domain.name"))), "name");
        assertEq(keccak256(bytes(version)), keccak256(bytes(VM.parseJsonString(json, ".domain.version"))), "version");
        assertEq(chainId, _uint(".domain.chainId"), "chain id");
        assertEq(contractOf, address(anchorContract), "verifying contract");
        assertEq(salt, 0, "salt");
    }

    function test_everyTreeVector() public view {
        for (uint256 i = 0; _has(_at(".trees", i)); ++i) {
            string memory tree = _at(".trees", i);
            uint64 size = uint64(_uint(_join(tree, ".size")));
            _checkPaths(tree, size, _word(_join(tree, ".root")));
            _checkConsistencies(tree, size, _word(_join(tree, ".root")));
        }
    }

    function test_everyPathToRefuseIsRefused() public view {
        uint256 refused = 0;
        for (; _has(_at(".must_refuse.paths", refused)); ++refused) {
            string memory entry = _at(".must_refuse.paths", refused);
            bytes32 root = _rootOfSize(uint64(_uint(_join(entry, ".size"))));
            bool isAccepted = harness.verifyInclusion(
                root,
                _word(_join(entry, ".leaf")),
                uint64(_uint(_join(entry, ".index"))),
                uint64(_uint(_join(entry, ".size"))),
                _words(_join(entry, ".proof"))
            );
            assertTrue(!isAccepted, VM.parseJsonString(json, _join(entry, ".why")));
        }
        assertTrue(refused != 0, "there are vectors");
    }

    function test_everyConsistencyToRefuseIsRefused() public view {
        uint256 refused = 0;
        for (; _has(_at(".must_refuse.consistency", refused)); ++refused) {
            string memory entry = _at(".must_refuse.consistency", refused);
            bool isAccepted = harness.verifyConsistency(
                uint64(_uint(_join(entry, ".from"))),
                _word(_join(entry, ".first")),
                uint64(_uint(_join(entry, ".to"))),
                _word(_join(entry, ".second")),
                _words(_join(entry, ".proof"))
            );
            assertTrue(!isAccepted, VM.parseJsonString(json, _join(entry, ".why")));
        }
        assertTrue(refused != 0, "there are vectors");
    }

    function test_signedCheckpointIsAnchored() public {
        Checkpoint memory message = _specCheckpoint();
        bytes32 digest = _digest(anchorContract.domainSeparator(), message);
        assertEq(digest, _word(".checkpoint.digest"), "digest");
        _anchorSpec();
        IKedgeAnchor.Record memory record = anchorContract.checkpoint(message.batches);
        assertEq(record.history, message.history, "history");
        assertEq(record.sequence, message.sequence, "sequence");
        assertEq(record.issuedAt, message.issuedAt, "issuedAt");
    }

    function test_everyBatchIsVerifiedAgainstTheAnchor() public {
        _anchorSpec();
        for (uint256 i = 0; i < BATCHES; ++i) {
            bytes32 batchHash = anchorContract.verifyBatch(uint64(BATCHES), _specBatch(i), _specPath(i));
            assertEq(batchHash, _word(_join(_at(".batches", i), ".batch_hash")), "batch hash");
        }
    }

    function test_everyActionIsVerifiedAgainstTheAnchor() public {
        _anchorSpec();
        uint256 record = 0;
        for (uint256 i = 0; i < BATCHES; ++i) {
            Batch memory header = _specBatch(i);
            for (uint256 index = 0; index < header.count; ++index) {
                bytes32[] memory path = _words(_at(_join(_at(".batches", i), ".paths"), index));
                bytes32 leaf =
                    anchorContract.verifyAction(uint64(BATCHES), header, _specLeaf(record), path, _specPath(i));
                assertEq(leaf, _word(_join(_at(".records", record), ".leaf")), "leaf");
                ++record;
            }
        }
        assertTrue(!_has(_at(".records", record)), "every record was met");
    }

    function test_contentOpensToItsFiveWords() public view {
        uint256 opened = 0;
        for (uint256 request = 0; _has(_at(".requests", request)); ++request) {
            string memory message = _join(_at(".requests", request), ".message");
            bytes32 signatureHash = keccak256(VM.parseJsonBytes(json, _join(_at(".requests", request), ".signature")));
            for (uint256 i = 0; _has(_at(_join(message, ".actions"), i)); ++i) {
                string memory action = _at(_join(message, ".actions"), i);
                bytes32 content = anchorContract.contentOf(
                    _textHash(_join(action, ".kind")),
                    _textHash(_join(action, ".target")),
                    _textHash(_join(action, ".payload")),
                    VM.parseJsonAddress(json, _join(message, ".signer")),
                    keccak256(abi.encode(signatureHash, _word(_join(action, ".salt"))))
                );
                assertEq(content, _word(_join(_at(".records", opened), ".content")), "content");
                ++opened;
            }
        }
        assertTrue(opened != 0 && !_has(_at(".records", opened)), "every record was opened");
    }

    function test_consistencyOfTheBatchesHistories() public view {
        string[] memory pairs = VM.parseJsonKeys(json, ".checkpoint.consistency");
        assertTrue(pairs.length != 0, "there are vectors");
        for (uint64 oldSize = 1; oldSize <= BATCHES; ++oldSize) {
            for (uint64 newSize = oldSize; newSize <= BATCHES; ++newSize) {
                string memory pair = _join(_join(VM.toString(oldSize), ","), VM.toString(newSize));
                bytes32[] memory proof = _words(_key(".checkpoint.consistency", pair));
                assertTrue(
                    harness.verifyConsistency(oldSize, _history(oldSize), newSize, _history(newSize), proof), pair
                );
            }
        }
    }

    function _checkPaths(string memory tree, uint64 size, bytes32 root) private view {
        string[] memory indices = VM.parseJsonKeys(json, _join(tree, ".path_of"));
        assertTrue(indices.length != 0, "a tree has paths");
        for (uint256 i = 0; i < indices.length; ++i) {
            bytes32[] memory path = _words(_key(_join(tree, ".path_of"), indices[i]));
            uint64 index = uint64(VM.parseUint(indices[i]));
            bytes32 leaf = keccak256(abi.encodePacked(bytes1(0x00), index));
            assertTrue(harness.verifyInclusion(root, leaf, index, size, path), "path");
        }
    }

    function _checkConsistencies(string memory tree, uint64 size, bytes32 root) private view {
        string[] memory sizes = VM.parseJsonKeys(json, _join(tree, ".consistency_from"));
        assertTrue(sizes.length != 0, "a tree has consistency proofs");
        for (uint256 i = 0; i < sizes.length; ++i) {
            bytes32[] memory proof = _words(_key(_join(tree, ".consistency_from"), sizes[i]));
            uint64 oldSize = uint64(VM.parseUint(sizes[i]));
            assertTrue(harness.verifyConsistency(oldSize, _rootOfSize(oldSize), size, root, proof), "consistency");
        }
    }

    /// @dev The root over the first `size` batches: the next header's history, or the checkpoint's.
    function _history(uint64 size) private view returns (bytes32) {
        if (size == BATCHES) return _word(".checkpoint.message.history");
        return _word(_join(_at(".batches", size), ".message.history"));
    }

    /// @dev The root that the vectors give for a tree of that size; their trees are each other's prefixes.
    function _rootOfSize(uint64 size) private view returns (bytes32) {
        for (uint256 i = 0; _has(_at(".trees", i)); ++i) {
            if (_uint(_join(_at(".trees", i), ".size")) == size) return _word(_join(_at(".trees", i), ".root"));
        }
        bytes32[] memory treeLeaves = new bytes32[](size);
        for (uint64 i = 0; i < size; ++i) {
            treeLeaves[i] = keccak256(abi.encodePacked(bytes1(0x00), i));
        }
        return ReferenceTree.root(treeLeaves, size);
    }

    function _textHash(string memory key) private view returns (bytes32) {
        return keccak256(bytes(VM.parseJsonString(json, key)));
    }
}
