"""The command line: a thin skin on the Python API."""

from sfumato.cli.command import main

__all__ = ["main"]
