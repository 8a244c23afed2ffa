// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IKedgeAnchor} from "../src/IKedgeAnchor.sol";
import {IKedgeJudge} from "../src/IKedgeJudge.sol";
import {KedgeAnchor} from "../src/KedgeAnchor.sol";
import {KedgeJudge} from "../src/KedgeJudge.sol";
import {Checkpoint} from "../src/LogRecords.sol";
import {AnchorFixture} from "./support/AnchorFixture.sol";

/// @dev The table of verdicts that all checkers share: the judge comes to the same ones, for the same reasons.
contract VerdictsTest is AnchorFixture {
    bytes32 private constant PROVEN = keccak256("Kedge fault proven");
    bytes4 private constant PANIC = 0x4e487b71;

    string private json;
    KedgeJudge private judge;

    function setUp() public {
        json = VM.readFile("../crates/protocol/vectors/verdicts.json");
        VM.chainId(VM.parseJsonUint(json, ".domain.chain_id"));
        VM.warp(VM.parseJsonUint(json, ".now_s"));
        VM.prank(DEPLOYER);
        anchorContract = new KedgeAnchor(OWNER, VM.parseJsonAddress(json, ".keys[0].key"), address(0));
        assertEq(
            address(anchorContract), VM.parseJsonAddress(json, ".domain.verifying_contract"), "the contract's address"
        );
        judge = new KedgeJudge(anchorContract, uint64(VM.parseJsonUint(json, ".evidence_age_s")));
        for (uint256 i = 0; VM.keyExistsJson(json, _at(".checkpoints", i, "")); ++i) {
            _anchor(_at(".checkpoints", i, ""));
        }
        address second = VM.parseJsonAddress(json, ".keys[1].key");
        VM.prank(OWNER);
        anchorContract.rotate(second, uint64(VM.parseJsonUint(json, ".keys[1].from_batch")));
    }

    // Holds invariant 70.
    function test_everyCaseHasItsVerdict() public view {
        uint256 proven = 0;
        uint256 count = 0;
        for (; VM.keyExistsJson(json, _at(".cases", count, "")); ++count) {
            string memory name = VM.parseJsonString(json, _at(".cases", count, ".name"));
            bytes memory evidence = VM.parseJsonBytes(json, _at(".cases", count, ".calldata"));
            (bool isProven, bytes memory verdict) = address(judge).staticcall(evidence);
            if (VM.parseJsonBool(json, _at(".cases", count, ".proven"))) {
                assertTrue(isProven && abi.decode(verdict, (bytes32)) == PROVEN, name);
                ++proven;
            } else {
                string memory reason = VM.parseJsonString(json, _at(".cases", count, ".refused"));
                assertTrue(!isProven && bytes4(verdict) == _selector(reason), name);
            }
        }
        assertTrue(count >= 60 && proven >= 13, "there are cases of each fault");
    }

    function _anchor(string memory entry) private {
        string memory fields = string.concat(entry, ".checkpoint");
        Checkpoint memory checkpoint = Checkpoint({
            batches: uint64(VM.parseJsonUint(json, string.concat(fields, ".batches"))),
            sequence: uint64(VM.parseJsonUint(json, string.concat(fields, ".sequence"))),
            head: VM.parseJsonBytes32(json, string.concat(fields, ".head")),
            history: VM.parseJsonBytes32(json, string.concat(fields, ".history")),
            state: VM.parseJsonBytes32(json, string.concat(fields, ".state")),
            issuedAt: uint64(VM.parseJsonUint(json, string.concat(fields, ".issued_at_ms")))
        });
        anchorContract.anchor(
            checkpoint,
            VM.parseJsonBytes(json, string.concat(entry, ".signature")),
            VM.parseJsonBytes32Array(json, string.concat(entry, ".proof"))
        );
    }

    function _selector(string memory reason) private pure returns (bytes4) {
        bytes32 name = keccak256(bytes(reason));
        if (name == keccak256("NoFault")) return IKedgeJudge.NoFault.selector;
        if (name == keccak256("NotSigned")) return IKedgeJudge.NotSigned.selector;
        if (name == keccak256("PathLeadsElsewhere")) return IKedgeJudge.PathLeadsElsewhere.selector;
        if (name == keccak256("UnknownCheckpoint")) return IKedgeAnchor.UnknownCheckpoint.selector;
        if (name == keccak256("BatchNotInHistory")) return IKedgeAnchor.BatchNotInHistory.selector;
        if (name == keccak256("Panic")) return PANIC;
        revert(string.concat("no error is named ", reason));
    }

    function _at(string memory list, uint256 index, string memory member) private pure returns (string memory) {
        return string.concat(list, "[", VM.toString(index), "]", member);
    }
}
