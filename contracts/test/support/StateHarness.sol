// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TrieProof} from "@openzeppelin/contracts/utils/cryptography/TrieProof.sol";

import {ResourceIds} from "../../src/ResourceIds.sol";
import {EntryFields, StateEntry} from "../../src/StateEntry.sol";
import {EntryForm, ShownEntry} from "../../src/StateFaults.sol";
import {StateTrie, TrieOutcome} from "../../src/StateTrie.sol";

/// @dev The state's libraries, called from outside: they read the call's data.
contract StateHarness {
    function follow(bytes32 root, bytes32 path, bytes[] calldata nodes) external pure returns (TrieOutcome, bytes32) {
        return StateTrie.follow(root, path, nodes);
    }

    function read(string calldata key, bytes calldata entry, uint64 sequence)
        external
        pure
        returns (EntryFields memory, bool)
    {
        return StateEntry.read(ResourceIds.parse(key), entry, sequence);
    }

    /// @dev What a right state proof shows of `key`: absence, if the entry is empty.
    function show(uint64 batches, uint64 sequence, bool isRooted, string calldata key, bytes calldata entry)
        external
        pure
        returns (ShownEntry memory shown)
    {
        shown.batches = batches;
        shown.sequence = sequence;
        shown.id = ResourceIds.parse(key);
        if (!isRooted) return shown;
        shown.form = EntryForm.Absent;
        if (entry.length == 0) return shown;
        bool isWellFormed;
        (shown.fields, isWellFormed) = StateEntry.read(shown.id, entry, sequence);
        shown.form = isWellFormed ? EntryForm.Present : EntryForm.Malformed;
    }

    function parse(string calldata key) external pure returns (bytes32) {
        return ResourceIds.parse(key);
    }

    function madeBy(bytes32 content, bytes3 prefix, uint32 index) external pure returns (bytes32) {
        return ResourceIds.madeBy(content, prefix, index);
    }

    function traverse(bytes32 root, bytes memory key, bytes[] memory nodes) external pure returns (bytes memory) {
        return TrieProof.traverse(root, key, nodes);
    }
}
