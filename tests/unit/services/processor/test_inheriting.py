"""A unit of a new layout that does not come to its beginning gives back what it has made,
and it begins with ends of one position only."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.clock import SystemClock
from lockstep.control import UnitView, view_of
from lockstep.control.endings import end_key
from lockstep.events import Life
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import InlineOffload, Offload, ThreadOffload
from lockstep.plan import Plans
from lockstep.store import Deployment, Former, Revision
from lockstep.telemetry import get_logger
from lockstep_services.processor.revise.inheriting import EndsDifferError, Inherited, inherit
from lockstep_services.processor.state.engine import Engines
from lockstep_services.processor.state.envelope import Contents, seal
from tests.unit.services.processor.executors import Executors

TEXT = (
    "@app:name('A') define stream In (k string, v int); partition with (k of In)"
    " begin from In select k, sum(v) as t insert into Out; end;"
)


class Place:
    """Where a unit begins: the app ran as one unit, and that has ended. `ends`: where, and of each
    unit where it was cut into so many."""

    def __init__(self, *ends: int) -> None:
        self.executors, plans = Executors(), Plans()
        ends = ends or (5,)
        cut = len(ends) if len(ends) > 1 else 0
        former = Former(TEXT, "v", cut, min(cut, 1), Life(7, 1))
        deployment = Deployment("A", TEXT, "v", Life(7, 2), 1, 1, parallel=2, layout=2,
                                former=former)  # fmt: skip
        (self._unit, *_) = view_of(deployment, plans).units
        before = self._unit.former[0]
        last = {
            end_key(one.log): Revision(f"last {at}", *end_key(one.log), "v", at, 1, 1, True, 1)
            for one, at in zip(self._unit.former, ends, strict=True)
        }
        plan = before.plan
        contents = Contents(plan.text, ReferenceExecutor(plan).snapshot(), (), ())

        async def answer(found: object) -> Any:
            return found

        revisions = SimpleNamespace(
            list=lambda *key: answer([last[key]]), load=lambda _: answer(seal(contents))
        )
        self._around: Any = SimpleNamespace(
            world=SimpleNamespace(store=SimpleNamespace(revisions=revisions)),
            clock=SystemClock(),
            log=get_logger(),
            engines=Engines(plans, self.executors.make, 10),
        )

    async def inherit(self, offload: Offload) -> Inherited:
        """The first unit's engine."""
        assert isinstance(self._unit, UnitView)
        return await inherit(self._around, self._unit, offload)


async def test_a_state_that_does_not_fit_is_closed_before_an_empty_one_is_made() -> None:
    """The unit begins empty, where the layout before has ended."""
    place = Place()
    place.executors.refuses = 1
    found = await place.inherit(InlineOffload())
    assert (found.engine.position, len(found.lost)) == (5, 1)
    assert (len(place.executors.made), place.executors.left) == (2, 1)


async def test_one_that_is_stopped_while_it_restores_keeps_nothing() -> None:
    """The unit is moved to another node."""
    place, threads = Place(), ThreadOffload("restoring")
    place.executors.may_restore.clear()
    inheriting = asyncio.ensure_future(place.inherit(threads))
    await place.executors.until_made(1)
    await asyncio.sleep(0.05)
    inheriting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await inheriting
    assert place.executors.left == 0
    place.executors.may_restore.set()
    threads.close()


async def test_units_that_have_not_ended_at_one_position_are_no_beginning() -> None:
    """Of the one that is behind the events in between would be missing, without a word."""
    place = Place(57, 57)
    assert (await place.inherit(InlineOffload())).engine.position == 57
    place = Place(25, 57)
    with pytest.raises(EndsDifferError, match=r"partition 0 at 25, .* partition 1 at 57"):
        await place.inherit(InlineOffload())
    assert place.executors.made == []
