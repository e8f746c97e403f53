"""Changing a limit in a contract's text: one number, everything else to the letter."""

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import ContractError
from sfumato.owner.amendment import amended
from sfumato.session.contract import Contract

TABLES = """
[tables.people]
source = "people.csv"   # epsilon = 4
unit = "row"
columns.age = { type = "integer", low = 0, high = 120 }
"""
TEXT = '# epsilon = 9\n[budget]  # ours\nepsilon = "4"   # four\nledger = "l"\n' + TABLES


def changed(text, budget, limits, analyst=None):
    result = amended(text, Path("/data"), budget, limits, analyst)
    after = Contract.parse(result, "/data")
    assert (after.budget if analyst is None else after.analysts[analyst]) == budget
    return result


@pytest.mark.parametrize(
    ("before", "limits", "after"),
    [
        ('epsilon = "4"   # four', {"epsilon": "6"}, 'epsilon = "6"   # four'),
        ("epsilon=4# four", {"epsilon": "6.5"}, "epsilon=6.5# four"),
        ("epsilon = 4", {"epsilon": "20/3"}, 'epsilon = "20/3"'),
        ("epsilon = 4.0\t", {"epsilon": "6"}, "epsilon = 6\t"),
        (
            'epsilon = "4" # a',
            {"epsilon": "6", "delta": "1e-6"},
            'epsilon = "6" # a\ndelta = "1e-6"',
        ),
        (
            "delta = 1e-7\r\n'epsilon' = '4'\r",
            {"epsilon": "6", "delta": "1e-6"},
            "delta = 1e-6\r\n'epsilon' = \"6\"\r",
        ),
    ],
    ids=["text", "bare", "ratio", "tab", "new delta", "both"],
)
def test_only_the_number_changes(before, limits, after):
    text = TEXT.replace('epsilon = "4"   # four', before)
    budget = sf.Budget(limits["epsilon"], limits.get("delta", 0))
    assert changed(text, budget, limits) == text.replace(before, after, 1)


def test_dotted_key_at_the_top_is_changed_too():
    text = "budget.epsilon = 4\nbudget.ledger = 'l'" + TABLES
    budget = sf.Budget(6, "1e-6")
    assert changed(text, budget, {"epsilon": "6", "delta": "1e-6"}).startswith(
        'budget.epsilon = 6\nbudget.delta = "1e-6"\nbudget.ledger'
    )


def test_share_is_changed_and_a_new_one_is_added_at_the_end():
    text = TEXT + '\n[analysts."a b"]\nepsilon = 1'
    first = changed(text, sf.Budget(2), {"epsilon": "2"}, "a b")
    assert first == text[:-1] + "2"
    second = changed(text, sf.Budget(2), {"epsilon": "2"}, "Zoë")
    assert second == text + '\n\n[analysts."Zoë"]\nepsilon = "2"\n'


@pytest.mark.parametrize(
    ("text", "budget", "limits"),
    [
        ("budget = { epsilon = 4 }\n" + TABLES, sf.Budget(6), {"epsilon": "6"}),
        (TEXT, sf.Budget(rho=1), {"rho": "1"}),
        (TEXT, sf.Budget(5), {"epsilon": "6"}),
    ],
    ids=["inline", "other kind", "other number"],
)
def test_change_that_is_not_safe_is_refused(text, budget, limits):
    with pytest.raises(ContractError, match="by hand"):
        amended(text, Path("/data"), budget, limits)
