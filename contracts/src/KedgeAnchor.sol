// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC5267} from "@openzeppelin/contracts/interfaces/IERC5267.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";

import {IKedgeAnchor} from "./IKedgeAnchor.sol";
import {IKedgeBond} from "./IKedgeBond.sol";
import {ActionLeaf, Batch, Checkpoint, LogRecords} from "./LogRecords.sol";
import {LogTree} from "./LogTree.sol";
import {ResourceIds} from "./ResourceIds.sol";
import {StateEntry} from "./StateEntry.sol";
import {StateTrie, TrieOutcome} from "./StateTrie.sol";

/// @title The anchor of an ordered log of signed actions
/// @notice See `IKedgeAnchor`. No proxy, no funds: what it took can't be changed by anyone. The operator's bond is in a
/// contract of its own, which may do one thing here: freeze.
contract KedgeAnchor is IKedgeAnchor, IERC5267, Ownable2Step, Pausable {
    using Checkpoints for Checkpoints.Trace160;
    using LogRecords for ActionLeaf;
    using LogRecords for Batch;
    using LogRecords for Checkpoint;

    /// @dev One slot: all that a new checkpoint is measured against, but for the history.
    struct Latest {
        uint64 batches;
        uint64 sequence;
    }

    /// @dev When a key was named, and when all its batches were anchored; both in seconds.
    struct KeyTimes {
        uint64 namedAt;
        uint64 closedAt;
    }

    /// @notice How far a checkpoint's time may be ahead of its block's, in milliseconds: an anchoring period, far more
    /// than clocks differ and far less than would make a forged date useful.
    uint64 public constant MAX_AHEAD_MS = 15 minutes * 1000;

    /// @dev The bytes of a record that has a state.
    uint256 private constant RECORD_SIZE = 6 * 32;

    string private constant DOMAIN_NAME = "Digital Object Service";
    string private constant DOMAIN_VERSION = "3";
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    // Fixed for good: the domain belongs to the log, and signatures must outlive a change of chain id or of contract.
    uint256 private immutable DOMAIN_CHAIN_ID;
    address private immutable DOMAIN_CONTRACT;
    bytes32 private immutable DOMAIN_SEPARATOR;

    /// @dev First, so that it shares the slot that tells whether the contract is paused: anchoring reads both.
    Status private _status;
    Latest private _latest;
    mapping(uint64 batches => Record record) private _records;
    /// @dev Keys by the batch that they are valid from.
    Checkpoints.Trace160 private _sequencerKeys;
    mapping(uint256 index => KeyTimes times) private _keyTimes;
    address private _bond;
    address private _successor;
    /// @dev When it handed over, in seconds.
    uint64 private _retiredAt;
    address private _predecessor;
    /// @dev The batches that the predecessor holds.
    uint64 private _start;

    /// @param initialOwner Who may rotate the sequencer's key and pause.
    /// @param initialSequencerKey The key that signs from batch 0 on.
    /// @param domainContract The log's first anchor contract; zero where that is this one.
    constructor(address initialOwner, address initialSequencerKey, address domainContract) Ownable(initialOwner) {
        DOMAIN_CHAIN_ID = block.chainid;
        DOMAIN_CONTRACT = domainContract == address(0) ? address(this) : domainContract;
        DOMAIN_SEPARATOR = keccak256(
            abi.encode(
                DOMAIN_TYPEHASH,
                keccak256(bytes(DOMAIN_NAME)),
                keccak256(bytes(DOMAIN_VERSION)),
                DOMAIN_CHAIN_ID,
                DOMAIN_CONTRACT
            )
        );
        if (DOMAIN_CONTRACT != address(this)) _status = Status.Waiting;
        _store(0, 0, 0, LogTree.EMPTY_ROOT, 0);
        _addSequencerKey(initialSequencerKey, 0);
    }

    /// @inheritdoc IKedgeAnchor
    function anchor(Checkpoint calldata sent, bytes calldata signature, bytes32[] calldata consistencyProof)
        external
        override
        whenNotPaused
    {
        _requireOpen();
        // One copy, its numbers checked once: cheaper than reading calldata again and again.
        Checkpoint memory next = sent;
        Latest memory last = _latest;
        if (next.batches <= last.batches || next.sequence <= last.sequence) {
            revert NotNewer(last.batches, last.sequence, next.batches, next.sequence);
        }
        uint256 latestAllowed = block.timestamp * 1000 + MAX_AHEAD_MS;
        // The few seconds that a block's builder can shift are nothing beside the bound.
        // slither-disable-next-line timestamp
        if (next.issuedAt > latestAllowed) revert IssuedAhead(next.issuedAt, latestAllowed);
        _requireSequencer(next, signature);
        bytes32 lastHistory = _records[last.batches].history;
        if (!LogTree.verifyConsistency(last.batches, lastHistory, next.batches, next.history, consistencyProof)) {
            revert HistoryNotExtended(last.batches, next.batches);
        }

        _store(next.batches, next.sequence, next.issuedAt, next.history, next.state);
        emit Anchored(next.batches, next.sequence, next.head, next.history, next.state, next.issuedAt);
    }

    /// @inheritdoc IKedgeAnchor
    function rotate(address key, uint64 fromBatch) external override onlyOwner {
        // There is always a key: the constructor adds one.
        // slither-disable-next-line unused-return
        (, uint96 lastFromBatch,) = _sequencerKeys.latestCheckpoint();
        uint64 anchoredBatches = _latest.batches;
        // Batch numbers start at 0, so the batch with number `anchoredBatches` is the first that is not anchored.
        if (fromBatch < anchoredBatches || fromBatch <= lastFromBatch) {
            revert RotationTooEarly(fromBatch, anchoredBatches, lastFromBatch);
        }
        _addSequencerKey(key, fromBatch);
    }

    /// @inheritdoc IKedgeAnchor
    function pause() external override onlyOwner {
        _pause();
    }

    /// @inheritdoc IKedgeAnchor
    function unpause() external override onlyOwner {
        _unpause();
    }

    /// @inheritdoc IKedgeAnchor
    function nameBond(address bondContract) external override onlyOwner {
        if (_bond != address(0) || IKedgeBond(bondContract).anchorContract() != address(this)) {
            revert WrongBond(bondContract);
        }
        _bond = bondContract;
        emit BondNamed(bondContract);
    }

    /// @inheritdoc IKedgeAnchor
    function freeze() external override {
        if (msg.sender != _bond) revert NotTheBond(msg.sender);
        _status = Status.Frozen;
        emit Frozen();
    }

    /// @inheritdoc IKedgeAnchor
    function retire(address nextContract) external override onlyOwner {
        _requireOpen();
        uint64 batches = _latest.batches;
        IKedgeAnchor next = IKedgeAnchor(nextContract);
        if (
            nextContract == address(this) || next.domainSeparator() != DOMAIN_SEPARATOR
                || next.status() != Status.Waiting || next.sequencerKeyAt(batches) != sequencerKeyAt(batches)
        ) revert WrongSuccessor(nextContract);
        _status = Status.Retired;
        _successor = nextContract;
        _retiredAt = uint64(block.timestamp);
        emit Retired(nextContract, batches);
        next.takeOver();
    }

    /// @inheritdoc IKedgeAnchor
    function takeOver() external override {
        if (_status != Status.Waiting) revert NotOpen(_status);
        // Nothing that the caller says of itself counts: the log's first contract leads to it, or it is refused.
        address last = DOMAIN_CONTRACT;
        while (last != msg.sender && last != address(0)) {
            // One contract a handing-over: an owner's doing, and rare.
            // slither-disable-next-line calls-loop
            last = IKedgeAnchor(last).successor();
        }
        if (last == address(0) || IKedgeAnchor(last).successor() != address(this)) {
            revert NotThePredecessor(msg.sender);
        }
        _status = Status.Open;
        _predecessor = last;
        (uint64 batches, uint64 sequence, bytes32 history) = IKedgeAnchor(last).latest();
        _start = batches;
        (uint64 issuedAt, bytes32 state) = _signedBefore(last, batches);
        _store(batches, sequence, issuedAt, history, state);
        emit TakenOver(last, batches, sequence, history);
    }

    /// @inheritdoc IKedgeAnchor
    function closeKey(uint32 index, uint64 batches) external override {
        uint64 anchoredAt = _recordOf(batches).anchoredAt;
        KeyTerm memory term = keyTerm(index);
        if (term.replacedAt == 0 || batches < term.untilBatch) revert KeyStillInUse(index, batches);
        // The earliest such checkpoint counts, whoever names it.
        if (term.closedAt == 0 || anchoredAt < term.closedAt) {
            _keyTimes[index].closedAt = anchoredAt;
            emit SequencerKeyClosed(index, anchoredAt);
        }
    }

    /// @notice Always reverts: a log without an owner could never change a lost key.
    function renounceOwnership() public view override onlyOwner {
        revert OwnershipRequired();
    }

    /// @inheritdoc IKedgeAnchor
    function verifyBatch(uint64 anchoredBatches, Batch calldata header, bytes32[] calldata path)
        public
        view
        override
        returns (bytes32 batchHash)
    {
        Record storage record = _recordOf(anchoredBatches);
        batchHash = header.hash();
        bytes32 leaf = LogTree.leaf(batchHash);
        if (!LogTree.verifyInclusion(record.history, leaf, header.number, anchoredBatches, path)) {
            revert BatchNotInHistory(anchoredBatches, header.number);
        }
    }

    /// @inheritdoc IKedgeAnchor
    function verifyAction(
        uint64 anchoredBatches,
        Batch calldata header,
        ActionLeaf calldata action,
        bytes32[] calldata actionPath,
        bytes32[] calldata batchPath
    ) external view override returns (bytes32 leafHash) {
        verifyBatch(anchoredBatches, header, batchPath);
        leafHash = action.hash();
        if (
            action.sequence < header.firstSequence
                || !LogTree.verifyInclusion(
                    header.root, leafHash, action.sequence - header.firstSequence, header.count, actionPath
                )
        ) revert ActionNotInBatch(header.number, action.sequence);
    }

    /// @inheritdoc IKedgeAnchor
    function verifyState(uint64 batches, string calldata key, bytes calldata entry, bytes[] calldata nodes)
        external
        view
        override
        returns (uint64 sequence)
    {
        bytes32 id = ResourceIds.parse(key);
        if (!ResourceIds.mayBePresent(ResourceIds.prefixOf(id))) revert UnfitStateKey(key);
        (TrieOutcome outcome, bytes32 value) = _follow(batches, key, nodes);
        if (outcome != TrieOutcome.Present || value != keccak256(entry)) revert StateNotProven(batches, key);
        sequence = _records[batches].sequence;
        // slither-disable-next-line unused-return
        (, bool isWellFormed) = StateEntry.read(id, entry, sequence);
        if (!isWellFormed) revert MalformedEntry(batches, key);
    }

    /// @inheritdoc IKedgeAnchor
    function verifyAbsence(uint64 batches, string calldata key, bytes[] calldata nodes)
        external
        view
        override
        returns (uint64 sequence)
    {
        if (!ResourceIds.mayBeAbsent(ResourceIds.prefixOf(ResourceIds.parse(key)))) revert UnfitStateKey(key);
        (TrieOutcome outcome,) = _follow(batches, key, nodes);
        if (outcome != TrieOutcome.Absent) revert StateNotProven(batches, key);
        return _records[batches].sequence;
    }

    /// @inheritdoc IKedgeAnchor
    function contentOf(bytes32 kindHash, bytes32 targetHash, bytes32 payloadHash, address signer, bytes32 authority)
        external
        pure
        override
        returns (bytes32)
    {
        return LogRecords.content(kindHash, targetHash, payloadHash, signer, authority);
    }

    /// @inheritdoc IKedgeAnchor
    function latest() external view override returns (uint64 batches, uint64 sequence, bytes32 history) {
        Latest memory last = _latest;
        return (last.batches, last.sequence, _records[last.batches].history);
    }

    /// @inheritdoc IKedgeAnchor
    function checkpoint(uint64 batches) external view override returns (Record memory) {
        return _recordOf(batches);
    }

    /// @inheritdoc IKedgeAnchor
    function sequencerKeyAt(uint64 batch) public view override returns (address) {
        if (batch < _start) return IKedgeAnchor(_predecessor).sequencerKeyAt(batch);
        return _ownKeyAt(batch);
    }

    /// @inheritdoc IKedgeAnchor
    function sequencerKeyCount() external view override returns (uint256) {
        return _sequencerKeys.length();
    }

    /// @inheritdoc IKedgeAnchor
    function sequencerKey(uint32 index) public view override returns (address key, uint64 fromBatch) {
        Checkpoints.Checkpoint160 memory entry = _sequencerKeys.at(index);
        // Only `_addSequencerKey` writes entries, so casting to 'uint64' is safe.
        // forge-lint: disable-next-line(unsafe-typecast)
        return (address(entry._value), uint64(entry._key));
    }

    /// @inheritdoc IKedgeAnchor
    function keyTerm(uint32 index) public view override returns (KeyTerm memory term) {
        (term.key, term.fromBatch) = sequencerKey(index);
        term.untilBatch = type(uint64).max;
        term.closedAt = _keyTimes[index].closedAt;
        uint256 next = uint256(index) + 1;
        if (next < _sequencerKeys.length()) {
            // Below the length, which is a uint32 where `at` takes it.
            // forge-lint: disable-next-line(unsafe-typecast)
            (, term.untilBatch) = sequencerKey(uint32(next));
            term.replacedAt = _keyTimes[next].namedAt;
        }
    }

    /// @inheritdoc IKedgeAnchor
    function coverage() external view override returns (uint64 fromBatch, uint64 untilBatch, uint64 retiredAt) {
        return (_start, _successor == address(0) ? type(uint64).max : _latest.batches, _retiredAt);
    }

    /// @inheritdoc IKedgeAnchor
    function status() external view override returns (Status) {
        return _status;
    }

    /// @inheritdoc IKedgeAnchor
    function bond() external view override returns (address) {
        return _bond;
    }

    /// @inheritdoc IKedgeAnchor
    function predecessor() external view override returns (address) {
        return _predecessor;
    }

    /// @inheritdoc IKedgeAnchor
    function successor() external view override returns (address) {
        return _successor;
    }

    /// @inheritdoc IKedgeAnchor
    function domainSeparator() external view override returns (bytes32) {
        return DOMAIN_SEPARATOR;
    }

    /// @inheritdoc IERC5267
    function eip712Domain()
        external
        view
        override
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        // 0x0f: name, version, chainId and verifyingContract are used, salt is not.
        return (hex"0f", DOMAIN_NAME, DOMAIN_VERSION, DOMAIN_CHAIN_ID, DOMAIN_CONTRACT, bytes32(0), new uint256[](0));
    }

    function _requireSequencer(Checkpoint memory next, bytes calldata signature) private view {
        address expected = _ownKeyAt(next.batches - 1);
        address recovered =
            ECDSA.recoverCalldata(MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR, next.hash()), signature);
        if (recovered != expected) revert WrongSigner(recovered, expected);
    }

    function _requireOpen() private view {
        Status current = _status;
        if (current != Status.Open) revert NotOpen(current);
    }

    function _ownKeyAt(uint64 batch) private view returns (address) {
        return address(_sequencerKeys.upperLookupRecent(batch));
    }

    function _recordOf(uint64 batches) private view returns (Record storage record) {
        record = _records[batches];
        // A history may be any word, a block's time is never zero.
        if (record.anchoredAt == 0) revert UnknownCheckpoint(batches);
    }

    function _follow(uint64 batches, string calldata key, bytes[] calldata nodes)
        private
        view
        returns (TrieOutcome, bytes32)
    {
        bytes32 state = _recordOf(batches).state;
        if (state == 0) revert UnrootedCheckpoint(batches);
        return StateTrie.follow(state, keccak256(bytes(key)), nodes);
    }

    /// @dev What a predecessor kept of its last checkpoint. One of before has no state in its record, so the answer is read
    /// as far as it goes.
    function _signedBefore(address last, uint64 batches) private view returns (uint64 issuedAt, bytes32 state) {
        bytes memory record = Address.functionStaticCall(last, abi.encodeCall(IKedgeAnchor.checkpoint, (batches)));
        (, issuedAt) = abi.decode(record, (uint64, uint64));
        if (record.length >= RECORD_SIZE) state = abi.decode(record, (Record)).state;
    }

    function _store(uint64 batches, uint64 sequence, uint64 issuedAt, bytes32 history, bytes32 state) private {
        _latest.batches = batches;
        _latest.sequence = sequence;
        Record storage record = _records[batches];
        record.sequence = sequence;
        record.issuedAt = issuedAt;
        record.anchoredAt = uint64(block.timestamp);
        record.blockNumber = uint64(block.number);
        record.history = history;
        // A slot that stays zero is not paid for.
        if (state != 0) record.state = state;
    }

    function _addSequencerKey(address key, uint64 fromBatch) private {
        if (key == address(0)) revert ZeroSequencerKey();
        // It returns the old and new value, known here.
        // slither-disable-next-line unused-return
        _sequencerKeys.push(fromBatch, uint160(key));
        _keyTimes[_sequencerKeys.length() - 1].namedAt = uint64(block.timestamp);
        emit SequencerKeyRotated(key, fromBatch);
    }
}
