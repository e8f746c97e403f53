"""What an owner should look at before anybody asks: faults, doubts and remarks about a contract.

Names and types of the data are read, no row; the ledger is opened to look at. An *error* keeps
questions from being answered, a *warning* is likely to be a mistake, a *note* is worth knowing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.number import show
from sfumato.core.schema import Category, Column, Integer, Real, Text, Timestamp
from sfumato.core.unit import Neighbors
from sfumato.owner.finding import LEVELS, Finding
from sfumato.owner.hint import likeness
from sfumato.owner.inspection import beside_row, of_data, of_ledger, of_no_ledger, shown
from sfumato.owner.layout import dotted, open_questions
from sfumato.release.format import grouped, percent
from sfumato.session.purchase import CAP_SHARE, WHICH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.core.budget import Budget
    from sfumato.session.contract import Contract
    from sfumato.session.declaration import TableDeclaration

_LARGE_EPSILON = 10
_LARGE_RHO = 1  # at δ = 1e-6 it is an ε of about 8.4
_LARGE_DELTA = Fraction(1, 100_000)
_MANY_ROWS = 100
_MANY_VALUES = 1_000
_MANY_STEPS = 2**40
_SHORT_QUANTUM = Fraction(1, 10)  # a question over a million rows takes as long


def lint(contract: Contract, *, text: str | None = None, data: bool = True) -> list[Finding]:
    """Look for faults and doubts in a contract that can be read.

    Args:
        contract: the contract.
        text: the text it was read from, for the questions that a draft left open in it.
        data: whether to compare it with the names and types of the data, and to note a ledger that
            is not there.

    Returns:
        The findings: errors first, then warnings, then notes.

    Example:
        >>> from sfumato.session import Contract
        >>> contract = Contract.parse('''
        ... [budget]
        ... epsilon = 40
        ... ledger = "people.ledger"
        ... [tables.people]
        ... source = "people.csv"
        ... version = "2026-11"
        ... unit = "row"
        ... columns.age = { type = "integer", low = 0, high = 120 }
        ... ''')
        >>> [finding.rule for finding in lint(contract, data=False)]
        ['budget.large', 'budget.no-delta']
    """
    found = [*_budget(contract), *_shares(contract), *_session(contract), *of_ledger(contract)]
    for name, table in contract.tables.items():
        place = ("tables", name)
        found += [*_table(place, table), *_unit(place, table)]
        for column, declared in table.schema.items():
            if column not in table.relation.unseen:
                found += _column((*place, "columns", column), column, declared)
    if data:  # where no data is, there is no ledger either
        found += [*of_no_ledger(contract), *of_data(contract)]
    found += _open(text)
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def _budget(contract: Contract) -> Iterator[Finding]:
    budget = contract.budget
    if (budget.epsilon or 0) > _LARGE_EPSILON or (budget.rho or 0) > _LARGE_RHO:
        yield Finding(
            "warning",
            "budget.large",
            "budget",
            f"the limit is {shown(budget)}.",
            "At ε = 10 a guess about somebody that is right in one of a hundred cases may become "
            "one that is right in 99; above, next to nothing is promised.",
            "Lower epsilon to 10 or below, or rho to 1; or know why not.",
        )
    if budget.delta >= _LARGE_DELTA:
        yield Finding(
            "warning",
            "budget.large-delta",
            "budget.delta",
            f"δ is {show(budget.delta)}.",
            f"A mechanism may publish everything about one person in {grouped(1 / budget.delta)} "
            f"and keep that promise.",
            "Choose it far below one over the number of people, such as 1e-6.",
        )
    if budget.epsilon is not None and not budget.delta:
        yield Finding(
            "note",
            "budget.no-delta",
            "budget.delta",
            "there is no δ.",
            "Gaussian noise, which is smaller where one unit is in many groups, is refused, and so "
            "are groups that a question buys.",
            'Write delta = "1e-6" if that is far below one over the number of people.',
        )


def _shares(contract: Contract) -> Iterator[Finding]:
    total = contract.budget
    for name, share in contract.analysts.items():
        if _above(share, total):
            yield Finding(
                "warning",
                "analysts.above-total",
                dotted(("analysts", name)),
                f"this share, {shown(share)}, is larger than the budget, {shown(total)}.",
                "The budget of all together is reached first.",
                "Lower the share.",
            )
        if share.epsilon is not None and total.delta and not share.delta:
            yield Finding(
                "note",
                "analysts.no-delta",
                dotted(("analysts", name)),
                f"this share has no δ, and the budget has δ = {show(total.delta)}.",
                "This analyst is refused Gaussian noise, groups that a question buys, and whatever "
                "else is charged a δ: a share does not take it over from the budget.",
                f'Write delta = "{show(total.delta)}", or less, if the analyst should have them.',
            )
    sums = [share.epsilon for share in contract.analysts.values() if share.epsilon is not None]
    if total.epsilon is not None and len(sums) > 1 and sum(sums) > total.epsilon:
        yield Finding(
            "note",
            "analysts.sum",
            "analysts",
            f"the shares add up to ε = {show(Fraction(sum(sums)))}, more than {shown(total)}.",
            "That is allowed: whoever comes late may find less. If all analysts put their answers "
            "together, they learn no more than the budget allows.",
            "Nothing needs to be done, unless an analyst was promised a share in full: then lower "
            "the shares until they add up to no more than the budget.",
        )


def _session(contract: Contract) -> Iterator[Finding]:
    if contract.quantum is not None and contract.quantum < _SHORT_QUANTUM:
        yield Finding(
            "warning",
            "session.short-quantum",
            "session.quantum",
            f"replies are held back to multiples of {show(contract.quantum)} seconds.",
            "What takes longer than one quantum tells by how many it takes, and questions about "
            "large tables take longer than this.",
            "Choose a quantum above what the slowest question takes, such as 1.",
        )


def _table(place: tuple[str, ...], table: TableDeclaration) -> Iterator[Finding]:
    if table.version is None:
        yield Finding(
            "warning",
            "table.no-version",
            dotted(place),
            "version is missing.",
            "Repeated questions are answered from the ledger, which cannot know that the data "
            "changed unless somebody runs `sfumato ledger refresh`.",
            'Write version = "2026-11", and another label whenever the data change.',
        )
    if table.unit.neighbors is Neighbors.REPLACE and table.rows is None:
        yield Finding(
            "note",
            "table.no-rows",
            dotted(place),
            "rows is missing, and neighbors are 'replace'.",
            "Under this relation the number of rows is public, and a count that nobody can change "
            "is answered with what is declared, or refused.",
            "Write rows = with the public number of rows.",
        )


def _unit(place: tuple[str, ...], table: TableDeclaration) -> Iterator[Finding]:
    if table.unit.column is None:
        for column in table.schema:
            yield from beside_row(place, column)
        return
    if table.sampled and table.unit.most_rows != 1:
        yield Finding(
            "warning",
            "unit.sampled-rows",
            dotted(place),
            "sampled is true, and one unit may have several rows.",
            "Rows of one unit are not drawn independently of each other, and a cap leaves some of "
            "them out: what counts is no random sample. Intervals about a population are refused.",
            "Remove sampled; or write max_rows = 1 if each unit has one row.",
        )
    if not table.relation.is_direct and table.path is not None:
        names = " and ".join(step.table for step, _ in table.path.steps)
        yield Finding(
            "note",
            "unit.path",
            dotted((*place, "unit")),
            f"whose a row is, is looked up in {names}.",
            "What refers to a key that two units have counts for each of them, and whoever adds "
            "or removes such a row does so for both; a key that many have multiplies the rows.",
            "Make sure that a key belongs to one unit, by a constraint of the database at best, "
            "and that unknown keys are empty.",
        )
    most = 0 if table.unit.max_rows == "auto" else table.unit.most_rows or 0
    if most > _MANY_ROWS:
        yield Finding(
            "warning",
            "unit.many-rows",
            dotted(place),
            f"{grouped(most)} rows of one unit count.",
            "The noise has to hide all of them, and grows with the cap. Most people have far "
            "fewer, and of the others so many would count.",
            "Lower max_rows, or set max_groups and max_rows_per_group.",
        )
    bought = [cap for cap in WHICH if getattr(table.unit, cap) == "auto"]
    if bought:
        yield Finding(
            "note",
            "unit.bought-caps",
            dotted(place),
            f'{" and ".join(bought)} {"is" if len(bought) == 1 else "are"} "auto".',
            f"Every question that needs a cap buys it with {percent(CAP_SHARE)} of its price, and "
            f"says what it found. No question can ask for an accuracy, whose price depends on it.",
            "Write a number if one is known without looking at the data.",
        )


def _column(place: tuple[str, ...], name: str, declared: Column) -> Iterator[Finding]:
    found = likeness(name)
    names_people = found is not None and found.of_people
    if isinstance(declared, Category) and names_people:
        yield Finding(
            "warning",
            "column.key-as-category",
            dotted(place),
            "this is a category, and its name is that of something that names people.",
            "The list of values is public: everybody on it is known to be in the contract, and "
            "every group would be one person.",
            "Leave the column out, or make it the unit.",
        )
    if isinstance(declared, Category) and len(declared.values) > _MANY_VALUES:
        yield Finding(
            "warning",
            "column.many-values",
            dotted(place),
            f"{grouped(len(declared.values))} values are listed.",
            "Grouped by it, each value has a noisy answer of its own, most of them of nobody.",
            "List coarser values, or declare it as text and give the keys with the question.",
        )
    if isinstance(declared, Text):
        yield Finding(
            "note",
            "column.text",
            dotted(place),
            "this is text, which can be grouped only by keys that a question gives or buys.",
            "What values occur is not public."
            + (" Its name is that of something that names people." if names_people else ""),
            "List the values as a category if they are public; leave it out if nobody needs it.",
        )
    if isinstance(declared, Integer | Real) and declared.low is None:
        yield Finding(
            "note",
            "column.no-bounds",
            dotted(place),
            "no bounds are declared.",
            "It can be filtered by and counted. A sum or a mean has to buy a range first, with a "
            "share of its price, or is refused.",
            "Write low and high if a range is known without looking at the data.",
        )
    if (steps := _steps(declared)) > _MANY_STEPS:
        yield Finding(
            "warning",
            "column.fine-step",
            dotted(place),
            f"there are about {show(Fraction(steps), 3)} steps between the bounds.",
            "No noisy answer shows a step so fine, and sums of many rows may be refused because "
            "they leave no room in 64 bits.",
            "Choose a coarser step, or tighter bounds.",
        )


def _open(text: str | None) -> Iterator[Finding]:
    for question in open_questions(text or ""):
        yield Finding(
            "warning",
            "draft.open",
            question.place,
            f"line {question.line} asks: {question.text or 'what is right here?'}",
            "A draft guesses, and every guarantee is computed from what is declared.",
            "Answer it from what is known without looking at the data, and remove the #? comment.",
        )


def _steps(declared: Column) -> int:
    match declared:
        case Real() if declared.low is not None:
            return int((declared.bounds[1] - declared.bounds[0]) / declared.step)
        case Timestamp():
            low, high = datetime.fromisoformat(declared.low), datetime.fromisoformat(declared.high)
            span = Fraction((high - low) // timedelta(microseconds=1), 10**6)
            return int(span / declared.step)
    return 0


def _above(share: Budget, total: Budget) -> bool:
    if share.epsilon is not None and total.epsilon is not None:
        return share.epsilon > total.epsilon or share.delta > total.delta
    return share.rho is not None and total.rho is not None and share.rho > total.rho
