"""The question of `sfumato query`: options read as a table of the session is asked."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import CostError, ExpressionError, InputError, KeysError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sfumato.cli.asked import Asked
    from sfumato.core.schema import Column
    from sfumato.session import Contract, Output, Plan, Question, Session, Table
    from sfumato.session.staged import StagedPlan
    from sfumato.session.within import Within

# A name, and an equals sign right behind it that is not half of another sign.
_NAMED = re.compile(r"(?P<name>[^\W\d]\w*)=(?!=)(?P<text>.+)", re.DOTALL)
_BOUNDS = re.compile(r"bounds\s*\((?P<text>.*)\)", re.DOTALL | re.IGNORECASE)
_INSIDE = re.compile(r"\bbounds\s*\(", re.IGNORECASE)
_OPTIONS = ("sum", "mean", "variance", "std", "median", "quantile", "min", "max", "count_distinct")
_RANGED = ("sum", "mean", "variance", "std", "median", "quantile", "min", "max")  # of a number


def question(session: Session, asked: Asked, contract: Contract) -> Question:
    """Return what the options ask.

    Args:
        session: the session of the contract.
        asked: what was typed.
        contract: the contract.
    """
    table = session.table(asked.table or next(iter(contract.tables)))
    if asked.where:
        table = table.filter(*asked.where)
    if asked.top is not None:
        given, count = _last(asked.top, "--top", "zone:5")
        table, name = _column(table, given)
        return table.top(name, _whole(count, "--top"), keys=keys_of(asked, table.schema, [name]))
    outputs = _outputs(asked)
    groups = []
    for given in asked.group_by:
        table, name = _column(table, given)
        groups.append(name)
    keys = keys_of(asked, table.schema, groups) if groups else None
    where = table.group_by(*groups, keys=keys) if groups else table
    if asked.count:  # which nobody can name here
        from sfumato.session.output import count_name

        outputs = {count_name(groups): outputs.pop("n"), **outputs}
    if asked.histogram is not None:
        return where.histogram(asked.histogram, _bins(asked))
    return where.agg(**outputs)


def planned(question: Question, asked: Asked) -> Plan | StagedPlan:
    """Return the plan: at the price that was set, or at one that is found."""
    if asked.accuracy:
        names = [wanted.name for wanted in question.wanted]
        return question.explain(accuracy=accuracy_of(names, asked), delta=asked.delta or 0)
    from sfumato.session.question import CONFIDENCE

    return question.explain(
        epsilon=asked.epsilon,
        delta=asked.delta or 0,
        rho=asked.rho,
        confidence=asked.confidence or CONFIDENCE,
    )


def accuracy_of(names: Sequence[str], asked: Asked) -> Within | dict[str, Within]:
    """Read --accuracy: one for all numbers, one for some of them, or both."""
    from sfumato.core.number import positive
    from sfumato.session.question import CONFIDENCE
    from sfumato.session.within import within

    every: Within | None = None
    single: dict[str, Within] = {}
    for given in asked.accuracy:
        name, equals, number = given.rpartition("=")
        name = name.strip()
        if equals and name not in names:
            raise CostError(
                f"--accuracy {given!r} is for a number that is not asked for. The numbers are: "
                f"{', '.join(names)}."
            )
        if name in single or (every is not None and not equals):
            raise CostError(
                f"--accuracy says twice how far {name or 'all numbers'} may be off. Say it once; "
                f"--accuracy 50 holds for all that have none of their own, as --accuracy fare=2000."
            )
        wish = within(positive(number.strip(), "--accuracy"), asked.confidence or CONFIDENCE)
        if equals:
            single[name] = wish
        else:
            every = wish
    if every is not None:
        return {**dict.fromkeys(names, every), **single}
    missing = next((name for name in names if name not in single), None)
    if missing is not None:
        raise CostError(
            f"--accuracy says nothing of {missing!r}. Add --accuracy {missing}=50, or --accuracy "
            f"50 for all that have none of their own."
        )
    return single


def _outputs(asked: Asked) -> dict[str, Output]:
    """Read what is asked of each group, by name."""
    from sfumato.session.output import count

    outputs = {"n": count(**_race(asked))} if asked.count else {}
    for function in _OPTIONS:
        option = f"--{function.replace('_', '-')}"
        for given in getattr(asked, function):
            name, output = _output(asked, option, function, given)
            for own, one in output.split(name).items():
                if own in outputs:
                    text = (_named(given) or (None, given.strip()))[1]
                    raise InputError(
                        f"two columns of the answer would be called {own!r}. Name one of them, as "
                        f"in {option} 'other={text}'."
                    )
                outputs[own] = one
    return outputs


def _output(asked: Asked, option: str, function: str, given: str) -> tuple[str, Output]:
    """Read ``name=expression``, or an expression that is named by itself."""
    from sfumato.relation.expr import names
    from sfumato.session.bounds import bounds
    from sfumato.sql.expression import parse

    name, text = _named(given) or (None, given)
    ranks: list[str] = []
    if function == "quantile":
        text, listed = _last(text, option, "fare:0.25,0.5,0.75")
        ranks = [rank.strip() for rank in listed.split(",")]
    found = _BOUNDS.fullmatch(text.strip())
    if found is not None and function not in _RANGED:
        raise ExpressionError(
            f"{option} {given!r}: a range is bought for numbers that are summed or ranked, and "
            f"different values are counted without one. Leave out bounds(...)."
        )
    inner = text if found is None else found["text"].strip()
    try:
        expr = parse(inner)
    except ExpressionError:
        if found is None and _INSIDE.search(text) is None:
            raise
        raise ExpressionError(
            f"{option} {given!r}: bounds(...) holds the whole expression whose range is bought, as "
            f"in {option} 'bounds(price * pieces)'."
        ) from None
    if name is not None and next(names(expr), None) is None:
        raise ExpressionError(
            f"{option} {given!r} would call a constant {name!r}. If you mean a comparison, name it "
            f"too: {option} 'share=({name} = {inner})'."
        )
    make = _function(asked, function, ranks)
    output = make(inner if found is None else bounds(inner))
    return name or output.name, output


def _function(asked: Asked, function: str, ranks: list[str]) -> Callable[[Any], Output]:
    from sfumato.session import output

    if function == "quantile":
        return lambda text: output.quantile(text, ranks, interval=asked.interval)
    if function == "sum" and asked.is_race:
        return lambda text: output.sum(text, **_race(asked))
    if function == "sum" and asked.per_unit is not None:
        ends = tuple(end.strip() for end in asked.per_unit.split(","))
        if len(ends) != 2:
            raise InputError(
                f"--per-unit {asked.per_unit!r} is no range. Pass its two ends: --per-unit 0,300; "
                f"or --per-unit auto."
            )
        return lambda text: output.sum(text, per_unit=(ends[0], ends[1]))
    if function == "median":
        return lambda text: output.median(text, interval=asked.interval)
    made: Callable[[Any], Output] = getattr(output, function)
    return made


def _race(asked: Asked) -> dict[str, Any]:
    """Read ``--per-unit auto``, or ``auto,MOST`` with the number at which it ends."""
    if not asked.is_race:
        return {}
    _, comma, most = (asked.per_unit or "").partition(",")
    return {"per_unit": "auto", "most": most.strip() if comma else None}


def _named(given: str) -> tuple[str, str] | None:
    """Read ``name=expression``; None where there is no name."""
    found = _NAMED.fullmatch(given.strip())
    return None if found is None else (found["name"], found["text"].strip())


def _last(given: str, option: str, example: str) -> tuple[str, str]:
    """Split at the last colon, so that those within quotes stay where they are."""
    text, colon, rest = given.rpartition(":")
    if not colon or not text.strip() or not re.fullmatch(r"[\s\d.,/eE+-]+", rest):
        what = "which quantiles" if option == "--quantile" else "how many values"
        raise InputError(
            f"{option} {given!r} does not say {what}, behind a colon. Write {option} {example}."
        )
    return text.strip(), rest.strip()


def _whole(text: str, option: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InputError(
            f"{option} shows a whole number of values, at least 1. Write {option} zone:5."
        )
    return int(text)


def _column(table: Table, given: str) -> tuple[Table, str]:
    """Return the name of a column; of ``name=expression`` that of a new one."""
    found = _named(given)
    if found is None or given in table.columns:
        return table, given
    name, text = found
    return table.with_columns(**{name: text}), name


def _bins(asked: Asked) -> int | list[str]:
    """Read --bins: how many, or the edges."""
    edges = [edge.strip() for edge in (asked.bins or "").split(",")]
    return int(edges[0]) if len(edges) == 1 and edges[0].isascii() and edges[0].isdigit() else edges


def keys_of(asked: Asked, schema: Mapping[str, Column], groups: Sequence[str]) -> Any:
    """Read --keys, each value as its column has it, and --bought for the other columns."""
    found: dict[str, Any] = {}
    for given in asked.keys:
        name, equals, listed = given.partition("=")
        if not equals or name in found:
            raise KeysError(
                f"--keys {given!r} is not a list of groups, or the second one of its column. Write "
                f"--keys COLUMN=A,B once for each column; quote a value that has a comma in it."
            )
        values = next(csv.reader([listed]), [])
        found[name] = [_key(text, schema.get(name)) for text in values]
    if asked.bought:
        from sfumato.relation.bought import bought

        free = next((name for name in groups if name not in found), None)
        if free is None:
            raise KeysError(
                "--bought has nothing to buy: --keys lists the groups of every column. Leave out "
                "one of the two."
            )
        found[free] = bought(other=asked.other)
    return found or None


def _key(text: str, column: Column | None) -> Any:
    from sfumato.core.number import exact
    from sfumato.core.schema import Boolean, Category, Integer, Real

    match column:
        case Integer() | Real():
            number = exact(text.strip(), f"--keys {text.strip()!r}")
            return number.numerator if number.denominator == 1 else number
        case Boolean():
            return {"true": True, "false": False}.get(text.strip().lower(), text)
        case Category():
            return next((value for value in column.values if str(value) == text), text)
    return text
