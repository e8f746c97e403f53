"""Repeatable sources of words, for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.noise.rng import Words


class SeededRng:
    """The same words for the same seed, in the same requests. Not private.

    Example:
        >>> bool((SeededRng(7).words(3) == SeededRng(7).words(3)).all())
        True
    """

    def __init__(self, seed: int) -> None:
        """Derive an AES-256-CTR stream from the seed."""
        key = hashlib.sha256(f"sfumato.testing {seed}".encode()).digest()
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def words(self, count: int) -> Words:
        """Return the next `count` words."""
        return np.frombuffer(self._stream.update(bytes(8 * count)), np.uint64).copy()


class RecordedRng:
    """Plays back given words, then fails. It also keeps count of the requests.

    Args:
        words: what to play back.
    """

    def __init__(self, words: Iterable[int]) -> None:
        """Store the words."""
        self._words = np.array([int(w) for w in words], np.uint64)
        self._next = 0

    def words(self, count: int) -> Words:
        """Return the next `count` recorded words.

        Raises:
            EOFError: the recording is over.
        """
        if self._next + count > self._words.size:
            raise EOFError(f"{count} words wanted, {self._words.size - self._next} recorded")
        self._next += count
        return self._words[self._next - count : self._next].copy()

    @property
    def left(self) -> int:
        """How many recorded words were not asked for."""
        return self._words.size - self._next
