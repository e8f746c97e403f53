"""Texts of which a part is missing. The parser completes them by itself, and they would be paid.

To the parser GROUP at the end of ``FROM trips GROUP`` is another name for trips, and a comma with
nothing behind it is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, exp

from sfumato.core.errors import QueryError
from sfumato.sql.place import underlined

# The words that PostgreSQL and DuckDB reserve, those of joins, and BY.
_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric both by case cast check collate
    column concurrently constraint create cross default deferrable desc distinct do else end except
    false fetch for foreign freeze from full grant group having ilike in initially inner intersect
    into is isnull join lambda lateral leading left like limit natural not notnull null offset on
    only or order outer overlaps partition pivot placing positional primary qualify references
    returning right select semi show similar some summarize symmetric table tablesample then to
    trailing true union unique unpivot using variadic when where window with
"""
_RESERVED = frozenset(_WORDS.split())

_ENDS = ("", "R_PAREN", "COMMA")
_CLAUSES = (
    *("FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "FETCH"),
    *("UNION", "EXCEPT", "INTERSECT", "JOIN", "ON", "USING", "QUALIFY", "WINDOW"),
)
_LISTS = ("GROUP_BY", "ORDER_BY")
_BEGINNINGS = ("", "L_PAREN", "SELECT", "DISTINCT", *_LISTS)


def check_gaps(tokens: Sequence[Token], text: str) -> None:
    """Refuse commas between no two things, AS and BY with nothing behind, FETCH without its ROWS.

    Raises:
        QueryError: one of them.
    """
    kinds = ["", *(token.token_type.name for token in tokens), ""]
    for place, token in enumerate(tokens):
        before, kind, behind = kinds[place : place + 3]
        comma = kind == "COMMA" and (behind in (*_ENDS, *_CLAUSES) or before in _BEGINNINGS)
        fetch = kind == "FETCH" and not {"ROW", "ROWS"} & {*kinds[place + 2 : place + 6]}
        by = kind in _LISTS and behind in (*_ENDS, *_CLAUSES)
        if comma or fetch or by or (kind == "ALIAS" and behind in _ENDS):
            problem = QueryError(
                f"something is missing beside {token.text!r}. Complete it, or leave it out."
            )
            problem.where = underlined((token.start, token.end + 1), text)
            raise problem


def check_aliases(tree: exp.Expression, text: str) -> None:
    """Refuse names that are reserved words; behind AS, a column of SELECT may have any name.

    Raises:
        QueryError: one of them.
    """
    for alias in tree.find_all(exp.TableAlias, exp.Alias):
        name = alias.args.get("alias") if isinstance(alias, exp.Alias) else alias.this
        if not isinstance(name, exp.Identifier) or name.args.get("quoted"):
            continue
        start = name.meta.get("start")
        if name.name.lower() not in _RESERVED or start is None:
            continue
        if isinstance(alias, exp.Alias) and text[:start].rstrip().upper().endswith("AS"):
            continue
        problem = QueryError(
            f"{name.name!r} is a word of SQL, and names nothing. Complete the clause that begins "
            f'with it; if it is to be a name, put it in double quotes: "{name.name}".'
        )
        problem.where = underlined(name, text)
        raise problem
