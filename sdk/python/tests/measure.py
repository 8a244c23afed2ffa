"""Measures how fast one process signs, checks and sends, against the server that KEDGE_BIN names. Prints a table."""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from Crypto.Hash import keccak as pycryptodome
from eth_keys.backends.native.main import NativeECCBackend
from eth_keys.datatypes import PrivateKey
from kedge import AsyncKedge, Batch, Call, Kedge, KeySigner, models, operations
from kedge.protocol.hashing import keccak
from kedge.protocol.signatures import recover_signer
from kedge.signing import Action, sign
from kedge.verify import check_batch_receipt, check_receipt

from server import Server

RUNS = 3
SINGLES = 2000
IN_FLIGHT = 64
THREADS = 16
BATCHES = 40
ACTIONS = 500


def rate(count: int, work: Callable[[], object]) -> float:
    """How many a second."""
    begun = time.perf_counter()
    work()
    return count / (time.perf_counter() - begun)


def repeated(count: int, work: Callable[[], object]) -> Callable[[], object]:
    return lambda: [work() for _ in range(count)]


def cryptography() -> dict[str, float]:
    """The parts, each for itself."""
    digest, secret = os.urandom(32), os.urandom(32)
    slow, signer = PrivateKey(secret, backend=NativeECCBackend()), KeySigner(secret)
    kept = signer.sign_digest(digest)
    slow_signature = slow.sign_msg_hash(digest)
    recover = recover_signer.__wrapped__
    return {
        "signatures, coincurve": rate(5000, repeated(5000, lambda: signer.sign_digest(digest))),
        "signatures, eth-keys in Python": rate(100, repeated(100, lambda: slow.sign_msg_hash(digest))),
        "recoveries, coincurve": rate(5000, repeated(5000, lambda: recover(digest, kept))),
        "recoveries, eth-keys in Python": rate(50, repeated(50, lambda: slow_signature.recover_public_key_from_msg_hash(digest))),
        "hashes of 64 bytes, safe-pysha3 if it is installed": rate(50_000, repeated(50_000, lambda: keccak(bytes(64)))),
        "hashes of 64 bytes, pycryptodome": rate(20_000, repeated(20_000, lambda: pycryptodome.new(data=bytes(64), digest_bits=256).digest())),
    }


def requests(client: Kedge, target: str) -> dict[str, float]:
    """Making requests and checking their receipts, without sending."""
    trust, signer = client.trust(), client.session.own_signer()
    one = [Action("emit", target, '{"n":1}')]
    many = [Action("emit", target, f'{{"n":{n}}}') for n in range(ACTIONS)]
    answer = client.answer(_emit(target, 1))
    batch = client.answer(_batch(target))
    receipt, batch_receipt = answer.body["receipt"], batch.body["receipt"]

    def make(actions: list[Action]) -> object:
        return sign(signer, trust.domain, actions, nonce=1, deadline=1)

    def check() -> None:
        recover_signer.cache_clear()
        check_receipt(receipt, trust, answer.contents[0])

    return {
        "requests of 1 action signed": rate(2000, repeated(2000, lambda: make(one))),
        "actions signed in requests of 500": rate(20 * ACTIONS, repeated(20, lambda: make(many))),
        "receipts of 1 action checked": rate(2000, repeated(2000, check)),
        "actions checked in receipts of 500": rate(
            20 * ACTIONS, repeated(20, lambda: check_batch_receipt(batch_receipt, trust, batch.contents))
        ),
    }


def _emit(target: str, number: int) -> Call[models.ActionView]:
    return operations.submit_action({"action_type": "emit", "object_id": target, "payload": {"n": number}})


def _batch(target: str) -> Call[models.BatchAnswer]:
    batch = Batch()
    for number in range(ACTIONS):
        batch.emit(target, {"n": number})
    return operations.submit_batch(batch.body(), prefer="return=minimal")


def sent(client: Kedge, target: str, url: str) -> dict[str, float]:
    """Sending: signed, durable, answered, and the receipt checked."""

    def threads() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda number: client.send(_emit(target, number)), range(SINGLES)))

    async def tasks(count: int, width: int, call: Callable[[int], Call[Any]]) -> None:
        async with AsyncKedge(url, key=client.session.signer, tokens=client.session.tokens) as other:
            room = asyncio.Semaphore(width)

            async def one(number: int) -> None:
                async with room:
                    await other.send(call(number))

            await asyncio.gather(*(one(number) for number in range(count)))

    return {
        "single actions, one after the other": rate(500, lambda: [client.send(_emit(target, n)) for n in range(500)]),
        f"single actions, {THREADS} threads": rate(SINGLES, threads),
        f"single actions, {IN_FLIGHT} tasks": rate(
            SINGLES, lambda: asyncio.run(tasks(SINGLES, IN_FLIGHT, lambda n: _emit(target, n)))
        ),
        "actions in batches of 500, one after the other": rate(
            BATCHES * ACTIONS, lambda: [client.send(_batch(target)) for _ in range(BATCHES)]
        ),
        "actions in batches of 500, 4 tasks": rate(
            BATCHES * ACTIONS, lambda: asyncio.run(tasks(BATCHES, 4, lambda _: _batch(target)))
        ),
    }


def main() -> None:
    """Three runs of everything, each line with the median, the least and the most."""
    running = Server("rate_limits=off")
    figures: dict[str, list[float]] = {}
    try:
        with Kedge(running.url, key=KeySigner.random()) as client:
            client.register("measure@example.com", "a long enough passphrase")
            template = client.create_template({"name": "ticket"})
            target = client.mint_object({"template_id": template["id"]})["id"]
            for _ in range(RUNS):
                for part in (cryptography(), requests(client, target), sent(client, target, running.url)):
                    for name, value in part.items():
                        figures.setdefault(name, []).append(value)
    finally:
        running.stop()
    print("| a second | median | least | most |\n|---|---:|---:|---:|")
    for name, values in figures.items():
        low, median, high = sorted(values)
        print(f"| {name} | {median:,.0f} | {low:,.0f} | {high:,.0f} |")


main()
