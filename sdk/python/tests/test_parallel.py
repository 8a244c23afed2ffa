"""Nonces for parallel use: many requests of one key in flight, from threads, tasks and several clients."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from kedge import AsyncKedge, Kedge, KedgeError, KeySigner
from kedge.nonces import JUMP_MAX, NonceCounter

from driven import PASSWORD, Maker, Recorded, email, registered
from server import Server
from way import Fault, Way, envelope


def test_threads_share_a_client(server: Server) -> None:
    ann = registered(Recorded, server.url)
    with ThreadPoolExecutor(32) as pool:
        made = list(pool.map(lambda n: ann.create_template({"name": f"ticket {n}"})["id"], range(300)))
    assert len(set(made)) == 300
    assert {one["id"] for one in ann.iter_templates()} == set(made)
    ann.close()


def test_tasks_share_a_client_beyond_the_window(server: Server) -> None:
    """More requests than the server's window of nonces are in flight at once."""

    async def run() -> None:
        async with AsyncKedge(server.url, key=KeySigner.random()) as ann:
            await ann.register(email(), PASSWORD)
            template = await ann.create_template({"name": "ticket"})
            made = await asyncio.gather(*(ann.mint_object({"template_id": template["id"]}) for _ in range(1500)))
            assert len({one["id"] for one in made}) == 1500
            assert (await ann.get_template(template["id"]))["minted_count"] == 1500

    asyncio.run(run())


def expire(way: Way, client: Kedge) -> None:
    """From now on the client's present token has expired."""
    assert client.session.tokens is not None
    old = f"Bearer {client.session.tokens.access}"
    expired: Fault = (401, {}, envelope(401, "TOKEN_EXPIRED"))
    way.hits = lambda _, headers: headers.get("authorization") == old
    way.faults = [expired] * 1000


def test_tokens_that_expire_for_many_are_exchanged_once(server: Server, way: Way) -> None:
    """A refresh token is good for once: using it twice would end the login."""
    ann = registered(Recorded, way.url)
    expire(way, ann)
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda _: ann.get_own_wallet()["id"], range(16)))
    assert way.paths.count("/wallets/token/refresh") == 1

    async def run() -> None:
        async with AsyncKedge(way.url, key=ann.session.signer, tokens=ann.session.tokens) as other:
            expire(way, ann)
            assert len(await asyncio.gather(*(other.get_own_wallet() for _ in range(16)))) == 16

    asyncio.run(run())
    assert way.paths.count("/wallets/token/refresh") == 2
    ann.close()


def test_several_clients_sign_with_one_key(make: Maker, server: Server) -> None:
    ann = registered(make, server.url)
    others = [make(server.url, key=ann.session.signer, tokens=ann.session.tokens) for _ in range(3)]
    made = [client.create_template({"name": f"{turn} {n}"})["id"] for turn in range(4) for n, client in enumerate([ann, *others])]
    assert {one["id"] for one in ann.iter_templates()} == set(made)
    # What one client has spent, the others learn from the answers to their own requests.
    ann.session.nonces.learn(500)
    ann.create_template({"name": "far ahead"})
    others[0].session.nonces.learn(100)
    others[0].create_template({"name": "within the window"})
    assert others[0].session.nonces.take() > 501


def test_a_counter_that_is_too_far_ahead_goes_back(make: Maker, server: Server) -> None:
    ann = registered(make, server.url)
    ann.session.nonces.learn(3 * JUMP_MAX)
    assert ann.create_template({"name": "back"})["name"] == "back"
    assert ann.session.nonces.take() < JUMP_MAX


def test_who_cannot_sign_gets_an_error(make: Maker, server: Server) -> None:
    ann = registered(make, server.url)
    with pytest.raises(KedgeError, match="cannot sign"):
        make(server.url, tokens=ann.session.tokens).create_template({"name": "unsigned"})
    with pytest.raises(KedgeError, match="has no key"):
        make(server.url, tokens=ann.session.tokens, key=KeySigner.random()).create_template({"name": "stranger"})


def test_no_nonce_twice_from_many_threads() -> None:
    counter = NonceCounter()
    with pytest.raises(RuntimeError):
        counter.take()
    counter.learn(0)
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda _: counter.take(), range(4000)))
    assert sorted(taken) == list(range(1, 4001))


def test_the_counter_follows_the_server_up_and_back_from_too_far() -> None:
    counter = NonceCounter()
    counter.learn(10)
    counter.learn(4)
    assert counter.take() == 11
    counter.resynchronise(11, 50)
    assert counter.take() == 51
    counter.learn(50 + 2 * JUMP_MAX)
    counter.resynchronise(51 + 2 * JUMP_MAX, 51)
    assert counter.take() == 52
