"""Rules for every test: no network, and property tests that repeat unless asked for depth."""

import socket

import pytest
from hypothesis import HealthCheck, settings

# Tests assert no time; and what is drawn depends on the modules that happen to be imported, so that
# how much of it is drawn again may not decide. A test that finds nothing to draw fails still.
UNTIMED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("push", max_examples=40, derandomize=True, **UNTIMED)
settings.register_profile("deep", max_examples=2_000, print_blob=True, **UNTIMED)
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
