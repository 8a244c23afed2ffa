"""Trusted information of a verifier: a log's domain, and its sequencer's keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import Refused
from ..protocol.signatures import checksum_address
from ..protocol.typed import Domain
from .reading import address, read_json, refuse_unless, shape, u64

KEYS_MAX: Final = 1024
_FROM_BATCH = shape("payload", {"from_batch": u64})


@dataclass(frozen=True)
class SequencerKey:
    """A key of the sequencer: its 20-byte address, and the number of the first batch that it signs."""

    address: bytes
    from_batch: int


@dataclass(frozen=True)
class Trust:
    """A trusted log, from the contract or pinned, never from the verified file.

    Attributes:
        domain: the log's domain.
        keys: the sequencer's keys in ascending order, the first from batch 0 on.
    """

    domain: Domain
    keys: tuple[SequencerKey, ...]

    def __post_init__(self) -> None:
        numbers = [key.from_batch for key in self.keys]
        rising = all(one < other for one, other in zip(numbers, numbers[1:]))
        if not numbers or numbers[0] != 0 or not rising or len(numbers) > KEYS_MAX:
            raise ValueError(f"the sequencer has 1 to {KEYS_MAX} keys, the first from batch 0 on, the others rising")

    @classmethod
    def of(cls, chain_id: int, contract: str, sequencer: str | Iterable[tuple[str, int]]) -> "Trust":
        """A trust from texts: the domain's chain and contract, and the sequencer's only address or all of its keys,
        each with the first batch that it signs.

        Raises:
            Refused: an address is invalid.
            ValueError: the keys are out of order.
        """
        pairs = [(sequencer, 0)] if isinstance(sequencer, str) else sequencer
        keys = tuple(SequencerKey(address(text), number) for text, number in pairs)
        return cls(Domain(chain_id, address(contract)), keys)

    def key_of(self, batch: int) -> bytes:
        """The address that signs a batch."""
        return next(key.address for key in reversed(self.keys) if key.from_batch <= batch)

    def with_key(self, key: SequencerKey) -> "Trust":
        """Returns the same trust with one more key.

        Raises:
            ValueError: its first batch is not above that of the last key.
        """
        return Trust(self.domain, (*self.keys, key))


def follow_key(proof_file: Any, trust: Trust) -> SequencerKey:
    """Returns the next key of the sequencer, announced in the log; `trust.with_key` adds it.

    Args:
        proof_file: the proof file of the announcing action, from `GET /sequencer-keys`.
        trust: the keys that are trusted so far.

    Raises:
        Refused: the file is invalid, or announces no next key.
    """
    # Imported here, because the checks of proof files depend on this module.
    from .receipts import check_proof_file

    shown = check_proof_file(proof_file, trust)
    refuse_unless(shown.kind == "system.sequencer_key", "the action names no key of the sequencer")
    key = SequencerKey(address(shown.target), _FROM_BATCH(read_json(shown.payload))["from_batch"])
    if checksum_address(key.address) != shown.target:
        raise Refused("the key's address is not in EIP-55's form")
    refuse_unless(shown.batch_number < key.from_batch, "the key's first batch is not above the batch that names it")
    refuse_unless(key.from_batch > trust.keys[-1].from_batch, "the key's first batch is not above that of the last key")
    return key
