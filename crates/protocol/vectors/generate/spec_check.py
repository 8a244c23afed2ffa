"""Recomputes every number of spec.json: the hand-written rules must give what it says."""

from eth_account import Account

import hashing as h
from merkle import Tree, verify_consistency, verify_multiproof, verify_path


def same(what: str, mine, theirs) -> None:
    mine = h.hx(mine) if isinstance(mine, bytes) else mine
    if mine != theirs:
        raise SystemExit(f"spec.json, {what}: computed {mine}, found {theirs}")


def check_signature(spec: dict, what: str, address: str, digest: bytes, signature: str) -> None:
    """Signatures are deterministic (RFC 6979), so signing again gives the same bytes."""
    key = next(key["private"] for key in spec["keys"].values() if key["address"] == address)
    same(f"{what}, signature", bytes(Account.from_key(key).unsafe_sign_hash(digest).signature), signature)


def check_requests(spec: dict, separator: bytes) -> list[tuple[dict, dict]]:
    committed = []
    for number, request in enumerate(spec["requests"]):
        message = request["message"]
        same(f"request {number}, struct hash", h.request_hash(message), request["struct_hash"])
        same(f"request {number}, digest", h.digest(separator, h.request_hash(message)), request["digest"])
        check_signature(spec, f"request {number}", message["signer"], h.unhx(request["digest"]), request["signature"])
        for index, action in enumerate(message["actions"]):
            what = f"request {number}, action {index}"
            same(f"{what}, salt", h.salt(h.unhx(request["salt_seed"]), index), action["salt"])
            same(f"{what}, hash", h.action_hash(action), request["action_hashes"][index])
            committed.append((request, action))
    return committed


def check_records(spec: dict, separator: bytes, committed: list[tuple[dict, dict]]) -> None:
    head, integrity = separator, {}
    same("number of records", len(committed), len(spec["records"]))
    for record, (request, action) in zip(spec["records"], committed):
        what = f"record {record['sequence']}"
        authority = h.authority(h.unhx(request["signature"]), h.unhx(action["salt"]))
        content = h.content(action, request["message"]["signer"], authority)
        resource = record["resource"]
        if resource not in integrity:
            same(f"{what}, id", h.made_id(resource[:3], content, 0), resource)
        integrity[resource] = h.H(integrity.get(resource, h.ZERO) + content)
        leaf = h.leaf(record["sequence"], record["timestamp_ms"], content, integrity[resource])
        head = h.H(head + leaf)
        for name, value in (("content", content), ("integrity", integrity[resource]), ("leaf", leaf), ("head", head)):
            same(f"{what}, {name}", value, record[name])


def check_second_resources(spec: dict) -> None:
    content = h.unhx(spec["second_resources"]["content"])
    for index, integrity in enumerate(spec["second_resources"]["integrity"]):
        same(f"integrity of resource {index} of one action", h.first_integrity(content, index), integrity)


def check_batches(spec: dict, separator: bytes) -> Tree:
    log_leaves: list[bytes] = []
    for batch in spec["batches"]:
        message, number = batch["message"], batch["message"]["number"]
        first = message["firstSequence"] - 1
        tree = Tree([h.unhx(record["leaf"]) for record in spec["records"][first : first + message["count"]]])
        same(f"batch {number}, root", tree.root(), message["root"])
        same(f"batch {number}, history", Tree(log_leaves).root(), message["history"])
        same(f"batch {number}, hash", h.batch_hash(message), batch["batch_hash"])
        same(f"batch {number}, id", h.identifier("bat", h.batch_hash(message)[:16]), batch["id"])
        same(f"batch {number}, digest", h.digest(separator, h.batch_hash(message)), batch["digest"])
        sequencer = spec["keys"]["sequencer"]["address"]
        check_signature(spec, f"batch {number}", sequencer, h.unhx(batch["digest"]), batch["signature"])
        for index, path in enumerate(batch["paths"]):
            same(f"batch {number}, path {index}", [h.hx(node) for node in tree.path(index)], path)
        for text, proof in batch["multiproofs"].items():
            indices = [int(index) for index in text.split(",")]
            same(f"batch {number}, multiproof {text}", [h.hx(node) for node in tree.multiproof(indices)], proof)
        log_leaves.append(h.H(b"\x00" + h.batch_hash(message)))
    return Tree(log_leaves)


def check_checkpoint(spec: dict, separator: bytes, log: Tree) -> None:
    checkpoint = spec["checkpoint"]
    same("checkpoint, history", log.root(), checkpoint["message"]["history"])
    same("checkpoint, digest", h.digest(separator, h.checkpoint_hash(checkpoint["message"])), checkpoint["digest"])
    sequencer = spec["keys"]["sequencer"]["address"]
    check_signature(spec, "checkpoint", sequencer, h.unhx(checkpoint["digest"]), checkpoint["signature"])
    for index, path in enumerate(checkpoint["batch_paths"]):
        same(f"checkpoint, path {index}", [h.hx(node) for node in log.path(index)], path)
    for pair, proof in checkpoint["consistency"].items():
        first, second = map(int, pair.split(","))
        same(f"checkpoint, consistency {pair}", [h.hx(node) for node in log.consistency(first, second)], proof)


def check_trees(spec: dict) -> None:
    tree = Tree([h.H(b"\x00" + h.u64(index)) for index in range(1000)])
    for entry in spec["trees"]:
        size = entry["size"]
        same(f"tree {size}, root", tree.root(size), entry["root"])
        for index, path in entry["path_of"].items():
            same(f"tree {size}, path {index}", [h.hx(node) for node in tree.path(int(index), size)], path)
        for first, proof in entry["consistency_from"].items():
            expected = [h.hx(node) for node in tree.consistency(int(first), size)]
            same(f"tree {size}, consistency {first}", expected, proof)
    refuse, root = spec["must_refuse"], tree.root(5)
    for case in refuse["multiproofs"]:
        nodes, proof = [h.unhx(x) for x in case["leaves"]], [h.unhx(x) for x in case["proof"]]
        same(case["why"], verify_multiproof(root, 5, case["indices"], nodes, proof), False)
    for case in refuse["paths"]:
        proof = [h.unhx(x) for x in case["proof"]]
        same(case["why"], verify_path(root, case["size"], case["index"], h.unhx(case["leaf"]), proof), False)
    for case in refuse["consistency"]:
        proof = [h.unhx(x) for x in case["proof"]]
        first, second = h.unhx(case["first"]), h.unhx(case["second"])
        same(case["why"], verify_consistency(case["from"], case["to"], first, second, proof), False)


def check_spec(spec: dict) -> None:
    domain = spec["domain"]
    separator = h.domain_separator(domain["chainId"], domain["verifyingContract"])
    same("domain separator", separator, spec["domain_separator"])
    check_records(spec, separator, check_requests(spec, separator))
    check_second_resources(spec)
    check_checkpoint(spec, separator, check_batches(spec, separator))
    check_trees(spec)
