"""Tables: whole names on any width, yes and no, one row a line where nobody reads along."""

from __future__ import annotations

import io
import re

import pytest
import typer
from rich.console import Console

from lockstep.cli import output
from lockstep.cli.output import counted, show

REVISION = "Nums.1795294043982.1.1217.35406ba15318"
REASON = "the sink answered 400: " + "unreadable " * 20


def _shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> list[str]:
    """The lines of a table of one row on 80 columns."""
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=80, no_color=True, highlight=False
    )
    monkeypatch.setattr(output, "console", console)
    row = {"revision": REVISION, "node": "processor-" + "1" * 40, "ready": True, "reason": REASON}
    show([row], ("revision", "node", "ready", "reason"), as_json=False, folded=("reason",))
    assert console.width == 80
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("terminal", [True, False])
def test_names_are_never_cut(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> None:
    """They are copied into the next command; what explains goes on below."""
    lines = _shown(monkeypatch, terminal=terminal)
    row = next(line for line in lines if REVISION in line)
    assert "processor-" + "1" * 40 in row
    assert " yes " in row
    assert "…" not in "".join(lines)


def test_a_row_is_a_line_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is, and without spaces that nobody needs at its end."""
    lines = _shown(monkeypatch, terminal=False)
    assert any(REASON.strip() in line for line in lines)
    assert lines == [line.rstrip() for line in lines]


def test_what_explains_goes_on_in_the_next_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal."""
    lines = _shown(monkeypatch, terminal=True)
    assert not any(REASON.strip() in line for line in lines)
    assert sum("unreadable" in line for line in lines) > 1


def test_numbers_and_their_words() -> None:
    """One is one."""
    assert [counted(n, "event") for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]


@pytest.mark.parametrize("terminal", [True, False])
def test_texts_of_others_do_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    """Neither in a table nor in a line nor in an error."""
    screen = output._Screen(file=io.StringIO(), force_terminal=terminal, no_color=True)
    monkeypatch.setattr(output, "console", screen)
    monkeypatch.setattr(output, "errors", screen)
    evil = "a\x1b]0;mine\x07\x1b[2J\x9b\u202e"
    output.print_table([evil], [[evil], [[evil]]], title=evil)
    output.console.print(evil, markup=False)
    with pytest.raises(typer.Exit):
        output.fail(evil, output.Exit.USAGE, hint=evil)
    assert isinstance(screen.file, io.StringIO)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", screen.file.getvalue())
    assert "a\ufffd]0;mine" in shown
    assert not set(shown) & set("\x1b\x07\x9b\u202e")
