"""The means, each applied to a planted bug: what did it see?"""

import numpy as np

from broken.bug import BLACK_BOX, CONTRACT, REPLAY
from sfumato import audit
from sfumato.audit.replay import replay
from sfumato.noise import system
from sfumato.testing import CHECKS


def by_contract(bug):
    """Return the first check of the contract suite that fails, in words; None if all pass."""
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            check(bug.contract)
        except AssertionError:
            return name
        except Exception:
            if name == "every input is answered":  # any error at all fails this one
                return name
            raise
    return None


def by_replay(bug):
    """Return what record and play found; None if nothing."""
    a, b = bug.pair if bug.curator is None else map(bug.curator, bug.pair)
    found = replay(bug.program, a, b, sensitivity=bug.sensitivity, claim=bug.claim)
    return "; ".join(found.findings) or None


def by_black_box(bug):
    """Return what the black box proved; None if it refuted nothing."""
    verdict = _in_bulk(bug) if bug.cellwise else _one_by_one(bug)
    return repr(verdict) if verdict.flagged else None


def _in_bulk(bug):
    """Draw many releases at once: as many cells, each with its own noise."""
    contract = bug.contract
    return audit.mechanism(
        contract.mechanism,
        contract.sensitivity,
        bug.trials,
        pairs=contract.pairs if bug.pair is None else [bug.pair],
        draw=lambda exact, size: contract.mechanism.sample(_copies(exact, size), system()),
    )


def _copies(exact, size):
    return np.broadcast_to(exact, (size, *exact.shape)).copy()


def _one_by_one(bug):
    """Run a program, or a mechanism as one: an error is an output."""
    program, pair, claim = bug.program, bug.pair, bug.claim
    if program is None:
        mechanism, claim = bug.contract.mechanism, bug.contract.loss
        pair = pair or bug.contract.pairs[0]

        def program(values):
            return mechanism.sample(mechanism.exact(values), system())

    run = program if bug.curator is None else lambda rows: program(bug.curator(rows))
    return audit.program(run, *pair, claim=claim, trials=bug.trials, timing=bug.timing)


EXAMINE = {CONTRACT: by_contract, REPLAY: by_replay, BLACK_BOX: by_black_box}


def examine(bug, means):
    """Return what each of the `means` that apply to a bug says of it."""
    return {name: EXAMINE[name](bug) for name in bug.means if name in means}
