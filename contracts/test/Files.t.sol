// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Groth16Verifier} from "../src/Groth16Verifier.sol";
import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeClaims} from "../src/IKedgeClaims.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {KedgeClaims} from "../src/KedgeClaims.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";

/// @dev The table of files that all checkers share: where a file tells the contract enough, it comes to the same verdict.
contract FilesTest is AnchorFixture {
    string private constant TABLE = "../crates/protocol/vectors/files.json";
    bytes32 private constant CASES = keccak256('"cases":[');
    bytes32 private constant END = keccak256("]}");
    bytes32 private constant CLAIMS = keccak256("claims");
    bytes32 private constant OTHER_CONTENT = keccak256("OtherContent");
    /// @dev The first contract of this account is the resolver that the claims name.
    address private constant CLAIMS_DEPLOYER = 0x70997970C51812dc3A010C7d01b50e0d17dc79C8;
    /// @dev A precompile that gets no point takes all the gas that it is given.
    uint256 private constant CALL_GAS = 4_000_000;

    KedgeClaims private claims;

    function setUp() public {
        // The first line lacks its end, which stands behind the cases.
        string memory state = string.concat(_line(), "}");
        VM.chainId(VM.parseJsonUint(state, ".domain.chain_id"));
        VM.warp(VM.parseJsonUint(state, ".now_s"));
        VM.prank(DEPLOYER);
        anchorContract = new KedgeAnchor(OWNER, VM.parseJsonAddress(state, ".sequencer"), address(0));
        assertEq(
            address(anchorContract), VM.parseJsonAddress(state, ".domain.verifying_contract"), "the contract's address"
        );
        for (uint256 i = 0; VM.keyExistsJson(state, _entry(i, "")); ++i) {
            _anchor(state, i);
        }
        VM.prank(CLAIMS_DEPLOYER);
        claims = new KedgeClaims(anchorContract);
        assertEq(address(claims), VM.parseJsonAddress(state, ".resolver"), "the resolver's address");
        Groth16Verifier verifier = new Groth16Verifier(_numbers(state, ".key"));
        VM.prank(OWNER);
        claims.addVerifier(verifier);
    }

    // Holds invariant 70.
    function test_everyFileHasItsVerdict() public {
        uint256 taken = 0;
        uint256 refused = 0;
        while (keccak256(bytes(_line())) != CASES) {}
        for (string memory entry = _line(); keccak256(bytes(entry)) != END; entry = _line()) {
            if (!VM.keyExistsJson(entry, ".contract.calldata")) continue;
            string memory name = VM.parseJsonString(entry, ".name");
            (bool isTaken, bytes32 reason) = _judge(entry);
            assertTrue(isTaken == VM.parseJsonBool(entry, ".valid"), name);
            if (isTaken) {
                ++taken;
            } else {
                assertEq(reason, keccak256(bytes(VM.parseJsonString(entry, ".contract.refused"))), name);
                ++refused;
            }
        }
        assertTrue(taken >= 30 && refused >= 60, "there are cases of both kinds");
    }

    /// @dev What the contract says, and the hash of the error's name where it takes no part in the file.
    function _judge(string memory entry) private returns (bool isTaken, bytes32 reason) {
        bool isClaim = keccak256(bytes(VM.parseJsonString(entry, ".contract.to"))) == CLAIMS;
        // A context is used up by its claim, which stands in the table more than once.
        uint256 before = VM.snapshotState();
        VM.prank(VM.parseJsonAddress(entry, ".contract.from"));
        bytes memory answer;
        (isTaken, answer) = (isClaim ? address(claims) : address(anchorContract)).call{gas: CALL_GAS}(
            VM.parseJsonBytes(entry, ".contract.calldata")
        );
        VM.revertToState(before);
        if (!isTaken) return (false, _nameOf(bytes4(answer)));
        if (VM.keyExistsJson(entry, ".contract.opening") && !_opens(entry)) return (false, OTHER_CONTENT);
    }

    /// @dev Whether the words are those of the content.
    function _opens(string memory entry) private view returns (bool) {
        (bool done, bytes memory content) =
            address(anchorContract).staticcall(VM.parseJsonBytes(entry, ".contract.opening"));
        return done && abi.decode(content, (bytes32)) == VM.parseJsonBytes32(entry, ".contract.content");
    }

    function _anchor(string memory state, uint256 i) private {
        Checkpoint memory checkpoint = Checkpoint({
            batches: uint64(VM.parseJsonUint(state, _entry(i, ".checkpoint.batches"))),
            sequence: uint64(VM.parseJsonUint(state, _entry(i, ".checkpoint.sequence"))),
            head: VM.parseJsonBytes32(state, _entry(i, ".checkpoint.head")),
            history: VM.parseJsonBytes32(state, _entry(i, ".checkpoint.history")),
            state: VM.parseJsonBytes32(state, _entry(i, ".checkpoint.state")),
            issuedAt: uint64(VM.parseJsonUint(state, _entry(i, ".checkpoint.issued_at_ms")))
        });
        anchorContract.anchor(
            checkpoint,
            VM.parseJsonBytes(state, _entry(i, ".signature")),
            VM.parseJsonBytes32Array(state, _entry(i, ".proof"))
        );
    }

    function _nameOf(bytes4 selector) private pure returns (bytes32) {
        if (selector == IKedgeAnchor.UnknownCheckpoint.selector) return keccak256("UnknownCheckpoint");
        if (selector == IKedgeAnchor.BatchNotInHistory.selector) return keccak256("BatchNotInHistory");
        if (selector == IKedgeAnchor.ActionNotInBatch.selector) return keccak256("ActionNotInBatch");
        if (selector == IKedgeClaims.ProofRefused.selector) return keccak256("ProofRefused");
        return selector;
    }

    /// @dev The table's next line, without the comma behind it.
    function _line() private view returns (string memory line) {
        line = VM.readLine(TABLE);
        uint256 last = bytes(line).length - 1;
        if (bytes(line)[last] == ",") {
            // solhint-disable-next-line no-inline-assembly
            assembly ("memory-safe") {
                mstore(line, last)
            }
        }
    }

    function _numbers(string memory state, string memory key) private pure returns (uint256[] memory numbers) {
        bytes32[] memory words = VM.parseJsonBytes32Array(state, key);
        numbers = new uint256[](words.length);
        for (uint256 i = 0; i < words.length; ++i) {
            numbers[i] = uint256(words[i]);
        }
    }

    function _entry(uint256 i, string memory member) private pure returns (string memory) {
        return string.concat(".checkpoints[", VM.toString(i), "]", member);
    }
}
