"""Whether what finds the entries of a ledger still finds them all.

An entry that was changed does not have its hash any more. But one that is not found, because a page
of the file rotted, is not missed by anybody: a limit that was lowered, the sums of a part, the last
entry itself. What is counted would be too little.
"""

from __future__ import annotations

import sqlite3

_SMALL = 2**26  # bytes that are read through when a file is opened: well below a second
_LAST = "SELECT coalesce(max(seq), 0) FROM events NOT INDEXED"
# One step for each analyst, and none for their entries.
_LAST_OF_ANALYSTS = (
    "WITH RECURSIVE names (name) AS (SELECT min(analyst) FROM events INDEXED BY events_of_analyst"
    " UNION ALL SELECT (SELECT min(analyst) FROM events INDEXED BY events_of_analyst"
    " WHERE analyst > name) FROM names WHERE name IS NOT NULL)"
    " SELECT coalesce(max((SELECT max(seq) FROM events INDEXED BY events_of_analyst"
    " WHERE analyst = name)), 0) FROM names"
)


def whole(connection: sqlite3.Connection) -> bool:
    """Say whether all pages fit each other, and every index its table; reads all of the file."""
    return connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]


def sound(connection: sqlite3.Connection) -> bool:
    """Say whether a file can be relied on, as far as that is seen in less than a second.

    Of a file that is not large all is checked; of a large one, whether table and index end alike.
    `verify` checks all of any file.
    """
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    if pages * size <= _SMALL:
        return whole(connection)
    last, seen = (connection.execute(query).fetchone() for query in (_LAST, _LAST_OF_ANALYSTS))
    return bool(last == seen)
