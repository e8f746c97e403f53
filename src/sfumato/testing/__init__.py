"""For tests: randomness that can be repeated, and the contract that every mechanism must keep.

Noise from a seed is not private: whoever knows the seed subtracts it. Nothing outside the tests of
a mechanism may use these sources, and no public option of sfumato takes a seed.
"""

from sfumato.testing.contract import CHECKS, Contract
from sfumato.testing.curator import FakeCurator, FakeQuery
from sfumato.testing.rng import RecordedRng, SeededRng

__all__ = ["CHECKS", "Contract", "FakeCurator", "FakeQuery", "RecordedRng", "SeededRng"]
