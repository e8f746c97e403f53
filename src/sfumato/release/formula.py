"""What a number is made of, in memory: the algebra that keeps track of the noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError, RangeError
from sfumato.release.form import Form
from sfumato.release.linear import Linear, combined
from sfumato.release.match import places
from sfumato.release.origin import Origin, united

if TYPE_CHECKING:
    from sfumato.release.key import KeyColumn
    from sfumato.release.noisy import Noisy

_ONE = Fraction(1)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A weighted sum of noisy cells, or offset + factor·(a quotient of two), for every key.

    Attributes:
        top: the sum, or the numerator.
        bottom: the denominator, for each key or one for all; None where there is none.
        factor: of the quotient.
        offset: of the quotient.
        low: the least that the exact number can be, where that is public.
        high: the largest.
        keys: of the rows; empty for a single number.
        origins: the paid answers that it uses.
    """

    top: Linear
    bottom: Linear | None = None
    factor: Fraction = _ONE
    offset: Fraction = Fraction(0)
    low: Fraction | None = None
    high: Fraction | None = None
    keys: tuple[KeyColumn, ...] = ()
    origins: tuple[Origin, ...] = ()

    @classmethod
    def of(
        cls,
        form: Form,
        draws: dict[str, Noisy],
        size: int,
        keys: tuple[KeyColumn, ...],
        origins: tuple[Origin, ...],
    ) -> Formula:
        """Build what a form stores."""
        top = Linear.of(form.top, form.constant, size, draws)
        bottom = None
        if form.bottom is not None:
            bottom = Linear.of(form.bottom, form.below, 1 if form.common else size, draws)
        return cls(top, bottom, form.factor, form.offset, form.low, form.high, tuple(keys), origins)

    @classmethod
    def number(cls, value: Fraction) -> Formula:
        """Return an exact number."""
        return cls(Linear.exact([value]))

    @property
    def size(self) -> int:
        """How many rows."""
        return self.top.size

    @property
    def form(self) -> Form:
        """What a release stores."""
        terms, constant = self.top.terms()
        if self.bottom is None:
            return Form(terms, constant, low=self.low, high=self.high)
        below, level = self.bottom.terms()
        common = self.bottom.size == 1 and self.size != 1
        return Form(
            terms,
            constant,
            below,
            level,
            common,
            self.factor,
            self.offset,
            self.low,
            self.high,
        )

    @property
    def step(self) -> Fraction:
        """The most that a step of one draw counts in a sum; 1 for a quotient, or without draws."""
        if self.bottom is not None or self.top.is_exact:
            return _ONE
        return Fraction(int(np.abs(self.top.weight).max()), self.top.over)

    @property
    def constant(self) -> Fraction | None:
        """Its value, if it is one exact number."""
        if self.size == 1 and not self.keys and self.bottom is None and self.top.is_exact:
            return Fraction(int(self.top.constant[0]), self.top.over)
        return None

    def within(self, low: Fraction | None, high: Fraction | None) -> Formula:
        """State between which public numbers the exact one lies, where that is not known better."""
        lows = [end for end in (self.low, low) if end is not None]
        highs = [end for end in (self.high, high) if end is not None]
        ends = (max(lows, default=None), min(highs, default=None))
        if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
            raise RangeError("low must not be above high, nor outside of the range that is known.")
        return replace(self, low=ends[0], high=ends[1])

    def take(self, rows: NDArray[np.int64], keys: tuple[KeyColumn, ...]) -> Formula:
        """Return some of the rows under new keys."""
        bottom = self.bottom
        if bottom is not None and bottom.size == self.size:
            bottom = bottom.take(rows)
        return replace(self, top=self.top.take(rows), bottom=bottom, keys=keys)

    def affine(self, factor: Fraction, offset: Fraction) -> Formula:
        """Return factor·self + offset."""
        ends = [None if end is None else factor * end + offset for end in (self.low, self.high)]
        low, high = ends if factor >= 0 else ends[::-1]
        if self.bottom is None:
            top = self.top.times(factor)
            return replace(self, top=top.plus(offset) if offset else top, low=low, high=high)
        if not factor:
            return replace(self, top=self.top.times(factor).plus(offset), bottom=None)._plain()
        return replace(
            self,
            factor=self.factor * factor,
            offset=self.offset * factor + offset,
            low=low,
            high=high,
        )

    def _plain(self) -> Formula:
        return replace(self, factor=_ONE, offset=Fraction(0), low=None, high=None)

    def _numerator(self) -> Linear:
        """Return the numerator of offset + factor·top/bottom, over the same bottom."""
        if self.bottom is None:
            return self.top
        return combined(self.top, self.factor, self.bottom, self.offset)

    def plus(self, other: Formula, sign: int = 1) -> Formula:
        """Return self + other, or self − other with sign −1.

        Raises:
            InputError: they are quotients with different denominators.
        """
        for x, y, s, t in ((self, other, 1, sign), (other, self, sign, 1)):
            if (number := y.constant) is not None:
                return x.affine(Fraction(s), t * number)
        x, y = _aligned(self, other)
        if x.bottom is None and y.bottom is None:
            return x._joined(y, combined(x.top, _ONE, y.top, Fraction(sign)), None)
        ratio = None
        if x.bottom is not None and y.bottom is not None:
            ratio = _ratio(x.bottom, y.bottom)
        if ratio is None:
            raise InputError(
                "a quotient of noisy numbers can be added to another only if both have the same "
                "noisy denominator: of anything else the noise is not known exactly. Bring them "
                "over one denominator, or state both intervals side by side."
            )
        # x.bottom = ratio·y.bottom, so y.top/y.bottom = ratio·y.top/x.bottom.
        top = combined(x.top, x.factor, y.top, sign * ratio * y.factor)
        offset = x.offset + sign * y.offset
        if top.is_exact and not top.constant.any():  # a mean less itself is 0, whatever the noise
            return x._joined(y, top.plus(offset), None)
        return replace(x._joined(y, top, x.bottom), offset=offset)

    def times(self, other: Formula) -> Formula:
        """Return self·other, where that is again a weighted sum or a quotient.

        Raises:
            InputError: it would be a product of noisy numbers.
        """
        for x, y in ((self, other), (other, self)):
            if (number := y.constant) is not None:
                return x.affine(number, Fraction(0))
        x, y = _aligned(self, other)
        for one, two in ((x, y), (y, x)):
            if one.bottom is not None and two.bottom is None:
                ratio = _ratio(two.top, one.bottom)
                if ratio is not None:  # a mean times its own count is its sum
                    return x._joined(y, one._numerator().times(ratio), None)
        raise InputError(
            "a product of two noisy numbers is neither a weighted sum nor a quotient of such, so "
            "its interval is not known. Multiply by exact numbers; a mean may also be multiplied "
            "by the very count that it was divided by. With mean=sf.mean('fare') that is "
            "n=sf.count('fare') of the same answer: it leaves out missing values, as the mean does."
        )

    def over(self, other: Formula) -> Formula:
        """Return self/other.

        Raises:
            RangeError: the divisor is exactly 0.
            InputError: it is no quotient of two weighted sums.
        """
        if (number := other.constant) is not None:
            if not number:
                raise RangeError("nothing can be divided by 0. Divide by another number.")
            return self.affine(1 / number, Fraction(0))
        x, y = _aligned(self, other)
        if y.bottom is None:
            if x.bottom is None:
                top, bottom = x.top, y.top
            else:
                ratio = _ratio(x._numerator(), y.top)
                if ratio is None:
                    raise InputError(_NO_QUOTIENT)
                top, bottom = Linear.exact([ratio]).spread(x.size), x.bottom
        elif self.constant is not None:
            top, bottom = y.bottom.times(self.constant).spread(y.size), y._numerator()
        else:
            ratio = None if x.bottom is None else _ratio(x.bottom, y.bottom)
            if ratio is None:
                raise InputError(_NO_QUOTIENT)
            top, bottom = x._numerator(), y._numerator().times(ratio)
        exact = _ratio(top, bottom) if top.size else None
        if exact is not None:  # x/x is 1, whatever the noise
            one = Linear.exact([exact]).spread(max(x.size, y.size))
            return x._joined(y, one, None)
        made = x._joined(y, top, bottom)
        if top.is_count and bottom.is_count:
            return replace(made, low=Fraction(0))
        return made

    def _joined(self, other: Formula, top: Linear, bottom: Linear | None) -> Formula:
        keys = self.keys or other.keys
        return Formula(top, bottom, keys=keys, origins=united(self.origins, other.origins))


_NO_QUOTIENT = (
    "this is no quotient of two weighted sums of noisy numbers, so its interval is not known. "
    "Divide sums and counts by each other; a mean divides another only over the same count."
)


def _ratio(x: Linear, y: Linear) -> Fraction | None:
    """Return the c with x = c·y, if there is one; a single row stands for all.

    Where there is no row any number is one: that no group is left must not fail after it was paid.
    """
    if not x.size or not y.size:
        return _ONE
    if x.size == y.size:
        return x.proportion(y)
    if min(x.size, y.size) == 1 and max(x.row.size, y.row.size) and x.is_exact == y.is_exact:
        few, many = (x, y) if x.size == 1 else (y, x)
        if few.row.size * many.size == many.row.size:
            return x.spread(many.size).proportion(y.spread(many.size))
    return None


def _aligned(x: Formula, y: Formula) -> tuple[Formula, Formula]:
    """Bring the rows of both into one order; a single number goes with every row."""
    if not x.keys and y.keys:
        return replace(x, top=x.top.spread(y.size)), y
    if x.keys and not y.keys:
        return x, y if y.bottom is None else replace(y, top=y.top.spread(x.size))
    order = places(x.keys, y.keys)
    return x, y if order is None else y.take(order, x.keys)
