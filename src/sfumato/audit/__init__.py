"""Audits: look for releases that give away more than was claimed.

`mechanism` and `program` see outputs only. They can refute a claim, never
prove it.
"""

from sfumato.audit.blackbox import mechanism, program
from sfumato.audit.claim import Claim
from sfumato.audit.verdict import Verdict

__all__ = ["Claim", "Verdict", "mechanism", "program"]
