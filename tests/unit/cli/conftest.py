"""The `lockstep` command in process: arguments in, exit code and both outputs out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import typer
from typer.testing import CliRunner, Result

from lockstep.cli.command import app

Lockstep = Callable[..., Result]

made = cache(typer.main.get_command)
"""What runs is made of the declared commands once, as in a process: that takes 15 ms."""


@pytest.fixture
def lockstep(monkeypatch: pytest.MonkeyPatch) -> Lockstep:
    """Runs the command with arguments; `.exit_code`, `.stdout`, `.stderr`."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("typer.testing._get_command", made)

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run
