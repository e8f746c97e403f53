"""The version of sfumato that is running."""

from __future__ import annotations

import sys


def version() -> str:
    """Return the version that the package states about itself."""
    # Looked up, not imported: the root of the package imports what lies above this layer.
    return str(sys.modules["sfumato"].__version__)
