"""Refusals in the words of the command line: options, or commands of a shell, for keywords."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.core.errors import SfumatoError

if TYPE_CHECKING:
    from collections.abc import Iterator

# What questions in SQL are told about the API, by what it is about, and what is typed instead.
_SAID = {
    "explain": r"Call session\.explain\(text, epsilon=\.\.\.\), or pass --explain\.",
    "columns": r"See session\.table\(\.\.\.\)\.columns and \.schema\.",
    "tables": r"See session\.tables\.",
    "dummy": r"\bsession\.dummy\(\)",
    "named": r"Pass parameters=\{'(\w+)': \.\.\.\}\.",
    "ordered": r"Pass parameters=\[\.\.\.\], in order\.",
    "range": r"Buy a range with a share of the price, [^;]*; or state one",
    "several": r"^a batch is asked at one price for all: .*$",
}
_TYPED = {
    "explain": "Pass --explain.",
    "columns": r"See \\columns in `sfumato shell`.",
    "tables": r"See \\tables in `sfumato shell`.",
    "dummy": "`sfumato dummy`",
    "named": r"Pass --param \1=VALUE.",
    "ordered": "Pass --param VALUE, once for each, in order.",
    "range": "State one",  # SQL buys none
    "several": "several groupings are answered at one price for all, and none is found for an "
    "accuracy. Pass --epsilon or --rho; --explain says how far each number will err.",
}
_ASKED = {
    "explain": r"Write \\explain SELECT ...",
    "columns": r"Write \\columns TABLE.",
    "tables": r"Write \\tables.",
    "dummy": r"\\dummy",
    "named": "Write the value itself: the shell has no parameters.",
    "ordered": "Write the value itself: the shell has no parameters.",
    "range": "State one",
    "several": "several groupings are answered at one price for all, and none is found for an "
    "error. End with WITH EPSILON or WITH RHO; \\\\explain says how far each number will err.",
}
_SHELL = (
    *((said, _ASKED[about]) for about, said in _SAID.items()),
    (r"\w+\('(clamp\([^']*\))'\)", r"\1"),
    (r"\bPass epsilon=1, .*", "End with WITH EPSILON 1 DELTA 1e-6, or with WITH RHO 0.5."),
    (r"\bdelta='1e-6'", "DELTA 1e-6"),
    *((rf"\b{name}=(?![\w'\"\[{{(])", name.upper()) for name in ("epsilon", "delta", "rho")),
    (r"\baccuracy=(?![\w'\"\[{(])", "WITH ERROR"),
    (r"Pass --analyst NAME\.", "Start the shell with --analyst NAME."),
)
_SQL = tuple((said, _TYPED[about]) for about, said in _SAID.items())
# What the API calls it, and what is typed. Most special first.
_WORDS = (
    (r"^((?:min|max)\(.*) Buy a range .*?; or state one", r"\1 State one"),  # it buys none
    (r"\w+\(sf\.bounds\((?P<q>['\"])(?P<t>.*?)(?P=q)\)\)", r"bounds(\g<t>)"),
    (r"\w+\('(clamp\([^']*\))'\)", r"\1"),
    (r"\bsf\.bounds\b", "bounds(...)"),
    (r"with_columns\((\w+)='([^']*)'\)\.group_by\('\w+'\)", r"--group-by '\1=\2'"),
    (r"\bgroup_by\('([^']*)'\)\.count\(\)", r"--group-by \1 --count"),
    (r"\bgroup_by\b(?!\()", "--group-by"),
    (r"\bhistogram\('[^']*', \[0, 10, 50, 200\]\)", "--bins 0,10,50,200"),
    (r"\bkeys=sf\.bought\(\)", "--bought"),
    (r"\bkeys=\[[^\]]*\]", "--keys COLUMN=A,B"),
    (r"\bagg\(total=sf\.count\(\)\)", "--sum 'total=fare'"),
    (r"\.sum\('fare'\) or \.agg\(n=count\(\)\)", "--sum fare or --count"),
    (r"\bBudget\(epsilon=\.\.\., delta=\.\.\.\)", "--epsilon and --delta"),
    (r"\bepsilon=1, delta='1e-6'", "--epsilon 1 --delta 1e-6"),
    (r"\bdelta='1e-6'", "--delta 1e-6"),
    (r"\bper_unit='auto'", "--per-unit auto"),
    (r"\bper_unit=\((-?\d+), (-?\d+)\)", r"--per-unit=\1,\2"),
    (r"^most= is\b", "MOST of --per-unit auto,MOST is"),
    (r"\b(interval|other)=True\b", r"--\1"),
    (r"\bvalues\(column, bins=\.\.\.\)", "--bins N"),
    (r"\bbins=(?=[ ,]|\.(?!\.))", "--bins"),
    (r"\bmethod='(\w+)'", r"--method \1"),
    (r"\b(keys|epsilon|delta|rho|accuracy|area|expected|outside)=(?![\w'\"\[{(])", r"--\1"),
)
# The same for marginals, whose --bins make columns.
_MARGINALS = (
    (
        r"\bname the others with columns=\[\.\.\.\], or take table\.select\(\.\.\.\)",
        "name the others with --columns A,B",
    ),
    (r"^columns= is a list .*", "--columns is a list of names, such as --columns age,sex."),
    (r"\bname columns=", "name some with --columns A,B"),
    (r"\bor list the marginals\b", "or list the marginals with --marginal"),
    (r"\bwith floor\(column, width\)", "with --bins 'decade=floor(age, 10)'"),
    (r"\bwith_columns\((\w+)='([^']*)'\)", r"--bins '\1=\2'"),
    (r"^all takes how many columns .*", "--way takes how many columns a marginal has, from 0 on."),
    (r"\b(columns|method|objective|prefix|ranges)=(?![\w'\"\[{(])", r"--\1"),
)


@contextmanager
def options(*, sql: bool = False, marginals: bool = False) -> Iterator[None]:
    """Reword what is refused inside; for a question in SQL or for marginals, if it is one."""
    try:
        yield
    except SfumatoError as problem:
        problem.message = in_options(problem.message, sql=sql, marginals=marginals)
        raise


def in_options(message: str, *, sql: bool = False, marginals: bool = False) -> str:
    """Write options where a message of the API has keywords.

    Example:
        >>> in_options("Leave out epsilon=, or pass keys=sf.bought().")
        'Leave out --epsilon, or pass --bought.'
    """
    special = (*(_SQL if sql else ()), *(_MARGINALS if marginals else ()))
    for said, typed in (*special, *_WORDS):
        message = re.sub(said, typed, message)
    return message


@contextmanager
def commands() -> Iterator[None]:
    """Reword what is refused inside, for a shell."""
    try:
        yield
    except SfumatoError as problem:
        problem.message = in_shell(problem.message)
        raise


def in_shell(message: str) -> str:
    r"""Write what a shell knows where a message of the API has calls and keywords.

    Example:
        >>> print(in_shell("See session.tables. session.dummy() has look-alike rows, free."))
        Write \tables. \dummy has look-alike rows, free.
    """
    for said, typed in _SHELL:
        message = re.sub(said, typed, message)
    return message
