"""Signers and request signatures."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Protocol

from coincurve import PrivateKey, PublicKey
from eth_account.signers.local import LocalAccount

from .generated import models
from .protocol.hashing import from_hex, hex_text, keccak, text_hash
from .protocol.ids import id_of
from .protocol.signatures import checksum_address, kept_signature
from .protocol.typed import (
    CONSENT_TYPES,
    NAME,
    TYPES,
    VERSION,
    Domain,
    authority_of,
    consent_hash,
    content_of,
    hashed_action,
    request_hash,
    salt_of,
)

SEED_BYTES: Final = 32
SECRET_BYTES: Final = 32


@lru_cache(4096)
def _known_hash(text: str) -> bytes:
    """Cached hash of a kind or a target, because they repeat."""
    return text_hash(text)


def _domain_data(domain: Domain) -> dict[str, Any]:
    return {
        "name": NAME,
        "version": VERSION,
        "chainId": domain.chain_id,
        "verifyingContract": checksum_address(domain.verifying_contract),
    }


@dataclass(frozen=True)
class Action:
    """An action: a kind, a target, and the payload's exact text."""

    kind: str
    target: str
    payload: str


class Unsigned:
    """An unsigned request.

    Attributes:
        signer: the 20 bytes of the signer's address.
        nonce: a nonce that the signer has not spent.
        deadline: deadline of the request, in Unix seconds.
        atomic: whether one refused action refuses all.
        seed: 32 random bytes, the source of the actions' salts.
    """

    def __init__(
        self, domain: Domain, signer: bytes, nonce: int, deadline: int, actions: Sequence[Action], atomic: bool, seed: bytes
    ) -> None:
        self.domain = domain
        self.signer = signer
        self.nonce = nonce
        self.deadline = deadline
        self.actions = actions
        self.atomic = atomic
        self.seed = seed
        self.salts = [salt_of(seed, index) for index in range(len(actions))]
        self._hashes = [(_known_hash(one.kind), _known_hash(one.target), text_hash(one.payload)) for one in actions]

    @cached_property
    def digest(self) -> bytes:
        """The 32 bytes to sign."""
        hashes = [hashed_action(*texts, salt) for texts, salt in zip(self._hashes, self.salts)]
        return self.domain.digest(request_hash(self.signer, self.nonce, self.deadline, self.atomic, hashes))

    def typed_data(self) -> dict[str, Any]:
        """EIP-712 typed data of the request, for wallets that show it."""
        actions = [
            {"kind": one.kind, "target": one.target, "payload": one.payload, "salt": hex_text(salt)}
            for one, salt in zip(self.actions, self.salts)
        ]
        return {
            "types": TYPES,
            "primaryType": "ActionRequest",
            "domain": _domain_data(self.domain),
            "message": {
                "signer": checksum_address(self.signer),
                "nonce": self.nonce,
                "deadline": self.deadline,
                "atomic": self.atomic,
                "actions": actions,
            },
        }

    def contents(self, signature: bytes) -> tuple[bytes, ...]:
        """Content hashes of the actions, computed from the signature."""
        kept = keccak(kept_signature(signature))
        pairs = zip(self._hashes, self.salts)
        return tuple(content_of(*texts, self.signer, authority_of(kept, salt)) for texts, salt in pairs)


class Consent:
    """A key's unsigned consent to join a wallet.

    Attributes:
        wallet: the wallet's id.
        key: the 20 bytes of the key's address.
    """

    def __init__(self, domain: Domain, wallet: str, key: bytes) -> None:
        self.domain = domain
        self.wallet = wallet
        self.key = key

    @cached_property
    def digest(self) -> bytes:
        """The 32 bytes to sign."""
        return self.domain.digest(consent_hash(self.wallet, self.key))

    def typed_data(self) -> dict[str, Any]:
        """EIP-712 typed data of the consent, for wallets that show it."""
        return {
            "types": CONSENT_TYPES,
            "primaryType": "KeyConsent",
            "domain": _domain_data(self.domain),
            "message": {"wallet": self.wallet, "key": checksum_address(self.key)},
        }


class Signer(Protocol):
    """A signer of requests: a key, a wallet, a hardware device, a remote service."""

    @property
    def address(self) -> str:
        """Address of the signer."""

    def sign(self, request: Unsigned | Consent) -> bytes:
        """Signs `request.digest`, or `request.typed_data()`, which is equivalent. Returns the 65 bytes r, s, v."""


class KeySigner:
    """A signer with a private key in this process.

    Args:
        key: a private key (32 bytes, or a text of hexadecimal digits), or an account of eth-account, which also reads
            keystores and mnemonics.

    Raises:
        ValueError: the key is not 32 bytes, or no number that is a private key.
    """

    def __init__(self, key: bytes | str | LocalAccount) -> None:
        if isinstance(key, LocalAccount):
            secret = bytes(key.key)
        else:
            secret = key if isinstance(key, bytes) else from_hex(key)
        # PrivateKey fills a shorter one with zeros.
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a private key has {SECRET_BYTES} bytes, not {len(secret)}")
        self._key = PrivateKey(secret)
        public: PublicKey = self._key.public_key
        self._address = checksum_address(keccak(public.format(compressed=False)[1:])[12:])

    @classmethod
    def random(cls) -> "KeySigner":
        """A signer with a new key. Store `secret`: without it, its wallet can no longer be used."""
        return cls(PrivateKey().secret)

    @property
    def address(self) -> str:
        """Address of the key."""
        return self._address

    @property
    def secret(self) -> bytes:
        """The private key."""
        return self._key.secret

    def sign(self, request: Unsigned | Consent) -> bytes:
        """Signs a request or a consent. Returns the 65 bytes r, s, v."""
        return self.sign_digest(request.digest)

    def sign_digest(self, digest: bytes) -> bytes:
        """Signs a digest deterministically (RFC 6979), with s in the lower half. Returns the 65 bytes r, s, v."""
        made = self._key.sign_recoverable(digest, hasher=None)
        return made[:64] + bytes([made[64] + 27])

    def __repr__(self) -> str:
        return f"KeySigner({self._address})"


@dataclass(frozen=True)
class Signed:
    """A signed request: its headers, and computed parts of the answer.

    Attributes:
        headers: the five headers of the signature.
        contents: the content hashes of the actions, in order.
        nonce: the nonce of the request.
        deadline: deadline of the request, in Unix seconds.
    """

    headers: dict[str, str]
    contents: tuple[bytes, ...]
    nonce: int
    deadline: int

    @property
    def actions(self) -> tuple[str, ...]:
        """Ids of the actions, once they are done."""
        return tuple(id_of("act", content) for content in self.contents)


def sign(signer: Signer, domain: Domain, actions: Sequence[Action], *, nonce: int, deadline: int, atomic: bool = False) -> Signed:
    """Signs a request.

    Args:
        signer: the signer of the request.
        domain: the domain of the log.
        actions: the actions, 1 to 500.
        nonce: a nonce that the signer has not spent.
        deadline: deadline of the request, in Unix seconds.
        atomic: whether one refused action refuses all.
    """
    seed = os.urandom(SEED_BYTES)
    address = signer.address
    request = Unsigned(domain, from_hex(address), nonce, deadline, actions, atomic, seed)
    signature = signer.sign(request)
    headers = {
        "x-signature": hex_text(signature),
        "x-signature-address": address,
        "x-signature-nonce": str(nonce),
        "x-signature-deadline": str(deadline),
        "x-signature-salt": hex_text(seed),
    }
    return Signed(headers, request.contents(signature), nonce, deadline)


def key_addition(signer: Signer, domain: Domain, wallet: str) -> models.SignerBody:
    """The body of `add_wallet_key`: the signer's key, with its consent to join a wallet.

    Args:
        signer: the key that joins.
        domain: the domain of the log, `client.trust().domain`.
        wallet: the wallet's id.
    """
    address = signer.address
    possession = signer.sign(Consent(domain, wallet, from_hex(address)))
    return {"address": address, "possession": hex_text(possession)}


def deadline_in(seconds: int) -> int:
    """Unix time so many seconds ahead."""
    return int(time.time()) + seconds
