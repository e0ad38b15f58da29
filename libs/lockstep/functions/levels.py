"""How deep the lists and maps that functions make may be nested (events.objects.LEVELS_MAX)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lockstep.events.objects import LEVELS_MAX
from lockstep.operators.errors import EventError

_NESTING: Final = (Mapping, list, tuple, set, frozenset)


class LevelsError(EventError):
    """An event for which something would be made that is nested too deep."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: lists and maps may be nested {LEVELS_MAX} deep")


def check_levels(value: Any, what: str, *, around: int = 0) -> None:
    """`around`: so many levels `what` puts around the value. LevelsError."""
    if isinstance(value, _NESTING) and _is_deeper(value, LEVELS_MAX - around):
        raise LevelsError(what)


def _is_deeper(value: Any, levels: int) -> bool:
    waiting = [value]
    for _ in range(levels):
        inner = [
            one
            for each in waiting
            for one in (each.values() if isinstance(each, Mapping) else each)
            if isinstance(one, _NESTING)
        ]
        if not inner:
            return False
        # What stands in many places is looked at once.
        waiting = list({id(one): one for one in inner}.values()) if len(inner) > 1 else inner
    return True
