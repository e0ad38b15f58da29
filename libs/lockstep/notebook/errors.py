"""What a cell says instead of a traceback."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Fault, LockstepError


class CellError(LockstepError):
    """A mistake in a cell, an option, or events. IPython shows its lines, and a run of all cells
    stops at it."""

    fault = Fault.USER

    def __init__(self, message: str, *, lines: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self._lines = list(lines) or [message, *([f"hint: {hint}"] if hint else [])]

    def _render_traceback_(self) -> list[str]:
        """What IPython asks for; no line of ours stands in it."""
        return self._lines


def pointed(text: str, problems: Sequence[tuple[str, str | None, int, int]]) -> CellError:
    """Of (message, hint, line, column): each with its line and a mark below the place."""
    written = text.splitlines()
    lines: list[str] = []
    for message, hint, line, column in problems:
        lines.append(f"line {line}:{column}: {message}")
        if 0 < line <= len(written):
            lines += [f"    {written[line - 1]}", " " * (3 + column) + "^"]
        if hint:
            lines.append(f"hint: {hint}")
    return CellError(problems[0][0], lines=lines)
