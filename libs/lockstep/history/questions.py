"""What the process that recalls is asked: known also to who only starts it."""

from __future__ import annotations

import msgspec


class Recall(msgspec.Struct, frozen=True):
    """A query of an app with this text. `rows`: no more than that; `now_ms`: what the query takes
    for the present."""

    folder: str
    options: dict[str, str]
    app: str
    text: str
    query: str
    rows: int
    now_ms: int
    memory_bytes: int
    cpu_s: int
