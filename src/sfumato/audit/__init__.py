"""Audits: look for releases that give away more than was claimed.

`mechanism` and `program` see outputs only, `stopwatch` sees times only; `replay` compares what a
program does on two neighbors. They can refute a claim, never prove it.
"""

from sfumato.audit.blackbox import mechanism, program
from sfumato.audit.claim import Claim
from sfumato.audit.replay import Replay, replay
from sfumato.audit.stopwatch import stopwatch
from sfumato.audit.verdict import Verdict

__all__ = ["Claim", "Replay", "Verdict", "mechanism", "program", "replay", "stopwatch"]
