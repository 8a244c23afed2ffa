// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction, CheckpointEvidence, HeaderEvidence, LeafEvidence} from "../../src/Evidence.sol";
import {ActionLeaf, Batch, Checkpoint, Opening} from "../../src/LogRecords.sol";
import {AnchorFixture} from "./AnchorFixture.sol";
import {ReferenceTree} from "./ReferenceTree.sol";

/// @dev A log as an honest sequencer makes it, action by action, with real signatures; and the evidence that it leaves.
/// Nothing of it is taken from the contracts under test. A test forges by changing a header before it is appended.
abstract contract LogFixture is AnchorFixture {
    uint64 internal constant OBJECTS = 3;
    bytes32 internal constant BATCH_TYPEHASH = keccak256(
        "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)"
    );
    bytes32 internal constant ACTION_TYPEHASH =
        keccak256("Action(string kind,string target,string payload,bytes32 salt)");
    bytes32 internal constant REQUEST_TYPEHASH = keccak256(
        "ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)Action(string kind,string target,string payload,bytes32 salt)"
    );

    Batch[] internal headers;
    mapping(uint64 number => ActionLeaf[]) internal actions;
    mapping(uint64 number => bytes32[]) internal actionHashes;
    mapping(uint64 number => mapping(uint32 index => bytes32)) internal previousIntegrities;
    mapping(uint64 object => bytes32) internal integrities;

    /// @dev Makes the next batch and appends it.
    function _seal(uint32 count) internal {
        _append(_next(count));
    }

    /// @dev Makes the next batch, of one request: each action extends one of a few objects.
    function _next(uint32 count) internal returns (Batch memory header) {
        header = _bareHeader(count);
        bytes32[] storage hashes = actionHashes[header.number];
        delete actionHashes[header.number];
        delete actions[header.number];
        bytes32 signatureHash = keccak256(_requestSignature(header.number, count));
        for (uint32 i = 0; i < count; ++i) {
            ActionLeaf memory leaf = _nextLeaf(header, i, signatureHash);
            actions[header.number].push(leaf);
            hashes.push(_leafHash(leaf));
        }
        header.root = ReferenceTree.root(hashes, count);
        header.head = _chain(header.previousHead, hashes);
    }

    /// @dev Takes a batch into the log, as it is.
    function _append(Batch memory header) internal {
        headers.push(header);
        leaves.push(keccak256(abi.encodePacked(bytes1(0x00), _batchHash(header))));
    }

    /// @dev The batch's leaves become these, and its root with them.
    function _replaceLeaf(Batch memory header, uint32 index, ActionLeaf memory leaf) internal {
        actions[header.number][index] = leaf;
        actionHashes[header.number][index] = _leafHash(leaf);
        header.root = ReferenceTree.root(actionHashes[header.number], header.count);
        header.head = _chain(header.previousHead, actionHashes[header.number]);
    }

    /// @dev The true checkpoint over the first `size` batches.
    function _trueCheckpoint(uint64 size) internal view returns (Checkpoint memory) {
        Batch memory last = headers[size - 1];
        return Checkpoint({
            batches: size,
            sequence: last.firstSequence + last.count - 1,
            head: last.head,
            history: ReferenceTree.root(leaves, size),
            state: 0,
            issuedAt: uint64(block.timestamp) * 1000
        });
    }

    function _anchorLog(uint64 size) internal {
        (uint64 last,,) = anchorContract.latest();
        Checkpoint memory checkpoint = _trueCheckpoint(size);
        anchorContract.anchor(
            checkpoint, _sign(SEQUENCER_SECRET, checkpoint), ReferenceTree.consistency(leaves, last, size)
        );
    }

    function _signHeader(uint256 secret, Batch memory header) internal view returns (bytes memory) {
        return _signature(secret, _batchHash(header));
    }

    function _signed(Batch memory header) internal view returns (HeaderEvidence memory) {
        return HeaderEvidence({
            header: header,
            signature: _signHeader(SEQUENCER_SECRET, header),
            keyIndex: 0,
            anchoredBatches: 0,
            path: new bytes32[](0)
        });
    }

    function _anchored(uint64 number, uint64 size) internal view returns (HeaderEvidence memory) {
        return HeaderEvidence({
            header: headers[number],
            signature: "",
            keyIndex: 0,
            anchoredBatches: size,
            path: ReferenceTree.path(leaves, number, size)
        });
    }

    function _signedCheckpoint(Checkpoint memory checkpoint) internal view returns (CheckpointEvidence memory) {
        return CheckpointEvidence({checkpoint: checkpoint, signature: _sign(SEQUENCER_SECRET, checkpoint), keyIndex: 0});
    }

    function _leafOf(Batch memory header, uint32 index) internal view returns (LeafEvidence memory) {
        return LeafEvidence({
            leaf: actions[header.number][index],
            index: index,
            path: ReferenceTree.path(actionHashes[header.number], index, header.count),
            batch: _signed(header)
        });
    }

    function _anchoredAction(uint64 number, uint32 index, uint64 size) internal view returns (AnchoredAction memory) {
        return AnchoredAction({
            anchoredBatches: size,
            header: headers[number],
            leaf: actions[number][index],
            leafPath: ReferenceTree.path(actionHashes[number], index, headers[number].count),
            batchPath: ReferenceTree.path(leaves, number, size)
        });
    }

    /// @dev The request of a batch's actions, opened at one of them.
    function _opening(uint64 number, uint32 index, uint32 count) internal view returns (Opening memory) {
        return Opening({
            kindHash: keccak256("update"),
            targetHash: _targetHash(index),
            payloadHash: _payloadHash(number, index),
            salt: _salt(number, index),
            signer: VM.addr(_signerSecret(number)),
            nonce: number,
            deadline: START_S + 1 days,
            atomic: number % 2 == 0,
            index: index,
            actionHashes: _requestActions(number, count),
            signature: _requestSignature(number, count)
        });
    }

    function _requestHash(Opening memory opening) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                REQUEST_TYPEHASH,
                opening.signer,
                opening.nonce,
                opening.deadline,
                opening.atomic,
                keccak256(abi.encodePacked(opening.actionHashes))
            )
        );
    }

    function _contentOf(Opening memory opening) internal pure returns (bytes32) {
        bytes32 authority = keccak256(abi.encodePacked(keccak256(opening.signature), opening.salt));
        return sha256(abi.encode(opening.kindHash, opening.targetHash, opening.payloadHash, opening.signer, authority));
    }

    function _signature(uint256 secret, bytes32 structHash) internal view returns (bytes memory) {
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", anchorContract.domainSeparator(), structHash));
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(secret, digest);
        return abi.encodePacked(r, s, v);
    }

    function _batchHash(Batch memory header) internal pure returns (bytes32) {
        return keccak256(abi.encode(BATCH_TYPEHASH, header));
    }

    function _leafHash(ActionLeaf memory leaf) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), leaf.sequence, leaf.timestampMs, leaf.content, leaf.integrity));
    }

    function _chain(bytes32 head, bytes32[] memory hashes) internal pure returns (bytes32) {
        for (uint256 i = 0; i < hashes.length; ++i) {
            head = keccak256(abi.encodePacked(head, hashes[i]));
        }
        return head;
    }

    function _signerSecret(uint64 number) internal pure returns (uint256) {
        return 0xA11CE + number % 3;
    }

    function _salt(uint64 number, uint32 index) internal pure returns (bytes32) {
        return keccak256(abi.encode("salt", number, index));
    }

    function _bareHeader(uint32 count) private view returns (Batch memory header) {
        uint64 number = uint64(headers.length);
        header.number = number;
        header.count = count;
        header.history = ReferenceTree.root(leaves, number);
        header.sealedAt = START_S * 1000 + number * 1000 + 999;
        if (number == 0) {
            header.firstSequence = 1;
            header.previousHead = anchorContract.domainSeparator();
        } else {
            Batch storage last = headers[number - 1];
            header.firstSequence = last.firstSequence + last.count;
            header.previousHead = last.head;
        }
    }

    function _nextLeaf(Batch memory header, uint32 index, bytes32 signatureHash)
        private
        returns (ActionLeaf memory leaf)
    {
        bytes32 authority = keccak256(abi.encodePacked(signatureHash, _salt(header.number, index)));
        bytes32 content = sha256(
            abi.encode(
                keccak256("update"),
                _targetHash(index),
                _payloadHash(header.number, index),
                VM.addr(_signerSecret(header.number)),
                authority
            )
        );
        uint64 object = index % OBJECTS;
        bytes32 previous = integrities[object];
        bytes32 integrity = keccak256(abi.encodePacked(previous, content));
        previousIntegrities[header.number][index] = previous;
        integrities[object] = integrity;
        return ActionLeaf({
            sequence: header.firstSequence + index,
            timestampMs: START_S * 1000 + header.number * 1000 + index,
            content: content,
            integrity: integrity
        });
    }

    function _requestSignature(uint64 number, uint32 count) private view returns (bytes memory) {
        uint256 secret = _signerSecret(number);
        bytes32 structHash = keccak256(
            abi.encode(
                REQUEST_TYPEHASH,
                VM.addr(secret),
                number,
                START_S + 1 days,
                number % 2 == 0,
                keccak256(abi.encodePacked(_requestActions(number, count)))
            )
        );
        return _signature(secret, structHash);
    }

    function _requestActions(uint64 number, uint32 count) private pure returns (bytes32[] memory hashes) {
        hashes = new bytes32[](count);
        for (uint32 i = 0; i < count; ++i) {
            hashes[i] = keccak256(
                abi.encode(
                    ACTION_TYPEHASH, keccak256("update"), _targetHash(i), _payloadHash(number, i), _salt(number, i)
                )
            );
        }
    }

    function _targetHash(uint32 index) private pure returns (bytes32) {
        return keccak256(abi.encode("object", index % OBJECTS));
    }

    function _payloadHash(uint64 number, uint32 index) private pure returns (bytes32) {
        return keccak256(abi.encode("payload", number, index));
    }
}
