// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionLeaf, Batch, Checkpoint} from "../src/LogRecords.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";
import {LogTreeHarness} from "./support/LogTreeHarness.sol";
import {ReferenceTree} from "./support/ReferenceTree.sol";

/// @dev The protocol's own vectors, made by an independent implementation.
contract VectorsTest is AnchorFixture {
    uint256 private constant BATCHES = 4;

    LogTreeHarness private harness;
    string private json;

    function setUp() public {
        json = VM.readFile("../protocol/vectors/spec.json");
        harness = new LogTreeHarness();
        _deploy();
        VM.warp(_uint(".checkpoint.message.issuedAt") / 1000 + 1);
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
        Checkpoint memory message = _vectorCheckpoint();
        bytes32 digest = _digest(anchorContract.domainSeparator(), message);
        assertEq(digest, _word(".checkpoint.digest"), "digest");
        _anchorVector();
        IKedgeAnchor.Record memory record = anchorContract.checkpoint(message.batches);
        assertEq(record.history, message.history, "history");
        assertEq(record.sequence, message.sequence, "sequence");
        assertEq(record.issuedAt, message.issuedAt, "issuedAt");
    }

    function test_everyBatchIsVerifiedAgainstTheAnchor() public {
        _anchorVector();
        for (uint256 i = 0; i < BATCHES; ++i) {
            bytes32 batchHash = anchorContract.verifyBatch(uint64(BATCHES), _batch(i), _batchPath(i));
            assertEq(batchHash, _word(_join(_at(".batches", i), ".batch_hash")), "batch hash");
        }
    }

    function test_everyActionIsVerifiedAgainstTheAnchor() public {
        _anchorVector();
        uint256 record = 0;
        for (uint256 i = 0; i < BATCHES; ++i) {
            Batch memory header = _batch(i);
            for (uint256 index = 0; index < header.count; ++index) {
                bytes32[] memory path = _words(_at(_join(_at(".batches", i), ".paths"), index));
                bytes32 leaf =
                    anchorContract.verifyAction(uint64(BATCHES), header, _action(record), path, _batchPath(i));
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

    function _anchorVector() private {
        anchorContract.anchor(_vectorCheckpoint(), VM.parseJsonBytes(json, ".checkpoint.signature"), new bytes32[](0));
    }

    function _vectorCheckpoint() private view returns (Checkpoint memory) {
        return Checkpoint({
            batches: uint64(_uint(".checkpoint.message.batches")),
            sequence: uint64(_uint(".checkpoint.message.sequence")),
            head: _word(".checkpoint.message.head"),
            history: _word(".checkpoint.message.history"),
            state: _word(".checkpoint.message.state"),
            issuedAt: uint64(_uint(".checkpoint.message.issuedAt"))
        });
    }

    function _batch(uint256 i) private view returns (Batch memory) {
        string memory message = _join(_at(".batches", i), ".message");
        return Batch({
            number: uint64(_uint(_join(message, ".number"))),
            firstSequence: uint64(_uint(_join(message, ".firstSequence"))),
            count: uint32(_uint(_join(message, ".count"))),
            previousHead: _word(_join(message, ".previousHead")),
            head: _word(_join(message, ".head")),
            root: _word(_join(message, ".root")),
            history: _word(_join(message, ".history")),
            state: _word(_join(message, ".state")),
            sealedAt: uint64(_uint(_join(message, ".sealedAt")))
        });
    }

    function _action(uint256 i) private view returns (ActionLeaf memory) {
        string memory record = _at(".records", i);
        return ActionLeaf({
            sequence: uint64(_uint(_join(record, ".sequence"))),
            timestampMs: uint64(_uint(_join(record, ".timestamp_ms"))),
            content: _word(_join(record, ".content")),
            integrity: _word(_join(record, ".integrity"))
        });
    }

    function _batchPath(uint256 i) private view returns (bytes32[] memory) {
        return _words(_at(".checkpoint.batch_paths", i));
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

    function _has(string memory key) private view returns (bool) {
        return VM.keyExistsJson(json, key);
    }

    function _uint(string memory key) private view returns (uint256) {
        return VM.parseJsonUint(json, key);
    }

    function _word(string memory key) private view returns (bytes32) {
        return VM.parseJsonBytes32(json, key);
    }

    function _words(string memory key) private view returns (bytes32[] memory) {
        return VM.parseJsonBytes32Array(json, key);
    }

    function _at(string memory key, uint256 index) private pure returns (string memory) {
        return string.concat(key, "[", VM.toString(index), "]");
    }

    function _key(string memory key, string memory member) private pure returns (string memory) {
        return string.concat(key, "['", member, "']");
    }

    function _join(string memory key, string memory rest) private pure returns (string memory) {
        return string.concat(key, rest);
    }
}
