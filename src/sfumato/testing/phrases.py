"""Random expressions in SQL over the columns of a FROM, as the writer of questions needs them.

>>> from sfumato.testing.town import Dice
>>> Phrases(Dice(5).below).truth(Rows("trips", (Column("hour", "whole"),)), 1)
'(-hour) BETWEEN 7 AND 32'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.testing.town import NAMES, Below

DATED = ("month", "day", "week", "quarter", "dayofyear", "year", "isodow")
_SIGNS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a question can use.

    Attributes:
        name: its name.
        form: number, whole (small and not negative), truth, text, label, date or moment.
    """

    name: str
    form: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A FROM: its text, its columns, and whether the unit is still among them."""

    text: str
    columns: tuple[Column, ...]
    unit: bool = True

    def of(self, *forms: str) -> list[str]:
        """Return the columns of some forms."""
        return [column.name for column in self.columns if column.form in forms]


class Phrases:
    """Writes numbers and conditions.

    Args:
        below: returns a whole number below its argument, such as ``random.randrange``.
    """

    def __init__(self, below: Below) -> None:
        """Keep where choices come from."""
        self.below = below

    def one(self, choices: Sequence[Any]) -> Any:
        """Return one of some."""
        return choices[self.below(len(choices))]

    def chance(self, of: int) -> bool:
        """Say yes once in so many times."""
        return self.below(of) == 0

    def number(self, rows: Rows, depth: int) -> str:
        """Write a number; not a constant."""
        plain = rows.of("number", "whole")
        kind = self.below(16) if depth else 0
        if kind < 4 or not plain:
            return str(self.one(plain))
        x, y = self.number(rows, depth - 1), self.number(rows, depth - 1)
        forms = [
            f"({x} + {y})",
            f"({x} - {y})",
            f"{x} * {1 + self.below(4)}",
            f"{x} / {self.one((2, 4, 5))}",
            f"abs({x})",
            f"(-{x})",
            f"round({x}, {self.one((0, 1))})",
            f"{self.one(('floor', 'ceil'))}({x})",
            f"coalesce({x}, {self.below(9)})",
            f"nullif({x}, {self.below(4)})",
            f"CASE WHEN {self.truth(rows, depth - 1)} THEN {x} ELSE {y} END",
            f"CASE WHEN {self.truth(rows, depth - 1)} THEN {x} END",
            f"greatest(coalesce({x}, 0), {self.below(9)})",
            f"CAST({self.truth(rows, depth - 1)} AS INTEGER)",
            f"sign({x})",
        ]
        forms += [f"({n} {self.one(('//', '%'))} {2 + self.below(5)})" for n in rows.of("whole")]
        forms += [f"length(coalesce({name}, ''))" for name in rows.of("text")]
        forms += [f"strpos(coalesce({name}, ''), 'n')" for name in rows.of("text")]
        forms += [f"TRY_CAST({name} AS INTEGER)" for name in rows.of("text")]
        forms += [f"{self.one(DATED)}({name})" for name in rows.of("date", "moment")]
        forms += [f"date_diff('day', DATE '2026-01-15', {name})" for name in rows.of("date")]
        forms += [f"EXTRACT({self.one(('minute', 'hour'))} FROM {n})" for n in rows.of("moment")]
        return str(self.one(forms))

    def truth(self, rows: Rows, depth: int) -> str:
        """Write a condition."""
        kind = self.below(8) if depth else 3 + self.below(5)
        if kind < 2:
            sign = self.one(("AND", "OR"))
            return f"({self.truth(rows, depth - 1)} {sign} {self.truth(rows, depth - 1)})"
        if kind == 2:
            return f"NOT ({self.truth(rows, depth - 1)})"
        forms: list[str] = []
        if rows.of("number", "whole"):
            x = self.number(rows, depth)
            forms.append(f"{x} {self.one(_SIGNS)} {self.below(50)}")
            forms.append(f"{x} BETWEEN {self.below(9)} AND {9 + self.below(90)}")
            forms.append(f"{x} IS {self.one(('NULL', 'NOT NULL'))}")
        for name in rows.of("truth"):
            forms += [name, f"{name} IS {self.one(('TRUE', 'FALSE', 'NULL', 'NOT NULL'))}"]
        for name in ("zone", "region"):
            if name in rows.of("label"):
                values = ("'A'", "'B'") if name == "zone" else ("'north'", "'south'")
                forms += [f"{name} = {self.one(values)}", f"{name} IN ({', '.join(values)})"]
                forms.append(f"{name} <> {self.one(values)}")
                forms.append(f"{name} LIKE '{self.one(('A%', '%o%', '_', 'n_rt%'))}'")
        for name in rows.of("seats"):
            forms += [f"{name} = 2", f"{name} IN (1, 4)", f"{name} >= 2"]
        for name in rows.of("whole"):
            forms += [f"{name} IN (1, 5, 9, 22)", f"{name} {self.one(_SIGNS)} {self.below(24)}"]
        for name in rows.of("text"):
            forms += self._words(name)
        for name in rows.of("date"):
            forms += [
                f"{name} {self.one(_SIGNS)} DATE '2026-0{1 + self.below(3)}-{10 + self.below(18)}'",
                f"date_trunc('month', {name}) = DATE '2026-02-01'",
                f"{name} + INTERVAL {self.below(40)} DAY < DATE '2026-03-01'",
            ]
        for name in rows.of("moment"):
            forms.append(
                f"{name} {self.one(_SIGNS)} TIMESTAMP '2026-02-0{1 + self.below(9)} 12:00:00'"
            )
        return str(self.one(forms or ["1 = 1"]))

    def _words(self, name: str) -> list[str]:
        """Return conditions on a text."""
        value = self.one(NAMES).replace("'", "''")
        pattern = self.one(("A%", "%n%", "_ob", "%''%", "%", "B_%", "%x"))
        return [
            f"{name} = '{value}'",
            f"{name} IN ('{value}', 'Bob')",
            f"{name} {self.one(('LIKE', 'ILIKE', 'NOT LIKE'))} '{pattern}'",
            f"{self.one(('lower', 'upper'))}({name}) = '{self.one(('ann', 'ANN', 'zoë'))}'",
            f"starts_with({name}, '{self.one(('A', 'a', ''))}')",
            f"contains({name}, '{self.one(('n', 'nn', ' '))}')",
            f"left({name}, 1) = '{self.one('ABO7')}'",
            f"right({name}, 2) = 'nn'",
            f"substr({name}, 2, 2) = '{self.one(('nn', 'ob', ''))}'",
            f"replace({name}, 'n', 'm') = 'Amm'",
            f"split_part({name}, ' ', 1) = 'ann'",
            f"trim({name} || ' ') = '{value}'",
            f"{name} < '{self.one('BZa')}'",
        ]
