"""The `lockstep` command."""

from __future__ import annotations


def main() -> None:
    """Entry point of the console script."""
    from lockstep.cli.command import app

    app()


__all__ = ["main"]
