"""A replica that does not come to its beginning gives back the executors that it has made."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus import LogGoneError, LogName, OutputTail
from lockstep.clock import VirtualClock
from lockstep.control import AppView, UnitView, view_of
from lockstep.control.endings import end_key
from lockstep.events import (
    EventsRecord,
    Generation,
    InputEvent,
    Life,
    LogEntry,
    UnavailableError,
)
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import InlineOffload, Offload, ThreadOffload
from lockstep.plan import Plans
from lockstep.settings import load_settings
from lockstep.store import Deployment, Former, Origin, Revision, revision_id
from lockstep.telemetry import get_logger
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.revise.beginning import NoBeginningError, begin
from lockstep_services.processor.state.engine import Engines
from lockstep_services.processor.state.envelope import Contents, seal
from lockstep_services.processor.state.making import Making
from tests.unit.services.processor.executors import Executors

TEXT = "@app:name('A') define stream In (v int); from In select sum(v) as t insert into Out;"
LIFE = Life(7, 1)
STATE = Generation(LIFE, 0)
NAME = LogName("A", since_ms=7)


class InputLog:
    """Its ends, or why they cannot be told."""

    def __init__(self) -> None:
        self.ends: tuple[int, int] | Exception | None = (1, 5)

    async def bounds(self) -> tuple[int, int]:
        """Never, where there is nothing to tell."""
        if self.ends is None:
            await asyncio.Event().wait()
        if isinstance(self.ends, Exception):
            raise self.ends
        assert self.ends is not None
        return self.ends


class Place:
    """Where a replica begins: revisions at these positions, and a log."""

    def __init__(self, *positions: int) -> None:
        self.executors, self.log, plans = Executors(), InputLog(), Plans()
        self._plan = plans.of(TEXT)
        self.contents = Contents(TEXT, ReferenceExecutor(self._plan).snapshot(), (), ())
        self.ended: dict[tuple[str, str, int], list[Revision]] = {}

        async def answer(found: object) -> Any:
            return found

        found = [_revision(position) for position in positions]
        revisions = SimpleNamespace(
            list=lambda *key: answer(self.ended.get(key, found)),
            load=lambda _: answer(seal(self.contents)),
        )
        output = SimpleNamespace(tail=lambda: answer(OutputTail(1, 1, None, STATE)))
        bus = SimpleNamespace(
            input_log=lambda *_, **__: answer(self.log), output_log=lambda *_, **__: answer(output)
        )
        world = SimpleNamespace(bus=bus, store=SimpleNamespace(revisions=revisions))
        nothing = dict.fromkeys(
            ("holders", "randomness", "metrics", "traces", "beating", "make_offload", "leases",
             "hearing", "looks")
        )  # fmt: skip
        self._around = SimpleNamespace(
            **nothing,
            node="n",
            readings=SimpleNamespace(open=lambda _: answer(self.log)),
            world=world,
            settings=load_settings({}),
            clock=VirtualClock(0),
            log=get_logger(),
            watch=SimpleNamespace(settled=lambda *_: 0),
            engines=Engines(plans, self.executors.make, 10),
        )

    def opens_outputs(self, output_log: Any) -> None:
        """So the bus opens output logs."""
        self._around.world.bus.output_log = output_log

    async def begin(self, offload: Offload | None = None, view: AppView | None = None) -> Replica:
        """A replica at its beginning; by default of an app in one unit."""
        deployment = Deployment("A", TEXT, "v", LIFE, 1, 1, origin=Origin(0, 7))
        around: Any = self._around
        view = view or AppView(deployment, self._plan)
        name = view.log if isinstance(view, UnitView) else NAME
        return await begin(around, name, view, ("n",), offload or InlineOffload())


def _revision(position: int) -> Revision:
    return Revision(revision_id("A", STATE, position, "u"), *NAME.key, "v", position, 1, 1, True, 1)


async def _cancelled(task: asyncio.Task[Replica]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_one_that_is_stopped_while_it_begins_keeps_nothing() -> None:
    """Its app is undeployed, or moved."""
    place = Place(1)
    place.log.ends = None
    beginning = asyncio.ensure_future(place.begin())
    await place.executors.until_made(1)
    await _cancelled(beginning)
    assert place.executors.left == 0


async def test_one_that_fails_again_and_again_keeps_nothing() -> None:
    """Behind the restore, the bus is away."""
    place = Place(1)
    place.log.ends = UnavailableError("the bus is away")
    for made in range(1, 4):
        with pytest.raises(UnavailableError):
            await place.begin()
        assert (len(place.executors.made), place.executors.left) == (made, 0)


async def test_a_log_that_begins_behind_its_revision_keeps_nothing() -> None:
    """That is tried again for ever."""
    place = Place(1)
    place.log.ends = (9, 10)
    with capture_logs() as told, pytest.raises(NoBeginningError):
        await place.begin()
    assert (len(place.executors.made), place.executors.left) == (1, 0)
    (line,) = told
    where = {"app": "A", "group": "main", "partition": "0", "first_position": 9, "position": 1}
    assert where.items() <= line.items()


async def test_a_revision_that_does_not_fit_keeps_nothing() -> None:
    """An older one is tried, and if that does not fit either, the log, which may be too short."""
    place = Place(1, 2)
    place.executors.refuses = 1
    replica = await place.begin()
    assert replica.running.generation == STATE
    assert (len(place.executors.made), place.executors.left) == (2, 1)
    await replica.running.engine.close()

    place = Place(1, 2)
    place.executors.refuses, place.log.ends = 2, (3, 5)
    with pytest.raises(NoBeginningError):
        await place.begin()
    assert (len(place.executors.made), place.executors.left) == (3, 0)


async def test_who_has_no_beginning_says_why_no_revision_is_one() -> None:
    """As the newest of them does: an extension that does not take its state any more, for one. That
    is to be mended, and nothing else helps."""
    for refuses, ends, says in ((2, (3, 5), "usable revision is at 0"), (1, (9, 9), "is at 1")):
        place = Place(1, 2)
        place.executors.refuses, place.log.ends = refuses, ends
        with pytest.raises(NoBeginningError, match=f"{says}: does not fit") as told:
            await place.begin()
        assert told.value.hint == "make it fit"
    place = Place(1)
    place.log.ends = (9, 9)
    with pytest.raises(NoBeginningError) as told:
        await place.begin()
    assert told.value.message.endswith("usable revision is at 1")
    assert "undeploy --purge" in str(told.value.hint)
    assert "max_log_age_ms" in str(told.value.hint)


async def test_nor_is_it_left_out_where_rows_of_that_state_were_published() -> None:
    """The log is whole, but a state from its beginning would be another one."""
    place, later = Place(), Generation(LIFE, 1)
    one = Revision(revision_id("A", later, 2, "u"), *NAME.key, "v", 2, 1, 1, True, 1)
    place.ended[NAME.key] = [one]
    place.executors.refuses = 1

    async def tail() -> OutputTail:
        return OutputTail(1, 1, None, later)

    async def output_log(_name: LogName, **_: object) -> Any:
        return SimpleNamespace(tail=tail)

    place.opens_outputs(output_log)
    with pytest.raises(NoBeginningError, match="no revision of it can be used: does not fit") as it:
        await place.begin()
    assert it.value.hint == "make it fit"


class Missing:
    """A bus whose output log is not there until somebody makes it."""

    def __init__(self) -> None:
        self.made = 0

    async def output_log(self, name: LogName, *, make: bool = True) -> Any:
        """Empty, once it is made."""
        if not make and not self.made:
            raise LogGoneError(name.app)
        self.made += make

        async def tail() -> OutputTail:
            return OutputTail(0, 0, None)

        return SimpleNamespace(tail=tail)


async def test_only_a_unit_that_nobody_has_begun_makes_its_output_log() -> None:
    """Of a state that was stored rows may have been published: they would stand a second time in a
    new log. So they may where the input log has forgotten something."""
    place, missing = Place(), Missing()
    place.opens_outputs(missing.output_log)
    replica = await place.begin()
    assert (missing.made, replica.running.engine.position) == (1, 0)
    await replica.running.engine.close()
    for lost, first in ((Place(1), 1), (Place(), 2)):
        missing = Missing()
        lost.opens_outputs(missing.output_log)
        lost.log.ends = (first, 5)
        with pytest.raises(LogGoneError):
            await lost.begin()
        assert (missing.made, lost.executors.made) == (0, [])


async def test_one_that_is_stopped_while_it_restores_keeps_nothing() -> None:
    """The thread that restores goes on for a while."""
    place, threads = Place(1), ThreadOffload("restoring")
    place.executors.may_restore.clear()
    beginning = asyncio.ensure_future(place.begin(threads))
    await place.executors.until_made(1)
    await asyncio.sleep(0.05)
    await _cancelled(beginning)
    assert place.executors.left == 0
    place.executors.may_restore.set()
    threads.close()


async def test_one_that_is_stopped_while_its_executor_is_made_keeps_nothing() -> None:
    """It is closed as soon as it is there."""
    place, threads = Place(1), ThreadOffload("making")
    place.executors.may_be_made.clear()
    beginning = asyncio.ensure_future(place.begin(threads))
    await asyncio.sleep(0.2)
    await _cancelled(beginning)
    assert place.executors.made == []
    place.executors.may_be_made.set()
    await threads.run(lambda: None)  # behind the one that makes it
    assert (len(place.executors.made), place.executors.left) == (1, 0)
    threads.close()


async def test_an_empty_state_is_closed_before_another_one_begins_behind_the_log() -> None:
    """Nothing is stored, and the log has forgotten its beginning."""
    place = Place()
    place.log.ends = (9, 10)
    replica = await place.begin()
    assert replica.running.engine.position == 8
    assert (len(place.executors.made), place.executors.left) == (2, 1)


async def test_a_unit_says_what_of_the_layout_before_began_empty() -> None:
    """As long as it lives, in every heartbeat: what an app in one unit held of a query that is cut
    by key from now on."""
    text = (
        "@app:name('A') define stream In (k string, v int);"
        " from In#window.time(1 hour) select k, sum(v) as t group by k insert into Out;"
    )
    former = Former(text, "v", 0, 0, LIFE)
    deployment = Deployment("A", text, "v", Life(7, 2), 1, 1, parallel=2, layout=2, former=former)
    plans = Plans()
    (unit, *_) = view_of(deployment, plans).units
    before = ReferenceExecutor(plans.of(text))
    before.run_slice([LogEntry(1, EventsRecord("In", 5, ((InputEvent(5, ("a", 1)),),)))])
    place = Place()
    place.contents = Contents(text, before.snapshot(), (), ())
    (whole,) = unit.former
    place.ended[end_key(whole.log)] = [_revision(1)]
    replica = await place.begin(view=unit)
    assert replica.status().began_empty == ("query 'query_1' (its state is kept otherwise)",)
    assert replica.status().begins_behind == 1
    await replica.running.engine.close()


async def test_what_an_executor_says_bears_whose_it_is() -> None:
    """Also that of its next version."""
    place = Place(1)
    engine = (await place.begin()).running.engine
    await engine.successor(TEXT, "w", InlineOffload())
    with capture_logs() as told:
        for log in place.executors.logs:
            log.warning("state rebuilt")
    where = {"app": "A", "group": "main", "partition": "0"}
    assert [where.items() <= line.items() for line in told] == [True, True]


def test_an_executor_that_is_there_just_before_it_is_given_up_is_closed() -> None:
    """Its thread has ended, and whoever waited for it has been cancelled meanwhile."""
    executors, plan = Executors(), Plans().of(TEXT)
    making = Making(lambda: executors.make(plan, get_logger()))
    making.make()
    assert executors.left == 1
    making.give_up()
    assert executors.left == 0
