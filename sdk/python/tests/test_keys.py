"""Private keys of signers."""

from typing import Any

import pytest
from eth_account import Account
from kedge import Kedge, KeySigner

SECRET = bytes(range(32))


def test_a_private_key_has_32_bytes() -> None:
    texts: list[Any] = [SECRET, SECRET.hex(), "0x" + SECRET.hex(), Account.from_key(SECRET)]
    assert {KeySigner(key).address for key in texts} == {Account.from_key(SECRET).address}
    for key in ("0x12", "0x", "", b"\1", SECRET[1:], SECRET + b"\0", "0x" + "00" * 32, "0x" + "ff" * 32, "no digits"):
        with pytest.raises(ValueError):
            KeySigner(key)
        with pytest.raises(ValueError):
            Kedge("http://kedge", key=key)
