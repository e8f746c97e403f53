"""The only reader of entropy: AES-256-CTR words, keyed from the operating system.

Every refill makes a new key from the erased stream and 32 fresh bytes of the operating system, so
that a captured state says nothing about earlier noise (fast key erasure) and two copies of one
process (fork, a cloned virtual machine) part at their next refill. Each thread has its own stream.

Claim: outputs are computationally indistinguishable from uniform words under AES-256 as a
pseudo-random function and a healthy entropy source. No seed exists here; see ``sfumato.testing``.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.core.errors import EntropyError

Words = NDArray[np.uint64]

_KEY_BYTES = 32
_POOL_WORDS = 2**11  # small requests share a refill of 16 KiB; larger ones get their own
_ZEROS = bytes(2**18)
_NONCE = bytes(16)  # constant on purpose: no key is ever used twice


class Rng(Protocol):
    """A source of independent uniform 64-bit words; all that a sampler may ask for."""

    def words(self, count: int) -> Words:
        """Return `count` fresh words in an array that the caller may overwrite."""
        ...


class SystemRng:
    """Cryptographic words from the operating system's entropy.

    One instance serves all threads. It cannot be copied or pickled: two copies would give the same
    noise twice, and equal noise on neighboring tables cancels.
    """

    def __init__(self) -> None:
        """Start without a key: the first request of each thread draws one."""
        self._local = threading.local()

    def words(self, count: int) -> Words:
        """Return `count` fresh words.

        Raises:
            EntropyError: the operating system gave no randomness, or repeated itself.
        """
        local, now = self._local, (os.getpid(), forks())
        if getattr(local, "born", None) != now:  # a new thread, or a forked child
            local.last = b""
            local.key = _entropy(local)
            local.pool, local.used = np.empty(0, np.uint64), 0
            local.born = now  # last: an interrupted start begins again
        if count >= _POOL_WORDS:
            return self._refill(count)
        if count > local.pool.size - local.used:
            local.pool, local.used = self._refill(_POOL_WORDS), 0
        start, local.used = local.used, local.used + count
        taken: Words = local.pool[start : local.used].copy()
        local.pool[start : local.used] = 0  # what was handed out is not kept
        return taken

    def _refill(self, count: int) -> Words:
        local = self._local
        fresh = _entropy(local)
        key = bytes(a ^ b for a, b in zip(local.key, fresh, strict=True))
        buffer = np.empty(_KEY_BYTES + 8 * count, np.uint8)
        stream = Cipher(algorithms.AES(key), modes.CTR(_NONCE)).encryptor()
        view = buffer.data
        for start in range(0, len(view), len(_ZEROS)):
            part = view[start : start + len(_ZEROS)]
            stream.update_into(_ZEROS[: len(part)], part)
        local.key = buffer[:_KEY_BYTES].tobytes()
        buffer[:_KEY_BYTES] = 0  # the next key must not travel with the words
        return buffer[_KEY_BYTES:].view(np.uint64)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied."""
        raise TypeError("a SystemRng cannot be pickled or copied: noise must never repeat")


_forks = 0


def _count_fork() -> None:
    """Note that this process is a child: its process id may equal its parent's in a container."""
    global _forks  # noqa: PLW0603 - a fact about the process
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def forks() -> int:
    """Return how many forks lie between the first process and this one."""
    return _forks


def _entropy(local: threading.local) -> bytes:
    try:
        fresh = os.urandom(_KEY_BYTES)
    except (OSError, NotImplementedError) as problem:
        raise EntropyError(
            f"the operating system gave no entropy ({type(problem).__name__}), so no noise can be "
            f"drawn and nothing is released. Provide a working getrandom or /dev/urandom."
        ) from None
    # Only a digest is kept to compare with: the bytes themselves make keys.
    mark = hashlib.sha256(fresh).digest()
    if len(fresh) != _KEY_BYTES or mark == local.last or fresh == bytes(_KEY_BYTES):
        raise EntropyError(
            "the operating system's entropy source repeated itself or returned zeros, so noise "
            "from it could be predicted. Nothing was released; check the machine's random device."
        )
    local.last = mark
    return fresh


_system = SystemRng()


def system() -> SystemRng:
    """Return the process's own source, the one that every release uses."""
    return _system
