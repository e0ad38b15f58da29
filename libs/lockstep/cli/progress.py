"""How far a past that is folded is, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def past_said(found: Mapping[str, Any]) -> str:
    """One line, of a `PastStatus` as JSON has it."""
    end = f" of {found['up_to']}" if found["up_to"] else ""
    rate = found["events"] * 1_000 // max(1, found["took_ms"])
    said = (
        f"{found['phase']}: position {found['position']}{end}, {found['events']} events "
        f"({rate} per second), {found['rows']} rows"
    )
    if from_ := found.get("resumed_from"):
        said += f"; went on from position {from_}, behind {found['resumed_events']} events"
    return said
