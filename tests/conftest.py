"""Rules for every test: no network, and chance that repeats itself unless asked for depth."""

import hashlib
import itertools
import os
import socket
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sfumato.noise import rng

# Tests assert no time; and what is drawn depends on the modules that happen to be imported, so that
# how much of it is drawn again may not decide. A test that finds nothing to draw fails still.
UNTIMED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("push", max_examples=30, derandomize=True, **UNTIMED)
# So many that a run ends while somebody waits; each is of other cases. `EXAMPLES` asks for more.
EXAMPLES = int(os.environ.get("EXAMPLES", "200"))
settings.register_profile("deep", max_examples=EXAMPLES, print_blob=True, **UNTIMED)
settings.load_profile("push")


class Entropy:
    """What the source of noise sees of the operating system: bytes that follow from a text.

    Of nineteen thousand tests with fresh noise, some would fail by chance in every other run, on
    changes that they have nothing to do with. On a push a test draws the same noise each time; the
    deep profile draws it afresh. Everything behind the operating system's bytes is the real source.
    """

    def __init__(self, seed):
        self._seed, self._process, self._drawn = seed, os.getpid(), itertools.count()

    def urandom(self, count):
        child = os.getpid() if os.getpid() != self._process else ""  # a copy parts from its origin
        text = f"{self._seed} {next(self._drawn)} {child}"
        return hashlib.shake_256(text.encode()).digest(count)

    def __getattr__(self, name):
        return getattr(os, name)


@contextmanager
def repeated(seed, generators=()):
    """Let chance follow from a text, that of generators which the tests of a file share too."""
    if settings.get_current_profile_name() == "deep":
        yield
        return
    for each in generators:
        words = [*hashlib.sha256(seed.encode()).digest()]
        each.bit_generator.state = type(each.bit_generator)(words).state
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rng, "os", Entropy(seed))
        patch.setattr(rng.system(), "_local", threading.local())  # no pool that others filled
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    held = vars(item.module).values() if isinstance(item, pytest.Function) else ()
    with repeated(item.nodeid, [each for each in held if isinstance(each, np.random.Generator)]):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """What tests share does not depend on which of them, in which process, asks for it first."""
    if fixturedef.scope == "function":
        return (yield)
    with repeated(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


def pytest_collection_modifyitems(items):
    """Refuse names of tests with an address in them: processes would name them differently."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"name the cases of this test by ids=: {item.nodeid}")


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
