"""Rules for every test: no network, and property tests that repeat unless asked for depth."""

import socket

import pytest
from hypothesis import settings

settings.register_profile("push", deadline=None, derandomize=True)
settings.register_profile("deep", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile("push")

_connect = socket.socket.connect


def _connect_locally(self, address):
    if self.family == socket.AF_INET and address[0] != "127.0.0.1":
        pytest.fail(f"a test asked the network for {address[0]}")
    if self.family == socket.AF_INET6 and address[0] != "::1":
        pytest.fail(f"a test asked the network for {address[0]}")
    return _connect(self, address)


@pytest.fixture(autouse=True, scope="session")
def no_network():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _connect_locally)
        yield
