"""The groups of a question in SQL: which there are, and who says so."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import CostError, QueryError
from sfumato.relation import AnyKeys, BoughtKeys, Keys
from sfumato.relation.bought import Bought, bought, keys_of
from sfumato.relation.kind import Words
from sfumato.relation.node import scope

if TYPE_CHECKING:
    from sfumato.session.question import Question
    from sfumato.sql.question import SqlQuestion


def keys(asked: SqlQuestion, columns: Sequence[str], given: Any) -> AnyKeys:
    """Return the groups: as given, as the question lists them, as declared, or to be bought."""
    kinds = scope(asked.node)
    lists: dict[str, Any] = {name: asked.listed[name] for name in columns if name in asked.listed}
    if isinstance(given, Mapping):
        lists |= {name: values for name, values in given.items() if name in columns}
        every = {name for one in asked.sets for name in one}
        unknown = next((name for name in given if name not in every), None)
        if unknown is not None:
            raise QueryError(
                f"keys= names {unknown!r}, which the question does not group by. It groups by: "
                f"{', '.join(sorted(every)) or 'nothing'}."
            )
    elif given is not None and not any(asked.sets):
        raise QueryError(
            "keys= says which groups there are, and the question has none. Leave it out."
        )
    elif isinstance(given, Bought):
        lists |= dict.fromkeys((name for name in columns if name not in lists), given)
    elif given is not None:
        if len(columns) != 1:
            raise QueryError(
                "keys= takes a mapping from column to its values, where the question does not "
                "group by one column: keys={'zone': ['A', 'B']}."
            )
        lists[columns[0]] = given
    for name in columns:
        if isinstance(kinds[name], Words) and name not in lists:
            lists[name] = bought()
    return keys_of(kinds, columns, lists or None)


def origins(
    asked: SqlQuestion, questions: Sequence[Question], given: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield for each column of groups how many there are, and who says so."""
    told: set[str] = set()
    for question in questions:
        held = question.keys
        for place, name in enumerate(held.columns):
            if name in told:
                continue
            told.add(name)
            if isinstance(held, BoughtKeys) and held.codes[place] is None:
                yield name, "those that enough units are in, bought"
                continue
            who = "the schema"
            if name in asked.listed:
                who = "the question's own conditions"
            if name in given:
                who = "keys="
            number = held.shape[place] if isinstance(held, Keys) else len(held.codes[place] or ())
            yield name, f"{number:,}, listed by {who}"


def check_delta(asked: SqlQuestion, groups: AnyKeys, priced: Mapping[str, Any]) -> None:
    """Refuse groups that nobody listed where there is no δ to buy them with."""
    from sfumato.sql.place import pointing

    if not isinstance(groups, BoughtKeys) or priced.get("delta", 0) != 0:
        return
    name, kind = next(
        (name, kind)
        for name, kind, codes in zip(groups.columns, groups.kinds, groups.codes, strict=True)
        if codes is None
    )
    with pointing(asked.places.get(name), asked.text):
        if kind != Words():
            raise CostError(
                f"the groups of {name!r} are to be bought, which takes a δ, and all that it can "
                f"say is declared. Leave out keys=sf.bought(), or pay for those that enough units "
                f"have: WITH EPSILON 1 DELTA 1e-6."
            )
        raise CostError(
            f"nobody listed the values of {name!r}, and a group that appears shows that somebody "
            f"is in it, which takes a δ. List them in WHERE, with IN ('...', '...'), or pay for "
            f"those that enough units have: WITH EPSILON 1 DELTA 1e-6."
        )
