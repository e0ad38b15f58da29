"""What somebody has paused: a source or a sink of an app, until it is resumed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pause:
    """`element`: a source or sink of the app, as `lockstep.control.connectors` names it. `who` has
    paused it, at `since_ms`, and has given a reason, or none."""

    app: str
    element: str
    since_ms: int
    who: str
    why: str = ""


def by_element(pauses: Iterable[Pause]) -> list[Pause]:
    """In the order of apps and elements."""
    return sorted(pauses, key=lambda one: (one.app, one.element))
