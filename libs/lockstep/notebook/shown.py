"""Rows as notebooks and terminals show them: HTML in which every value is escaped, and text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from lockstep.notebook.trial import Carried, Outcome

MAX_WIDTH: Final = 48
"""Characters of a value in plain text."""
_CELL: Final = ' style="text-align:left"'


class Shown:
    """Tables with titles and notes; what a cell displays."""

    def __init__(self) -> None:
        self._tables: list[tuple[str, Sequence[str], list[list[str]]]] = []
        self._notes: list[str] = []

    def add(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """A table."""
        self._tables.append((title, columns, [[said(value) for value in row] for row in rows]))

    def note(self, words: str) -> None:
        """A line below the tables."""
        self._notes.append(words)

    def __repr__(self) -> str:
        blocks = [_text(*one) for one in self._tables]
        return "\n\n".join([*blocks, *(["\n".join(self._notes)] if self._notes else [])])

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        tables = [_html(*one) for one in self._tables]
        return "".join([*tables, *(f"<p>{escape(one)}</p>" for one in self._notes)])


def said(value: Any) -> str:
    """A value for people."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def time_of(at_ms: int) -> str:
    """Of a day people know; small numbers, as a clock from 0 has them, in milliseconds."""
    if at_ms < 86_400_000:
        return f"{at_ms} ms"
    try:
        moment = datetime.fromtimestamp(at_ms / 1_000, UTC)
    except (ValueError, OverflowError, OSError):  # behind the year 9999
        return f"{at_ms} ms"
    return moment.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def shown_outcome(outcome: Outcome, max_rows: int) -> Shown:
    """What queries wrote, a table a stream; of the inputs the number of events."""
    found = Shown()
    taken: list[str] = []
    for one in outcome.streams:
        if one.is_input:
            taken.append(f"{len(one.events)} into {one.name}")
        elif one.events:
            _add(found, one, max_rows)
        else:
            found.note(f"{one.name}: no rows")
    found.note(f"events: {', '.join(taken) or 'none'}; the clock is at {time_of(outcome.clock_ms)}")
    for reason in outcome.dropped[:max_rows]:
        found.note(f"an event was dropped: {reason}")
    if len(outcome.dropped) > max_rows:
        found.note(f"{len(outcome.dropped) - max_rows} more events were dropped")
    return found


def _add(found: Shown, one: Carried, max_rows: int) -> None:
    count = len(one.events)
    rows = [[time_of(event.timestamp_ms), *event.data] for event in one.events[:max_rows]]
    cut = f", the first {max_rows}" if count > max_rows else ""
    title = f"{one.name}: {count} row{'' if count == 1 else 's'}{cut}"
    found.add(title, ["time", *one.columns], rows)


def _html(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col"{_CELL}>{escape(one)}</th>' for one in columns)
    body = "".join(
        "<tr>" + "".join(f"<td{_CELL}>{escape(value)}</td>" for value in row) + "</tr>"
        for row in rows
    )
    caption = f"<caption{_CELL}><b>{escape(title)}</b></caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(columns), *([_short(value) for value in row] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    lines.insert(1, ["-" * width for width in widths])
    laid = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([title, *(f"  {line}" for line in laid)])


def _short(value: str) -> str:
    plain = value.replace("\n", "\\n")
    return plain if len(plain) <= MAX_WIDTH else plain[: MAX_WIDTH - 1] + "…"
