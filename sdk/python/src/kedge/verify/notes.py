"""Signed notes of the log: the lines of the log's own keys, and cosignatures of witnesses.

Ed25519 and ML-DSA-44 need `pip install 'kedge[witnesses]'`; the line of the sequencer's key does not.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import Refused
from ..protocol.hashing import sha256, u64
from ..protocol.signatures import check_signer, kept_signature
from ..protocol.tiles import check_origin
from ..protocol.typed import tlog_hash
from .reading import decimal, refuse_unless
from .trust import Trust

ED25519: Final = 0x01
ED25519_COSIGNATURE: Final = 0x04
ML_DSA_44: Final = 0x06

NOTE_BYTES_MAX: Final = 512 * 1024

_LINES_MAX: Final = 100
_OUR_TYPE: Final = b"\xffkedge-tlog-v1"
_OUR_BYTES: Final = 97
_TIME_MAX: Final = 2**63 - 1
_KEY_BYTES: Final = {ED25519: 32, ED25519_COSIGNATURE: 32, ML_DSA_44: 1312}
_CONTROL = re.compile("[\0-\x09\x0b-\x1f]")
_LINE = re.compile(r"— ([^+ ]+) ([A-Za-z0-9+/]+=*)")
_KEY = re.compile(r"([^+ ]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)")


@dataclass(frozen=True)
class VerifierKey:
    """A key of a log or a witness, as notes name it.

    Attributes:
        name: the name in its lines; a log's is its origin.
        id: the first four bytes of its lines.
        type: `ED25519`, `ED25519_COSIGNATURE` or `ML_DSA_44`.
        key: the public key.
    """

    name: str
    id: bytes
    type: int
    key: bytes

    @classmethod
    def of(cls, text: str) -> "VerifierKey":
        """A key from its text: name, id and base64 with a plus between them.

        Raises:
            Refused: the text is no key of a known type, or its id is another key's.
        """
        name, number, material = _matched(_KEY, text, "no verifier key")
        data = read_base64(material)
        found = cls(name, bytes.fromhex(number), data[0], data[1:])
        refuse_unless(len(found.key) == _KEY_BYTES.get(found.type), "no key of a known type")
        refuse_unless(_id_of(name, data) == found.id, "the id is not the key's")
        return found


@dataclass(frozen=True)
class VerifiedLine:
    """A line of a known key that holds; the time is in Unix seconds, None in the log's Ed25519 line."""

    key: VerifierKey
    time: int | None


@dataclass(frozen=True)
class SignedRoots:
    """Both roots of the log with the sequencer's signature: what its line in a note states, and what evidence shows.

    Attributes:
        batches: how many batches the log holds.
        root: the SHA-256 root over the entries.
        history: the keccak256 root over the batch hashes.
        signature: 65 bytes over `TlogCheckpoint`.
    """

    batches: int
    root: bytes
    history: bytes
    signature: bytes

    def check(self, trust: Trust) -> None:
        """Verifies the signature.

        Raises:
            WrongSigner: another key signed than the one of the last batch.
            Refused: the signature has another form, or the log is empty.
        """
        refuse_unless(self.batches > 0, "no key signs an empty log")
        refuse_unless(kept_signature(self.signature) == self.signature, "v is 27 or 28")
        digest = trust.domain.digest(tlog_hash(self.batches, self.root, self.history))
        check_signer(digest, self.signature, trust.key_of(self.batches - 1), "the note")


@dataclass(frozen=True)
class NoteShown:
    """Facts shown by a valid note.

    Attributes:
        text: the three lines that the other lines sign.
        origin: the log's name.
        signed: both roots, as the sequencer's line states them.
        verified: the lines of known keys; lines of other keys are ignored.
    """

    text: str
    origin: str
    signed: SignedRoots
    verified: tuple[VerifiedLine, ...]

    @property
    def batches(self) -> int:
        """How many batches the log holds."""
        return self.signed.batches

    @property
    def root(self) -> bytes:
        """The SHA-256 root over the entries."""
        return self.signed.root


@dataclass(frozen=True)
class _Line:
    name: str
    id: bytes
    signature: bytes


# Texts


def note_text(note: str | bytes, most: int = NOTE_BYTES_MAX) -> str:
    """The text of a note or of a file with one: UTF-8 without control characters but for the line feed.

    Raises:
        Refused: it is anything else.
    """
    try:
        data = note.encode() if isinstance(note, str) else note
        text = data.decode()
    except UnicodeError as error:
        raise Refused("no UTF-8") from error
    refuse_unless(len(data) <= most, "too long")
    refuse_unless(_CONTROL.search(text) is None, "control characters")
    return text


def read_base64(text: str) -> bytes:
    """Bytes from base64 in its one form: padded, without surplus bits.

    Raises:
        Refused: another form.
    """
    try:
        data = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise Refused("no base64") from error
    refuse_unless(b64encode(data).decode() == text, "another base64")
    return data


def read_base64_word(text: str) -> bytes:
    """32 bytes from base64.

    Raises:
        Refused: another form or length.
    """
    data = read_base64(text)
    refuse_unless(len(data) == 32, "no 32 bytes")
    return data


def _matched(pattern: re.Pattern[str], text: str, why: str) -> tuple[str, ...]:
    found = pattern.fullmatch(text)
    if found is None or any(letter.isspace() for letter in found[1]):
        raise Refused(why)
    return found.groups()


def _id_of(name: str, material: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + material)[:4]


def sequencer_line_id(origin: str, address: bytes) -> bytes:
    """Id of the line that the sequencer's key with this address signs."""
    return _id_of(origin, _OUR_TYPE + address)


def sequencer_line_key(origin: str, address: bytes) -> str:
    """Verifier key of that line, as text."""
    material = b64encode(_OUR_TYPE + address).decode()
    return f"{origin}+{sequencer_line_id(origin, address).hex()}+{material}"


# Signatures


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise RuntimeError("notes need Ed25519: pip install 'kedge[witnesses]'") from error
    return ed25519.Ed25519PublicKey


def _ml_dsa_44() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import mldsa
    except ImportError as error:
        raise RuntimeError("notes need ML-DSA-44: pip install 'kedge[witnesses]'") from error
    return mldsa.MLDSA44PublicKey


def _verifies(scheme: Any, key: bytes, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        scheme.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def cosigned_message(origin: str, batches: int, root: bytes, name: str, time: int) -> bytes:
    """The bytes that an ML-DSA-44 line with this name and time signs."""
    texts = [text.encode() for text in (name, origin)]
    cosigner, log = (bytes([len(text)]) + text for text in texts)
    return b"subtree/v1\n\0" + cosigner + u64(time) + log + u64(0) + u64(batches) + root


def _check_line(note: "_Note", line: _Line, key: VerifierKey) -> VerifiedLine:
    fails = f"the line of {key.name} {key.id.hex()} fails"
    if key.type == ED25519:
        refuse_unless(_verifies(_ed25519(), key.key, line.signature, note.text.encode()), fails)
        return VerifiedLine(key, None)
    time, signature = int.from_bytes(line.signature[:8], "big"), line.signature[8:]
    # Two nodes of a log make the same line: it names no time.
    refuse_unless(len(line.signature) > 8 and time <= (0 if key.name == note.origin else _TIME_MAX), fails)
    if key.type == ED25519_COSIGNATURE:
        scheme, message = _ed25519(), f"cosignature/v1\ntime {time}\n{note.text}".encode()
    else:
        refuse_unless(len(key.name.encode()) <= 255, fails)
        scheme, message = _ml_dsa_44(), cosigned_message(note.origin, note.batches, note.root, key.name, time)
    refuse_unless(_verifies(scheme, key.key, signature, message), fails)
    return VerifiedLine(key, time)


# Notes


@dataclass(frozen=True)
class _Note:
    text: str
    origin: str
    batches: int
    root: bytes
    lines: tuple[_Line, ...]


def _read_line(text: str) -> _Line:
    name, material = _matched(_LINE, text, "no signature line")
    data = read_base64(material)
    refuse_unless(len(data) > 4, "a line without a signature")
    return _Line(name, data[:4], data[4:])


def split_note(note: str | bytes) -> tuple[str, list[str]]:
    """Text and signature lines of a note, of which nothing is verified.

    Raises:
        Refused: it is no note.
    """
    whole = note_text(note)
    text, gap, signed = whole.rpartition("\n\n")
    refuse_unless(bool(gap), "no empty line before the signatures")
    *lines, rest = signed.split("\n")
    refuse_unless(not rest and 0 < len(lines) <= _LINES_MAX, "no signature lines, or too many, or no line feed at the end")
    return text + "\n", lines


def _read_note(note: str | bytes) -> _Note:
    text, lines = split_note(note)
    parts = text.split("\n")
    refuse_unless(len(parts) == 4, "a note has three lines of text")
    batches = decimal(parts[1])
    refuse_unless(batches > 0, "an empty log has no note")
    return _Note(text, parts[0], batches, read_base64_word(parts[2]), tuple(_read_line(line) for line in lines))


def _sequencer_line(note: _Note, trust: Trust) -> SignedRoots:
    own = sequencer_line_id(note.origin, trust.key_of(note.batches - 1))
    lines = [line for line in note.lines if (line.name, line.id) == (note.origin, own)]
    refuse_unless(len(lines) == 1, f"{len(lines)} lines of the sequencer's key")
    data = lines[0].signature
    refuse_unless(len(data) == _OUR_BYTES, "the line of the sequencer's key has 97 bytes")
    signed = SignedRoots(note.batches, note.root, data[:32], data[32:])
    signed.check(trust)
    return signed


def verify_note(note: str | bytes, trust: Trust, known: Iterable[VerifierKey] = ()) -> NoteShown:
    """Verifies a note of the trusted log and returns its facts.

    Args:
        note: the note.
        trust: the log's domain and keys.
        known: further keys, the log's and those of witnesses. Lines of other keys are ignored.

    Raises:
        WrongSigner: the sequencer's line is of another key than that of the last batch.
        Refused: the note is invalid, has not exactly one line of the sequencer's key, or a line of a known key fails.
        RuntimeError: a line of a known key is there, and cryptography is not installed.
    """
    read = _read_note(note)
    check_origin(read.origin, trust.domain)
    keys = {(key.name, key.id): key for key in known}
    placed = [(line, keys.get((line.name, line.id))) for line in read.lines]
    verified = tuple(_check_line(read, line, key) for line, key in placed if key is not None)
    return NoteShown(read.text, read.origin, _sequencer_line(read, trust), verified)
