// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction} from "../../src/Evidence.sol";
import {ActionLeaf, Batch, Checkpoint} from "../../src/LogRecords.sol";
import {AnchorFixture} from "./AnchorFixture.sol";

/// @dev The protocol's own vectors: a log of a few batches, made by an independent implementation.
abstract contract SpecLog is AnchorFixture {
    uint256 internal constant BATCHES = 4;

    string internal json;

    /// @dev Reads the vectors and deploys the contract that they name.
    function _readSpec() internal {
        json = VM.readFile("../crates/protocol/vectors/spec.json");
        _deploy();
        VM.warp(_uint(".checkpoint.message.issuedAt") / 1000 + 1);
    }

    function _anchorSpec() internal {
        anchorContract.anchor(_specCheckpoint(), VM.parseJsonBytes(json, ".checkpoint.signature"), new bytes32[](0));
    }

    function _specCheckpoint() internal view returns (Checkpoint memory) {
        return Checkpoint({
            batches: uint64(_uint(".checkpoint.message.batches")),
            sequence: uint64(_uint(".checkpoint.message.sequence")),
            head: _word(".checkpoint.message.head"),
            history: _word(".checkpoint.message.history"),
            state: _word(".checkpoint.message.state"),
            issuedAt: uint64(_uint(".checkpoint.message.issuedAt"))
        });
    }

    function _specBatch(uint256 i) internal view returns (Batch memory) {
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

    function _specLeaf(uint256 i) internal view returns (ActionLeaf memory) {
        string memory record = _at(".records", i);
        return ActionLeaf({
            sequence: uint64(_uint(_join(record, ".sequence"))),
            timestampMs: uint64(_uint(_join(record, ".timestamp_ms"))),
            content: _word(_join(record, ".content")),
            integrity: _word(_join(record, ".integrity"))
        });
    }

    function _specPath(uint256 i) internal view returns (bytes32[] memory) {
        return _words(_at(".checkpoint.batch_paths", i));
    }

    /// @dev A record with its paths to the anchored checkpoint.
    function _specAction(uint256 record) internal view returns (AnchoredAction memory action) {
        uint256 batch = 0;
        uint256 index = record;
        action.header = _specBatch(batch);
        while (index >= action.header.count) {
            index -= action.header.count;
            action.header = _specBatch(++batch);
        }
        action.anchoredBatches = uint64(BATCHES);
        action.leaf = _specLeaf(record);
        action.leafPath = _words(_at(_join(_at(".batches", batch), ".paths"), index));
        action.batchPath = _specPath(batch);
    }

    function _has(string memory key) internal view returns (bool) {
        return VM.keyExistsJson(json, key);
    }

    function _uint(string memory key) internal view returns (uint256) {
        return VM.parseJsonUint(json, key);
    }

    function _word(string memory key) internal view returns (bytes32) {
        return VM.parseJsonBytes32(json, key);
    }

    function _words(string memory key) internal view returns (bytes32[] memory) {
        return VM.parseJsonBytes32Array(json, key);
    }

    function _at(string memory key, uint256 index) internal pure returns (string memory) {
        return string.concat(key, "[", VM.toString(index), "]");
    }

    function _key(string memory key, string memory member) internal pure returns (string memory) {
        return string.concat(key, "['", member, "']");
    }

    function _join(string memory key, string memory rest) internal pure returns (string memory) {
        return string.concat(key, rest);
    }
}
