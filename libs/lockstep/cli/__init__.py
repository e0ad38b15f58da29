"""The `lockstep` command."""

from lockstep.cli.command import app as main

__all__ = ["main"]
