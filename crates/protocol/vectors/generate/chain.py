"""Runs the scenario through layers 1 to 3 and gives the contents of chain.json."""

from eth_account import Account

import hashing as h
from merkle import Tree
from scenario import Ask, story

DOMAIN = {"chainId": "31337", "verifyingContract": "0x5FbDB2315678afecb367f032d93F642f64180aa3"}
KEYS = {"alice": "a1", "bob": "b2", "carol": "c3", "sequencer": "5e"}
START_MS = 1_790_000_000_000
CHECKPOINT_SIZES = (1, 2, 5, 8, 11)
# What has an integrity of its own; variations and events have none.
RESOURCES = ("wal", "org", "tpl", "obj", "fil")


def account(name: str):
    return Account.from_key("0x" + KEYS[name] * 32)


def sign(name: str, digest: bytes) -> bytes:
    return bytes(account(name).unsafe_sign_hash(digest).signature)


class Log:
    """The chain as it grows."""

    def __init__(self) -> None:
        self.separator = h.domain_separator(int(DOMAIN["chainId"]), DOMAIN["verifyingContract"])
        self.head = self.separator
        self.integrity: dict[str, bytes] = {}
        self.version: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.nonces: dict[str, int] = {}
        self.requests: list[dict] = []
        self.records: list[dict] = []
        self.batches: list[dict] = []

    def message(self, ask: Ask, seed: bytes) -> dict:
        self.nonces[ask.signer] = self.nonces.get(ask.signer, 0) + 1
        actions = [
            {
                "kind": step.kind,
                "target": self.names.get(step.target, step.target),
                "payload": step.payload,
                "salt": h.hx(h.salt(seed, index)),
            }
            for index, step in enumerate(ask.steps)
        ]
        return {
            "signer": account(ask.signer).address,
            "nonce": str(self.nonces[ask.signer]),
            "deadline": "1800000000",
            "atomic": ask.atomic,
            "actions": actions,
        }

    def submit(self, ask: Ask) -> dict:
        number = len(self.requests)
        seed = h.H(b"request" + h.u32(number))
        message = self.message(ask, seed)
        struct_hash = h.request_hash(message)
        digest = h.digest(self.separator, struct_hash)
        signature = sign(ask.signer, digest)
        request = {
            "signer": ask.signer,
            "salt_seed": h.hx(seed),
            "message": message,
            "failed": [index for index, step in enumerate(ask.steps) if step.fails],
            "action_hashes": [h.hx(h.action_hash(action)) for action in message["actions"]],
            "struct_hash": h.hx(struct_hash),
            "digest": h.hx(digest),
            "signature": h.hx(signature),
            "signature_hash": h.hx(h.H(signature)),
            "batch": ask.batch,
        }
        self.requests.append(request)
        for index, step in enumerate(ask.steps):
            if not step.fails:
                self.commit(request, number, index, step, signature)
        return request

    def commit(self, request: dict, number: int, index: int, step, signature: bytes) -> None:
        action = request["message"]["actions"][index]
        authority = h.authority(signature, h.unhx(action["salt"]))
        content = h.content(action, request["message"]["signer"], authority)
        made = [(prefix, at, name, h.made_id(prefix, content, at)) for prefix, at, name in step.makes]
        self.names.update({name: identifier for _, _, name, identifier in made})
        started = {made_id: h.first_integrity(content, at) for prefix, at, _, made_id in made if prefix in RESOURCES}
        resource = self.names[step.extends or step.target]
        previous = self.integrity.get(resource, h.ZERO)
        integrity = h.H(previous + content)
        # What is made in addition to the resource acted on starts with a value of its own.
        for made_id, first in started.items():
            self.integrity[made_id], self.version[made_id] = first, 1
        self.version[resource] = 1 if resource in started else self.version[resource] + 1
        self.integrity[resource] = integrity
        sequence = len(self.records) + 1
        # One time a request, and one for each two neighbours: equal times occur, and time never falls.
        timestamp_ms = START_MS + 100 * request["batch"] + number // 2
        leaf = h.leaf(sequence, timestamp_ms, content, integrity)
        self.head = h.H(self.head + leaf)
        self.records.append(
            {
                "sequence": str(sequence),
                "timestamp_ms": str(timestamp_ms),
                "request": number,
                "index": index,
                "batch": request["batch"],
                "leaf_index": sum(record["batch"] == request["batch"] for record in self.records),
                "id": h.identifier("act", content[:16]),
                "resource": resource,
                "version": str(self.version[resource]),
                "made": [
                    {"prefix": prefix, "index": at, "id": made_id}
                    | ({"integrity": h.hx(started[made_id])} if made_id in started else {})
                    for prefix, at, _, made_id in made
                ],
                "authority": h.hx(authority),
                "content": h.hx(content),
                "previous_integrity": h.hx(previous),
                "integrity": h.hx(integrity),
                "leaf": h.hx(leaf),
                "head": h.hx(self.head),
            }
        )

    def history(self, size: int | None = None) -> Tree:
        return Tree([h.H(b"\x00" + h.unhx(batch["batch_hash"])) for batch in self.batches[:size]])

    def seal(self, number: int) -> None:
        records = [record for record in self.records if record["batch"] == number]
        tree = Tree([h.unhx(record["leaf"]) for record in records])
        message = {
            "number": str(number),
            "firstSequence": records[0]["sequence"],
            "count": len(records),
            "previousHead": h.hx(self.head_before(records[0])),
            "head": records[-1]["head"],
            "root": h.hx(tree.root()),
            "history": h.hx(self.history().root()),
            "state": h.hx(h.ZERO),
            "sealedAt": str(int(records[-1]["timestamp_ms"]) + number % 2),
        }
        batch_hash = h.batch_hash(message)
        digest = h.digest(self.separator, batch_hash)
        self.batches.append(
            {
                "message": message,
                "batch_hash": h.hx(batch_hash),
                "id": h.identifier("bat", batch_hash[:16]),
                "digest": h.hx(digest),
                "signature": h.hx(sign("sequencer", digest)),
            }
        )
        for record in records:
            record["path"] = [h.hx(node) for node in tree.path(record["leaf_index"])]
        self.prove_requests(number, tree)

    def prove_requests(self, batch: int, tree: Tree) -> None:
        for number, request in enumerate(self.requests):
            if request["batch"] == batch:
                indices = [record["leaf_index"] for record in self.records if record["request"] == number]
                request["leaf_indices"] = indices
                request["multiproof"] = [h.hx(node) for node in tree.multiproof(indices)]

    def head_before(self, record: dict) -> bytes:
        sequence = int(record["sequence"])
        return h.unhx(self.records[sequence - 2]["head"]) if sequence > 1 else self.separator

    def checkpoint(self, size: int) -> dict:
        last, tree = self.batches[size - 1]["message"], self.history(size)
        message = {
            "batches": str(size),
            "sequence": str(int(last["firstSequence"]) + last["count"] - 1),
            "head": last["head"],
            "history": h.hx(tree.root()),
            "state": h.hx(h.ZERO),
            "issuedAt": str(int(last["sealedAt"]) + 900_000),
        }
        struct_hash = h.checkpoint_hash(message)
        digest = h.digest(self.separator, struct_hash)
        return {
            "message": message,
            "struct_hash": h.hx(struct_hash),
            "anchor_id": h.identifier("anc", struct_hash[:16]),
            "digest": h.hx(digest),
            "signature": h.hx(sign("sequencer", digest)),
            "batch_paths": [[h.hx(node) for node in tree.path(index)] for index in range(size)],
        }


def consistency(log: Log) -> list[dict]:
    tree = log.history()
    pairs = [(a, b) for b in range(1, len(log.batches) + 1) for a in range(1, b + 1)]
    return [{"from": a, "to": b, "proof": [h.hx(node) for node in tree.consistency(a, b)]} for a, b in pairs]


def bad_headers(log: Log) -> list[dict]:
    """Headers, nearly all well signed, that must not be taken as the successor of batch 7."""
    good, before = log.batches[8]["message"], log.batches[7]["message"]
    changes = [
        ("a number left out", {"number": "9"}),
        ("a number used twice", {"number": "7"}),
        ("a sequence left out", {"firstSequence": str(int(good["firstSequence"]) + 1)}),
        ("a sequence used twice", {"firstSequence": str(int(good["firstSequence"]) - 1)}),
        ("another previous head", {"previousHead": before["previousHead"]}),
        ("falling time", {"sealedAt": str(int(before["sealedAt"]) - 1)}),
        ("sealed before its last leaf", {"sealedAt": before["sealedAt"]}),
        ("no leaf", {"count": 0}),
        ("501 leaves", {"count": 501}),
        ("a leaf less than the root holds", {"count": 7}),
        ("another root", {"root": before["root"]}),
        ("another head", {"head": before["head"]}),
        ("the history of the batch before", {"history": before["history"]}),
        ("a state, which is not built", {"state": before["root"]}),
    ]
    elsewhere = h.domain_separator(1, DOMAIN["verifyingContract"])
    signed = [(why, {**good, **fields}, "sequencer", log.separator) for why, fields in changes]
    signed.append(("signed by another key", good, "bob", log.separator))
    signed.append(("signed for another chain", good, "sequencer", elsewhere))
    return [
        {
            "why": why,
            "message": message,
            "signature": h.hx(sign(key, h.digest(separator, h.batch_hash(message)))),
        }
        for why, message, key, separator in signed
    ]


def ids() -> dict:
    """Text forms at the edges, and texts that are no id."""
    samples = [bytes(16), b"\xff" * 16, bytes(15) + b"\x01", b"\x80" + bytes(15), bytes(range(16))]
    prefixes = "wal org key tpl var obj act bat anc evt fil whk dlv dsp".split()
    content = h.H(b"content")
    return {
        "text": [{"bytes": h.hx(raw), "id": h.identifier("obj", raw)} for raw in samples],
        "content": h.hx(content),
        "made": [
            {"prefix": prefix, "index": index, "id": h.made_id(prefix, content, index)}
            for prefix in prefixes
            for index in (0, 1, 499, 2**32 - 1)
        ],
        "must_refuse": [
            "",
            "obj",
            "obj_",
            "obj_" + "0" * 25,
            "obj_" + "0" * 27,
            "obj_8" + "0" * 25,
            "obj_" + "0" * 25 + "A",
            *("obj_" + "0" * 25 + letter for letter in "ilou"),
            "OBJ_" + "0" * 26,
            "xyz_" + "0" * 26,
            "obj-" + "0" * 26,
            "obj_ " + "0" * 25,
        ],
    }


def chain_vectors() -> dict:
    log, asks = Log(), story()
    for number in range(asks[-1].batch + 1):
        for ask in asks:
            if ask.batch == number:
                log.submit(ask)
        log.seal(number)
    return {
        "about": "Layers 1 to 3 over one short log, computed without any Ethereum library but for signing. See README.md.",
        "domain": {"name": h.NAME, "version": h.VERSION, **DOMAIN},
        "domain_separator": h.hx(log.separator),
        "keys": {name: {"private": "0x" + KEYS[name] * 32, "address": account(name).address} for name in KEYS},
        "requests": log.requests,
        "records": log.records,
        "batches": log.batches,
        "checkpoints": [log.checkpoint(size) for size in CHECKPOINT_SIZES],
        "consistency": consistency(log),
        "ids": ids(),
        "must_refuse": {"after_batch": 7, "headers": bad_headers(log)},
    }
