// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TestBase} from "./TestBase.sol";

/// @dev Measures a transaction. Isolated calls are transactions of their own, with cold storage and paid calldata.
abstract contract GasMeter is TestBase {
    uint256 private constant TRANSACTION_GAS = 21_000;

    /// @dev The file of the snapshot. A run writes a file as a whole, so each test contract has its own.
    function _group() internal pure virtual returns (string memory);

    function _record(string memory name, address to, bytes memory data, uint256 value, uint256 gasMax) internal {
        _recordAs(address(this), name, to, data, value, gasMax);
    }

    function _recordAs(address sender, string memory name, address to, bytes memory data, uint256 value, uint256 gasMax)
        internal
    {
        VM.prank(sender);
        (bool isDone,) = to.call{value: value}(data);
        uint256 used = VM.lastCallGas().gasTotalUsed;
        assertTrue(isDone, "the call goes through");
        uint256 floor = _floor(data);
        uint256 paid = used > floor ? used : floor;
        VM.snapshotValue(_group(), name, paid);
        assertTrue(paid <= gasMax, "within the bound, transaction and calldata included");
    }

    /// @dev EIP-7623: a transaction pays at least 40 gas a byte of its data, 10 where it is zero. The compiler's version
    /// of the EVM is older than that rule, so it is reckoned here.
    function _floor(bytes memory data) private pure returns (uint256 gasUsed) {
        gasUsed = TRANSACTION_GAS;
        for (uint256 i = 0; i < data.length; ++i) {
            gasUsed += data[i] == 0 ? 10 : 40;
        }
    }
}
