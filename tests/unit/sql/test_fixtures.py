"""Questions in SQL, each with the plan that it becomes or with the whole message that refuses it.

A case in ``fixtures/*.sql`` is a question, options as ``-- name: JSON`` before it, and behind it
what comes of it in lines that begin with ``|``. When a change is meant, write the files anew and
read the difference: ``SFUMATO_REWRITE_GOLDEN=1 pytest tests/unit/sql/test_fixtures.py``.
"""

import json
import os
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.core.errors import SfumatoError
from sfumato.relation import (
    BoughtKeys,
    Distinct,
    Filter,
    Join,
    PerUnit,
    Project,
    Source,
    Truncate,
    Union,
    UnitJoin,
)
from sfumato.relation.bought import bought
from sfumato.relation.expr import Name, shown
from sfumato.relation.function import FUNCTIONS
from sfumato.session.proof import title
from sfumato.sql import select
from sfumato.testing.town import town

FOLDER = Path(__file__).with_name("fixtures")
REWRITE = "SFUMATO_REWRITE_GOLDEN"
COST = {"epsilon": 1}
ACCEPTED, REFUSED = 150, 120  # there are at least so many


@dataclass
class Case:
    file: str
    line: int
    options: dict = field(default_factory=dict)
    heading: str = ""
    sql: str = ""
    outcome: str = ""

    @property
    def is_refused(self):
        return self.file.startswith("refused")

    def __str__(self):
        given = "".join(f"-- {name}: {json.dumps(v)}\n" for name, v in self.options.items())
        return f"{self.heading}{given}{self.sql}\n{self.outcome}\n"


def cases(path):
    found = []
    case = Case(path.name, 1)
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        if line.startswith("# "):
            case.heading += f"{line}\n\n"
        elif option := re.fullmatch(r"-- (cost|parameters|keys): (.*)", line):
            case.options[option[1]] = json.loads(option[2])
        elif line.startswith("|"):
            case.outcome += f"\n{line}" if case.outcome else line
        elif line:
            case.sql += f"\n{line}" if case.sql else line
        elif case.sql:
            found.append(case)
            case = Case(path.name, number + 1)
    return found


FILES = sorted(FOLDER.glob("*.sql"))
CASES = [case for path in FILES for case in cases(path)]


@pytest.fixture(scope="module")
def session():
    with town(max_rows=10) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def rewritten(session):
    """Write the files anew where that was asked for."""
    if os.environ.get(REWRITE):
        for path in FILES:
            mine = [case for case in CASES if case.file == path.name]
            for case in mine:
                case.outcome = outcome(case, session)
            path.write_text("\n".join(map(str, mine)), encoding="utf-8")


# ---- what comes of a question --------------------------------------------------------------------


def outcome(case, session):
    head = session.ledger.head
    try:
        plan = explained(case, session)
        lines = planned(plan)
        lines += [f"price    {plan.price}"] if "cost" in case.options else []
    except SfumatoError as problem:
        lines = [type(problem).__name__, *str(problem).splitlines()]
    assert session.ledger.head == head
    return "\n".join(f"| {line}".rstrip() for line in lines)


def explained(case, session):
    options = dict(case.options)
    cost, keys = options.pop("cost", COST), options.pop("keys", None)
    if keys == "bought":
        keys = bought()
    return session.explain(case.sql, keys=keys, **options, **cost)


def planned(plan):
    asked = plan.asked
    lines = [f"asked    {name} = {of(each)}" for name, each in asked.asked.items()]
    for one in plan.plans:
        keys = one.question.keys
        if keys.columns:
            lines.append(f"groups   {groups(keys)}")
    lines.append(f"rows     {tree(asked.node)}")
    for one in plan.plans:
        lines += [f"measured {title(query)}" for query in dict.fromkeys(one.question.queries)]
    for each in asked.shown:
        if each.formula is not None or each.step is not None:
            step = "" if each.step is None else f", rounded to {each.step}"
            lines.append(f"after    {each.name} = {each.formula or each.name}{step}")
    lines += [f"after    having {asked.having}"] if asked.having is not None else []
    lines += [f"after    sorted by {by}" for by in asked.order]
    if asked.limit is not None or asked.offset:
        lines.append(f"after    rows from {asked.offset} on, {asked.limit} of them")
    lines += [f"note     {note}" for note in asked.notes]
    lowered = re.sub(r"\n *", " ", plan.sql.replace(";\n\n", " ;; "))
    return [*lines, *(f"lowered  {statement}" for statement in lowered.split(" ;; "))]


def of(each):
    ranks = "".join(f", {rank}" for rank in each.ranks)
    return f"{each.function}({'' if each.expr is None else shown(each.expr)}{ranks})"


def groups(keys):
    if isinstance(keys, BoughtKeys):
        listed = ["bought" if codes is None else f"{len(codes)} listed" for codes in keys.codes]
        return ", ".join(f"{n} {each}" for n, each in zip(keys.columns, listed, strict=True))
    found = []
    for name, values in keys.table().items():
        each = list(dict.fromkeys(str(value) for value in values))
        shortened = each if len(each) <= 4 else [*each[:2], f"… {len(each)} in all"]
        found.append(f"{name} in {', '.join(shortened)}")
    return "; ".join(found)


def tree(node):
    """Write a relation in one line, from the table up."""
    match node:
        case Source():
            return node.name
        case Filter():
            return f"{tree(node.child)} | where {shown(node.condition)}"
        case Project():
            columns = [n if e == Name(n) else f"{n} = {shown(e)}" for n, e in node.columns]
            return f"{tree(node.child)} | columns {', '.join(columns)}"
        case Truncate():
            caps = (node.max_rows_per_group, node.max_groups, node.max_rows)
            return f"{tree(node.child)} | at most {caps} by {node.keys}"
        case Distinct():
            return (
                f"{tree(node.child)} | distinct {'of each unit' if node.within_unit else 'of all'}"
            )
        case Union():
            return f"({tree(node.first)}) + ({tree(node.second)})"
        case Join():
            on = ", ".join(name for name, *_ in node.table.keys)
            new = ", ".join(name for name, *_ in node.table.columns)
            return f"{tree(node.child)} | {node.how} join {node.table.name} on {on} for {new}"
        case UnitJoin():
            on = ", ".join(f"{a} = {b}" for a, b in node.on)
            link = "" if node.link is None else f" along {node.link}"
            return f"({tree(node.first)}) {node.how} join ({tree(node.second)}) on {on}{link}"
        case PerUnit():
            made = [
                f"{n} = {s.function}({'' if s.expr is None else shown(s.expr)}) up to {s.cap} rows"
                for n, s in node.summaries
            ]
            return f"{tree(node.child)} | of each unit and {node.keys} {', '.join(made)}"
    raise AssertionError(node)


# ---- tests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}:{case.line}")
def test_question_has_the_outcome_that_is_written_down(case, session):
    assert outcome(case, session) == case.outcome, (
        f"if that is meant: {REWRITE}=1 pytest {__file__}"
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}:{case.line}")
def test_files_hold_what_they_are_named_for(case):
    refused = re.match(r"\| [A-Z]\w+$", case.outcome.partition("\n")[0]) is not None
    assert refused == case.is_refused


def test_no_question_is_asked_twice():
    asked = [(case.sql, str(case.options)) for case in CASES]
    assert sorted(set(asked)) == sorted(asked)


def test_there_are_enough():
    assert sum(not case.is_refused for case in CASES) >= ACCEPTED
    assert sum(case.is_refused for case in CASES) >= REFUSED


def test_every_function_of_the_whitelist_is_in_a_plan(session):
    """What is written with signs or words of its own counts by the name that plans have for it."""
    text = " ".join(case.outcome for case in CASES if not case.is_refused)
    signs = {"in", "case", "and", "or", "not", "is_null", "like", "ilike"}
    called = [name for name in FUNCTIONS if name.isidentifier() and name not in signs]
    assert [name for name in called if f"{name}(" not in text] == []
    assert [s for s in FUNCTIONS if not s.isidentifier() and f" {s} " not in text] == []


def test_every_clause_that_is_not_read_is_refused_by_name():
    text = " ".join(case.outcome for case in CASES if case.is_refused)
    unreachable = {"CONNECT BY", "PREWHERE", "CLUSTER BY", "SORT BY", "SELECT AS", "PIVOT"}
    words = [word for word, _ in select._OTHERS.values() if word not in unreachable]
    assert [word for word in words if f"{word} has no place" not in text] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (7, "a question in SQL is a text, and this is a int"),
        (" " * 100_001, "this question has 100,001 characters"),
        ("SELECT COUNT(*) FROM trips WHERE name = '\0'", "a character that no text has"),
        (f"SELECT {'1, ' * 10_000} 1 FROM trips", "this question has 20,00"),  # noqa: S608
    ],
)
def test_what_no_file_can_hold_is_refused(text, said, session):
    with pytest.raises(SfumatoError) as caught:
        session.explain(text, epsilon=1)
    assert caught.value.message.startswith(said) or said in caught.value.message


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("day", date(2026, 2, 1)),
        ("began", datetime(2026, 2, 1, 12)),
        ("tip", Decimal("2.5")),
        ("tip", Fraction(-5, 2)),
        ("vip", True),
        ("name", "it's"),
    ],
)
def test_values_of_every_kind_are_parameters(column, value, session):
    text = f"SELECT COUNT(*) FROM trips WHERE {column} = "  # noqa: S608 - a name of this file
    given = session.explain(f"{text}?", parameters=[value], epsilon=1)
    typed = session.explain(f"{text}{written(value)}", epsilon=1)
    assert given.sql == typed.sql


def written(value):
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, date):
        return f"DATE '{value}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(float(value)) if isinstance(value, Decimal | Fraction) else str(value)
