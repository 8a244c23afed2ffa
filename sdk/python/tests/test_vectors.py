"""The protocol's vectors: what the SDK must make, and what it must refuse."""

from typing import Any

import pytest
from coincurve import PrivateKey
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak as eth_keccak
from kedge.errors import Refused
from kedge.protocol.hashing import from_hex, hex_text, keccak, u64
from kedge.protocol.ids import id_bytes, id_of, made_id
from kedge.protocol.signatures import check_signer, kept_signature, recover_signer
from kedge.protocol.trees import check_consistency, check_inclusion, root_of
from kedge.protocol.typed import (
    CONSENT_TYPES,
    TYPES,
    Domain,
    Header,
    action_hash,
    authority_of,
    consent_hash,
    content_of,
    first_integrity,
    leaf_of,
    log_leaf,
    next_head,
    next_integrity,
    request_hash,
    salt_of,
)
from kedge.signing import Consent, KeySigner, key_addition
from kedge.verify import Trust, check_next_header

from vectors import checkpoint_of, domain_of, header_json, header_of, read, words


def struct_of(message: dict[str, Any]) -> bytes:
    """A request's struct hash."""
    hashes = [action_hash(one["kind"], one["target"], one["payload"], from_hex(one["salt"])) for one in message["actions"]]
    signer = from_hex(message["signer"])
    return request_hash(signer, int(message["nonce"]), int(message["deadline"]), message["atomic"], hashes)


def content(action: dict[str, Any], signer: str, signature: str) -> bytes:
    authority = authority_of(keccak(from_hex(signature)), from_hex(action["salt"]))
    texts = [keccak(action[name].encode()) for name in ("kind", "target", "payload")]
    return content_of(texts[0], texts[1], texts[2], from_hex(signer), authority)


def check_requests(requests: list[dict[str, Any]], domains: list[Domain], keys: dict[str, Any]) -> None:
    by_address = {key["address"]: from_hex(key["private"]) for key in keys.values()}
    for request in requests:
        message = request["message"]
        hashes = [action_hash(one["kind"], one["target"], one["payload"], from_hex(one["salt"])) for one in message["actions"]]
        assert hashes == words(request["action_hashes"])
        salts = [hex_text(salt_of(from_hex(request["salt_seed"]), i)) for i in range(len(hashes))]
        assert salts == [one["salt"] for one in message["actions"]]
        assert hex_text(struct_of(message)) == request["struct_hash"]
        digest = domains[request.get("domain", 0)].digest(struct_of(message))
        assert hex_text(digest) == request["digest"]
        signer = KeySigner(PrivateKey(by_address[message["signer"]]).secret)
        assert hex_text(signer.sign_digest(digest)) == request["signature"]
        assert recover_signer(digest, from_hex(request["signature"])) == from_hex(message["signer"])


def test_spec_vectors() -> None:
    spec = read("spec")
    domain = domain_of(spec["domain"])
    assert hex_text(domain.separator) == spec["domain_separator"]
    check_requests(spec["requests"], [domain], spec["keys"])
    sequencer = from_hex(spec["keys"]["sequencer"]["address"])
    head, leaves = domain.separator, []
    done = [(request, action) for request in spec["requests"] for action in request["message"]["actions"]]
    by_salt = {action["salt"]: (request, action) for request, action in done}
    last: dict[str, bytes] = {}
    for record in spec["records"]:
        request, action = by_salt[record["salt"]]
        own = content(action, request["message"]["signer"], request["signature"])
        last[record["resource"]] = next_integrity(last.get(record["resource"], bytes(32)), own)
        leaf = leaf_of(record["sequence"], record["timestamp_ms"], own, last[record["resource"]])
        head = next_head(head, leaf)
        made = {"content": own, "integrity": last[record["resource"]], "leaf": leaf, "head": head}
        assert {name: hex_text(value) for name, value in made.items()} == {name: record[name] for name in made}
        leaves.append(leaf)
    for batch in spec["batches"]:
        header = header_of(batch["message"])
        own_leaves = leaves[header.first_sequence - 1 : header.end - 1]
        digest = domain.digest(header.hash)
        assert (hex_text(header.hash), hex_text(digest)) == (batch["batch_hash"], batch["digest"])
        assert id_of("bat", header.hash) == batch["id"]
        check_signer(digest, from_hex(batch["signature"]), sequencer, "the header")
        assert root_of(own_leaves) == header.root
        for index, path in enumerate(batch["paths"]):
            check_inclusion(header.root, header.count, [index], [own_leaves[index]], words(path))
        for indices, proof in batch["multiproofs"].items():
            chosen = [int(index) for index in indices.split(",")]
            check_inclusion(header.root, header.count, chosen, [own_leaves[i] for i in chosen], words(proof))
    checkpoint = checkpoint_of(spec["checkpoint"]["message"])
    assert hex_text(domain.digest(checkpoint.hash)) == spec["checkpoint"]["digest"]
    check_signer(domain.digest(checkpoint.hash), from_hex(spec["checkpoint"]["signature"]), sequencer, "the checkpoint")
    for index, path in enumerate(spec["checkpoint"]["batch_paths"]):
        log = log_leaf(from_hex(spec["batches"][index]["batch_hash"]))
        check_inclusion(checkpoint.history, checkpoint.batches, [index], [log], words(path))
    second = spec["second_resources"]
    assert [hex_text(first_integrity(from_hex(second["content"]), i)) for i in range(4)] == second["integrity"]


def test_spec_trees_and_refusals() -> None:
    spec = read("spec")

    def leaf(index: int) -> bytes:
        return keccak(b"\0" + u64(index))

    for tree in spec["trees"]:
        leaves = [leaf(i) for i in range(tree["size"])]
        root = root_of(leaves)
        assert hex_text(root) == tree["root"]
        for index, path in tree["path_of"].items():
            check_inclusion(root, tree["size"], [int(index)], [leaf(int(index))], words(path))
        for size, proof in tree["consistency_from"].items():
            check_consistency(int(size), tree["size"], root_of(leaves[: int(size)]), root, words(proof))
    refused = spec["must_refuse"]
    root = root_of([leaf(i) for i in range(5)])
    for bad in refused["multiproofs"]:
        with pytest.raises(Refused):
            check_inclusion(root, 5, bad["indices"], words(bad["leaves"]), words(bad["proof"]))
            pytest.fail(bad["why"])
    for bad in refused["paths"]:
        with pytest.raises(Refused):
            check_inclusion(root, bad["size"], [bad["index"]], [from_hex(bad["leaf"])], words(bad["proof"]))
            pytest.fail(bad["why"])
    for bad in refused["consistency"]:
        first, second = from_hex(bad["first"]), from_hex(bad["second"])
        with pytest.raises(Refused):
            check_consistency(bad["from"], bad["to"], first, second, words(bad["proof"]))
            pytest.fail(bad["why"])


def test_eip712_vectors() -> None:
    vectors = read("eip712")
    domains = [domain_of(domain) for domain in vectors["domains"]]
    assert [hex_text(domain.separator) for domain in domains] == [one["separator"] for one in vectors["domains"]]
    check_requests(vectors["requests"], domains, vectors["keys"])
    sequencer = from_hex(vectors["keys"]["sequencer"]["address"])
    for made, kind in ((header_of, "headers"), (checkpoint_of, "checkpoints")):
        for one in vectors[kind]:
            struct = made(one["message"]).hash
            digest = domains[one["domain"]].digest(struct)
            assert (hex_text(struct), hex_text(digest)) == (one["struct_hash"], one["digest"])
            assert recover_signer(digest, from_hex(one["signature"])) == sequencer
    for spelling in vectors["spellings"]:
        kept = kept_signature(from_hex(spelling["received"]))
        assert (hex_text(kept), hex_text(keccak(kept))) == (spelling["kept"], spelling["kept_hash"])

    def accept(one: dict[str, Any]) -> None:
        message = one["message"]
        digest = domains[one["domain"]].digest(struct_of(message))
        check_signer(digest, from_hex(one["signature"]), from_hex(message["signer"]), "the request")

    accept(vectors["must_refuse"]["good"])
    for bad in vectors["must_refuse"]["refused"]:
        with pytest.raises((Refused, ValueError)):
            accept(bad)
            pytest.fail(bad["why"])


def test_consents() -> None:
    vectors = read("possession")
    domain = domain_of(vectors["domain"])

    def accept(one: dict[str, Any]) -> None:
        key = from_hex(one["message"]["key"])
        digest = domain.digest(consent_hash(one["message"]["wallet"], key))
        check_signer(digest, from_hex(one["signature"]), key, "the consent")

    carol = KeySigner(vectors["keys"]["carol"]["private"])
    for good in vectors["good"]:
        wallet = good["message"]["wallet"]
        consent = Consent(domain, wallet, from_hex(carol.address))
        assert hex_text(consent.digest) == good["digest"]
        signable = encode_typed_data(full_message=consent.typed_data())
        assert consent.typed_data()["types"] == CONSENT_TYPES
        assert hex_text(eth_keccak(b"\x19\x01" + signable.header + signable.body)) == good["digest"]
        accept(good)
        kept = hex_text(kept_signature(from_hex(good["signature"])))
        assert key_addition(carol, domain, wallet) == {"address": carol.address, "possession": kept}
    for bad in vectors["must_refuse"]:
        with pytest.raises((Refused, ValueError)):
            accept(bad)
            pytest.fail(bad["why"])


def test_eth_account_agrees() -> None:
    """The typed data that wallets are shown hashes to what the SDK signs."""
    spec = read("spec")
    for request in spec["requests"]:
        data = {"types": TYPES, "primaryType": "ActionRequest", "domain": spec["domain"], "message": request["message"]}
        signable = encode_typed_data(full_message=data)
        assert hex_text(eth_keccak(b"\x19\x01" + signable.header + signable.body)) == request["digest"]
        key = next(key for key in spec["keys"].values() if key["address"] == request["message"]["signer"])
        assert hex_text(bytes(Account.sign_message(signable, key["private"]).signature)) == request["signature"]


def test_chain_vectors() -> None:
    chain = read("chain")
    contract, sequencer = chain["domain"]["verifyingContract"], chain["keys"]["sequencer"]["address"]
    trust = Trust.of(int(chain["domain"]["chainId"]), contract, sequencer)
    head = trust.domain.separator
    assert hex_text(head) == chain["domain_separator"]
    leaves: list[list[bytes]] = [[] for _ in chain["batches"]]
    last_times = [0 for _ in chain["batches"]]
    for record in chain["records"]:
        request = chain["requests"][record["request"]]
        own = content(request["message"]["actions"][record["index"]], request["message"]["signer"], request["signature"])
        integrity = next_integrity(from_hex(record["previous_integrity"]), own)
        leaf = leaf_of(int(record["sequence"]), int(record["timestamp_ms"]), own, integrity)
        head = next_head(head, leaf)
        made = {"content": own, "integrity": integrity, "leaf": leaf, "head": head}
        assert {name: hex_text(value) for name, value in made.items()} == {name: record[name] for name in made}
        assert id_of("act", own) == record["id"]
        for one in record["made"]:
            assert made_id(one["prefix"], own, one["index"]) == one["id"]
            if "integrity" in one:
                assert hex_text(first_integrity(own, one["index"])) == one["integrity"]
        leaves[record["batch"]].append(leaf)
        last_times[record["batch"]] = int(record["timestamp_ms"])
        header = header_of(chain["batches"][record["batch"]]["message"])
        check_inclusion(header.root, header.count, [record["leaf_index"]], [leaf], words(record["path"]))
    for request in chain["requests"]:
        if request["leaf_indices"]:
            header = header_of(chain["batches"][request["batch"]]["message"])
            chosen = [leaves[request["batch"]][i] for i in request["leaf_indices"]]
            check_inclusion(header.root, header.count, request["leaf_indices"], chosen, words(request["multiproof"]))
    headers: list[Header] = []
    logs: list[bytes] = []
    for index, batch in enumerate(chain["batches"]):
        signed = {"header": header_json(batch["message"]), "signature": batch["signature"]}
        previous = headers[-1] if headers else None
        headers.append(check_next_header(signed, leaves[index], last_times[index], previous, logs, trust))
        assert (hex_text(headers[-1].hash), id_of("bat", headers[-1].hash)) == (batch["batch_hash"], batch["id"])
        logs.append(headers[-1].log_leaf)
    for one in chain["checkpoints"]:
        checkpoint = checkpoint_of(one["message"])
        assert (hex_text(checkpoint.hash), id_of("anc", checkpoint.hash)) == (one["struct_hash"], one["anchor_id"])
        check_signer(trust.domain.digest(checkpoint.hash), from_hex(one["signature"]), trust.key_of(0), "the checkpoint")
        for index, path in enumerate(one["batch_paths"]):
            check_inclusion(checkpoint.history, checkpoint.batches, [index], [logs[index]], words(path))
    for one in chain["consistency"]:
        roots = root_of(logs[: one["from"]]), root_of(logs[: one["to"]])
        check_consistency(one["from"], one["to"], *roots, words(one["proof"]))
    after = chain["must_refuse"]["after_batch"]
    for bad in chain["must_refuse"]["headers"]:
        signed = {"header": header_json(bad["message"]), "signature": bad["signature"]}
        with pytest.raises(Refused):
            check_next_header(signed, leaves[after + 1], last_times[after + 1], headers[after], logs[: after + 1], trust)
            pytest.fail(bad["why"])


def test_ids() -> None:
    ids = read("chain")["ids"]
    for one in ids["text"]:
        assert hex_text(id_bytes(one["id"])) == one["bytes"]
        assert id_of(one["id"][:3], from_hex(one["bytes"])) == one["id"]
    for one in ids["made"]:
        assert made_id(one["prefix"], from_hex(ids["content"]), one["index"]) == one["id"]
    for bad in ids["must_refuse"]:
        with pytest.raises(Refused):
            id_bytes(bad)
            pytest.fail(bad)


def test_trees() -> None:
    vectors = read("trees")

    def leaf(index: int) -> bytes:
        return keccak(b"\0" + u64(index))

    def log(index: int) -> bytes:
        return log_leaf(keccak(u64(index)))

    for tree in vectors["batch_trees"]:
        root = from_hex(tree["root"])
        assert root_of([leaf(i) for i in range(tree["size"])]) == root
        for index, path in tree["paths"].items():
            check_inclusion(root, tree["size"], [int(index)], [leaf(int(index))], words(path))
        for one in tree.get("multiproofs") or []:
            check_inclusion(root, tree["size"], one["indices"], [leaf(i) for i in one["indices"]], words(one["proof"]))
    for tree in vectors["log_trees"]:
        size, root = tree["size"], from_hex(tree["root"])
        assert root_of([log(i) for i in range(size)]) == root
        if size:
            check_inclusion(root, size, [size - 1], [log(size - 1)], words(tree["last_path"]))
        for first, proof in (tree.get("consistency") or {}).items():
            check_consistency(int(first), size, root_of([log(i) for i in range(int(first))]), root, words(proof))


def test_tree_proofs_to_refuse() -> None:
    refused = read("trees")["must_refuse"]
    for bad in refused["paths"]:
        with pytest.raises(Refused):
            check_inclusion(from_hex(bad["root"]), int(bad["size"]), [int(bad["index"])], [from_hex(bad["leaf"])], words(bad["proof"]))
            pytest.fail(bad["why"])
    for bad in refused["multiproofs"]:
        with pytest.raises(Refused):
            indices = [int(index) for index in bad["indices"]]
            check_inclusion(from_hex(bad["root"]), int(bad["size"]), indices, words(bad["leaves"]), words(bad["proof"]))
            pytest.fail(bad["why"])
    for bad in refused["consistency"]:
        first, second = from_hex(bad["first"]), from_hex(bad["second"])
        with pytest.raises(Refused):
            check_consistency(int(bad["from"]), int(bad["to"]), first, second, words(bad["proof"]))
            pytest.fail(bad["why"])
