"""What a process that answers from the archive is asked, and says: known also to who only starts
it, and does without the tables' library."""

from __future__ import annotations

from typing import Any

import msgspec


class Question(msgspec.Struct, frozen=True):
    """`rows`: no more than that."""

    folder: str
    options: dict[str, str]
    app: str
    sql: str
    rows: int
    memory_bytes: int
    cpu_s: int


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rows by column, or what was wrong. `more`: there are others behind them. `retryable`: not the
    question's fault."""

    columns: list[str] = []
    types: list[str] = []
    rows: list[list[Any]] = []
    more: bool = False
    error: str | None = None
    retryable: bool = False
