// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ActionEvidence, CheckpointEvidence, ContentWords, StateEvidence} from "../../src/Evidence.sol";
import {ActionLeaf, Batch, Checkpoint} from "../../src/LogRecords.sol";
import {BondFixture} from "./BondFixture.sol";
import {ReferenceTrie} from "./ReferenceTrie.sol";
import {StateHarness} from "./StateHarness.sol";

/// @dev A log with actions of chosen kinds, and signed checkpoints over a trie of chosen entries; a test forges either.
abstract contract StateFixture is BondFixture {
    string internal constant ORG = "org_35rx61b9m631xvdezsjp7mjky6";
    string internal constant OTHER_ORG = "org_45rx61b9m631xvdezsjp7mjky6";
    string internal constant WALLET = "wal_35rx61b9m631xvdezsjp7mjky6";
    string internal constant OTHER_WALLET = "wal_45rx61b9m631xvdezsjp7mjky6";
    string internal constant TEMPLATE = "tpl_35rx61b9m631xvdezsjp7mjky6";
    string internal constant OBJECT = "obj_35rx61b9m631xvdezsjp7mjky6";
    string internal constant OTHER_OBJECT = "obj_45rx61b9m631xvdezsjp7mjky6";
    bytes32 internal constant PROPERTIES = keccak256("{}");
    address internal constant OWNER_KEY = address(0xA1);
    address internal constant OTHER_KEY = address(0xB1);

    StateHarness internal state;
    string[] internal keys;
    mapping(string key => bytes entry) internal entries;

    function _deployState() internal {
        _deployBonded();
        state = new StateHarness();
        _seal(2);
    }

    /// @dev An action in the middle of a new batch; its leaf extends `previous`.
    function _act(bytes32 previous, string memory kind, string memory target, string memory payload, address signer)
        internal
        returns (ActionEvidence memory evidence)
    {
        Batch memory header = _next(3);
        ContentWords memory words = ContentWords({
            kindHash: keccak256(bytes(kind)),
            targetHash: keccak256(bytes(target)),
            payloadHash: keccak256(bytes(payload)),
            signer: signer,
            authority: keccak256(abi.encode("authority", header.number))
        });
        ActionLeaf memory leaf = actions[header.number][1];
        leaf.content = sha256(abi.encode(words));
        leaf.integrity = keccak256(abi.encodePacked(previous, leaf.content));
        _replaceLeaf(header, 1, leaf);
        _append(header);
        evidence = ActionEvidence({placed: _leafOf(header, 1), isOpened: true, words: words});
    }

    /// @dev What the trie holds under a key from now on; nothing, if it is empty.
    function _put(string memory key, bytes memory entry) internal {
        if (entries[key].length == 0) keys.push(key);
        entries[key] = entry;
    }

    /// @dev A signed checkpoint over all batches and what the trie holds.
    function _checkpoint() internal view returns (CheckpointEvidence memory) {
        Checkpoint memory checkpoint = _trueCheckpoint(uint64(headers.length));
        (bytes32[] memory paths, bytes32[] memory values) = _sorted();
        checkpoint.state = ReferenceTrie.root(paths, values);
        return _signedCheckpoint(checkpoint);
    }

    function _prove(CheckpointEvidence memory signed, string memory key) internal view returns (StateEvidence memory) {
        (bytes32[] memory paths, bytes32[] memory values) = _sorted();
        return StateEvidence({
            signed: signed,
            key: key,
            entry: entries[key],
            nodes: ReferenceTrie.proof(paths, values, keccak256(bytes(key)))
        });
    }

    /// @dev The entry at a new checkpoint, one batch later.
    function _shown(string memory key, bytes memory entry) internal returns (StateEvidence memory) {
        _seal(2);
        _put(key, entry);
        return _prove(_checkpoint(), key);
    }

    /// @dev Both entries at one new checkpoint.
    function _shown(string memory key, bytes memory entry, string memory otherKey, bytes memory otherEntry)
        internal
        returns (StateEvidence memory one, StateEvidence memory other)
    {
        _seal(2);
        _put(key, entry);
        _put(otherKey, otherEntry);
        CheckpointEvidence memory signed = _checkpoint();
        return (_prove(signed, key), _prove(signed, otherKey));
    }

    function _entry(uint64 version, uint64 sequence, bytes32 integrity, bytes memory members)
        internal
        pure
        returns (bytes memory)
    {
        return ReferenceTrie.list(
            abi.encodePacked(
                hex"01", ReferenceTrie.number(version), ReferenceTrie.number(sequence), hex"a0", integrity, members
            )
        );
    }

    /// @dev An object of the template, with serial 1.
    function _object(uint64 version, uint64 sequence, bytes32 integrity, string memory owner, uint64 status)
        internal
        pure
        returns (bytes memory)
    {
        return _object(version, sequence, integrity, owner, status, PROPERTIES);
    }

    function _object(
        uint64 version,
        uint64 sequence,
        bytes32 integrity,
        string memory owner,
        uint64 status,
        bytes32 properties
    ) internal pure returns (bytes memory) {
        return _entry(
            version,
            sequence,
            integrity,
            abi.encodePacked(
                _text(ORG),
                _text(TEMPLATE),
                hex"8001",
                _text(owner),
                hex"94",
                OWNER_KEY,
                ReferenceTrie.number(status),
                hex"a0",
                properties
            )
        );
    }

    function _wallet(uint64 version, uint64 sequence, bytes32 integrity, string memory organization, address key)
        internal
        pure
        returns (bytes memory)
    {
        return _wallet(version, sequence, integrity, organization, key, key);
    }

    /// @dev A wallet with one key; with none, if it is zero.
    function _wallet(
        uint64 version,
        uint64 sequence,
        bytes32 integrity,
        string memory organization,
        address account,
        address key
    ) internal pure returns (bytes memory) {
        bytes memory list = key == address(0) ? bytes("") : abi.encodePacked(hex"94", key);
        return _entry(
            version,
            sequence,
            integrity,
            abi.encodePacked(_text(organization), hex"94", account, hex"80", ReferenceTrie.list(list))
        );
    }

    /// @dev A template with one object made, or as many as `minted`, and the rules' list.
    function _template(
        uint64 version,
        uint64 sequence,
        bytes32 integrity,
        string memory organization,
        uint64 minted,
        bytes memory rules
    ) internal pure returns (bytes memory) {
        return _entry(
            version,
            sequence,
            integrity,
            abi.encodePacked(
                _text(organization),
                hex"80c0",
                ReferenceTrie.number(minted),
                hex"8080a0",
                PROPERTIES,
                hex"a0",
                PROPERTIES,
                ReferenceTrie.list(rules)
            )
        );
    }

    function _text(string memory id) internal pure returns (bytes memory) {
        return ReferenceTrie.text(bytes(id));
    }

    function _idOf(bytes3 prefix, ActionEvidence memory maker) internal view returns (string memory) {
        return string(abi.encodePacked(bytes30(state.madeBy(maker.placed.leaf.content, prefix, 0))));
    }

    function _list(ActionEvidence memory leaf) internal pure returns (ActionEvidence[] memory list) {
        list = new ActionEvidence[](1);
        list[0] = leaf;
    }

    function _sequence(ActionEvidence memory leaf) internal pure returns (uint64) {
        return leaf.placed.leaf.sequence;
    }

    function _integrity(ActionEvidence memory leaf) internal pure returns (bytes32) {
        return leaf.placed.leaf.integrity;
    }

    function _sorted() private view returns (bytes32[] memory paths, bytes32[] memory values) {
        paths = new bytes32[](keys.length);
        values = new bytes32[](keys.length);
        for (uint256 i = 0; i < keys.length; ++i) {
            bytes32 path = keccak256(bytes(keys[i]));
            uint256 place = i;
            for (; place > 0 && paths[place - 1] > path; --place) {
                (paths[place], values[place]) = (paths[place - 1], values[place - 1]);
            }
            (paths[place], values[place]) = (path, keccak256(entries[keys[i]]));
        }
    }
}
