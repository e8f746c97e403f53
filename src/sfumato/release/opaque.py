"""Numbers of which only the interval is known: exact multiples and shifts, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.errors import InputError
from sfumato.release.measure import Measure
from sfumato.release.origin import Origin

if TYPE_CHECKING:
    from sfumato.release.key import KeyColumn

Numbers = tuple[int | Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A measure whose noise is not that of a weighted sum, such as a quantile or a variance.

    Attributes:
        measure: values and, where there are such, intervals.
        keys: of the rows.
        origins: the paid answers that it comes from.
    """

    measure: Measure
    keys: tuple[KeyColumn, ...] = ()
    origins: tuple[Origin, ...] = ()

    def affine(self, factor: Fraction, offset: Fraction) -> Opaque:
        """Return factor·self + offset: the interval moves along, and turns with a sign.

        Raises:
            InputError: it holds text.
        """
        m = self.measure
        if m.kind == "text":
            raise InputError(
                f"{m.name!r} holds text, and one computes with numbers only. Leave it out."
            )
        kind = m.kind
        if factor.denominator != 1 or offset.denominator != 1:
            kind = "rational"

        def moved(numbers: Numbers | None) -> Numbers | None:
            if numbers is None:
                return None
            found = (factor * number + offset for number in numbers)
            return tuple(int(n) if kind == "integer" else n for n in found)

        low, high = (m.low, m.high) if factor >= 0 else (m.high, m.low)
        scale = None if m.scale is None or m.margin is not None else abs(factor) * m.scale
        values = moved(m.values) or ()
        made = replace(
            m, values=values, low=moved(low), high=moved(high), scale=scale, kind=kind, form=None
        )
        return replace(self, measure=made)


def refusal(name: str, known: Sequence[str] = ()) -> InputError:
    """Say that the noise of a measure is not known well enough.

    Args:
        name: the measure.
        known: the measures beside it of which it is known.
    """
    mend = ""
    if known:
        these = ", ".join(map(repr, known))
        mend = (
            f" In this answer {these} {'does' if len(known) == 1 else 'do'}: keep no other with "
            f"select({these}) first."
        )
    return InputError(
        f"{name!r} does not say of which noisy numbers it is made, so the interval of what is "
        f"computed from it is not known. Counts, sums and means of a session do; quantiles, "
        f"variances, choices and what was rounded can be multiplied by and shifted by exact "
        f"numbers, sorted and rounded.{mend}"
    )
