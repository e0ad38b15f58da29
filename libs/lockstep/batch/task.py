"""What the process of a run is told, without Spark: who starts that process needs none."""

from __future__ import annotations

import msgspec

from lockstep.batch.header import Language


class Task(msgspec.Struct):
    """What to run, over what, and where its rows go."""

    name: str
    language: Language
    text: str
    due_ms: int
    since_ms: int
    after: dict[str, int]
    up_to: dict[str, int]
    result: str
    max_rows: int
    max_bytes: int
