"""How one charge names several datasets and their versions: as lists, written as text."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.codec import decode, encode
from sfumato.core.errors import CodecError, InputError
from sfumato.ledger.order import LONGEST


def written(datasets: Sequence[str], versions: Sequence[str]) -> tuple[str, str]:
    """Return the names under which a charge about these datasets is recorded.

    Raises:
        InputError: there are too many for one entry.
    """
    if len(datasets) == 1:
        return datasets[0], versions[0]
    names, labels = (encode(list(each)).decode("ascii") for each in (datasets, versions))
    if max(len(names), len(labels)) > LONGEST:
        raise InputError(
            f"one question is about {len(datasets)} tables, more than an entry of the ledger can "
            f"name. Put tables of the same columns into one, or ask about fewer at a time."
        )
    return names, labels


def pairs(dataset: str, version: str) -> list[tuple[str, str]]:
    """Return the datasets that an entry is about, each with its version."""
    try:
        names, labels = decode(dataset.encode()), decode(version.encode())
        if isinstance(names, list) and isinstance(labels, list):
            return [(dataset, version), *zip(names, labels, strict=True)]
    except (CodecError, ValueError):
        pass  # one dataset, under its own name
    return [(dataset, version)]
