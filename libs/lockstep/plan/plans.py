"""From a text to its plan, which is what everybody works with from there on."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Final

from lockstep.plan.build import build
from lockstep.plan.nodes import AppPlan
from lockstep.siddhiql import check, check_deployed

KEPT: Final = 256


def plan_of(text: str) -> AppPlan:
    """Parsed, checked and planned; SiddhiQLError."""
    return build(check(text))


def plan_of_deployed(text: str) -> AppPlan:
    """The same for a text that an earlier release may have taken: what is refused only since then
    is told in `checked.objection`. SiddhiQLError."""
    return build(check_deployed(text))


class Plans:
    """The plans of a process's apps: whoever asks, on whatever thread, each text is read once.

    A text that is no app is read again by whoever asks again. The latest `KEPT` are remembered.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._read = lru_cache(KEPT)(lambda text: plan_of_deployed(text))

    def of(self, text: str) -> AppPlan:
        """See `plan_of_deployed`; blocking while a text is read."""
        with self._turn:
            return self._read(text)
