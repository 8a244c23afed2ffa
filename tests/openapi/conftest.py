"""One server for the tests of this folder."""

import pytest
from server import Receiver, Server
from story import Story


@pytest.fixture(scope="session")
def server():
    with Server() as running:
        yield running
        assert running.panics() == []


@pytest.fixture(scope="session")
def story(server):
    with Receiver() as receiver:
        yield Story(server, receiver)


@pytest.fixture(scope="session")
def document(story):
    return story.document
