"""A console that is not installed."""

from __future__ import annotations

import pytest

from lockstep_services.console import entry as console


def test_a_console_without_its_packages_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And ends, without a traceback."""
    monkeypatch.setattr("lockstep.cli.processes.find_spec", lambda _: None)
    monkeypatch.setattr(console, "resolve_name", lambda _: pytest.fail("it was loaded"))
    assert console.main() == 2
    assert capsys.readouterr().err == (
        "the packages of the console are not installed: pip install 'nicegui>=3.18' 'pygls>=2.1'\n"
    )


def test_a_console_with_its_packages_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server gives the exit code."""
    monkeypatch.setattr("lockstep_services.console.server.run", lambda: 7)
    assert console.main() == 7
