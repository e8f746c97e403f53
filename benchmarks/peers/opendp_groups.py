"""Counts and sums by group of users in OpenDP: a program for an environment that has OpenDP.

`benchmarks.speed.peers` runs it with a file and a number of rows. It prints the seconds of each of
three releases and how many rows counted, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import opendp.prelude as dp
import polars as pl

GROUPS, EACH = 1000, 1
# It keeps one group less than it is told to, and accounts for all: to keep three, ask for four.
KEPT = 3 + 1


def main(file: str, rows: int) -> None:
    """Release three times."""
    dp.enable_features("contrib")
    seconds, counted = [], 0
    for _ in range(3):
        start = time.perf_counter()
        counted = int(_released(file, rows)["len"].sum())
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "rows_that_counted": counted}))


def _released(file: str, rows: int) -> Any:
    context = dp.Context.compositor(
        data=pl.scan_parquet(file),
        privacy_unit=dp.unit_of(contributions=1, identifier="user"),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-8),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["zone"], max_length=rows)],
    )
    # Which rows stay is up to their order in the file: its default, a sample, fails.
    capped = context.query().truncate_per_group(EACH, by=["zone"], keep="first")
    capped = capped.truncate_num_groups(KEPT, by=["zone"], keep="first")
    fare = pl.col.fare.fill_null(0.0).fill_nan(0.0).dp.sum(bounds=(0.0, 100.0))
    zones = pl.LazyFrame({"zone": range(GROUPS)}, schema={"zone": pl.Int64})
    asked = capped.group_by("zone").agg(dp.len(signed=True), fare.alias("fare"))
    return asked.with_keys(zones).release().collect()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
