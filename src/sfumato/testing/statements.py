# ruff: noqa: S608 - what is written here is asked of made-up tables
"""Random questions in SQL about the town, from a grammar.

A question means the same to sfumato and to the engine itself, so that the two can be compared.

>>> from sfumato.testing.town import Dice
>>> print(Writer(Dice(38).below).statement())
SELECT lower(zone) AS k0, COUNT(*) AS a0 FROM trips GROUP BY lower(zone)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.testing.phrases import DATED, Column, Phrases, Rows
from sfumato.testing.town import Below


@dataclass(frozen=True, slots=True)
class Item:
    """Something selected: its expression, its name, and the aggregate that it is."""

    text: str
    name: str
    function: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A question, taken apart.

    Attributes:
        rows: FROM.
        keys: what is grouped by, under names.
        items: the numbers.
        where: the condition on rows; empty if there is none.
        having: that on groups, over the names of numbers and keys.
        order: what the answer is sorted by: a name, and whether downwards.
        limit: how many rows are shown.
        before: a WITH.
    """

    rows: Rows
    keys: tuple[Item, ...]
    items: tuple[Item, ...]
    where: str = ""
    having: str = ""
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    before: str = ""

    def __str__(self) -> str:
        """Write the question."""
        shown = ", ".join(f"{item.text} AS {item.name}" for item in (*self.keys, *self.items))
        parts = [f"{self.before}SELECT {shown} FROM {self.rows.text}"]
        parts += [f"WHERE {self.where}"] if self.where else []
        if self.keys:
            parts.append(f"GROUP BY {', '.join(key.text for key in self.keys)}")
        parts += [f"HAVING {self.having}"] if self.having else []
        if self.order:
            signs = [f"{name}{' DESC' * down}" for name, down in self.order]
            parts.append(f"ORDER BY {', '.join(signs)}")
        parts += [f"LIMIT {self.limit}"] if self.limit is not None else []
        return " ".join(parts)

    @property
    def groups(self) -> Written:
        """The same question about all of its groups, in no order."""
        return replace(self, having="", order=(), limit=None)


TRIPS = Rows(
    "trips",
    (
        *(Column("zone", "label"), Column("fare", "number"), Column("tip", "number")),
        *(Column("hour", "whole"), Column("seats", "seats"), Column("name", "text")),
        *(Column("vip", "truth"), Column("day", "date"), Column("began", "moment")),
    ),
)
PAYMENTS = Rows(
    "payments",
    (
        *(Column("zone", "label"), Column("fare", "number")),
        *(Column("hour", "whole"), Column("method", "label")),
    ),
)
_MEASURED = ("SUM", "SUM", "AVG", "COUNT", "VAR_POP", "STDDEV_POP")


class Writer(Phrases):
    """Writes questions.

    Args:
        below: returns a whole number below its argument, such as ``random.randrange``.
        ranks: whether medians, minima and maxima are asked for too, which are found by rank.
    """

    def __init__(self, below: Below, *, ranks: bool = False) -> None:
        """Keep where choices come from."""
        super().__init__(below)
        self.ranks = ranks

    # ---- whole questions -------------------------------------------------------------------------

    def statement(self) -> Written:
        """Write a question."""
        rows, before = self.rows(2), ""
        if rows.text.startswith("(") and self.chance(3):
            inner = rows.text.rpartition(")")[0][1:]
            before, rows = f"WITH made AS ({inner}) ", replace(rows, text="made")
        where = self.truth(rows, 2) if self.chance(2) else ""
        keys = self._keys(rows)
        if any(key.function for key in keys):
            listed = " AND ".join(key.function for key in keys if key.function)
            where = f"{listed} AND ({where})" if where else listed
        items = tuple(self._item(rows, f"a{i}") for i in range(1 + self.below(3)))
        made = Written(rows, keys, items, where, before=before)
        if not keys:
            return made
        exact = [i.name for i in items if i.function in ("COUNT", "SUM")]
        if exact and self.chance(3):
            signs = f"{self.one(exact)} {self.one(('<', '>', '>=', '<>'))} {self.below(40)}"
            other = f" AND NOT ({self.one(exact)} = {self.below(9)})" if self.chance(3) else ""
            made = replace(made, having=f"{signs}{other}")
        if exact and self.chance(3):
            made = replace(made, order=((self.one(exact), self.chance(2)),))
            if self.chance(2):
                made = replace(made, limit=self.below(6))
        return made

    def _keys(self, rows: Rows) -> tuple[Item, ...]:
        if self.chance(3):
            return ()
        found = dict[str, Item]()
        for i in range(1 + self.chance(3)):
            text, listed = self._key(rows)
            found[text] = Item(text, text if text.isidentifier() else f"k{i}", listed)
        return tuple(found.values())

    def _key(self, rows: Rows) -> tuple[str, str]:
        """Return what to group by, and the condition that lists its values, if one has to."""
        forms: list[tuple[str, str]] = []
        forms += [(name, "") for name in rows.of("label", "truth", "seats")]
        for name in rows.of("whole"):
            forms += [(name, ""), (f"floor({name} / 6)", ""), (f"{name} % 5", "")]
            forms.append((f"CASE WHEN {name} < 9 THEN 'early' ELSE 'late' END", ""))
        for name in rows.of("date"):
            forms += [(f"{self.one(DATED)}({name})", ""), (f"{name} >= DATE '2026-02-01'", "")]
        for name in rows.of("moment"):
            forms += [(f"hour({name})", ""), (f"EXTRACT(month FROM {name})", "")]
        for name in rows.of("label"):
            forms += [(f"lower({name})", ""), (f"{name} || '-' || {name}", "")]
        for name in rows.of("text"):
            values = ", ".join(
                f"'{each}'" for each in ("Ann", "Bob", "7", "x")[: 1 + self.below(4)]
            )
            forms += [(name, f"{name} IN ({values})"), (f"contains({name}, 'n')", "")]
        found: tuple[str, str] = self.one(forms or [("1 > 0", "")])
        return found

    def _item(self, rows: Rows, name: str) -> Item:
        kind = self.below(8)
        if kind == 0 or not rows.of("number", "whole"):
            return Item("COUNT(*)", name, "COUNT")
        if kind == 1:
            return Item(f"COUNT(*) FILTER (WHERE {self.truth(rows, 1)})", name, "COUNT")
        if kind == 2 and rows.unit:
            return Item("COUNT(DISTINCT rider)", name, "COUNT")
        if kind == 3:
            listed = rows.of("label", "whole", "truth", "seats")
            return Item(f"COUNT(DISTINCT {self.one(listed or ['1'])})", name, "COUNT")
        if kind == 4:
            return Item(self._formula(rows), name, "RATIO")
        if self.ranks and self.chance(3):
            function = self.one(("MEDIAN", "MIN", "MAX"))
            return Item(f"{function}({self.number(rows, 1)})", name, function)
        function = self.one(_MEASURED)
        text = f"{function}({self.number(rows, 2)})"
        if self.chance(4):
            text += f" FILTER (WHERE {self.truth(rows, 1)})"
        return Item(text, name, function)

    def _formula(self, rows: Rows) -> str:
        """Return arithmetic on numbers that are released."""
        total, count = f"SUM({self.number(rows, 1)})", "COUNT(*)"
        return str(
            self.one(
                (
                    f"{total} / {count}",
                    f"100.0 * {count} / {count}",
                    f"{total} - 2 * {count}",
                    f"({count} + 1) * 2.5",
                    f"-{total}",
                )
            )
        )

    # ---- rows ------------------------------------------------------------------------------------

    def rows(self, depth: int) -> Rows:
        """Write a FROM."""
        kind = self.below(12) if depth else 0
        if kind < 5:
            return PAYMENTS if self.chance(5) else TRIPS
        if kind == 5:
            return self._joined(self.rows(0))
        if kind == 6:
            return self._united()
        inner = self.rows(depth - 1)
        if kind == 7 and inner.unit:
            return self._summed(inner)
        where = f" WHERE {self.truth(inner, 1)}" if self.chance(2) else ""
        if kind == 8 and "JOIN" not in inner.text:
            return replace(inner, text=f"(SELECT * FROM {inner.text}{where}) AS t")
        kept = [column for column in inner.columns if not self.chance(3)] or [inner.columns[0]]
        if kind == 9:
            few = tuple(c for c in kept if c.form in ("label", "whole", "truth", "seats"))[:2]
            few = few or (inner.columns[0],)
            unit = inner.unit and self.chance(2)
            names = ", ".join([*["rider"] * unit, *(column.name for column in few)])
            return Rows(f"(SELECT DISTINCT {names} FROM {inner.text}{where}) AS d", few, unit)
        listed = [column.name for column in kept] + ["rider"] * inner.unit
        if inner.of("number", "whole"):
            kept = [*(c for c in kept if c.name != "x"), Column("x", "number")]
            listed = [*(name for name in listed if name != "x"), f"{self.number(inner, 2)} AS x"]
        text = f"(SELECT {', '.join(listed)} FROM {inner.text}{where}) AS s"
        return Rows(text, tuple(kept), inner.unit)

    def _joined(self, inner: Rows) -> Rows:
        """Join a public table, or a private one of the same unit."""
        how, which = self.one(("JOIN", "LEFT JOIN")), self.below(3)
        if which == 0:
            return self._beside(how)
        if which == 1:
            added = Column("region", "label"), Column("people", "number")
            on = f"{inner.text} {how} zones ON zone = id"
        else:
            added = Column("stop", "label"), Column("depth", "number")
            on = f"{inner.text} {how} stops USING (zone)"
        return Rows(on, (*inner.columns, *added))

    def _beside(self, how: str) -> Rows:
        """Put what a rider paid beside the rider's trips."""
        paid = "SELECT rider, COUNT(*) AS times, SUM(fare) AS paid FROM payments GROUP BY rider"
        if self.chance(2):
            added = Column("times", "number"), Column("paid", "number")
            text = f"trips {how} ({paid}) AS p ON trips.rider = p.rider"
            return Rows(text, (*TRIPS.columns, *added), unit=False)
        same = " AND trips.zone = p.zone" if self.chance(2) else ""
        others = "SELECT rider, zone, fare AS cost, method FROM payments"
        added = Column("cost", "number"), Column("method", "label")
        text = f"trips {how} ({others}) AS p ON trips.rider = p.rider{same}"
        kept = [column for column in TRIPS.columns if column.name != "zone"]
        return Rows(text, (*kept, *added), unit=False)

    def _united(self) -> Rows:
        """Put rows of two tables below one another."""
        both = Column("zone", "label"), Column("fare", "number"), Column("hour", "whole")
        listed = "rider, zone, fare, hour"
        sides = [f"SELECT {listed} FROM {self.one(('trips', 'payments'))}" for _ in range(2)]
        sides[1] += f" WHERE hour < {self.below(24)}"
        return Rows(f"({' UNION ALL '.join(sides)}) AS u", both)

    def _summed(self, inner: Rows) -> Rows:
        """Make one row of each rider, or of each rider and group."""
        by = [name for name in inner.of("label", "whole") if self.chance(3)][:1]
        number = self.number(inner, 1) if inner.of("number", "whole") else "1"
        number = "COUNT(*)" if number == "1" else f"{self.one(('SUM', 'MIN', 'MAX'))}({number})"
        having = " HAVING COUNT(*) > 1" if self.chance(3) else ""
        keys = ", ".join(["rider", *by])
        text = f"(SELECT {keys}, COUNT(*) AS n, {number} AS x FROM {inner.text}"
        kept = [column for column in inner.columns if column.name in by]
        made = Column("n", "number"), Column("x", "number")
        text = f"{text} GROUP BY {keys}{having}) AS g"
        return Rows(text, (*(c for c in kept if c.name not in ("n", "x")), *made))
