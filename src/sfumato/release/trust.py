"""What a certificate rests on: what somebody claims, what the program enforces, what nobody does.

The sentences are static. They say in one line each what the threat model says at length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.release.release import Release

DECLARED = "declared"  # the mechanism of a number that nobody measured

_NOISE = (
    "Noise has exactly the stated law, on integers or a public grid, given uniform bits; the bits "
    "are AES-256 keyed by the operating system, so the promise is computational."
)

SESSION = (
    (
        "Claimed",
        "Unit, bounds, categories and version were declared by the owner of the data, from "
        "what is public. If one person is several units, the guarantee is for each of them.",
    ),
    (
        "Enforced",
        "Sensitivity and cost were computed from the question, caps and bounds were applied to "
        "every row, and the charge was written before the data was read.",
    ),
    ("Noise", _NOISE),
)

LIMITS = (
    (
        "Facts about everybody",
        "A fact about a population may concern a person who took no part in it.",
    ),
    ("Time", "How long an answer took is not hidden from who can measure it."),
    (
        "The machine",
        "Who can read the table or the memory, or run code beside them, is not kept out.",
    ),
    ("Hardware", "Caches, speculation, power and restored snapshots are out of scope."),
    (
        "Other budgets",
        "What is released about the same people elsewhere adds to this, and is not counted here.",
    ),
)


def is_declared(release: Release) -> bool:
    """Say whether all of it are numbers that nobody measured, because the owner declared them."""
    return all(m.mechanism == DECLARED for m in release.measures)


def claims(release: Release) -> tuple[tuple[str, str], ...]:
    """Say what was claimed and what was enforced: by a session or, without a receipt, by nobody."""
    if is_declared(release):
        return (
            ("Claimed", "The answer is a number that the owner declared as public."),
            ("Enforced", "No unit can change it; nothing was read and nothing was charged."),
        )
    if release.receipt is None:
        return (
            (
                "Claimed",
                "How far one unit can move the answer (the sensitivity) was stated by the caller "
                "and was not checked against a table.",
            ),
            ("Enforced", f"The cost follows from mechanism and stated sensitivity. {_NOISE}"),
            (
                "Charge",
                "Not durable. No ledger took part, so nothing was charged here. Further answers "
                "from the same data add to this cost; whoever asks has to keep count.",
            ),
        )
    return SESSION
