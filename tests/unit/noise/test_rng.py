import copy
import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.core.errors import EntropyError
from sfumato.noise import rng as rng_module
from sfumato.noise.rng import SystemRng, system


@pytest.mark.parametrize("count", [0, 1, 7, 2047, 2048, 5000, 100_000])
def test_words_are_fresh_and_writable(count):
    rng = SystemRng()
    first, second = rng.words(count), rng.words(count)
    assert first.dtype == np.uint64 and first.shape == (count,)
    first += np.uint64(1)
    if count > 4:
        assert not np.array_equal(first - np.uint64(1), second)
        assert np.unique(np.concatenate([first, second])).size == 2 * count


def test_words_have_balanced_bits():
    words = system().words(200_000)
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 6 * 0.5 / np.sqrt(words.size)


def test_next_key_does_not_travel_with_the_words():
    rng = SystemRng()
    words = rng.words(5000)
    whole = words.base if words.base is not None else words
    while whole.base is not None:
        whole = whole.base
    memory = np.asarray(whole).tobytes()
    assert rng._local.key not in memory


def test_words_handed_out_are_wiped_from_the_pool():
    rng = SystemRng()
    handed = rng.words(100)
    assert not np.isin(handed, rng._local.pool).any()


def _many_words(_):
    return system().words(1000)


def test_forked_children_draw_different_words():
    system().words(10)  # a warm parent: children inherit its pool
    with multiprocessing.get_context("fork").Pool(64) as pool:
        seen = pool.map(_many_words, range(64), chunksize=1)
    seen.append(system().words(1000))
    assert np.unique(np.concatenate(seen)).size == 65_000  # two are equal with odds of 2^-33


def test_threads_draw_different_words():
    seen, rng, ready = [], system(), threading.Barrier(64)

    def draw():
        ready.wait()
        seen.append(rng.words(1000))

    threads = [threading.Thread(target=draw) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.unique(np.concatenate(seen)).size == 64_000


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_system_rng_cannot_be_duplicated(duplicate):
    with pytest.raises(TypeError, match="noise must never repeat"):
        duplicate(system())


def _raise(_):
    raise OSError("no device")


@pytest.mark.parametrize(
    "source",
    [_raise, bytes, lambda n: b"\1" * n, lambda n: b"\1"],
    ids=["none", "zeros", "repeats", "short"],
)
def test_bad_entropy_is_refused(monkeypatch, source):
    monkeypatch.setattr(rng_module.os, "urandom", source)
    rng = SystemRng()
    with pytest.raises(EntropyError, match="E601"):
        for _ in range(2):
            rng.words(5000)


def test_every_refill_reads_new_entropy(monkeypatch):
    calls = []

    def counting(n):
        calls.append(n)
        return bytes([len(calls)]) * n

    monkeypatch.setattr(rng_module.os, "urandom", counting)
    rng = SystemRng()
    for _ in range(3):
        rng.words(4096)
    assert calls == [32] * 4  # one for the first key, one for each refill


def test_a_child_with_its_parents_process_id_draws_anew(monkeypatch):
    # In containers parent and child can both be process 1: the fork itself must be noticed.
    monkeypatch.setattr(rng_module.os, "getpid", lambda: 1)
    rng = SystemRng()
    rng.words(10)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, rng.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 32) != rng.words(4).tobytes()
    os.close(read)
    os.close(write)


def test_an_interrupted_start_begins_again(monkeypatch):
    rng = SystemRng()
    empty = rng_module.np.empty

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rng_module.np, "empty", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rng.words(4)
    monkeypatch.setattr(rng_module.np, "empty", empty)
    assert not hasattr(rng._local, "born")
    assert rng.words(4).size == 4


def test_nothing_that_is_kept_reproduces_words_already_drawn():
    rng = SystemRng()
    words = rng.words(1000)
    for held in (rng._local.last, rng._local.key):
        stream = Cipher(algorithms.AES(held), modes.CTR(bytes(16))).encryptor()
        again = np.frombuffer(stream.update(bytes(8 * 1004)), np.uint64)
        assert not np.isin(words, again).any()
