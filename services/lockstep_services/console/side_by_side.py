"""Two texts beside each other: which lines differ, by colour and by sign. On a narrow page one
stands below the other."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from lockstep.cli.output import counted
from lockstep_services.console.look import box, text

AROUND: Final = 3
"""So many lines that are the same stay visible around one that differs."""
MAX_ROWS: Final = 600
"""More are not shown at a time: a browser would stand still."""


@dataclass(frozen=True, slots=True)
class Side:
    """A line of one of the texts, and its number there."""

    number: int
    line: str


@dataclass(frozen=True, slots=True)
class Row:
    """What stands beside each other. Neither: `skipped` lines, which are the same, are left out."""

    left: Side | None
    right: Side | None
    is_same: bool
    skipped: int = 0


def rows_of(old: str, new: str, *, around: int = AROUND) -> list[Row]:
    """All that differs, with what is around it; nothing where the texts are the same."""
    left, right = old.splitlines(), new.splitlines()
    found: list[Row] = []
    done = 0
    for group in difflib.SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(
        around
    ):
        if (skipped := group[0][1] - done) > 0:
            found.append(Row(None, None, is_same=True, skipped=skipped))
        for tag, i1, i2, j1, j2 in group:
            found += _beside(left, right, range(i1, i2), range(j1, j2), is_same=tag == "equal")
        done = group[-1][2]
    if found and len(left) > done:
        found.append(Row(None, None, is_same=True, skipped=len(left) - done))
    return found


def _beside(
    left: Sequence[str], right: Sequence[str], here: range, there: range, *, is_same: bool
) -> Iterator[Row]:
    for place in range(max(len(here), len(there))):
        yield Row(
            Side(here[place] + 1, left[here[place]]) if place < len(here) else None,
            Side(there[place] + 1, right[there[place]]) if place < len(there) else None,
            is_same=is_same,
        )


def counts_of(rows: Sequence[Row]) -> tuple[int, int]:
    """How many lines the left text alone has, and the right one."""
    differ = [row for row in rows if not row.is_same]
    return sum(row.left is not None for row in differ), sum(row.right is not None for row in differ)


def show_rows(place: ui.element, rows: Sequence[Row]) -> None:
    """In place of what is there. Texts are never taken for markup."""
    place.clear()
    with place:
        for row in rows[:MAX_ROWS]:
            if row.skipped:
                text("div", f"{counted(row.skipped, 'line')} the same", "side-gap")
                continue
            with box("side-row same" if row.is_same else "side-row"):
                _show_side(row.left, "−", "del", is_same=row.is_same)
                _show_side(row.right, "+", "add", is_same=row.is_same)
        if len(rows) > MAX_ROWS:
            text("div", f"{len(rows) - MAX_ROWS} more rows: `lockstep versions` shows all",
                 "side-gap")  # fmt: skip


def _show_side(side: Side | None, sign: str, kind: str, *, is_same: bool) -> None:
    if side is None:
        box("side none")
        return
    shown = text(
        "div", f"{' ' if is_same else sign} {side.line}", "side" if is_same else f"side {kind}"
    )
    shown.props["data-n"] = str(side.number)
