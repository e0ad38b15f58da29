"""What states of earlier revisions are to the limiters of `output snapshot`."""

from __future__ import annotations

from typing import Any


def last_rows(state: Any) -> list[Any]:
    """The last row of each group. Earlier revisions kept each row that came out of a window out of
    which none leaves, as its content: (a row and what it was made of, each; latest values)."""
    if not isinstance(state, tuple):
        return list(state)
    inside, _ = state
    return list({row[3]: row for _, row in inside}.values())
