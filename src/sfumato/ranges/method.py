"""The methods by name, and the plans that they make."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sfumato.core.errors import InputError
from sfumato.ranges import hierarchical, identity, p_identity, square_root, wavelet
from sfumato.ranges.plan import Plan, check_size
from sfumato.ranges.workload import Workload

# Methods that measure what was fixed beforehand: their error is known before anything is read.
FIXED: dict[str, Callable[..., Plan]] = {
    identity.NAME: identity.plan,
    hierarchical.NAME: hierarchical.plan,
    wavelet.NAME: wavelet.plan,
    square_root.NAME: square_root.plan,
    p_identity.NAME: p_identity.plan,
}
_SMALL = 128  # cells up to which a matrix is optimized without being asked for


def planned(name: str, workload: Workload, *, pure: bool, **options: Any) -> Plan:
    """Return what a method measures.

    Raises:
        InputError: no such method, or options that it does not take.
    """
    if name not in FIXED:
        raise InputError(f"there is no method {name!r}. Pass one of: {', '.join(FIXED)}.")
    check_size(workload.cells)
    known = _options(name)
    wrong = [option for option in options if option not in known]
    if wrong:
        takes = f"takes {', '.join(known)}" if known else "takes no options"
        raise InputError(f"the method {name!r} {takes}, and not {wrong[0]!r}.")
    return FIXED[name](workload, pure=pure, **options)


def candidates(workload: Workload, *, pure: bool) -> list[str]:
    """Return the methods worth a comparison: of public facts alone."""
    names = [identity.NAME, hierarchical.NAME, wavelet.NAME]
    if not pure and workload.cells <= square_root.MOST:
        names.append(square_root.NAME)
    if pure and workload.cells <= _SMALL:
        names.append(p_identity.NAME)
    return names


@lru_cache(maxsize=8)
def _options(name: str) -> tuple[str, ...]:
    from inspect import signature

    taken = signature(FIXED[name]).parameters
    return tuple(option for option in taken if option not in ("workload", "pure"))
