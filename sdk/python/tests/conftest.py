"""One server for all tests, and one client of each sort for a test."""

from collections.abc import Iterator

import pytest

from driven import Maker, makers
from server import Server
from way import Way


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server("rate_limits=off", 'webhook_allowed_networks=["127.0.0.0/8"]')
    yield running
    assert running.stop() == 0


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Maker]:
    """Makes clients of one sort, and closes them."""
    made = []

    def one(*args: object, **options: object) -> object:
        made.append(makers()[request.param](*args, **options))
        return made[-1]

    yield one  # type: ignore[misc]
    for client in made:
        client.close()


@pytest.fixture
def way(server: Server) -> Iterator[Way]:
    running = Way(server.url)
    yield running
    running.shutdown()
    running.server_close()
