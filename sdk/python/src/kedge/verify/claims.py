"""Claims: zero-knowledge statements about one action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import Refused
from ..protocol.hashing import ZERO, from_hex, keccak, text_hash, word as word_of
from ..protocol.signatures import checksum_address
from ..protocol.typed import Domain
from .forms import PLACED, check_placed
from .groth16 import check_groth16
from .reading import Members, address, exactly, refuse_unless, shape, text, u32, u64, value_of, word
from .trust import Trust

INPUTS: Final = 13
DENIED_KEYS: Final = (from_hex("aeb47bcabc5b0996dfb66da836feb1096828d6b8f36b0f89f9908ee1431cc6fe"),)
"""Hashes of keys with a public secret, which can prove anything."""
TEST_CHAINS: Final = (1337, 31337)
"""Worthless chains on which such keys are accepted."""

_TEXT = shape("text", {"hash": word}, {"text": text})
_CLAIM = shape(
    "claim",
    {
        "format": text,
        "version": u32,
        **PLACED,
        "leaf": shape("leaf", {"sequence": u64, "timestamp_ms": u64, "content": word, "integrity": word}),
        "binding": shape("binding", {"resolver": address, "claimant": address, "purpose": word}),
        "disclosed": shape("disclosed", {}, {"kind": _TEXT, "target": _TEXT, "payload": _TEXT, "signer": address}),
        "key_hash": word,
        "public_inputs": exactly(INPUTS, word),
        "proof": shape("proof", {"a": exactly(2, word), "b": exactly(4, word), "c": exactly(2, word)}),
    },
)


@dataclass(frozen=True)
class VerificationKey:
    """A verification key of the claim circuit: alpha (G1), beta, gamma, delta (G2), then the points of the constant and
    of each input (G1), as numbers with imaginary parts first."""

    points: tuple[tuple[int, ...], ...]

    @classmethod
    def of_snarkjs(cls, key: Mapping[str, Any]) -> "VerificationKey":
        """A key in the form of snarkjs' `verification_key.json`, which a ceremony publishes.

        Raises:
            Refused: the key is for another curve or circuit.
        """
        try:
            fits = key["protocol"] == "groth16" and key["curve"] == "bn128" and len(key["IC"]) == INPUTS + 1
            refuse_unless(fits, "a key of another circuit")
            g2 = [_g2_numbers(key[name]) for name in ("vk_beta_2", "vk_gamma_2", "vk_delta_2")]
            return cls((_g1_numbers(key["vk_alpha_1"]), *g2, *(_g1_numbers(point) for point in key["IC"])))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Refused("no verification key in snarkjs' form") from error

    @property
    def hash(self) -> bytes:
        """`keyHash()` of the key's verifier contract: keccak256 over its words."""
        return keccak(b"".join(word_of(number) for point in self.points for number in point))


def _g1_numbers(point: Sequence[str]) -> tuple[int, ...]:
    return int(point[0]), int(point[1])


def _g2_numbers(point: Sequence[Sequence[str]]) -> tuple[int, ...]:
    (x0, x1), (y0, y1) = point[0], point[1]
    return int(x1), int(x0), int(y1), int(y0)


@dataclass(frozen=True)
class ClaimShown:
    """Facts shown by a valid claim: the log holds an action with these words. The signer's signature is not shown.

    Attributes:
        kind, target, payload: the disclosed texts; None if a text is hidden or only its hash is disclosed.
        hashes: the hashes of the disclosed texts, by name.
        signer: the disclosed signer, None if it is hidden.
        context: hash of the claim's resolver, claimant and purpose.
        anchored: whether an anchored checkpoint, according to the file, covers the action. Only the contract confirms
            it.
    """

    kind: str | None
    target: str | None
    payload: str | None
    hashes: Mapping[str, bytes]
    signer: str | None
    context: bytes
    sequence: int
    timestamp_ms: int
    anchored: bool


def _context(domain: Domain, binding: Members) -> bytes:
    return keccak(domain.separator + binding["resolver"] + binding["claimant"] + binding["purpose"])


def _halves(value: bytes) -> list[int]:
    return [int.from_bytes(value[:16], "big"), int.from_bytes(value[16:], "big")]


def _inputs(claim: Members, context: bytes) -> list[int]:
    disclosed = claim["disclosed"]
    shown = [disclosed[name]["hash"] if name in disclosed else None for name in ("kind", "target", "payload")]
    shown.append(disclosed["signer"].rjust(32, b"\0") if "signer" in disclosed else None)
    mask = sum(1 << place for place, value in enumerate(shown) if value is not None)
    halves = [half for value in shown for half in _halves(value or ZERO)]
    return [*_halves(claim["leaf"]["content"]), mask, *halves, *_halves(context)]


def check_claim(claim: Any, trust: Trust, key: VerificationKey) -> ClaimShown:
    """Verifies a claim file and returns its facts.

    Args:
        claim: its text or value.
        trust: the log's domain and keys.
        key: the trusted verification key.

    Raises:
        Refused: the claim is invalid.
        RuntimeError: the extra `kedge[claims]` is not installed.
    """
    read = _CLAIM(value_of(claim))
    refuse_unless(read["format"] == "kedge.claim", "another format")
    public = key.hash in DENIED_KEYS and trust.domain.chain_id not in TEST_CHAINS
    refuse_unless(not public, "a key with which anybody can prove anything")
    refuse_unless(read["key_hash"] == key.hash, "the claim is for another key")
    texts = {name: shown for name, shown in read["disclosed"].items() if name != "signer"}
    for name, shown in texts.items():
        fits = "text" not in shown or text_hash(shown["text"]) == shown["hash"]
        refuse_unless(fits, f"the text of {name} does not have its hash")
    context = _context(trust.domain, read["binding"])
    inputs = _inputs(read, context)
    stated = [int.from_bytes(number, "big") for number in read["public_inputs"]]
    refuse_unless(stated == inputs, "the public inputs are not those of the claim")
    check_placed(read, trust)
    numbers = {name: [int.from_bytes(number, "big") for number in read["proof"][name]] for name in "abc"}
    check_groth16((numbers["a"], numbers["b"], numbers["c"]), inputs, key.points)
    signer = read["disclosed"].get("signer")
    return ClaimShown(
        kind=texts.get("kind", {}).get("text"),
        target=texts.get("target", {}).get("text"),
        payload=texts.get("payload", {}).get("text"),
        hashes={name: shown["hash"] for name, shown in texts.items()},
        signer=None if signer is None else checksum_address(signer),
        context=context,
        sequence=read["leaf"]["sequence"],
        timestamp_ms=read["leaf"]["timestamp_ms"],
        anchored=read["anchor"] is not None,
    )
