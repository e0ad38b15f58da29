"""Scripts and runs in the store: versions, what is due, what becomes of runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lockstep.batch import steps
from lockstep.batch.book import NotPossibleError, ScriptBook, UnknownScriptError
from lockstep.batch.header import Header, Language, ScriptError, header_of
from lockstep.batch.model import Run, State
from lockstep.batch.run_book import RunBook, Seen
from lockstep.clock import VirtualClock
from lockstep.settings import BatchSettings, load_settings
from lockstep.store.memory import MemoryStore

MINUTE = 60_000
SETTINGS = load_settings({}).batch
TEXT = "-- cron: 0 */10 * * * ? UTC\n-- retries: 2\nselect 1"


def header(text: str = TEXT, name: str = "s") -> Header:
    """Of a query."""
    return header_of(text, Language.SQL, name)


class Desk:
    """A book, its clock and its store."""

    def __init__(self, settings: BatchSettings = SETTINGS) -> None:
        self.clock = VirtualClock(0)
        self.settings = settings
        self.store = MemoryStore()
        self.book = ScriptBook(self.store.batch, self.clock, settings)
        self.runs = RunBook(self.book, self.store.batch, self.clock, settings)

    def forward(self, by_ms: int) -> None:
        """Time passes."""
        self.clock.set_ms(self.clock.now_ms() + by_ms)

    async def plan(self, text: str = TEXT) -> list[Run]:
        """As whoever holds the lease does at each look."""
        script = await self.book.script("s")
        found = steps.planned(script, header(text), self.clock.now_ms(), self.settings.max_missed)
        made = [run for run in found.runs if await self.runs.plan(run)]
        if found.up_to_ms != script.from_ms:
            await self.book.passed(script, found.up_to_ms)
        return made

    async def finish(self, run: Run, marks: dict[str, int] | None = None) -> Run:
        """It begins and succeeds."""
        seen = await self.runs.get("s", run.due_ms)
        assert seen is not None
        before = next((one for one in await self.runs.of("s") if one.is_kept), None)
        now_ms = self.clock.now_ms()
        begun = steps.begun(seen.run, "me", now_ms, before, marks or {})
        done = steps.kept(begun, header(), 1, now_ms, ())
        assert await self.runs.write(seen, done) is not None
        return done


async def test_each_changed_text_is_a_version_and_runs_say_theirs() -> None:
    """The same text again is none; a run that was planned keeps its version."""
    desk = Desk()
    first = await desk.book.deploy(header(), TEXT)
    assert (first.created, first.changed, first.script.version) == (True, True, 1)
    again = await desk.book.deploy(header(), TEXT)
    assert (again.created, again.changed, again.script.version) == (False, False, 1)
    desk.forward(10 * MINUTE)
    (planned,) = await desk.plan()
    second = await desk.book.deploy(header(), TEXT + "1")
    assert (second.created, second.changed, second.script.version) == (False, True, 2)
    desk.forward(10 * MINUTE)
    (later,) = await desk.plan()
    assert (planned.version, later.version) == (1, 2)
    assert (await desk.book.version("s", 1)).text == TEXT
    assert planned.identity != replace(planned, digest=later.digest).identity


async def test_what_is_due_is_planned_once_by_however_many_look() -> None:
    """Two that look at the same time make one run between them, and a later look makes no other."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    assert await desk.plan() == []
    desk.forward(10 * MINUTE)
    made = await asyncio.gather(desk.plan(), desk.plan())
    assert sorted(map(len, made)) == [0, 1]
    assert await desk.plan() == []
    desk.forward(9 * MINUTE)
    assert await desk.plan() == []


@pytest.mark.parametrize(
    ("missed", "due", "left_out"),
    [("latest", [60], 5), ("each", [10, 20, 30, 40, 50, 60], 0)],
)
async def test_behind_a_downtime(missed: str, due: list[int], left_out: int) -> None:
    """The latest alone, or each: as the script says."""
    text = f"-- missed: {missed}\n{TEXT}"
    desk = Desk()
    await desk.book.deploy(header(text), text)
    desk.forward(65 * MINUTE)
    made = await desk.plan(text)
    assert [one.due_ms // MINUTE for one in made] == due
    assert [one.missed for one in made] == [left_out] + [0] * (len(due) - 1)


async def test_of_very_many_missed_times_the_last_run() -> None:
    """The limit of the settings; what was left out is told."""
    text = f"-- missed: each\n{TEXT}"
    desk = Desk(SETTINGS.model_copy(update={"max_missed": 3}))
    await desk.book.deploy(header(text), text)
    desk.forward(65 * MINUTE)
    made = await desk.plan(text)
    assert [(one.due_ms // MINUTE, one.missed) for one in made] == [(40, 3), (50, 0), (60, 0)]


async def test_times_of_a_pause_are_not_due() -> None:
    """Neither during it nor behind it."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    await desk.book.pause("s", paused=True)
    desk.forward(25 * MINUTE)
    assert await desk.plan() == []
    await desk.book.pause("s", paused=False)
    assert await desk.plan() == []
    desk.forward(5 * MINUTE)
    assert [one.due_ms // MINUTE for one in await desk.plan()] == [30]


async def test_what_is_new_to_a_run_begins_where_the_last_kept_one_ended() -> None:
    """Over runs that failed, over versions, and for an attempt that is begun again."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    desk.forward(10 * MINUTE)
    (one,) = await desk.plan()
    done = await desk.finish(one, {"A/0/input": 7})
    assert (done.after, done.up_to, done.since_ms) == ({}, {"A/0/input": 7}, 0)
    two = Run("s", 1, "d", 20 * MINUTE)
    begun = steps.begun(two, "a", 0, done, {"A/0/input": 9})
    assert (begun.after, begun.up_to, begun.since_ms) == (
        {"A/0/input": 7},
        {"A/0/input": 9},
        600_000,
    )
    again = steps.begun(begun, "b", 5, done, {"A/0/input": 30})
    assert (again.after, again.up_to) == (begun.after, begun.up_to)
    assert (again.attempts, again.deaths, again.holder) == (2, 1, "b")
    failed = steps.failed(again, "no", 9)
    three = steps.begun(Run("s", 2, "e", 30 * MINUTE), "a", 0, done, {"A/0/input": 40})
    assert failed.state is State.FAILED
    assert (three.after, three.up_to) == ({"A/0/input": 7}, {"A/0/input": 40})


async def test_an_attempt_that_fails_is_repeated_after_growing_pauses() -> None:
    """As often as the script says; who died with a run does not use these up."""
    run = Run("s", 1, "d", 0)
    for pause_ms in (30_000, 60_000):
        run = steps.tried(steps.begun(run, "a", 0, None, {}), header(), "no", 5, SETTINGS, ["x"])
        assert (run.state, run.not_before_ms) == (State.DUE, 5 + pause_ms)
        assert steps.startable([run], 4 + pause_ms) == []
        assert steps.startable([run], 5 + pause_ms) == [run]
    run = steps.begun(steps.begun(run, "a", 0, None, {}), "b", 0, None, {})
    run = steps.tried(run, header(), "still no", 9, SETTINGS, ["x", "y"])
    assert (run.state, run.error, run.log, run.attempts) == (
        State.FAILED, "still no", ("x", "y"), 4,
    )  # fmt: skip


def test_who_dies_of_a_run_does_not_do_so_for_ever() -> None:
    """A limit says when it is hopeless."""
    run = Run("s", 1, "d", 0)
    begun = 0
    while not steps.is_hopeless(run):
        run, begun = steps.begun(run, "a", 0, None, {}), begun + 1
    assert begun == steps.MAX_DEATHS + 1


async def test_runs_of_a_script_go_one_after_another() -> None:
    """The oldest, and while it waits to be tried again none."""
    runs = [Run("a", 1, "d", 2), Run("a", 1, "d", 1, not_before_ms=50), Run("b", 1, "d", 3)]
    assert [one.script for one in steps.startable(runs, 10)] == ["b"]
    assert [(one.script, one.due_ms) for one in steps.startable(runs, 50)] == [("a", 1), ("b", 3)]


async def test_history_is_bounded_and_keeps_what_the_next_run_needs() -> None:
    """The newest run whose rows are kept stays, however many failed behind it."""
    desk = Desk(SETTINGS.model_copy(update={"runs_to_keep": 2}))
    await desk.book.deploy(header(), TEXT)
    for _ in range(6):
        desk.forward(10 * MINUTE)
        (run,) = await desk.plan()
        if run.due_ms < 30 * MINUTE:
            await desk.finish(run)
        else:
            seen = await desk.runs.get("s", run.due_ms)
            assert seen is not None
            await desk.runs.write(seen, steps.failed(run, "no", 1))
    assert await desk.runs.forget("s") == 3
    assert [one.due_ms // MINUTE for one in await desk.runs.of("s")] == [60, 50, 20]


async def test_a_run_by_hand_is_one_more_and_waits_alone() -> None:
    """Its due time is now, or behind the last run's."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    desk.forward(10 * MINUTE)
    (planned,) = await desk.plan()
    by_hand = await desk.runs.add("s")
    assert by_hand.due_ms == planned.due_ms + 1
    with pytest.raises(NotPossibleError, match="waits already"):
        await desk.runs.add("s")


async def test_a_run_that_waits_is_cancelled_at_once_and_one_under_way_by_who_runs_it() -> None:
    """And what nobody can cancel is said."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    with pytest.raises(NotPossibleError):
        await desk.runs.cancel("s")
    run = await desk.runs.add("s")
    assert (await desk.runs.cancel("s")).state is State.CANCELLED
    desk.forward(1_000)
    run = await desk.runs.add("s")
    seen = await desk.runs.get("s", run.due_ms)
    assert seen is not None
    assert await desk.runs.write(seen, steps.begun(run, "me", 0, None, {})) is not None
    found = await desk.runs.cancel("s")
    assert (found.state, found.is_unwanted) == (State.RUNNING, True)


async def test_who_was_overtaken_writes_nothing() -> None:
    """As after a pause that was longer than the lease."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    run = await desk.runs.add("s")
    seen = await desk.runs.get("s", run.due_ms)
    assert seen is not None
    newer = await desk.runs.write(seen, steps.begun(run, "b", 0, None, {}))
    assert newer == Seen(steps.begun(run, "b", 0, None, {}), 2)
    assert await desk.runs.write(seen, steps.failed(run, "late", 0)) is None


async def test_what_is_removed_is_gone_with_its_runs_and_versions() -> None:
    """A run that was under way cannot be written any more."""
    desk = Desk()
    await desk.book.deploy(header(), TEXT)
    run = await desk.runs.add("s")
    seen = await desk.runs.get("s", run.due_ms)
    await desk.book.remove("s")
    assert seen is not None
    assert await desk.runs.write(seen, run) is None
    assert desk.store.batch._entries == {}
    with pytest.raises(UnknownScriptError):
        await desk.book.remove("s")


async def test_limits_of_the_settings() -> None:
    """How often, how long, how large, how many."""
    desk = Desk(SETTINGS.model_copy(update={"max_scripts": 1, "max_script_bytes": 200}))
    text = "-- cron: */5 * * * * ? UTC\n-- time-limit: 2 days\n-- " + "x" * 200 + "\nselect 1"
    with pytest.raises(ScriptError) as caught:
        await desk.book.deploy(header(text), text)
    assert len(caught.value.errors) == 3
    with pytest.raises(NotPossibleError, match="0 scripts already, and with 2 more"):
        await desk.book.check_room(["s", "other"])
    await desk.book.deploy(header(), TEXT)
    await desk.book.check_room(["s"])
    with pytest.raises(NotPossibleError, match="1 scripts already, and with 1 more"):
        await desk.book.deploy(header(TEXT, "other"), TEXT)


async def test_versions_are_bounded_and_those_of_open_runs_stay() -> None:
    """Nobody needs the others."""
    desk = Desk(SETTINGS.model_copy(update={"versions_to_keep": 2}))
    await desk.book.deploy(header(), TEXT)
    await desk.runs.add("s")
    for number in range(4):
        await desk.book.deploy(header(), f"{TEXT}{number}")
    assert [one.number for one in await desk.book.versions("s")] == [5, 4, 1]
