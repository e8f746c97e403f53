"""What `import sfumato` costs beyond numpy's own import, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks.timing import seconds

STATEMENTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "sfumato": "import sfumato",
    "sfumato_mechanisms": "import sfumato; sfumato.mechanisms.DiscreteLaplace",
}


def run() -> dict[str, Any]:
    """Time each import in turn, seven rounds."""
    rounds = [
        {
            name: seconds(
                lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
            )
            for name, code in STATEMENTS.items()
        }
        for _ in range(7)
    ]
    took = {name: round(median(r[name] for r in rounds), 3) for name in STATEMENTS}
    return {
        "seconds": took,
        "sfumato_over_numpy_seconds": round(took["sfumato"] - took["numpy"], 3),
        "target_over_numpy_seconds": 0.3,
    }
