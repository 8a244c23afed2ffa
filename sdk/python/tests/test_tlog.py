"""The log as C2SP tiles: every member of the vectors, and what the vectors leave out."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from coincurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from kedge.errors import Refused
from kedge.protocol.hashing import from_hex, hex_text, keccak, sha256, text_hash, u64
from kedge.protocol.tiles import (
    ENTRIES,
    check_origin,
    entries_of,
    entry_leaf,
    header_of_entry,
    origin_of,
    served_tile,
    tile_path,
    tiles_of,
)
from kedge.protocol.trees import check_consistency, check_inclusion, root_of
from kedge.protocol.typed import BATCH_TYPE, Domain, Header, next_head, tlog_hash
from kedge.signing import KeySigner
from kedge.verify import Trust
from kedge.verify import notes as n
from kedge.verify import tlog_faults as faults
from kedge.verify.notes import NoteShown, SignedRoots, VerifierKey, verify_note
from kedge.verify.policies import Policy
from kedge.verify.tlog_files import add_checkpoint_body, read_add_checkpoint, verify_tlog_proof

from vectors import domain_of, header_of, read, words

VECTORS = read("tlog")
ORIGIN: str = VECTORS["origin"]
DOMAIN = domain_of(VECTORS["domain"])
TRUST = Trust.of(
    DOMAIN.chain_id,
    hex_text(DOMAIN.verifying_contract),
    [(key["address"], key["from_batch"]) for key in VECTORS["sequencer_keys"]],
)
KNOWN = tuple(VerifierKey.of(key["vkey"]) for kind in ("tlog_keys", "witness_keys") for key in VECTORS[kind].values())

# What the vectors call a reason, and what these checks say: a refusal for another reason would hide that a check is missing.
REASONS = {
    "0 lines of ours": "^0 lines of the sequencer's key$",
    "2 lines of ours": "^2 lines of the sequencer's key$",
    "not by the sequencer key": "^the note was signed by 0x",
    "our line has 97 bytes": "has 97 bytes$",
    "high s": "^s is at most half the order$",
    "v": "^v is 27 or 28$",
    "three lines of text": "three lines of text$",
    "an empty log has no note": "^an empty log has no note$",
    "size": "^no decimal number$",
    "index": "no decimal number|the header is of another batch|indices",
    "root": "^no 32 bytes$|base64$",
    "origin": "^the origin is not of this log$",
    "no empty line": "^no empty line",
    "signature lines": "no line feed at the end$",
    "signature line": "^no signature line$",
    "base64 of a line": "^no signature line$",
    "control characters": "^control characters$",
    "UTF-8": "^no UTF-8$",
    "inclusion": "^the header is of another batch$",
    "the header does not lead to root": "leads to another root$",
    "320 bytes": "^an entry has 320 bytes$",
    "extra": "^no extra",
    "path too short": "too short$",
    "path too long": "too long$",
    "consistency": "too short$|leads to other roots$|too long$",
    "consistency: too long": "too long$",
    "first line": r"^no \.tlog-proof of version 1$",
    "batches 0": "^no key signs an empty log$",
    "above the anchored batches": "^sizes are at least 1 and do not fall$",
    "above 65,535 bytes": "65,535 bytes$",
    "the entry does not lead to root": "leads to another root$",
    "held does not lead to history": "leads to another root$",
    "verifyBatch does not find it": "leads to another root$",
    "not below a checkpoint": "^the batch is not below the checkpoint$",
}
# Valid records that do not contradict each other.
NO_FAULT = {"no conflict", "two sizes", "it is its history", "the entry is held's"}


@contextmanager
def refused_by(vector: dict[str, Any]) -> Iterator[None]:
    reason = vector["refused_by"]
    said = r"^the line of .* fails$" if reason.endswith(" fails") else REASONS[reason]
    with pytest.raises(Refused, match=said):
        yield
        pytest.fail(vector["why"])


@contextmanager
def refused(why: object) -> Iterator[None]:
    with pytest.raises(Refused):
        yield
        pytest.fail(str(why))


def all_headers() -> list[Header]:
    """The first 300 headers: those that the vectors show, and those that they describe."""
    headers = [header_of(vector["message"]) for vector in VECTORS["headers"]]
    leaves = [header.log_leaf for header in headers]
    for number in range(len(headers), 300):
        leaf = keccak(b"\0" + u64(number + 6))
        before = headers[-1].head
        header = Header(number, number + 6, 1, before, next_head(before, leaf), leaf, root_of(leaves), bytes(32), 1790000000100 + number)
        headers.append(header)
        leaves.append(header.log_leaf)
    return headers


HEADERS = all_headers()
ALL_ENTRIES = [header.entry for header in HEADERS]


def root_at(size: int) -> bytes:
    return root_of([entry_leaf(entry) for entry in ALL_ENTRIES[:size]], sha256)


def history_at(size: int) -> bytes:
    return root_of([header.log_leaf for header in HEADERS[:size]])


def base64(*parts: bytes) -> str:
    return b64encode(b"".join(parts)).decode()


def made_key(name: str, kind: int, key: bytes) -> str:
    material = bytes([kind]) + key
    number = sha256(name.encode() + b"\n" + material)[:4]
    return f"{name}+{number.hex()}+{base64(material)}"


def made_line(name: str, number: bytes, *parts: bytes) -> str:
    return f"— {name} {base64(number, *parts)}"


def signed_ed25519(key: dict[str, Any], text: str, time: int | None = None) -> str:
    """The line of an Ed25519 key: the log's own, or with a time a witness's."""
    vkey, private = VerifierKey.of(key["vkey"]), Ed25519PrivateKey.from_private_bytes(from_hex(key["seed"]))
    assert private.public_key().public_bytes_raw() == vkey.key
    if time is None:
        return made_line(vkey.name, vkey.id, private.sign(text.encode()))
    return made_line(vkey.name, vkey.id, u64(time), private.sign(f"cosignature/v1\ntime {time}\n{text}".encode()))


def whole_note(vector: dict[str, Any]) -> str:
    lines = vector["lines"]
    return f"{vector['text']}\n{lines['ed25519']}\n{lines['mldsa']}\n{lines['ours']}\n"


NOTES = {vector["batches"]: vector for vector in VECTORS["notes"]}
TEXT: str = NOTES[10]["text"]
LINES: dict[str, str] = NOTES[10]["lines"]


def note_of(*lines: str) -> str:
    return TEXT + "\n" + "".join(f"{line}\n" for line in lines)


def bytes_of(vector: dict[str, Any]) -> str | bytes:
    return from_hex(vector["note_hex"]) if "note_hex" in vector else str(vector["note"])


def test_every_member_of_the_vectors_is_one_that_these_tests_hold() -> None:
    about = ["about", "checked_by", "chosen", "c2sp", "domain", "domain_separator", "keys_about", "sequencer_keys", "delegate"]
    held = ["tlog_keys", "witness_keys", "type", "origins", "origin", "headers_about", "headers", "last_of_300", "roots", "roots_about"]
    rest = ["histories", "inclusion", "consistency", "tiles", "notes", "cosignatures", "policy", "add_checkpoint", "tlog_proof"]
    assert list(VECTORS) == [*about, *held, *rest, "must_refuse_notes", "faults"]
    assert list(VECTORS["tiles"]) == ["about", "by_size", "paths"]
    named = ["conflicting_tlog", "false_tlog_history", "false_tlog_root", "demand_of_entry_answers", "alarm_without_our_line"]
    assert list(VECTORS["faults"]) == named
    lists = (VECTORS["origins"]["cases"], VECTORS["headers"], VECTORS["notes"], VECTORS["chosen"], VECTORS["must_refuse_notes"]["cases"])
    assert [len(each) for each in lists] == [41, 10, 4, 10, 49]


def test_domain_types_and_keys() -> None:
    assert hex_text(DOMAIN.separator) == VECTORS["domain_separator"]
    assert VECTORS["type"]["batch_typehash"] == hex_text(BATCH_TYPE) == hex_text(text_hash(VECTORS["type"]["Batch"]))
    assert VECTORS["type"]["typehash"] == hex_text(text_hash(VECTORS["type"]["TlogCheckpoint"]))
    for key in VECTORS["sequencer_keys"]:
        address = from_hex(key["address"])
        assert KeySigner(from_hex(key["private"])).address.lower() == key["address"].lower()
        assert n.sequencer_line_id(ORIGIN, address).hex() == key["line_key_id"]
        assert n.sequencer_line_key(ORIGIN, address) == key["vkey"]
    assert KeySigner(from_hex(VECTORS["delegate"]["private"])).address == VECTORS["delegate"]["address"]
    for kind in ("tlog_keys", "witness_keys"):
        for key in VECTORS[kind].values():
            shown = VerifierKey.of(key["vkey"])
            assert shown.name == key.get("name", ORIGIN)
            assert key.get("key_id", shown.id.hex()) == shown.id.hex()
            assert from_hex(key.get("public", shown.key.hex())) == shown.key
            assert made_key(shown.name, shown.type, shown.key) == key["vkey"]
    good = VECTORS["tlog_keys"]["ed25519"]["vkey"]
    bad = [good[1:], good.replace("+b6", "+B6"), good + "=", good.replace("+AW", "+BW"), good[:-4], "a+b6f7f4b6+", f"a b{good}", good + "\n"]
    bad += [made_key("a", 1, bytes(31)), made_key("a", 2, bytes(32)), n.sequencer_line_key("a", bytes(20)), f"a\x85{good}"]
    for text in bad:
        with refused(text):
            VerifierKey.of(text)
    VerifierKey.of(made_key("a", 1, bytes(32)))


def test_origins() -> None:
    cases = VECTORS["origins"]["cases"]
    named = [case for case in cases if case["origin"] is not None]
    assert (len(named), len(cases)) == (24, 41)
    suffix = VECTORS["origins"]["suffix"]
    for case in named:
        assert origin_of(case["host"], DOMAIN) == case["origin"] == case["host"] + suffix
    # Of the URLs without an origin, these have a host. The others are no URLs of http or https: a server reads those.
    hosts = {"a + in the host": "a+b.example", "312 bytes": ".".join(["a" * 63] * 4) + ".example"}
    for why, host in hosts.items():
        assert any(case.get("why", "").startswith(why) for case in cases)
        with refused(why):
            origin_of(host, DOMAIN)
    assert origin_of("a" * (255 - len(suffix)), DOMAIN)
    bad = ["", "log.example", f"Log.example{suffix}", f"bücher{suffix}", f"a@b{suffix}", suffix, f"a/b{suffix}", f"a b{suffix}", f"a\u3000{suffix}", f"a{suffix}/", f"a{suffix.upper()}"]
    bad.append("a" * (256 - len(suffix)) + suffix)
    for origin in bad:
        with refused(origin):
            check_origin(origin, DOMAIN)


def test_entries_leaves_roots_and_histories() -> None:
    assert len(VECTORS["headers"]) == 10
    for vector in [*VECTORS["headers"], VECTORS["last_of_300"]]:
        header = HEADERS[vector["message"]["number"]]
        assert header == header_of(vector["message"])
        assert hex_text(header.hash) == vector["batch_hash"] == hex_text(keccak(header.entry))
        assert vector.get("entry", hex_text(header.entry)) == hex_text(header.entry)
        assert hex_text(entry_leaf(header.entry)) == vector["leaf"]
        assert header_of_entry(header.entry) == header
    assert list(VECTORS["roots"]) == list(VECTORS["histories"]) and len(VECTORS["roots"]) == 15
    for size, root in VECTORS["roots"].items():
        assert hex_text(root_at(int(size))) == root
    for size, history in VECTORS["histories"].items():
        assert hex_text(history_at(int(size))) == history
    entry = ALL_ENTRIES[0]
    flipped = [entry[:at] + b"\1" + entry[at + 1 :] for at in (0, 32, 64, 96 + 27, 9 * 32)]
    for bad in [b"", entry + b"\0", entry[:-1], *flipped]:
        with refused(bad):
            header_of_entry(bad)


def test_inclusion_and_consistency() -> None:
    assert (len(VECTORS["inclusion"]), len(VECTORS["consistency"])) == (13, 9)
    for vector in VECTORS["inclusion"]:
        size, index, path = vector["size"], vector["index"], words(vector["path"])
        root, leaf = root_at(size), entry_leaf(ALL_ENTRIES[index])
        check_inclusion(root, size, [index], [leaf], path, sha256)
        misses = [(index, [*path, bytes(32)]), (size, path), (index, path[1:] if path else [leaf]), (-1, path)]
        for place, way in misses:
            with refused(vector):
                check_inclusion(root, size, [place], [leaf], way, sha256)
        if size > 1:
            with refused(vector):
                check_inclusion(root, size, [index], [leaf], path)
    for vector in VECTORS["consistency"]:
        old, new, proof = vector["from"], vector["to"], words(vector["proof"])
        check_consistency(old, new, root_at(old), root_at(new), proof, sha256)
        for first, way in [(root_at(old), [*proof, bytes(32)]), (bytes(32), proof), (root_at(old), proof[:-1] if proof else [bytes(32)])]:
            with refused(vector):
                check_consistency(old, new, first, root_at(new), way, sha256)


def test_tiles_bundles_and_their_paths() -> None:
    files = 0
    for size, expected in VECTORS["tiles"]["by_size"].items():
        made = tiles_of(ALL_ENTRIES[: int(size)])
        assert made.keys() == expected.keys()
        for path, file in expected.items():
            data = made[path]
            assert (len(data), hex_text(sha256(data))) == (file["bytes"], file["sha256"])
            assert file.get("hex", hex_text(data)) == hex_text(data)
            level, place, width = served_tile(path, int(size))
            if level == ENTRIES:
                assert entries_of(data, width) == ALL_ENTRIES[place * 256 : place * 256 + width]
            files += 1
    assert (list(VECTORS["tiles"]["by_size"]), files) == (["1", "10", "255", "256", "257", "300"], 19)
    paths = VECTORS["tiles"]["paths"]
    assert (len(paths["names"]), len(paths["not_found"]["paths"]), len(paths["found"]["paths"])) == (9, 28, 8)
    for name in paths["names"]:
        assert tile_path(name["level"], name["n"], name["width"]) == name["path"]
        assert served_tile(name["path"], 2**600) == (name["level"], name["n"], name["width"])
    for path in [*paths["not_found"]["paths"], "tile/0/000.p/257", "tile/0/000\n", "tile/0/٠٠٠"]:
        with refused(path):
            served_tile(path, 300)
    with refused("a level above 63"):
        served_tile("tile/64/000", 2**600)
    for path in paths["found"]["paths"]:
        served_tile(path, 300)
    bundle = tiles_of(ALL_ENTRIES[:2])["tile/entries/000.p/2"]
    for bad, why in [(bundle + b"\0", "long"), (bundle[:-1], "short"), (b"", "short"), (b"\1", "short")]:
        with pytest.raises(Refused, match=f"too {why}$"):
            entries_of(bad, 2)


def test_notes_with_the_three_kinds_of_lines() -> None:
    for batches, vector in NOTES.items():
        note, signed = whole_note(vector), vector["tlog_checkpoint"]
        assert hex_text(sha256(note.encode())) == vector["note_sha256"]
        message = signed["message"]
        roots = SignedRoots(message["batches"], *words([message["root"], message["history"], signed["signature"]]))
        struct = tlog_hash(batches, roots.root, roots.history)
        assert (hex_text(struct), hex_text(DOMAIN.digest(struct))) == (signed["struct_hash"], signed["digest"])
        key = next(key for key in VECTORS["sequencer_keys"] if key["name"] == signed["by"])
        assert hex_text(KeySigner(PrivateKey(from_hex(key["private"])).secret).sign_digest(DOMAIN.digest(struct))) == signed["signature"]
        shown = verify_note(note, TRUST, KNOWN)
        assert (shown.text, shown.origin, shown.signed) == (vector["text"], ORIGIN, roots)
        assert [(line.key.type, line.time) for line in shown.verified] == [(n.ED25519, None), (n.ML_DSA_44, 0)]
        assert (shown.root, shown.signed.history) == (root_at(batches), history_at(batches))
        cosigned = n.cosigned_message(ORIGIN, batches, shown.root, ORIGIN, 0)
        assert hex_text(cosigned) == vector["mldsa_cosigned_message"]
        assert signed_ed25519(VECTORS["tlog_keys"]["ed25519"], vector["text"]) == vector["lines"]["ed25519"]
        assert verify_note(note.encode(), TRUST, KNOWN) == shown


def test_notes_that_are_refused() -> None:
    counts = {"note": 0, "log": 0}
    for vector in VECTORS["must_refuse_notes"]["cases"]:
        counts[vector["by"]] += 1
        if vector["by"] == "note":
            with refused_by(vector):
                verify_note(bytes_of(vector), TRUST, KNOWN)
        else:
            shown = verify_note(bytes_of(vector), TRUST, KNOWN)
            assert (shown.root, shown.signed.history) != (root_at(10), history_at(10)), vector["why"]
    assert counts == {"note": 47, "log": 2}
    honest, fork = VECTORS["faults"]["alarm_without_our_line"]["notes"]
    assert verify_note(honest, TRUST, KNOWN).batches == 10
    with pytest.raises(Refused, match="^0 lines"):
        verify_note(fork, TRUST, KNOWN)


def test_notes_that_the_vectors_leave_out() -> None:
    ours, ed25519, mldsa = LINES["ours"], LINES["ed25519"], LINES["mldsa"]
    unknown, foreign = "— other.example AAAAAAA=", ours.replace(ORIGIN, "other.example")
    witness = VECTORS["witness_keys"]["w1_0x04"]
    for good in [note_of(ours), note_of(unknown, ours, "— aé😀 AAAAAAA="), note_of(foreign, ours), note_of(ours, *[unknown] * 99)]:
        verify_note(good, TRUST, KNOWN)
    # A known key's line may stand there twice, but each has to hold.
    assert len(verify_note(note_of(ed25519, ours, ed25519), TRUST, KNOWN).verified) == 2
    last = verify_note(note_of(ours, signed_ed25519(witness, TEXT, 2**63 - 1)), TRUST, KNOWN)
    assert last.verified[0].time == 2**63 - 1
    bad = {
        "no signatures": f"{TEXT}\n",
        "a second Ed25519 line that fails": note_of(ed25519, ours, ed25519[:-3] + "AA="),
        "an ML-DSA line that fails": note_of(f"{mldsa[:100]}AAAA{mldsa[104:]}", ours),
        "an ML-DSA line that is too short": note_of(mldsa[:-4], ours),
        "a time above 2^63 - 1": note_of(ours, signed_ed25519(witness, TEXT, 2**63)),
        "the line of the sequencer's key under another name": note_of(foreign),
        "a line of four bytes": note_of(ours, "— other.example AAAAAA=="),
        "surplus bits in base64": note_of(ours, "— other.example AAAAAAB="),
        "padding in the middle": note_of(ours, "— other.example AAAA=AAA"),
        "a name with a plus": note_of(ours, "— a+b AAAAAAA="),
        "a name with a next line character": note_of(ours, "— a\x85b AAAAAAA="),
        "an empty line after the signatures": note_of(ours) + "\n",
        "an empty line among the signatures": note_of(ours, "", unknown),
        "a byte order mark": "\ufeff" + note_of(ours),
        "half a character": note_of(ours, "— a\ud800 AAAAAAA="),
        "too many lines": note_of(ours, *[unknown] * 100),
        "too long": note_of(ours, "— other.example " + "AAAA" * 250_000),
        "a size of 2^64": note_of(ours).replace("\n10\n", "\n18446744073709551616\n"),
        "a size in other digits": note_of(ours).replace("\n10\n", "\n١٠\n"),
        "a root with surplus bits": note_of(ours).replace("Slw=", "Slx="),
        "no text": f"\n{ours}\n",
    }
    for why, note in bad.items():
        with refused(why):
            verify_note(note, TRUST, KNOWN)
    with pytest.raises(Refused, match="^no signature lines"):
        verify_note(bad["no signatures"], TRUST, KNOWN)
    long = VerifierKey.of(made_key("a" * 256, n.ML_DSA_44, bytes(1312)))
    with refused("a name that no cosigned message can hold"):
        verify_note(note_of(ours, made_line(long.name, long.id, bytes(8 + 2420))), TRUST, [long])
    room = 512 * 1024 - len(note_of(ours, "—  AAAAAAA=").encode())
    verify_note(note_of(ours, f"— {'a' * room} AAAAAAA="), TRUST)
    with refused("a byte too long"):
        verify_note(note_of(ours, f"— {'a' * (room + 1)} AAAAAAA="), TRUST)
    with refused("another domain"):
        verify_note(note_of(ours), Trust(Domain(1, DOMAIN.verifying_contract), TRUST.keys), KNOWN)


def cosigned(*names: str) -> NoteShown:
    lines = "".join(f"{VECTORS['cosignatures'][name]}\n" for name in names)
    return verify_note(whole_note(NOTES[10]) + lines, TRUST, KNOWN)


def test_the_logs_own_ml_dsa_line_names_no_time() -> None:
    shown = verify_note(note_of(LINES["ours"]), TRUST, KNOWN)
    vkey = VerifierKey.of(VECTORS["tlog_keys"]["mldsa"]["vkey"])
    private = MLDSA44PrivateKey.from_seed_bytes(from_hex(VECTORS["tlog_keys"]["mldsa"]["seed"]))

    def line(time: int) -> str:
        message = n.cosigned_message(shown.origin, shown.batches, shown.root, vkey.name, time)
        return made_line(vkey.name, vkey.id, u64(time), private.sign(message))

    assert verify_note(note_of(LINES["ours"], line(0)), TRUST, KNOWN).verified[0].time == 0
    with refused("a time"):
        verify_note(note_of(LINES["ours"], line(1)), TRUST, KNOWN)


def test_cosignatures() -> None:
    times = VECTORS["cosignatures"]["timestamps"]
    assert list(VECTORS["cosignatures"]) == ["about", *times, "timestamps"] and len(times) == 3
    for name, time in times.items():
        key, line = VECTORS["witness_keys"][name], VECTORS["cosignatures"][name]
        assert [(found.key, found.time) for found in cosigned(name).verified[2:]] == [(VerifierKey.of(key["vkey"]), time)]
        with refused("a cosignature of another note"):
            verify_note(f"{whole_note(NOTES[8])}{line}\n", TRUST, KNOWN)
        if name.endswith("0x04"):
            assert signed_ed25519(key, TEXT, time) == line
        else:
            private = MLDSA44PrivateKey.from_seed_bytes(from_hex(key["seed"]))
            assert private.public_key().public_bytes_raw() == VerifierKey.of(key["vkey"]).key
            later = made_line(key["name"], b64decode(line.split(" ")[2])[:4], u64(2**63), private.sign(b"message"))
            with refused("a time above 2^63 - 1"):
                verify_note(note_of(LINES["ours"], later), TRUST, KNOWN)


def test_policies() -> None:
    file, enough, few = (VECTORS["policy"][name] for name in ("tlog_policy", "enough", "not_enough"))
    policy = Policy.of(file)
    assert (len(enough), len(few)) == (3, 4)
    for names in enough:
        policy.check(cosigned(*names))
    for names in few:
        with refused(names):
            policy.check(cosigned(*names))
    Policy.of("\t# none\n\n quorum \t none ").check(cosigned())
    log = KNOWN[0]
    foreign = Policy.of(file.replace(VECTORS["tlog_keys"]["ed25519"]["vkey"], made_key("other.example", 1, log.key)))
    with refused("a log that the policy does not list"):
        foreign.check(cosigned(*enough[0]))
    w1, w2, pq = (VECTORS["witness_keys"][name]["vkey"] for name in ("w1_0x04", "w2_0x04", "w1_0x06"))
    nested = Policy.of(f"witness a {w1}\nwitness b {w2}\ngroup one any a b\ngroup all 1 one b\nquorum all\n")
    nested.check(cosigned("w1_0x04", "w1_0x06"))
    with refused("no witness"):
        nested.check(cosigned())
    bad = ["", "quorum w1", "quorum none\nquorum none", "quorum", "group a any none\nquorum a", "other", "quorum none x", "# a\rb\nquorum none"]
    bad += [f"witness none {w1}\nquorum none"]
    bad += [f"witness a {w1}\ngroup b {least} a\nquorum b" for least in ("2", "0", "01", "some", "-1")]
    others = (f"a {w2}", f"b {w1}", f"b {pq}", f"b {made_key('b', 4, VerifierKey.of(w1).key)}")
    bad += [f"witness a {w1}\nwitness {second}\nquorum none" for second in others]
    bad += [f"witness a {w1}\ngroup b any a a\nquorum b", f"group b any a\nwitness a {w1}\nquorum b"]
    bad += [f"log {w1}\nquorum none", f"witness a {VECTORS['tlog_keys']['ed25519']['vkey']}\nquorum none"]
    for text in bad:
        with refused(text):
            Policy.of(text)


def test_bodies_of_add_checkpoint() -> None:
    body, answer = VECTORS["add_checkpoint"]["body"], VECTORS["add_checkpoint"]["answer"]
    added = read_add_checkpoint(body, TRUST, KNOWN)
    proof = next(words(vector["proof"]) for vector in VECTORS["consistency"] if (vector["from"], vector["to"]) == (7, 10))
    assert (added.old_size, list(added.proof), added.note.batches) == (7, proof, 10)
    added.check_extends(root_at(7))
    with refused("another old root"):
        added.check_extends(root_at(8))
    witnessed = whole_note(NOTES[10]) + answer
    assert add_checkpoint_body(7, proof, witnessed) == body
    assert [(line.key.name, line.time) for line in verify_note(witnessed, TRUST, KNOWN).verified[2:]] == [("witness.example/w1", 1790000400)]
    first = read_add_checkpoint(add_checkpoint_body(0, [], whole_note(NOTES[1])), TRUST, KNOWN)
    first.check_extends(root_at(0))
    with refused("a proof from nothing"):
        read_add_checkpoint(add_checkpoint_body(0, proof, whole_note(NOTES[10])), TRUST, KNOWN).check_extends(root_at(0))
    line = body.split("\n")[1]
    olds = [body.replace("old 7", other) for other in ("old 07", "old 11", "old -7", "Old 7", "old  7")]
    lines = [body.replace(line, other) for other in (f"{line}=", line[4:], "\n".join([line] * 60))]
    for bad in ["", body.replace("\n\n", "\n"), body.partition("\n")[2], *olds, *lines]:
        with refused(bad[:100]):
            read_add_checkpoint(bad, TRUST, KNOWN)


def test_tlog_proofs() -> None:
    policy = Policy.of(VECTORS["policy"]["tlog_policy"])
    file, vectors = VECTORS["tlog_proof"]["file"], VECTORS["tlog_proof"]["must_refuse"]
    shown = verify_tlog_proof(file, TRUST, KNOWN, policy)
    assert (shown.header, shown.note.batches) == (HEADERS[3], 10)
    assert verify_tlog_proof(file, TRUST, (), policy).header == HEADERS[3]
    assert len(vectors) == 12
    for vector in vectors:
        with refused_by(vector):
            verify_tlog_proof(vector["proof"], TRUST, KNOWN, policy)
    lines = file.split("\n")
    one = "\n".join(lines[:-2]) + "\n"
    verify_tlog_proof(one, TRUST, KNOWN)
    # A log whose root holds header 4 in the place of header 3, as the vectors of false tlog root have it.
    false = next(vector for vector in VECTORS["faults"]["false_tlog_root"]["good"] if vector["why"] == "another header in its place")
    number = bytes.fromhex(VECTORS["sequencer_keys"][1]["line_key_id"])
    ours = made_line(ORIGIN, number, from_hex(false["t"]["history"]), from_hex(false["t"]["signature"]))
    note = f"{ORIGIN}\n10\n{base64(from_hex(false['t']['root']))}\n\n{ours}\n"
    verify_note(note, TRUST, KNOWN)
    path = [base64(word) for word in words(false["entry_path"])]
    other = "\n".join([lines[0], f"extra {base64(from_hex(false['entry']))}", "index 3", *path, "", note])
    with pytest.raises(Refused, match="the header is of another batch"):
        verify_tlog_proof(other, TRUST, KNOWN)
    bad = [
        one,
        file.replace("index 3\n", "index 3\n\n"),
        file.replace("index 3", f"{lines[1]}\nindex 3"),
        file.replace("index 3", "index 3\nindex 3"),
        file.replace("extra Vi", "extra  Vi"),
        file.replace(lines[3], lines[3][:-1]),
        "",
        "\n".join(lines[:7]) + "\n\n",
    ]
    for text in bad:
        with refused(text[:100]):
            verify_tlog_proof(text, TRUST, KNOWN, policy)


# Faults


def roots_of(vector: dict[str, Any]) -> SignedRoots:
    return SignedRoots(vector["batches"], *words([vector["root"], vector["history"], vector["signature"]]))


def anchored_of(vector: dict[str, Any]) -> faults.AnchoredHistory:
    return faults.AnchoredHistory(vector["batches"], from_hex(vector["history"]))


def entry_of(value: str | dict[str, int]) -> bytes:
    return from_hex(value) if isinstance(value, str) else bytes(value["zero_bytes"])


def conflict(vector: dict[str, Any]) -> bool:
    return faults.conflicting_tlog(roots_of(vector["a"]), roots_of(vector["b"]), TRUST)


def false_history(vector: dict[str, Any]) -> bool:
    beginning, proof = from_hex(vector["beginning"]), words(vector["proof"])
    return faults.false_tlog_history(roots_of(vector["t"]), anchored_of(vector["anchored"]), beginning, proof, TRUST)


def false_root(vector: dict[str, Any]) -> bool:
    paths, held = (words(vector["entry_path"]), words(vector["held_path"])), from_hex(vector["held"])
    return faults.false_tlog_root(roots_of(vector["t"]), vector["index"], entry_of(vector["entry"]), paths[0], held, paths[1], TRUST)


def answered(vector: dict[str, Any]) -> bool:
    paths, header = (words(vector["entry_path"]), words(vector["held_path"])), header_of(vector["header"])
    faults.check_entry_answer(roots_of(vector["t"]), vector["index"], header, paths[0], anchored_of(vector["anchored"]), paths[1], TRUST)
    return True


@pytest.mark.parametrize(
    ("name", "verdict", "good", "bad"),
    [
        ("conflicting_tlog", conflict, 4, 8),
        ("false_tlog_history", false_history, 5, 12),
        ("false_tlog_root", false_root, 10, 16),
        ("demand_of_entry_answers", answered, 3, 8),
    ],
)
def test_every_verdict_of_the_faults(name: str, verdict: Callable[[dict[str, Any]], bool], good: int, bad: int) -> None:
    vectors = VECTORS["faults"][name]
    assert (len(vectors["good"]), len(vectors["must_refuse"])) == (good, bad)
    for vector in vectors["good"]:
        assert verdict(vector), vector["why"]
    for vector in vectors["must_refuse"]:
        if vector["refused_by"] in NO_FAULT:
            assert not verdict(vector), vector["why"]
        else:
            with refused_by(vector):
                verdict(vector)


def test_signatures_of_another_form_prove_nothing() -> None:
    vector = VECTORS["faults"]["conflicting_tlog"]["good"][0]
    first, second = roots_of(vector["a"]), roots_of(vector["b"])
    rs = second.signature[:64]
    for signature in [b"", rs, rs + b"\0", rs + b"\x1d", second.signature + b"\0", bytes(64) + b"\x1b"]:
        with refused(signature):
            faults.conflicting_tlog(first, SignedRoots(second.batches, second.root, second.history, signature), TRUST)
