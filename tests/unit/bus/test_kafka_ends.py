"""What a broker tells of a topic's ends while it has just become the leader, or is about to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus.kafka.chain import EmptyLogError, bounds_of

TRIES = 3


class Answers:
    """Of a broker, one after the other; the last one again and again, until nobody asks more."""

    def __init__(self, *bounds: tuple[int, int]) -> None:
        self._bounds = list(bounds)
        self.connection = SimpleNamespace(persistently=self._persistently)

    async def bounds(self, topic: str) -> tuple[int, int]:
        """The next answer."""
        return self._bounds.pop(0) if len(self._bounds) > 1 else self._bounds[0]

    async def _persistently(self, call: Callable[[], Awaitable[Any]]) -> Any:
        for _ in range(TRIES):
            try:
                return await call()
            except EmptyLogError as error:
                last = error
        raise last


@pytest.mark.parametrize(
    ("early", "least_end"),
    [((3, 3), 0), ((3, 0), 0), ((0, 0), 4), ((0, 3), 4), ((3, 3), 4)],
    ids=["no record", "in front of the first", "as if new", "one is missing", "both"],
)
async def test_an_end_that_is_too_early_is_asked_for_again(
    early: tuple[int, int], least_end: int
) -> None:
    """Until it is as late as is known; in vain, it is told."""
    broker: Any = Answers(early, (3, 4))
    assert await bounds_of(broker, "t", least_end) == (3, 4)
    broker = Answers(early)
    with pytest.raises(EmptyLogError):
        await bounds_of(broker, "t", least_end)


@pytest.mark.parametrize("bounds", [(0, 0), (0, 2), (3, 4), (3, 9)])
async def test_any_other_end_is_believed(bounds: tuple[int, int]) -> None:
    """A new log, and one that goes on."""
    broker: Any = Answers(bounds)
    assert await bounds_of(broker, "t", min(bounds[1], 4)) == bounds
