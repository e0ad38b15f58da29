"""One living processor for each node id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.control import Heartbeat
from lockstep.settings import load_settings
from lockstep_services.processor.presence import NodeTakenError, Presence

QUICK = {"LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "2"}


def process(carrier: MemoryCarrier, incarnation: str, since_ms: int, heard: Any) -> Any:
    """A process of the node 'n', and the errors that it gave up with."""
    errors: list[Exception] = []
    context: Any = SimpleNamespace(
        service="processor", node="n", url=lambda: f"http://{incarnation}", clock=SystemClock(),
        world=SimpleNamespace(bus=MemoryBus(carrier)), give_up=errors.append,
        settings=load_settings(QUICK),
    )  # fmt: skip
    beating: Any = SimpleNamespace(incarnation=incarnation, since_ms=since_ms, host="h")
    return Presence(context, beating, heard), errors


def beat(incarnation: str, since_ms: int, sent_ms: int, *, draining: bool = False) -> Heartbeat:
    """Of a namesake."""
    return Heartbeat(
        "n", "processor", "http://other", sent_ms, 1_000, draining=draining,
        incarnation=incarnation, since_ms=since_ms, host="h2",
    )  # fmt: skip


async def test_the_second_one_is_refused_until_the_first_has_left() -> None:
    """It says who has the id; asking again after a failed start is no second one."""
    carrier = MemoryCarrier(SystemClock())
    first, _ = process(carrier, "first", 1, lambda: None)
    second, _ = process(carrier, "second", 2, lambda: None)
    await first.take()
    await first.take()
    with pytest.raises(NodeTakenError, match="'n' already") as refused:
        await second.take()
    assert refused.value.where == "http://first on host h"
    await first.leave()
    await second.take()


@pytest.mark.parametrize(
    ("namesake", "ends"),
    [
        ([beat("other", 5, 10), beat("other", 5, 20)], True),
        ([beat("aaa", 9, 10), beat("aaa", 9, 20)], True),
        ([beat("other", 5, 10)], False),
        ([beat("other", 99, 10), beat("other", 99, 20)], False),
        ([beat("mine", 9, 10), beat("mine", 9, 20)], False),
        ([beat("other", 5, 10, draining=True), beat("other", 5, 20, draining=True)], False),
        ([beat("", 0, 10), beat("", 0, 20)], False),
    ],
    ids=["earlier", "same-time", "last-word", "later", "own", "stopping", "earlier-release"],
)
async def test_of_two_that_begin_at_once_the_later_one_ends(
    namesake: list[Heartbeat], ends: bool
) -> None:
    """Each hears the other; a last heartbeat that comes late ends nobody."""
    heard = iter([*namesake, *[namesake[-1]] * 3])

    class EndOfTestError(Exception):
        """Everything was heard."""

    def last() -> Heartbeat:
        try:
            return next(heard)
        except StopIteration:
            raise EndOfTestError from None

    presence, errors = process(MemoryCarrier(SystemClock()), "mine", 9, last)
    if ends:
        await presence.mind()
        assert isinstance(errors[0], NodeTakenError)
    else:
        with pytest.raises(EndOfTestError):
            await presence.mind()
        assert not errors
